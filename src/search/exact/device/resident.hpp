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

// The first rows of a segment in device memory.
struct ResidentCodes {
  std::weak_ptr<const void> storage;  // of the segment
  std::size_t rows = 0;
  std::unique_ptr<const DeviceLayout> layout;
  ManagedBuffer codes;
  ManagedBuffer terms;
  std::vector<float> terms_host;  // copy of the terms, for searches that exclude rows
};

// Thread-safe.
class ResidentSegments {
 public:
  ResidentSegments(Runtime& runtime, const Device& device);
  ~ResidentSegments();
  ResidentSegments(const ResidentSegments&) = delete;
  ResidentSegments& operator=(const ResidentSegments&) = delete;

  // The segment's codes, copied through `stream` if `reserve` bytes stay free besides; null when they do not fit.
  // Segments copied first stay, since a scan visits all in turn. Segments that no longer exist are dropped, and all
  // that are not in use when the pool needs memory.
  [[nodiscard]] std::shared_ptr<const ResidentCodes> get(const SegmentView& segment, Stream& stream,
                                                         std::uint64_t reserve);
  // Whether to copy the segment ahead of a search: less than four fifths of it is on the device.
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
