// Everything a graph index keeps of its vectors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "search/graph/graph.hpp"
#include "search/graph/vectors.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::graph {

// Who a row is and from which change until which it can be found. Written by the one who changes, read by searches.
class Heads {
 public:
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  void reserve(std::size_t rows) { rows_.reserve(rows, 0); }
  // Before the row is linked. Somebody may ask at this moment whether the row it was before is visible.
  void born(Slot slot, std::uint64_t id, std::uint64_t epoch) const noexcept {
    head(slot)->id = id;
    std::atomic_ref(head(slot)->birth).store(epoch, std::memory_order_relaxed);
    std::atomic_ref(head(slot)->death).store(never, std::memory_order_release);
  }
  void dies(Slot slot, std::uint64_t epoch) const noexcept {
    std::atomic_ref(head(slot)->death).store(epoch, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t id(Slot slot) const noexcept { return head(slot)->id; }
  [[nodiscard]] std::uint64_t death(Slot slot) const noexcept {
    return std::atomic_ref(head(slot)->death).load(std::memory_order_relaxed);
  }
  // Whether a search that began at this epoch sees the row. Death is read first: whoever sees that of a new row sees
  // its birth too, which is later than any epoch at which the slot was looked for.
  [[nodiscard]] bool visible(Slot slot, std::uint64_t epoch) const noexcept {
    if (std::atomic_ref(head(slot)->death).load(std::memory_order_acquire) <= epoch) return false;
    return std::atomic_ref(head(slot)->birth).load(std::memory_order_relaxed) <= epoch;
  }
  [[nodiscard]] const void* address(Slot slot) const noexcept { return rows_[slot]; }

  struct Head {
    std::uint64_t id = 0;
    std::uint64_t birth = 0;
    std::uint64_t death = 0;
  };

 private:
  [[nodiscard]] Head* head(Slot slot) const noexcept { return reinterpret_cast<Head*>(rows_[slot]); }
  Rows rows_{sizeof(Head)};
};

struct Body {
  // For this many rows at most.
  Body(Frame frame, const GraphShape& shape, std::size_t rows_max, bool whole_vectors)
      : graph(std::move(frame), shape, Links::slot_bytes_for(rows_max)), vectors(graph.frame.dim, whole_vectors) {}

  Graph graph;
  Heads heads;
  Vectors vectors;
  // Codes, links and vectors of this many rows lie there; a body has no room for others then. Null: all is in memory.
  std::shared_ptr<const MappedFile> file;
  std::size_t file_rows = 0;

  [[nodiscard]] std::size_t rows_max() const noexcept {
    if (file) return file_rows;
    return std::min(slots_max, std::size_t{1} << (8 * graph.links.slot_bytes()));
  }
  void reserve(std::size_t rows) {
    graph.codes.reserve(rows, 0);
    graph.links.reserve(rows);
    heads.reserve(rows);
    vectors.reserve(rows);
  }
  // Of a row in memory.
  [[nodiscard]] std::size_t row_bytes() const noexcept { return sizeof(Heads::Head) + (file ? 0 : filed_bytes()); }
  // Of a row in the file.
  [[nodiscard]] std::size_t mapped_bytes() const noexcept { return file ? filed_bytes() : 0; }
  // Writes the row's dim numbers.
  void read_row(Slot slot, float* target) const {
    const float* const found = vectors.numbers(slot, target);
    if (found != target) std::copy_n(found, graph.frame.dim, target);
  }

 private:
  [[nodiscard]] std::size_t filed_bytes() const noexcept {
    return graph.frame.row_bytes + graph.links.row_bytes() + vectors.row_bytes();
  }
};

}  // namespace vectis::inline v0_1::graph
