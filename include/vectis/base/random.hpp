// A seeded random generator, xoshiro256** (Blackman, Vigna), equal on every platform and standard library.
#pragma once

#include <array>
#include <cstdint>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// A seeded random generator (xoshiro256**). Equal seeds give equal sequences on every platform and in all versions of
// Vectis. Not cryptographic. Its calls do not throw. One thread at a time.
class VECTIS_API Random {
 public:
  // Starts the sequence of `seed`, expanded by SplitMix64. Any seed is valid, also 0. Does not throw.
  explicit Random(std::uint64_t seed) noexcept;

  // Returns a value drawn uniformly from all 64-bit values. Does not throw.
  std::uint64_t next() noexcept;
  // Returns a value drawn uniformly, without bias, from [0, bound); 0 when `bound` is 0. Does not throw.
  std::uint64_t below(std::uint64_t bound) noexcept;
  // Returns a value drawn uniformly from [0, 1) in steps of 2^-53. Does not throw.
  double unit() noexcept;
  // Returns a new generator seeded by the next value of this one, for a component whose draws must not change the
  // sequence of others. Does not throw.
  [[nodiscard]] Random split() noexcept;

  // The type of next(): result_type, min(), max() and operator() make Random a UniformRandomBitGenerator, for
  // std::shuffle and others.
  using result_type = std::uint64_t;
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  result_type operator()() noexcept { return next(); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace vectis::inline v0_1
