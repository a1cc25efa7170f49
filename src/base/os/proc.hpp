// Parsers for files under /proc. Pure functions of the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vectis::inline v0_1 {

// The value of a line "MemTotal:  16316412 kB" of /proc/meminfo in bytes; 0 when there is no such line.
std::uint64_t meminfo_bytes(std::string_view text, std::string_view key);

struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
};

// The first line of /proc/stat: the time of all cores since boot, in clock ticks. Empty for other text.
std::optional<CpuTimes> parse_cpu_times(std::string_view text);

// The busy fraction between two readings; empty when no time passed or a counter decreased.
std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after);

}  // namespace vectis::inline v0_1
