// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "array/row_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "array/row_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::array::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t lanes_max = 16;
using Floats = hn::CappedTag<float, lanes_max>;
using V = hn::Vec<Floats>;
using Doubles = hn::CappedTag<double, lanes_max / 2>;
using VD = hn::Vec<Doubles>;
using FewFloats = hn::Rebind<float, Doubles>;  // as many as a vector of doubles has

constexpr float infinity = std::numeric_limits<float>::infinity();

// Terms of sums in double precision: those of a vector from position i on, and a single one.
struct Elements {
  const float* row;
  [[nodiscard]] HWY_INLINE VD at(std::size_t i) const {
    return hn::PromoteTo(Doubles(), hn::LoadU(FewFloats(), row + i));
  }
  [[nodiscard]] double one(std::size_t i) const { return static_cast<double>(row[i]); }
};
struct Products {
  Elements a;
  Elements b;
  [[nodiscard]] HWY_INLINE VD at(std::size_t i) const { return hn::Mul(a.at(i), b.at(i)); }
  [[nodiscard]] double one(std::size_t i) const { return a.one(i) * b.one(i); }
};
struct SquaredDeviations {
  Elements x;
  double mean;
  [[nodiscard]] HWY_INLINE VD at(std::size_t i) const {
    const VD deviation = hn::Sub(x.at(i), hn::Set(Doubles(), mean));
    return hn::Mul(deviation, deviation);
  }
  [[nodiscard]] double one(std::size_t i) const { return (x.one(i) - mean) * (x.one(i) - mean); }
};

// 16 partial sums: the term at position i is added to number i % 16, whatever the size of a vector. The terms after the
// last 16 are added to the first one.
template <class Terms>
double sum_of(const Terms& terms, std::size_t count) {
  constexpr std::size_t block = 2048;  // terms, which stay in the first cache while each vector of sums reads them
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = count / lanes_max * lanes_max;
  HWY_ALIGN std::array<double, lanes_max> sums{};
  for (std::size_t first = 0; first < whole; first += block) {
    const std::size_t end = std::min(whole, first + block);
    for (std::size_t at = 0; at < lanes_max; at += 2 * lanes) {
      auto low = hn::Load(d, &sums[at]);
      auto high = hn::Load(d, &sums[at + lanes]);
      for (std::size_t i = first + at; i < end; i += lanes_max) {
        low = hn::Add(low, terms.at(i));
        high = hn::Add(high, terms.at(i + lanes));
      }
      hn::Store(low, d, &sums[at]);
      hn::Store(high, d, &sums[at + lanes]);
    }
  }
  for (std::size_t i = whole; i < count; ++i) sums[0] += terms.one(i);
  for (std::size_t i = 1; i < lanes_max; ++i) sums[0] += sums[i];
  return sums[0];
}
double sum_all(const float* row, std::size_t count) { return sum_of(Elements{row}, count); }

// Four rows at a time, so that the sums are loaded and stored once for them.
void add_all(const float* rows, std::size_t stride, std::size_t count, std::size_t columns, double* sums) {
  const Doubles d;
  const FewFloats few;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = columns / lanes * lanes;
  constexpr std::size_t together = 4;
  for (std::size_t row = 0; row < count; row += together) {
    const float* const first = rows + row * stride;
    const std::size_t end = std::min(together, count - row);
    for (std::size_t i = 0; i < whole; i += lanes) {
      auto sum = hn::LoadU(d, sums + i);
      for (std::size_t r = 0; r < end; ++r) {
        sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(few, first + r * stride + i)));
      }
      hn::StoreU(sum, d, sums + i);
    }
    for (std::size_t i = whole; i < columns; ++i) {
      for (std::size_t r = 0; r < end; ++r) sums[i] += static_cast<double>(first[r * stride + i]);
    }
  }
}

// Calls body(vector, position, elements) for all elements of a row, the last time with lanes filled by `filler`.
template <class Body>
HWY_INLINE void for_each_vector(const float* row, std::size_t count, float filler, const Body& body) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(hn::LoadU(d, row + i), i, lanes);
  if (i == count) return;
  HWY_ALIGN std::array<float, lanes_max> rest;
  std::fill(std::copy_n(row + i, count - i, rest.begin()), rest.end(), filler);
  body(hn::Load(d, rest.data()), i, count - i);
}

HWY_INLINE void store_some(V x, float* out, std::size_t elements) {
  const Floats d;
  if (elements == hn::Lanes(d)) return hn::StoreU(x, d, out);
  HWY_ALIGN std::array<float, lanes_max> rest;
  hn::Store(x, d, rest.data());
  std::copy_n(rest.begin(), elements, out);
}

HWY_INLINE V load_some(const float* from, std::size_t elements) {
  const Floats d;
  if (elements == hn::Lanes(d)) return hn::LoadU(d, from);
  HWY_ALIGN std::array<float, lanes_max> rest{};
  std::copy_n(from, elements, rest.begin());
  return hn::Load(d, rest.data());
}

float largest_of(const float* row, std::size_t count) {
  const Floats d;
  V largest = hn::Set(d, -infinity);
  auto is_nan = hn::IsNaN(largest);
  for_each_vector(row, count, -infinity, [&](V x, std::size_t, std::size_t) {
    largest = hn::Max(x, largest);
    is_nan = hn::Or(is_nan, hn::IsNaN(x));
  });
  if (!hn::AllFalse(d, is_nan)) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

float smallest_of(const float* row, std::size_t count) {
  const Floats d;
  V smallest = hn::Set(d, infinity);
  auto is_nan = hn::IsNaN(smallest);
  for_each_vector(row, count, infinity, [&](V x, std::size_t, std::size_t) {
    smallest = hn::Min(x, smallest);
    is_nan = hn::Or(is_nan, hn::IsNaN(x));
  });
  if (!hn::AllFalse(d, is_nan)) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MinOfLanes(d, smallest));
}

// Writes exp(x - max) of each element and returns the sum. Requires a finite maximum, so that no element is NaN.
double exponentials(const float* row, std::size_t count, float largest, float* out) {
  const Floats d;
  const V shift = hn::Set(d, largest);
  const V lowest = hn::Set(d, -110.0F);  // its exponential is 0, and Highway's function requires finite operands
  for_each_vector(row, count, -infinity, [&](V x, std::size_t at, std::size_t elements) {
    store_some(hn::Exp(d, hn::Max(hn::Sub(x, shift), lowest)), out + at, elements);
  });
  return sum_all(out, count);
}

// The products are kept in `out`, and summed as sum_all() does.
void softmax_gradient(const float* value, const float* adjoint, std::size_t count, float* out) {
  const Floats d;
  for_each_vector(value, count, 0, [&](V p, std::size_t at, std::size_t elements) {
    store_some(hn::Mul(p, load_some(adjoint + at, elements)), out + at, elements);
  });
  const V total = hn::Set(d, static_cast<float>(sum_all(out, count)));
  for_each_vector(value, count, 0, [&](V p, std::size_t at, std::size_t elements) {
    store_some(hn::Mul(p, hn::Sub(load_some(adjoint + at, elements), total)), out + at, elements);
  });
}

void log_softmax_gradient(const float* value, const float* adjoint, std::size_t count, float* out) {
  const Floats d;
  const V total = hn::Set(d, static_cast<float>(sum_all(adjoint, count)));
  const V lowest = hn::Set(d, -110.0F);
  for_each_vector(value, count, 0, [&](V logarithm, std::size_t at, std::size_t elements) {
    const V p = hn::IfThenElse(hn::IsNaN(logarithm), logarithm, hn::Exp(d, hn::Max(logarithm, lowest)));
    store_some(hn::Sub(load_some(adjoint + at, elements), hn::Mul(p, total)), out + at, elements);
  });
}

// A row is centered and scaled: its mean, and 1 / sqrt(variance + epsilon).
struct Normalization {
  Normalization(const float* row, std::size_t count, double epsilon)
      : mean(sum_all(row, count) / static_cast<double>(count)),
        scale(1 / std::sqrt(sum_of(SquaredDeviations{{row}, mean}, count) / static_cast<double>(count) + epsilon)) {}
  double mean;
  double scale;
};

void normalize(const float* row, std::size_t count, const Normalization& by, float* out) {
  const Floats d;
  const V mean = hn::Set(d, static_cast<float>(by.mean));
  const V scale = hn::Set(d, static_cast<float>(by.scale));
  for_each_vector(row, count, 0, [&](V x, std::size_t at, std::size_t elements) {
    store_some(hn::Mul(hn::Sub(x, mean), scale), out + at, elements);
  });
}

void layer_norm(const float* row, std::size_t count, double epsilon, float* out) {
  normalize(row, count, Normalization(row, count, epsilon), out);
}

// scale * (adjoint - its mean - normalized * mean of adjoint * normalized), with the normalized row in `out` meanwhile.
void layer_norm_gradient(const float* row, const float* adjoint, std::size_t count, double epsilon, float* out) {
  const Floats d;
  const Normalization of_row(row, count, epsilon);
  normalize(row, count, of_row, out);
  const auto size = static_cast<double>(count);
  const V mean = hn::Set(d, static_cast<float>(sum_all(adjoint, count) / size));
  const V slope = hn::Set(d, static_cast<float>(sum_of(Products{{adjoint}, {out}}, count) / size));
  const V scale = hn::Set(d, static_cast<float>(of_row.scale));
  for_each_vector(out, count, 0, [&](V normalized, std::size_t at, std::size_t elements) {
    const V centered = hn::Sub(load_some(adjoint + at, elements), mean);
    store_some(hn::Mul(scale, hn::Sub(centered, hn::Mul(normalized, slope))), out + at, elements);
  });
}

void widen_halves(const Half* from, std::size_t count, float* out) {
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> narrow;
  const auto* const halves = reinterpret_cast<const hwy::float16_t*>(from);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(narrow, halves + i)), d, out + i);
  for (; i < count; ++i) out[i] = to_float(from[i]);
}

// A bfloat16 is the upper half of a float32.
void widen_bfloats(const Bfloat16* from, std::size_t count, float* out) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> bits;
  const hn::Rebind<std::uint16_t, Floats> narrow;
  const auto* const halves = reinterpret_cast<const std::uint16_t*>(from);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto upper = hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(narrow, halves + i)));
    hn::StoreU(hn::BitCast(d, upper), d, out + i);
  }
  for (; i < count; ++i) out[i] = to_float(from[i]);
}

// The result of a row whose maximum is NaN or infinite: inf - inf is NaN, and so is the sum.
void fill_nan(std::size_t count, float* out) { std::fill_n(out, count, std::numeric_limits<float>::quiet_NaN()); }

void softmax(const float* row, std::size_t count, float* out) {
  const float largest = largest_of(row, count);
  if (!std::isfinite(largest)) return fill_nan(count, out);
  const V scale = hn::Set(Floats(), static_cast<float>(1 / exponentials(row, count, largest, out)));
  for_each_vector(out, count, 0, [&](V x, std::size_t at, std::size_t elements) {
    store_some(hn::Mul(x, scale), out + at, elements);
  });
}

void log_softmax(const float* row, std::size_t count, float* out) {
  const float largest = largest_of(row, count);
  if (!std::isfinite(largest)) return fill_nan(count, out);
  const V shift = hn::Set(Floats(), largest);
  const V logarithm = hn::Set(Floats(), static_cast<float>(std::log(exponentials(row, count, largest, out))));
  for_each_vector(row, count, 0, [&](V x, std::size_t at, std::size_t elements) {
    store_some(hn::Sub(hn::Sub(x, shift), logarithm), out + at, elements);
  });
}

}  // namespace vectis::inline v0_1::array::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace vectis::inline v0_1::array {

HWY_EXPORT(sum_all);
HWY_EXPORT(add_all);
HWY_EXPORT(widen_halves);
HWY_EXPORT(widen_bfloats);
HWY_EXPORT(largest_of);
HWY_EXPORT(smallest_of);
HWY_EXPORT(softmax);
HWY_EXPORT(log_softmax);
HWY_EXPORT(layer_norm);
HWY_EXPORT(layer_norm_gradient);
HWY_EXPORT(softmax_gradient);
HWY_EXPORT(log_softmax_gradient);

double sum_of_row(const float* row, std::size_t count) { return HWY_DYNAMIC_DISPATCH(sum_all)(row, count); }
void add_rows(const float* rows, std::size_t stride, std::size_t count, std::size_t columns, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_all)(rows, stride, count, columns, sums);
}
void widen_row(DType type, const std::byte* from, std::size_t count, float* out) {
  if (type == DType::float16) {
    HWY_DYNAMIC_DISPATCH(widen_halves)(reinterpret_cast<const Half*>(from), count, out);
  } else {
    HWY_DYNAMIC_DISPATCH(widen_bfloats)(reinterpret_cast<const Bfloat16*>(from), count, out);
  }
}
float max_of_row(const float* row, std::size_t count) { return HWY_DYNAMIC_DISPATCH(largest_of)(row, count); }
float min_of_row(const float* row, std::size_t count) { return HWY_DYNAMIC_DISPATCH(smallest_of)(row, count); }
void softmax_of_row(const float* row, std::size_t count, float* out) { HWY_DYNAMIC_DISPATCH(softmax)(row, count, out); }
void log_softmax_of_row(const float* row, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(log_softmax)(row, count, out);
}
void layer_norm_of_row(const float* row, std::size_t count, double epsilon, float* out) {
  HWY_DYNAMIC_DISPATCH(layer_norm)(row, count, epsilon, out);
}
void layer_norm_gradient_of_row(const float* row, const float* adjoint, std::size_t count, double epsilon, float* out) {
  HWY_DYNAMIC_DISPATCH(layer_norm_gradient)(row, adjoint, count, epsilon, out);
}
void softmax_gradient_of_row(const float* value, const float* adjoint, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(softmax_gradient)(value, adjoint, count, out);
}
void log_softmax_gradient_of_row(const float* value, const float* adjoint, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(log_softmax_gradient)(value, adjoint, count, out);
}

}  // namespace vectis::inline v0_1::array

#endif
