// Rows of a graph on a device, as the operations graph_search and graph_prune take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "search/graph/body.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::graph {

// What operations on lists of rows can take at most.
inline constexpr std::size_t device_list_max = 512;
inline constexpr std::int32_t no_row = -1;

// Lists of rows and their squared distances, `columns` for each; no_row and infinity behind a list's last.
struct RowLists {
  std::size_t columns = 0;
  std::vector<std::int32_t> rows;
  std::vector<float> distances;

  void resize(std::size_t lists, std::size_t made_columns);
  [[nodiscard]] std::size_t lists() const noexcept { return columns == 0 ? 0 : rows.size() / columns; }
};

// The first `rows` of a body: the coordinates that its frame codes, as floats, and links, of which there are none at
// first. Rows that are not `known`, if that is given, are not read, and farther from everything than all others. Calls
// wait until the device is done. OutOfMemoryError when it has no room. One thread at a time.
class DeviceRows {
 public:
  DeviceRows(Runtime& runtime, const Device& device, const Body& body, std::size_t rows, std::span<const Slot> entries,
             const std::function<bool(Slot)>& known = {});
  DeviceRows(const DeviceRows&) = delete;
  DeviceRows& operator=(const DeviceRows&) = delete;
  ~DeviceRows();

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  void set_entries(std::span<const Slot> entries);
  // Gives each of `slots` the links of one list of degree() numbers.
  void set_links(std::span<const Slot> slots, std::span<const std::int32_t> links);
  // The links the body has, of all rows.
  void take_links(Executor& executor, const Links& links);

  struct Walk {
    std::size_t width = 1;  // rows that are kept
    std::size_t nearest = 1;
    float slack = 0;
  };
  // Leaves what walks for these rows keep on the device.
  void walk_for_rows(std::span<const Slot> slots, const Walk& walk);
  // The same for queries of as many coordinates as rows have.
  void walk_for_queries(std::span<const float> queries, const Walk& walk);
  // What the last walks kept, and what it was made of; or something else in its place.
  void fetch_found(RowLists& found);
  void put_found(const RowLists& found);
  // Distances that the last walks computed.
  [[nodiscard]] std::uint64_t fetch_scored();

  // The links that are chosen from what was found or put, `count` at most for each list.
  void prune_found(std::size_t count, float reach, RowLists& chosen);

 private:
  void bring(Executor& executor, const Body& body, const std::function<bool(Slot)>& known);
  void need(ManagedBuffer& buffer, std::size_t elements);
  [[nodiscard]] View whole() const { return {coordinates_.memory(), DType::float32, rows_, dim_}; }
  void send_indices(std::span<const Slot> slots);
  void walk(std::size_t queries, const Walk& walk);

  MemoryPool& pool_;
  int device_;
  std::size_t rows_;
  std::size_t dim_;
  std::size_t degree_;
  std::size_t entry_count_ = 0;
  std::size_t lists_ = 0;  // found
  std::size_t width_ = 0;  // of them
  ManagedBuffer coordinates_;
  Stream stream_;  // in whose order the buffers behind it go back
  ManagedBuffer links_;
  ManagedBuffer entries_;
  ManagedBuffer indices_;
  ManagedBuffer some_links_;
  ManagedBuffer queries_;
  ManagedBuffer found_;
  ManagedBuffer distances_;
  ManagedBuffer scored_;
  ManagedBuffer chosen_;
  ManagedBuffer chosen_distances_;
};

}  // namespace vectis::inline v0_1::graph
