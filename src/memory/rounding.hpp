// From the bytes asked for to the bytes allocated.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace vectis::inline v0_1::detail {

// Smallest block, and the step of small sizes: what every device's alignment divides.
constexpr std::uint64_t block_unit = 256;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

// Sizes up to 4 KiB in steps of `unit`, larger ones in sixteen steps a doubling: near-equal requests share blocks, and
// at most a sixteenth is wasted. `bytes` is at least 1 and at most 2^62.
constexpr std::uint64_t rounded_size(std::uint64_t bytes, std::uint64_t unit) {
  const std::uint64_t step = std::max(unit, std::bit_floor(bytes - (bytes > 1 ? 1 : 0)) / 16);
  return round_up(bytes, round_up(step, unit));
}

}  // namespace vectis::inline v0_1::detail
