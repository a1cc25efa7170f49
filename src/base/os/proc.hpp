// What the text files under /proc say. Pure functions of their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vectis::inline v0_1 {

// The bytes of a line "MemTotal:  16316412 kB" of /proc/meminfo; zero when there is no such line.
std::uint64_t meminfo_bytes(std::string_view text, std::string_view key);

struct CpuTimes {
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
};

// The first line of /proc/stat: time of all cores since boot.
std::optional<CpuTimes> parse_cpu_times(std::string_view text);

// The busy share between two readings; empty when no time passed or a counter went backwards.
std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after);

}  // namespace vectis::inline v0_1
