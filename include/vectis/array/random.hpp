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

  // Returns 32 random bits per element, of type int32.
  Tensor bits(const Shape& shape);
  // Returns numbers of [low, high) with equal probability, in steps of 2^-24 (float16 and bfloat16: rounded) of the
  // range. Throws InvalidInput unless `type` is floating point.
  Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType type = DType::float32);
  // Returns normally distributed numbers by the Box-Muller transform. Throws InvalidInput unless `type` is floating
  // point.
  Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, DType type = DType::float32);
  // Returns integers of [low, high), each with a probability within (high - low) / 2^32 of equal. Throws InvalidInput
  // unless low < high, and high - low is at most 2^31.
  Tensor integers(const Shape& shape, std::int64_t low, std::int64_t high, DType type = DType::int32);
  // Returns true with `probability`, in steps of 2^-24. Throws InvalidInput for a probability outside [0, 1].
  Tensor bernoulli(const Shape& shape, double probability);
  // Returns the numbers 0 to count - 1 in random order, of type int32.
  Tensor permutation(std::int64_t count);

 private:
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  TensorOptions options_;
};

}  // namespace vectis::inline v0_1::array
