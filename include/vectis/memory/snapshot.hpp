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

// The use of a range of a segment. A segment is one allocation of the device that the pool splits into blocks.
enum class BlockState : std::uint8_t {
  live,    // owned by a buffer
  cached,  // released; kept on the free list of its size class
  free     // a range of a segment that belongs to no block
};

// Returns the state as it stands in JSON: "live", "cached" or "free". Does not throw.
VECTIS_API std::string_view name(BlockState state) noexcept;

// A range of a segment: a live or cached block, or a free range.
struct SnapshotBlock {
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;  // in the segment
  std::uint64_t bytes = 0;
  BlockState state = BlockState::free;
  // The fields from here on are set for live blocks only.
  std::uint64_t requested_bytes = 0;  // before rounding
  Precision precision = Precision::fp32;
  std::string tag;
  Duration age{0};
};

// The maxima of the reserved and in-use bytes of a pool in the time from `time` until the next point.
struct TimelinePoint {
  TimePoint time;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t in_use_bytes = 0;
};

// The state of the memory pool of one device at one moment, from MemoryPool::snapshot or read_memory_snapshot.
struct MemorySnapshot {
  std::string device;  // "opencl:0 (name)"
  std::string cause;   // text of the out-of-memory report that led to the snapshot; empty otherwise
  TimePoint time;      // since the Runtime's start
  MemoryStats stats;
  std::vector<SnapshotBlock> blocks;    // by segment and offset
  std::vector<TimelinePoint> timeline;  // oldest first; the last point is the state at `time`
};

// Writes the snapshot as JSON that read_memory_snapshot reads. Does not throw when writing fails: check the state of
// `out` afterwards.
VECTIS_API void write_json(std::ostream& out, const MemorySnapshot& snapshot);
// Writes the snapshot as an HTML page that needs no network access and no other file. Does not throw when writing
// fails: check the state of `out` afterwards.
VECTIS_API void write_html(std::ostream& out, const MemorySnapshot& snapshot);
// Reads a snapshot that write_json wrote. Throws CorruptData, naming the first invalid field, when the text is not
// JSON, truncated, no snapshot or of an unknown version; throws Io when reading from the stream fails.
VECTIS_API MemorySnapshot read_memory_snapshot(std::istream& in);

}  // namespace vectis::inline v0_1
