// The state of a pool at one moment: every block, the counters and the timeline, as data, JSON or an HTML page.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"
#include "vectis/memory/statistics.hpp"

namespace vectis::inline v0_1 {

enum class BlockState : std::uint8_t {
  live,    // owned by a buffer
  cached,  // released; kept on the free list of its size class
  free     // a range of a segment that belongs to no block
};

VECTIS_API std::string_view name(BlockState state) noexcept;  // "live"

struct SnapshotBlock {
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;  // in the segment
  std::uint64_t bytes = 0;
  BlockState state = BlockState::free;
  // Of live blocks only:
  std::uint64_t requested_bytes = 0;  // before rounding
  Precision precision = Precision::fp32;
  std::string tag;
  Duration age{0};
};

// The maxima from `time` until the next point.
struct TimelinePoint {
  TimePoint time;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t in_use_bytes = 0;
};

struct MemorySnapshot {
  std::string device;  // "opencl:0 (name)"
  std::string cause;   // text of the out-of-memory report that led to the snapshot; empty otherwise
  TimePoint time;      // since the Runtime's start
  MemoryStats stats;
  std::vector<SnapshotBlock> blocks;    // by segment and offset
  std::vector<TimelinePoint> timeline;  // oldest first; the last point is the state at `time`
};

// Write the snapshot. Check the stream's state afterwards: neither function throws when writing fails.
VECTIS_API void write_json(std::ostream& out, const MemorySnapshot& snapshot);
// A self-contained page: no network access, no other file.
VECTIS_API void write_html(std::ostream& out, const MemorySnapshot& snapshot);
// Reads what write_json wrote. Throws CorruptData, naming the first invalid field, for anything else; Io when reading
// fails.
VECTIS_API MemorySnapshot read_memory_snapshot(std::istream& in);

}  // namespace vectis::inline v0_1
