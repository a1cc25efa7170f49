// A pool at one moment: every block, the numbers, and how it came to this; as data, JSON, or a page for a browser.
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
  live,    // in somebody's hands
  cached,  // released, waiting for a request of its kind
  free     // a range of a segment that belongs to no block
};

VECTIS_API std::string_view name(BlockState state) noexcept;  // "live"

struct SnapshotBlock {
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  BlockState state = BlockState::free;
  // Of live blocks only:
  std::uint64_t requested_bytes = 0;
  Precision precision = Precision::fp32;
  std::string tag;
  Duration age{0};
};

// The most that was held and used from `time` on, until the next point.
struct TimelinePoint {
  TimePoint time;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t in_use_bytes = 0;
};

struct MemorySnapshot {
  std::string device;  // "opencl:0 (name)"
  std::string cause;   // why it was taken: the text of an out-of-memory report, or empty
  TimePoint time;
  MemoryStats stats;
  std::vector<SnapshotBlock> blocks;    // in order of segment and offset
  std::vector<TimelinePoint> timeline;  // oldest first
};

VECTIS_API void write_json(std::ostream& out, const MemorySnapshot& snapshot);
// What write_json wrote. CorruptData for anything else, naming what is wrong; Io when `in` fails.
VECTIS_API MemorySnapshot read_memory_snapshot(std::istream& in);
// One self-contained page: no network, no other file.
VECTIS_API void write_html(std::ostream& out, const MemorySnapshot& snapshot);

}  // namespace vectis::inline v0_1
