// Segments whose codes stay on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "search/exact/device/layout.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::exact {

// A copy of the codes and terms of the first `rows` rows of a segment in device memory. Immutable once made.
struct ResidentCodes {
  std::weak_ptr<const void> storage;  // of the segment
  std::size_t rows = 0;
  std::shared_ptr<const DeviceLayout> layout;
  std::size_t layout_rows = 0;  // of the segment when the layout was made
  ManagedBuffer codes;
  ManagedBuffer terms;
  std::vector<float> terms_host;  // copy of the terms, for searches that exclude rows
};

// The copies of segments that stay in the memory of one device between searches. The memory pool may drop copies that
// no scan uses when it needs memory. Thread-safe.
class ResidentSegments {
 public:
  // Registers with the memory pool of `runtime`, which must outlive this object, as a reclaimer of `device`'s memory.
  ResidentSegments(Runtime& runtime, const Device& device);
  ~ResidentSegments();
  ResidentSegments(const ResidentSegments&) = delete;
  ResidentSegments& operator=(const ResidentSegments&) = delete;

  // Returns the device copy of the segment, which it makes through `stream` (a stream of this device) and waits for
  // when there is none. When the segment has grown since it was copied, only its new rows come from the host. Returns
  // null when the codes and `reserve` further bytes do not fit into the pool's limit.
  // Drops copies of segments that no longer exist. Throws Unsupported for l1, chebyshev and hamming, and the error of
  // the backend.
  [[nodiscard]] std::shared_ptr<const ResidentCodes> get(const SegmentView& segment, Stream& stream,
                                                         std::uint64_t reserve);
  // Returns whether to copy the segment ahead of a search: less than four fifths of its rows are on the device.
  [[nodiscard]] bool wants(const SegmentView& segment) const;
  // Returns the bytes of device memory of all copies.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  // Returns the copy of the segment with most rows, which may be fewer than the view has; null when there is none.
  [[nodiscard]] std::shared_ptr<const ResidentCodes> find(const SegmentView& segment);
  // Makes a copy of the segment and holds it in place of `older`, its copy with fewer rows, whose rows it copies on the
  // device; without `older`, which may be null, all rows come from the host. Returns null when memory does not suffice.
  [[nodiscard]] std::shared_ptr<const ResidentCodes> load(const SegmentView& segment, const ResidentCodes* older,
                                                          Stream& stream, std::uint64_t reserve);
  void hold(const std::shared_ptr<const ResidentCodes>& made);
  void drop(const std::shared_ptr<const ResidentCodes>& held);
  std::uint64_t drop_unused(std::uint64_t bytes);

  MemoryPool& pool_;
  int device_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ResidentCodes>> held_;
  int reclaimer_;
};

}  // namespace vectis::inline v0_1::exact
