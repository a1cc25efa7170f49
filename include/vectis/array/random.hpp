// Random arrays. Every element is a function of seed, draw and position, so the numbers are the same on every device
// and for any number of threads.
//
//   array::Generator random(42);
//   Tensor weights = random.normal({256, 128}) * 0.05;
#pragma once

#include <cstdint>

#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// A sequence of random arrays: equal seeds and calls give equal arrays. Copies continue with equal arrays. All
// functions throw InvalidInput for a negative extent or a type that does not fit. One thread at a time.
class VECTIS_API Generator {
 public:
  // Starts a sequence. Any seed is valid.
  explicit Generator(std::uint64_t seed = 0, const TensorOptions& options = {}) : seed_(seed), options_(options) {}

  // What determines the arrays that follow.
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t draws = 0;  // calls so far
    [[nodiscard]] bool operator==(const State&) const noexcept = default;
  };
  [[nodiscard]] State state() const noexcept { return {seed_, draws_}; }
  // Continues as a generator in `state` does.
  void set_state(const State& state) noexcept {
    seed_ = state.seed;
    draws_ = state.draws;
  }

  // Returns 32 random bits per element, of type int32.
  Tensor bits(const Shape& shape);
  // Returns numbers of [low, high) with equal probability, in steps of 2^-24 (float16 and bfloat16: rounded) of the
  // range; `low` when both are equal. Throws InvalidInput unless `type` is floating point, low <= high, and their
  // distance is a number of the type (float16 and bfloat16: of float32).
  Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType type = DType::float32);
  // Returns normally distributed numbers by the Box-Muller transform. Throws InvalidInput unless `type` is floating
  // point.
  Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, DType type = DType::float32);
  // Returns integers of [low, high). Their probabilities differ by at most 2^-31, which matters only for long ranges:
  // of 3 * 2^29 numbers the first third is twice as likely as the others. Throws InvalidInput unless low < high, and
  // high - low is at most 2^31.
  Tensor integers(const Shape& shape, std::int64_t low, std::int64_t high, DType type = DType::int32);
  // Returns true with `probability`, in steps of 2^-24. Throws InvalidInput for a probability outside [0, 1].
  Tensor bernoulli(const Shape& shape, double probability);
  // Returns the numbers 0 to count - 1 in random order, of type int32.
  Tensor permutation(std::int64_t count);

  // Returns where the arrays are made.
  [[nodiscard]] const TensorOptions& options() const noexcept { return options_; }

 private:
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  TensorOptions options_;
};

}  // namespace vectis::inline v0_1::array
