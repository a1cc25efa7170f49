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

// What a device holds of a segment: its rows from the first on.
struct ResidentCodes {
  std::weak_ptr<const void> storage;  // of the segment
  std::size_t rows = 0;
  std::unique_ptr<const DeviceLayout> layout;
  ManagedBuffer codes;
  ManagedBuffer terms;
  std::vector<float> terms_host;  // the same, for searches that must leave rows out
};

// Thread-safe.
class ResidentSegments {
 public:
  ResidentSegments(Runtime& runtime, const Device& device);
  ~ResidentSegments();
  ResidentSegments(const ResidentSegments&) = delete;
  ResidentSegments& operator=(const ResidentSegments&) = delete;

  // The segment's codes, brought there through `stream` if there is room besides `reserve` bytes; null when there is
  // none. What came first stays, since a scan visits all in turn; segments that no longer exist make room, and so do
  // all that are not in use when the pool needs memory.
  [[nodiscard]] std::shared_ptr<const ResidentCodes> get(const SegmentView& segment, Stream& stream,
                                                         std::uint64_t reserve);
  // Whether bringing the segment before it is needed pays: it is not there, or less than four fifths of it is.
  [[nodiscard]] bool wants(const SegmentView& segment) const;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  [[nodiscard]] std::shared_ptr<const ResidentCodes> find(const SegmentView& segment);
  [[nodiscard]] std::shared_ptr<const ResidentCodes> load(const SegmentView& segment, Stream& stream,
                                                          std::uint64_t reserve);
  std::uint64_t drop_unused(std::uint64_t bytes);

  MemoryPool& pool_;
  int device_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ResidentCodes>> held_;
  int reclaimer_;
};

}  // namespace vectis::inline v0_1::exact
