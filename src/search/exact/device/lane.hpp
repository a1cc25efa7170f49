// The scan of device memory for a batch of queries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/exact/candidates.hpp"
#include "search/exact/device/resident.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/device/transfer.hpp"

namespace vectis::inline v0_1::exact {

// Queries that are searched together: their limits, and the candidates found so far. `task`, with options, must outlive
// it. One thread at a time.
struct QueryBatch {
  // Takes `count` queries from `first` on. Throws std::bad_alloc.
  QueryBatch(const SearchTask& of, std::size_t first, std::size_t count);
  QueryBatch(const QueryBatch&) = delete;  // the candidates refer to members
  QueryBatch& operator=(const QueryBatch&) = delete;
  ~QueryBatch() = default;

  std::size_t first_query;  // in the queries of the search
  SearchTask task;          // with these queries only
  SharedLimits limits;
  Candidates candidates;
  std::size_t scans_left = 0;  // until all rows were scanned
};

// What the lanes of one search after the other use: creating a stream and pinning memory take longer than a small
// search.
struct LaneResources {
  // Creates the stream; throws the driver's error.
  explicit LaneResources(const DeviceContext& context) : stream(context) {}

  Stream stream;
  std::optional<HostMemory> sent;      // terms and codes of queries
  std::optional<HostMemory> received;  // counts, candidates, bounds
};

// Scans rows in the memory of a device for one batch of queries at a time: owns buffers for the candidates, and buffers
// for a segment that does not stay on the device. Nothing is waited for between start() and finish(), so that two lanes
// overlap. Calls throw OutOfMemoryError when device memory is exhausted and the error of the backend when a copy or
// kernel fails. One thread at a time.
class DeviceLane {
 public:
  // Allocates device memory for `capacity` candidates of each of `queries` queries of the task, of which the first
  // `columns` are copied to the host at once. `runtime`, `resources`, of which this is the only user, and `task`, with
  // options, must outlive the lane. Throws OutOfMemoryError when the device has too little memory.
  DeviceLane(Runtime& runtime, int device, LaneResources& resources, const SearchTask& task, std::size_t queries,
             std::size_t capacity, std::size_t columns);
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;
  // Waits for a scan that was not finished, which uses members. Ignores its failures, which the call that waited first
  // has reported.
  ~DeviceLane();

  // Returns whether a scan was started and not finished yet.
  [[nodiscard]] bool busy() const noexcept { return batch_ != nullptr; }
  [[nodiscard]] const std::shared_ptr<QueryBatch>& batch() const noexcept { return batch_; }
  // Enqueues the scan of rows that are on the device for a batch of at most `queries` queries. Precondition: !busy().
  // Throws OutOfMemoryError when device memory is exhausted and the error of the backend.
  void start(std::shared_ptr<QueryBatch> batch, ResidentRows rows);
  // Copies the task's segment at index `segment` to the device and enqueues its scan. Precondition: !busy(). Throws
  // OutOfMemoryError when device memory is exhausted, Unsupported for l1, chebyshev and hamming, and the error of the
  // backend.
  void start(std::shared_ptr<QueryBatch> batch, std::size_t segment);
  // Waits for the scan, pushes the rows it found to the candidates of its batch, and scans queries that found more rows
  // than `capacity` again in smaller ranges; returns the number of those queries. Precondition: busy(). Throws the
  // error of the backend.
  std::size_t finish();

 private:
  // Device buffers with candidates and their bounds. The lane has two: tighten_bounds copies from one to the other.
  struct Found {
    ManagedBuffer candidates;
    ManagedBuffer bounds;
  };
  ManagedBuffer buffer(std::size_t elements, Precision precision);
  std::span<std::byte> host_bytes(std::optional<HostMemory>& memory, std::size_t bytes);
  void synchronize();
  void begin(std::shared_ptr<QueryBatch> batch);
  void scan();
  void send_queries(const PreparedQueries& queries);
  void scan_piece(std::size_t first, std::size_t rows, const PreparedQueries& queries);
  void tighten(std::size_t queries);
  // Enqueues copying the counts of all queries and their first `columns` candidates to the host.
  void fetch(std::size_t queries, std::size_t columns);
  [[nodiscard]] std::span<const std::int32_t> counts() const noexcept;
  [[nodiscard]] std::size_t largest_count() const noexcept;
  // Pushes the fetched candidates at position `position` of the scanned queries as candidates of `query`. Precondition:
  // its count is at most the columns that were fetched.
  void give(std::size_t position, std::size_t query);
  // Gives the candidates of all queries; returns those that found more than `capacity`.
  std::vector<std::size_t> give_all();
  void scan_again(const std::vector<std::size_t>& queries);

  Runtime& runtime_;
  MemoryPool& pool_;
  int device_;
  const SearchTask& task_;
  std::size_t capacity_;
  std::size_t columns_;  // that are fetched at once
  LaneResources& resources_;
  Stream& stream_;
  bool waited_ = true;  // for all that was enqueued
  std::array<Found, 2> found_;
  ManagedBuffer counts_;
  ManagedBuffer queries_;    // terms, then codes
  ManagedBuffer packed_;     // candidates, then bounds, copied to the host
  ManagedBuffer row_codes_;  // of a segment that does not stay
  ManagedBuffer row_terms_;

  std::shared_ptr<QueryBatch> batch_;
  std::shared_ptr<const DeviceLayout> layout_;
  ResidentRows rows_;  // with a null block when they are in the lane's own buffers
  RowMemory row_memory_;
  std::optional<RowUpload> upload_;
  std::size_t now_ = 0;      // index of found_ with the candidates
  std::size_t fetched_ = 0;  // columns
  PreparedQueries prepared_;
  PreparedQueries again_;  // of scan_again(); a member, since its copies may still run when scan_again() throws
};

}  // namespace vectis::inline v0_1::exact
