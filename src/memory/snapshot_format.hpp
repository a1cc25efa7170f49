// The representation of a snapshot: JSON fields, shared by writer, reader and HTML page, and the blocks a page draws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "vectis/memory/snapshot.hpp"

namespace vectis::inline v0_1::detail {

// Value of the JSON field `format`; read_memory_snapshot throws CorruptData for any other value.
constexpr std::string_view snapshot_format = "vectis-memory-snapshot";
// Value of the JSON field `version`; read_memory_snapshot throws CorruptData for any other value.
constexpr std::uint64_t snapshot_version = 1;

// A counter of MemoryStats and its name in the JSON of a snapshot.
struct StatsField {
  std::string_view name;
  std::uint64_t MemoryStats::* member;
};

// All counters of MemoryStats that a snapshot stores, in the order of the file.
inline constexpr std::array stats_fields{
    StatsField{"limit_bytes", &MemoryStats::limit_bytes},
    StatsField{"reserved_bytes", &MemoryStats::reserved_bytes},
    StatsField{"in_use_bytes", &MemoryStats::in_use_bytes},
    StatsField{"requested_bytes", &MemoryStats::requested_bytes},
    StatsField{"cached_bytes", &MemoryStats::cached_bytes},
    StatsField{"peak_reserved_bytes", &MemoryStats::peak_reserved_bytes},
    StatsField{"peak_in_use_bytes", &MemoryStats::peak_in_use_bytes},
    StatsField{"largest_free_bytes", &MemoryStats::largest_free_bytes},
    StatsField{"segments", &MemoryStats::segments},
    StatsField{"live_buffers", &MemoryStats::live_buffers},
    StatsField{"allocations", &MemoryStats::allocations},
    StatsField{"hits", &MemoryStats::hits},
    StatsField{"device_allocations", &MemoryStats::device_allocations},
    StatsField{"device_frees", &MemoryStats::device_frees},
    StatsField{"cleanups", &MemoryStats::cleanups},
    StatsField{"failures", &MemoryStats::failures},
};

// All block states, by whose names read_memory_snapshot finds a state.
inline constexpr std::array block_states{BlockState::live, BlockState::cached, BlockState::free};
// All precisions, by whose names read_memory_snapshot finds a precision.
inline constexpr std::array all_precisions{Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8};

// An entry of the HTML page's map: one block, or a run of adjacent blocks too small to be visible.
struct PageBlock {
  const SnapshotBlock* first = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t live_bytes = 0;
  std::size_t count = 1;
};

// Returns at most `max` entries plus one per segment: with more than `max` blocks, joins runs of adjacent blocks too
// small to be visible. `blocks` must be sorted by segment and offset and outlive the result, which points into it;
// `max` is above 0.
std::vector<PageBlock> condense(const std::vector<SnapshotBlock>& blocks, std::size_t max);

}  // namespace vectis::inline v0_1::detail
