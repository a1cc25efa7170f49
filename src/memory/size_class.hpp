// Size classes: how requests are rounded up so that near-equal ones share blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::detail {

// Smallest block in bytes and granularity of small sizes. DevicePool rounds it up to a multiple of the device's
// alignment.
constexpr std::uint64_t block_unit = 256;

// Returns the smallest multiple of `step` that is at least `value`. `step` is above 0; the result must fit 64 bits.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

// Returns the size class of a request: `bytes` rounded up to a multiple of `unit` up to 4 KiB, above that to one of
// 16 sizes per doubling (jemalloc uses 4), which wastes at most 1/16. `bytes` must be 1 to 2^62, and `unit` above 0.
constexpr std::uint64_t class_bytes(std::uint64_t bytes, std::uint64_t unit) {
  const std::uint64_t step = std::max(unit, std::bit_floor(bytes - (bytes > 1 ? 1 : 0)) / 16);
  return round_up(bytes, round_up(step, unit));
}

// Size and precision of a block; blocks of one class are interchangeable. The precision keeps buffers of one tensor
// type together, as the pool's API promises.
struct SizeClass {
  std::uint64_t bytes = 0;
  Precision precision = Precision::fp32;
  bool operator==(const SizeClass&) const = default;
};

struct SizeClassHash {
  std::size_t operator()(const SizeClass& size_class) const noexcept {
    // Fibonacci hashing: sizes are multiples of 256, which would otherwise share their low bits.
    return (size_class.bytes + static_cast<std::size_t>(size_class.precision)) * 0x9E3779B97F4A7C15ULL >> 7;
  }
};

}  // namespace vectis::inline v0_1::detail
