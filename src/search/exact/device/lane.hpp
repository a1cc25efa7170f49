// The scan of one segment on a device.
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
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::exact {

// Scans one segment at a time on a device for a batch of queries: owns a stream, buffers for the candidates, and
// buffers for a segment that does not stay on the device. Calls throw OutOfMemoryError when device memory is
// exhausted and the error of the backend when a copy or kernel fails. One thread at a time.
class DeviceLane {
 public:
  // Allocates device memory for `capacity` candidates of each query of the task. `pool` and `task`, with options,
  // must outlive the lane. Throws OutOfMemoryError when the device has too little memory.
  DeviceLane(MemoryPool& pool, int device, const SearchTask& task, std::size_t capacity);
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;
  // Waits for the work of the stream, which uses members. Ignores its failures, which the call that waited first has
  // reported.
  ~DeviceLane();

  [[nodiscard]] Stream& stream() noexcept { return *stream_; }
  // Returns whether a scan was started and not finished yet.
  [[nodiscard]] bool busy() const noexcept { return segment_.has_value(); }
  // Enqueues the scan of the task's segment at index `segment` with the present limits. Copies the segment to the
  // device first when `resident` is null. Precondition: !busy(). Throws OutOfMemoryError when device memory is
  // exhausted, Unsupported for l1, chebyshev and hamming, and the error of the backend.
  void start(std::size_t segment, std::shared_ptr<const ResidentCodes> resident, const SharedLimits& limits);
  // Waits for the scan, pushes the rows it found to `candidates`, and scans queries that found more rows than
  // `capacity` again in smaller ranges; returns the number of those queries. Precondition: busy(). Throws the error
  // of the backend.
  std::size_t finish(const SharedLimits& limits, Candidates& candidates);

 private:
  // Device buffers with candidates and their bounds. The lane has two: tighten_bounds copies from one to the other.
  struct Found {
    ManagedBuffer candidates;
    ManagedBuffer bounds;
  };
  ManagedBuffer buffer(std::size_t elements, Precision precision);
  void bring_rows(const SegmentView& segment);
  void leave_out_rows(const SegmentView& segment);
  void send_terms();
  void send_queries(const PreparedQueries& queries);
  void scan_piece(std::size_t first, std::size_t rows, const PreparedQueries& queries);
  void tighten(std::size_t queries);
  void fetch(std::size_t queries, std::size_t columns);
  // Pushes the fetched candidates at position `place` of the scanned batch as candidates of `query`. Precondition:
  // fetch() copied `columns` candidates per query to the host, and the count of `place` is at most `columns`.
  void give(std::size_t place, std::size_t query, std::size_t columns, Candidates& candidates) const;
  std::size_t columns_found() const noexcept;
  void scan_again(const std::vector<std::size_t>& queries, const SharedLimits& limits, Candidates& candidates);

  MemoryPool& pool_;
  int device_;
  const SearchTask& task_;
  std::size_t capacity_;
  std::optional<Stream> stream_;  // before all buffers, which are released in its order
  std::array<Found, 2> found_;
  ManagedBuffer counts_;
  ManagedBuffer query_codes_;
  ManagedBuffer query_terms_;
  ManagedBuffer packed_;  // copied to the host
  ManagedBuffer row_codes_;
  ManagedBuffer row_terms_;

  std::optional<std::size_t> segment_;
  std::shared_ptr<const ResidentCodes> resident_;
  std::unique_ptr<const DeviceLayout> own_layout_;
  const DeviceLayout* layout_ = nullptr;
  const DeviceMemory* codes_ = nullptr;  // of the segment's rows
  const DeviceMemory* terms_ = nullptr;
  std::size_t now_ = 0;  // index of found_ with the candidates
  PreparedQueries prepared_;
  PreparedQueries again_;  // of scan_again(); a member, since copies may still read it when scan_again() throws
  std::vector<float> query_terms_host_;
  std::vector<std::byte> row_codes_host_;
  std::vector<float> row_terms_host_;
  std::vector<std::int32_t> counts_host_;
  std::vector<std::int32_t> candidates_host_;
  std::vector<float> bounds_host_;
};

}  // namespace vectis::inline v0_1::exact
