// A seeded random generator, xoshiro256** (Blackman, Vigna), equal on every platform and standard library.
#pragma once

#include <array>
#include <cstdint>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Equal seeds give equal sequences, in all versions of Vectis. Not cryptographic. One thread at a time.
class VECTIS_API Random {
 public:
  // Any seed is valid, also 0 (expanded by SplitMix64).
  explicit Random(std::uint64_t seed) noexcept;

  // Uniform over all 64-bit values.
  std::uint64_t next() noexcept;
  // Uniform over [0, bound), unbiased; 0 when bound is 0.
  std::uint64_t below(std::uint64_t bound) noexcept;
  // Uniform over [0, 1) in steps of 2^-53.
  double unit() noexcept;
  // A new generator seeded from this one, for a component whose draws must not change the sequence of others.
  [[nodiscard]] Random split() noexcept;

  // UniformRandomBitGenerator, for std::shuffle and others.
  using result_type = std::uint64_t;
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  result_type operator()() noexcept { return next(); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace vectis::inline v0_1
