// This file is compiled once for each instruction set, by Highway's foreach_target; the last section once in all.

#include "backends/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/sums.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "backends/cpu/convert.hpp"
#include "backends/cpu/operation.hpp"
#include "backends/cpu/sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

template <bool squared>
HWY_INLINE Vector Added(Vector sum, Vector value) {
  if constexpr (squared) return hn::MulAdd(value, value, sum);
  return hn::Add(sum, value);
}

// Four sums side by side, so that an addition need not wait for the one before.
template <bool squared>
double BlockSum(const float* values, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  Vector a = hn::Zero(d);
  Vector b = hn::Zero(d);
  Vector e = hn::Zero(d);
  Vector f = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = Added<squared>(a, hn::LoadU(d, values + i));
    b = Added<squared>(b, hn::LoadU(d, values + i + lanes));
    e = Added<squared>(e, hn::LoadU(d, values + i + 2 * lanes));
    f = Added<squared>(f, hn::LoadU(d, values + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) a = Added<squared>(a, hn::LoadU(d, values + i));
  alignas(64) float sums[hn::MaxLanes(d)];
  hn::Store(hn::Add(hn::Add(a, b), hn::Add(e, f)), d, sums);
  double total = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) total += sums[lane];
  for (; i < count; ++i) total += squared ? static_cast<double>(values[i]) * values[i] : values[i];
  return total;
}

double Sum(const float* values, std::size_t count) { return BlockSum<false>(values, count); }
double SumOfSquares(const float* values, std::size_t count) { return BlockSum<true>(values, count); }

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

HWY_EXPORT(Sum);
HWY_EXPORT(SumOfSquares);

double sum_of(const float* values, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Sum)(values, count); }
double sum_of_squares(const float* values, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(SumOfSquares)(values, count);
}

double sum_of_squares(VectisType type, const void* elements, std::size_t count) {
  std::array<float, block_elements> buffer;
  const auto* from = static_cast<const std::byte*>(elements);
  double sum = 0;
  for (std::size_t i = 0; i < count; i += block_elements) {
    const std::size_t part = std::min(block_elements, count - i);
    sum += sum_of_squares(as_floats(type, from + i * size_of(type), part, buffer.data()), part);
  }
  return sum;
}

}  // namespace vectis::cpu
#endif
