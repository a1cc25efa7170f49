// A search of an exact index, its answer, and the interface of what searches on devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// The arguments of one search of an exact index. Index::search has checked that queries are whole rows of finite
// floats and that 1 <= k <= vectors. Owns nothing: segments, queries and options must outlive it. Immutable.
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
  // Returns the number of row and query pairs: rows of all segments, with tombstones, times queries. Does not throw.
  [[nodiscard]] std::uint64_t rows_to_scan() const noexcept {
    std::uint64_t rows = 0;
    for (const SegmentView& segment : segments) rows += segment.rows;
    return rows * query_count();
  }
  // Returns whether the search may return the row: it has no tombstone, and the filter allows its id. Preconditions,
  // not checked: options is not null, row < segment.rows. Throws what the filter's predicate throws.
  [[nodiscard]] bool allows(const SegmentView& segment, std::size_t row) const {
    return !segment.is_removed(row) && (!options->filter || options->filter->allows(segment.ids[row]));
  }
};

// The hits of an exact search and how it was done.
struct ExactAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, equal distances by lower id
  SearchExplanation explanation;       // all but precision and seconds
};

// Interface of what searches for an exact index on devices, or where the planner decides. Thread-safe: any number of
// searches run beside one prepare.
class Searcher {
 public:
  Searcher() = default;
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;
  virtual ~Searcher() = default;

  // Returns the task.k nearest rows of each query by exact_distance, whatever was scanned to find them. task.options
  // must be set. Throws the error of a device, and Cancelled or DeadlineExceeded as the options' context says.
  [[nodiscard]] virtual ExactAnswer search(const SearchTask& task) const = 0;
  // Returns lines for people that say how a search of `queries` queries would be done. Does not search; task.queries
  // and task.options may be empty.
  [[nodiscard]] virtual std::string explain(const SearchTask& task, std::size_t queries) const = 0;
  // Returns the devices that may compute besides the host, and why these.
  [[nodiscard]] virtual IndexDevices devices() const = 0;
  // Returns the bytes of device memory that segments occupy between searches; 0 when none stay there.
  [[nodiscard]] virtual std::uint64_t resident_bytes() const { return 0; }
  // Returns the id of the device that shall hold the rows which the calling thread adds: the thread's active device, if
  // the thread set one and several devices share the rows. Otherwise nothing.
  [[nodiscard]] virtual std::optional<int> device_for_rows() const { return std::nullopt; }
  // Copies new segments to the devices; the default does nothing. The writer calls it before readers see the
  // segments, so that the first search finds them there. Device errors are ignored here: the search that needs the
  // rows throws them.
  virtual void prepare(std::span<const SegmentView> /*segments*/) {}
};

}  // namespace vectis::inline v0_1::exact
