// Which places of device memory a scan reads, and which of them it leaves out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::exact {

// Consecutive rows of a segment of a search at consecutive places of device memory.
struct RowRun {
  std::size_t segment = 0;  // of the task
  std::size_t first_row = 0;
  std::size_t place = 0;
  std::size_t rows = 0;

  bool operator==(const RowRun&) const = default;
};

// Consecutive places [first, last).
struct PlaceRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

// Returns the places that a scan of the runs, which are ordered by place, reads: in as few ranges as gaps of at most
// 65,536 places between them allow. Throws std::bad_alloc.
[[nodiscard]] std::vector<PlaceRange> ranges_of(std::span<const RowRun> runs);

// A bit for each place of device memory that says that a scan leaves it out: a removed row, or a gap between runs.
// Immutable.
class RowMask {
 public:
  // Copies the mask of the runs to the device and waits for it. Throws OutOfMemoryError when device memory is
  // exhausted, Allocation when the host's is, and the error of the backend.
  RowMask(std::span<const RowRun> runs, std::span<const SegmentView> segments, MemoryPool& pool, int device,
          Stream& stream);

  // Returns whether a scan of the runs leaves any place out. Throws std::bad_alloc.
  [[nodiscard]] static bool needed(std::span<const RowRun> runs, std::span<const SegmentView> segments);
  // Returns whether this is the mask of the runs. Does not throw.
  [[nodiscard]] bool is_of(std::span<const RowRun> runs, std::span<const SegmentView> segments) const noexcept;
  [[nodiscard]] const DeviceMemory& words() const noexcept { return words_.memory(); }
  [[nodiscard]] std::size_t word_count() const noexcept { return words_.elements(); }

 private:
  std::vector<RowRun> runs_;
  std::vector<std::shared_ptr<const std::uint64_t[]>> removed_;  // of the segment of each run
  ManagedBuffer words_;
};

}  // namespace vectis::inline v0_1::exact
