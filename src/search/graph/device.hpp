// The graph on a device: its copy there, beam searches over it, and building it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "search/graph/store.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::graph {

// The longest list of rows that the operations graph_search and graph_prune take.
inline constexpr std::size_t device_list_max = 512;
// The entry that pads lists of rows on devices.
inline constexpr std::int32_t no_row = -1;

// Lists of rows with their squared distances in host memory, `columns` elements each, padded with no_row and
// infinity.
struct RowLists {
  std::size_t columns = 0;
  std::vector<std::int32_t> rows;
  std::vector<float> distances;

  // Replaces the contents by `lists` lists of `list_columns` elements, all of them no_row at distance infinity. Throws
  // std::bad_alloc when memory is exhausted.
  void reset(std::size_t lists, std::size_t list_columns);
  [[nodiscard]] std::size_t lists() const noexcept { return columns == 0 ? 0 : rows.size() / columns; }
};

// A copy of a graph in device memory: projected vectors as floats, and links, which are empty at first.
//
// Every call waits until the device is done. Each throws OutOfMemoryError when the device has no memory, and the
// error of the backend when a launch or copy fails; then the object is unusable. Not thread-safe.
class DeviceGraph {
 public:
  // Copies the projected vectors of the first `rows` rows to the device, without links. Rows for which `readable`
  // returns false become NaN, which is farther than any row; an empty `readable` copies all. Precondition, not
  // checked: the storage has `rows` rows. Throws OutOfMemoryError when the device has too little memory, and the
  // backend's error.
  DeviceGraph(Runtime& runtime, const Device& device, const GraphStorage& storage, std::size_t rows,
              std::span<const Slot> entry_points, const std::function<bool(Slot)>& readable = {});
  DeviceGraph(const DeviceGraph&) = delete;
  DeviceGraph& operator=(const DeviceGraph&) = delete;
  ~DeviceGraph();

  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept;  // of device memory

  // Replaces the rows where searches start by the first 255 of `entry_points`, each below the number of rows (not
  // checked). Throws the backend's error when the copy fails.
  void set_entry_points(std::span<const Slot> entry_points);
  // Replaces the links of slots[i] on the device by links[i * degree()] and the following; shorter lists are padded
  // with no_row. Needs degree() links for each slot, not checked. Throws OutOfMemoryError or the backend's error.
  void set_links(std::span<const Slot> slots, std::span<const std::int32_t> links);
  // Replaces the links of all rows by those of `links`, which must have degree() and at least as many rows (not
  // checked). Throws OutOfMemoryError when device memory is exhausted, or the backend's error.
  void copy_links(Executor& executor, const AdjacencyLists& links);

  // Runs a beam search for the vector of each of `slots` and keeps the results on the device. Limits params.width to
  // device_list_max; ignores params.bounded. Throws OutOfMemoryError when device memory is exhausted, or the
  // backend's error.
  void search_rows(std::span<const Slot> slots, const BeamParams& params);
  // Runs a beam search for each of `queries`, whole rows of projected floats (see project_query_as_row), and keeps
  // the results on the device. Limits params.width to device_list_max. Throws OutOfMemoryError or the backend's
  // error.
  void search_queries(std::span<const float> queries, const BeamParams& params);
  // Copies the result lists of the last search to `found`. Precondition: a search or set_found() came before. Throws
  // the backend's error when the copy fails.
  void fetch_found(RowLists& found);
  // Replaces the result lists on the device by `found`, for prune_found(); found.columns must be at most
  // device_list_max. Throws OutOfMemoryError when device memory is exhausted, or the backend's error.
  void set_found(const RowLists& found);
  // Returns the number of rows that the last search scored, of all queries together. Precondition: the last results
  // are of a search, not of set_found(). Throws the backend's error.
  [[nodiscard]] std::uint64_t fetch_scored();

  // Applies RobustPrune with `alpha` to each result list on the device and copies the chosen rows, at most `count`
  // per list, to `chosen`. Precondition: a search or set_found() came before. Throws OutOfMemoryError or the
  // backend's error.
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

// Searches the graph of a store on a device. The first search after a change copies the graph to the device.
// Thread-safe; searches run one after the other. `runtime` must outlive it.
class DeviceGraphSearcher {
 public:
  DeviceGraphSearcher(Runtime& runtime, const Device& device) : runtime_(runtime), device_(device) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t bytes() const;  // of device memory

  // Writes the best params.width rows (at most device_list_max) of each query to `found`, nearest first, and returns
  // the number of rows scored. Returns nullopt when a search of a later epoch has copied the graph to the device since:
  // rows of that epoch may crowd those of `epoch` out. epoch.storage must not be null. Throws OutOfMemoryError or the
  // backend's error; the next call then copies the graph to the device again.
  std::optional<std::uint64_t> search(const Epoch& epoch, const BeamParams& params, std::span<const float> queries,
                                      RowLists& found);

 private:
  // Makes graph_ a copy of the epoch, unless it is one. Returns false when graph_ is a copy of a later epoch.
  [[nodiscard]] bool copy_to_device(const Epoch& epoch);

  Runtime& runtime_;
  Device device_;
  mutable std::mutex mutex_;
  std::unique_ptr<DeviceGraph> graph_;
  std::uint64_t epoch_ = 0;  // that graph_ is a copy of; every epoch of a store has its own number
};

// Returns whether inserting `new_rows` rows into a graph of `linked_rows` rows is worth copying the graph to a
// device: at least 256 rows and at least an eighth of the graph. Does not throw.
[[nodiscard]] bool worth_device_build(std::size_t new_rows, std::size_t linked_rows) noexcept;

// Links `slots`, which must be written and have empty lists, into a graph of `linked_rows` rows: copies the first
// `rows` rows to the device, which searches and prunes by projected floats; the host collects the back links. Throws
// OutOfMemoryError, the backend's error and what `progress` throws; then no link of the storage was changed.
void link_rows_on_device(Runtime& runtime, const Device& device, GraphStorage& storage, std::size_t rows,
                         std::span<const Slot> entry_points, std::span<const Slot> slots, std::size_t linked_rows,
                         const LinkProgress& progress = {});

}  // namespace vectis::inline v0_1::graph
