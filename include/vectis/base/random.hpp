// Seeded randomness that is the same on every platform and standard library (xoshiro256**).
#pragma once

#include <array>
#include <cstdint>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// One thread at a time. Equal seeds give equal sequences for ever.
class VECTIS_API Random {
 public:
  explicit Random(std::uint64_t seed) noexcept;

  // Uniform over all 64-bit values.
  std::uint64_t next() noexcept;
  // Uniform over [0, bound), unbiased; 0 when bound is 0.
  std::uint64_t below(std::uint64_t bound) noexcept;
  // Uniform over [0, 1) in steps of 2^-53.
  double unit() noexcept;
  // A generator independent of this one, for a part that must not disturb the others' sequences.
  [[nodiscard]] Random split() noexcept;

  // The interface std algorithms want (std::shuffle).
  using result_type = std::uint64_t;
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  result_type operator()() noexcept { return next(); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace vectis::inline v0_1
