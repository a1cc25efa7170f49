// Parsers for files under /proc. Pure functions of the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vectis::inline v0_1 {

// Returns the bytes that the line of `key` ("MemTotal") states in `text`, the content of /proc/meminfo, whose unit is
// kB: "MemTotal: 16316412 kB". Returns 0 when there is no such line or it has no number.
std::uint64_t meminfo_bytes(std::string_view text, std::string_view key);

// The time of all cores since boot, in clock ticks: `busy` excludes idle time and waiting for I/O.
struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
};

// Returns the times in the first line, "cpu ...", of `text`, the content of /proc/stat. Returns an empty optional
// when the first line does not start with "cpu " or has fewer than four numbers.
std::optional<CpuTimes> parse_cpu_times(std::string_view text);

// Returns the busy fraction of the time between two readings, 0 to 1. `before` must be the earlier one. Returns an
// empty optional when no time passed or the busy time decreased.
std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after);

}  // namespace vectis::inline v0_1
