// The graph on a device: its copy there, beam searches over it, and building it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "search/graph/store.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::graph {

// The longest list that the operations graph_search and graph_prune take.
inline constexpr std::size_t device_list_max = 512;
inline constexpr std::int32_t no_row = -1;

// Lists of rows with their squared distances, `columns` elements each, padded with no_row and infinity.
struct RowLists {
  std::size_t columns = 0;
  std::vector<std::int32_t> rows;
  std::vector<float> distances;

  // Makes `lists` empty lists.
  void reset(std::size_t lists, std::size_t list_columns);
  [[nodiscard]] std::size_t lists() const noexcept { return columns == 0 ? 0 : rows.size() / columns; }
};

// A copy of a graph in device memory: projected vectors as floats, and links, which are empty at first.
//
// Every call waits until the device is done. Each throws OutOfMemoryError when the device has no memory, and the error
// of the backend when a launch or copy fails; then the object is unusable. Not thread-safe.
class DeviceGraph {
 public:
  // Copies the first `rows` rows. Rows for which `readable` returns false become NaN, which is farther than any row;
  // empty: all rows are read.
  DeviceGraph(Runtime& runtime, const Device& device, const GraphStorage& storage, std::size_t rows,
              std::span<const Slot> entry_points, const std::function<bool(Slot)>& readable = {});
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  ~DeviceGraph();

  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept;  // of device memory

  void set_entry_points(std::span<const Slot> entry_points);
  // Writes degree() links for each of `slots`, padded with no_row.
  void set_links(std::span<const Slot> slots, std::span<const std::int32_t> links);
  void copy_links(Executor& executor, const AdjacencyLists& links);

  // Runs a beam search for each row or projected query, and keeps the results on the device. params.width is limited to
  // device_list_max.
  void search_rows(std::span<const Slot> slots, const BeamParams& params);
  void search_queries(std::span<const float> queries, const BeamParams& params);
  // Reads or replaces the results of the last searches.
  void fetch_found(RowLists& found);
  void set_found(const RowLists& found);
  // The number of rows that the last searches scored.
  [[nodiscard]] std::uint64_t fetch_scored();

  // RobustPrune of each result list to at most `count` rows.
  void prune_found(std::size_t count, float alpha, RowLists& chosen);

 private:
  void copy_rows(Executor& executor, const GraphStorage& storage, const std::function<bool(Slot)>& readable);
  void reserve(ManagedBuffer& buffer, std::size_t elements);
  [[nodiscard]] View all_rows() const { return {coordinates_.memory(), DType::float32, rows_, dim_}; }
  void copy_indices(std::span<const Slot> slots);
  void search(std::size_t queries, const BeamParams& params);

  MemoryPool& pool_;
  int device_;
  std::size_t rows_;
  std::size_t dim_;
  std::size_t degree_;
  std::size_t entry_point_count_ = 0;
  std::size_t lists_ = 0;  // of the last searches
  std::size_t width_ = 0;  // elements per list
  ManagedBuffer coordinates_;
  Stream stream_;  // declared before the buffers that are returned in its order
  ManagedBuffer links_;
  ManagedBuffer entry_points_;
  ManagedBuffer indices_;
  ManagedBuffer changed_links_;
  ManagedBuffer queries_;
  ManagedBuffer found_;
  ManagedBuffer distances_;
  ManagedBuffer scored_;
  ManagedBuffer chosen_;
  ManagedBuffer chosen_distances_;
};

// Searches a store's graph on a device. The first search after a change copies the graph there. Thread-safe; searches
// run one after the other.
class DeviceGraphSearcher {
 public:
  DeviceGraphSearcher(Runtime& runtime, const Device& device) : runtime_(runtime), device_(device) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t bytes() const;  // of device memory

  // Writes the best params.width rows of each query, nearest first. Some may not be visible in the epoch. Returns the
  // number of rows scored. Throws as DeviceGraph does; the next call copies the graph again then.
  std::uint64_t search(const Epoch& epoch, const BeamParams& params, std::span<const float> queries, RowLists& found);

 private:
  void copy_to_device(const Epoch& epoch);

  Runtime& runtime_;
  Device device_;
  mutable std::mutex mutex_;
  std::unique_ptr<DeviceGraph> graph_;
  std::weak_ptr<const GraphStorage> storage_;  // that graph_ is a copy of
  std::uint64_t epoch_ = 0;                    // of the copy
};

// Whether inserting `new_rows` rows is worth copying the graph to a device.
[[nodiscard]] bool worth_device_build(std::size_t new_rows, std::size_t linked_rows) noexcept;

// As link_rows of build.hpp, with searches and pruning on the device, by projected floats instead of codes; the host
// collects the back links. Copies the first `rows` rows there. When it throws, no link of the storage was changed.
void link_rows_on_device(Runtime& runtime, const Device& device, GraphStorage& storage, std::size_t rows,
                         std::span<const Slot> entry_points, std::span<const Slot> slots, std::size_t linked_rows,
                         const LinkProgress& progress = {});

}  // namespace vectis::inline v0_1::graph
