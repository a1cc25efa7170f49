// A search of an exact index, its answer, and the interface of what searches on devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// Preconditions, which Index::search checked: whole rows of finite floats, 1 <= k <= vectors. Immutable.
struct SearchTask {
  std::span<const SegmentView> segments;
  std::size_t dim = 0;
  Metric metric = Metric::l2;
  Precision precision = Precision::fp32;  // of the segments; of future ones when there are none
  std::span<const float> queries;
  std::size_t k = 0;
  const SearchOptions* options = nullptr;

  [[nodiscard]] std::size_t query_count() const noexcept { return queries.size() / dim; }
  [[nodiscard]] const float* query(std::size_t index) const noexcept { return queries.data() + index * dim; }
  // Rows of the segments times queries.
  [[nodiscard]] std::uint64_t rows_to_scan() const noexcept {
    std::uint64_t rows = 0;
    for (const SegmentView& segment : segments) rows += segment.rows;
    return rows * query_count();
  }
  // Whether the row may be returned: it has no tombstone, and the filter allows its id.
  [[nodiscard]] bool allows(const SegmentView& segment, std::size_t row) const {
    return !segment.is_removed(row) && (!options->filter || options->filter->allows(segment.ids[row]));
  }
};

struct ExactAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, equal distances by lower id
  SearchExplanation explanation;       // all but precision and seconds
};

// Searches on devices, or where the planner says. Thread-safe: any number of searches beside one prepare.
class Searcher {
 public:
  Searcher() = default;
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;
  virtual ~Searcher() = default;

  // The k nearest rows by exact_distance, whatever was scanned to find them. Throws what a device throws.
  [[nodiscard]] virtual ExactAnswer search(const SearchTask& task) const = 0;
  // How a search of `queries` queries would be done: a few lines for people. The task's own queries may be empty.
  [[nodiscard]] virtual std::string explain(const SearchTask& task, std::size_t queries) const = 0;
  // The devices that may compute besides the host, and why these.
  [[nodiscard]] virtual IndexDevices devices() const = 0;
  // Bytes of segments that stay in device memory.
  [[nodiscard]] virtual std::uint64_t resident_bytes() const { return 0; }
  // Copies new segments to the devices. The writer calls it before readers see the segments, so that the first search
  // finds them in place.
  virtual void prepare(std::span<const SegmentView> /*segments*/) {}
};

}  // namespace vectis::inline v0_1::exact
