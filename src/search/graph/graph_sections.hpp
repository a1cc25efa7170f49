// What a file of a graph index keeps of every row: rows of one thing lie side by side, so that a file can be mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/graph/body.hpp"

namespace vectis::inline v0_1::graph {

// One thing that every row has. Of a body that outlives it.
class Section {
 public:
  Section() = default;
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  virtual ~Section() = default;

  [[nodiscard]] virtual std::size_t row_bytes() const noexcept = 0;
  // The row as it is in a file.
  virtual void put(Slot slot, std::byte* row) const = 0;
  // CorruptData when these bytes cannot be the row.
  virtual void check(Slot slot, const std::byte* row) const = 0;
  // Takes over what was checked.
  virtual void take(Slot slot, const std::byte* row) const = 0;
  // Whether rows are used where they lie in a mapped file, by point_at; otherwise they are taken from there.
  [[nodiscard]] virtual bool stays() const noexcept = 0;
  virtual void point_at(std::byte* first, std::size_t rows) const = 0;
};

// All of them, in the order of a file. Ids are at most `highest_id`, links are below `rows`.
[[nodiscard]] std::vector<std::unique_ptr<const Section>> sections_of(Body& body, std::size_t rows,
                                                                      std::uint64_t highest_id);

}  // namespace vectis::inline v0_1::graph
