// Size classes: how requests are rounded up so that near-equal ones share blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::detail {

// Smallest block and granularity of small sizes; every device's memory alignment divides it.
constexpr std::uint64_t block_unit = 256;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

// Rounds up to the size of a class: multiples of `unit` up to 4 KiB, above that 16 classes per doubling (jemalloc uses
// 4), which wastes at most 1/16. `bytes` is at least 1 and at most 2^62.
constexpr std::uint64_t class_bytes(std::uint64_t bytes, std::uint64_t unit) {
  const std::uint64_t step = std::max(unit, std::bit_floor(bytes - (bytes > 1 ? 1 : 0)) / 16);
  return round_up(bytes, round_up(step, unit));
}

// Blocks of one class are interchangeable: equal size and precision. The precision keeps buffers of one tensor type
// together, as the pool's API promises.
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
