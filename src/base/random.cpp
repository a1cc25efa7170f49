#include "vectis/base/random.hpp"

#include <bit>

namespace vectis::inline v0_1 {

namespace {

// SplitMix64: expands any seed, also 0, to the whole state.
std::uint64_t splitmix64(std::uint64_t& counter) noexcept {
  counter += 0x9e3779b97f4a7c15ULL;
  std::uint64_t mixed = counter;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

struct Product {
  std::uint64_t high;
  std::uint64_t low;
};

// The 128-bit product of two 64-bit integers, in standard C++.
Product multiply(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t half = 0xffffffffULL;
  const std::uint64_t low = (a & half) * (b & half);
  const std::uint64_t left = (a >> 32) * (b & half) + (low >> 32);
  const std::uint64_t right = (a & half) * (b >> 32) + (left & half);
  return {(a >> 32) * (b >> 32) + (left >> 32) + (right >> 32), a * b};
}

}  // namespace

Random::Random(std::uint64_t seed) noexcept {
  for (auto& word : state_) word = splitmix64(seed);
}

std::uint64_t Random::next() noexcept {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// Lemire's method: the high word of next() * bound is uniform after rejecting the low words that cause bias.
std::uint64_t Random::below(std::uint64_t bound) noexcept {
  if (bound == 0) return 0;
  Product product = multiply(next(), bound);
  if (product.low < bound) {
    const std::uint64_t rejected = (0 - bound) % bound;
    while (product.low < rejected) product = multiply(next(), bound);
  }
  return product.high;
}

double Random::unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

Random Random::split() noexcept { return Random(next()); }

}  // namespace vectis::inline v0_1
