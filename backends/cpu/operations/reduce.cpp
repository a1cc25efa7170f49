// Reductions by row and over a whole view. Elements are taken in blocks; a block is summed in float32 lanes, blocks are
// summed in float64. The order depends on the shape alone: neither on the layout nor on the number of threads.
//
// Compiled once for each instruction set by Highway's foreach_target; the last section is compiled once.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/operations/reduce.cpp"
#include "backends/cpu/targets-inl.hpp"
//
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"

#ifndef VECTIS_CPU_REDUCE_TYPES  // once for all instruction sets
#define VECTIS_CPU_REDUCE_TYPES
namespace vectis::cpu {

enum class Reduction { sum, squares, max, min, argmax };

// The result over the elements seen so far, which are processed in order.
struct Partial {
  double sum = 0;
  float extreme = 0;
  std::uint64_t index = 0;  // of the extreme or the first NaN; for argmax only
  bool is_empty = true;
  bool has_nan = false;
};

}  // namespace vectis::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

template <bool largest>
HWY_INLINE FloatVector Better(FloatVector a, FloatVector b) {
  if constexpr (largest) return hn::Max(a, b);
  return hn::Min(a, b);
}

// The minimum or maximum of a nonempty block. With a NaN in the block only `has_nan` is valid.
template <bool largest>
float BlockExtreme(const float* values, std::size_t count, bool& has_nan) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  FloatVector best = hn::Set(d, values[0]);
  auto are_nan = hn::IsNaN(best);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const FloatVector value = hn::LoadU(d, values + i);
    best = Better<largest>(best, value);
    are_nan = hn::Or(are_nan, hn::IsNaN(value));
  }
  has_nan = !hn::AllFalse(d, are_nan);
  alignas(64) float lane_bests[hn::MaxLanes(d)];
  hn::Store(best, d, lane_bests);
  float result = lane_bests[0];
  const auto take = [&](float value) {
    has_nan = has_nan || std::isnan(value);
    if (largest ? value > result : value < result) result = value;
  };
  for (std::size_t lane = 1; lane < lanes; ++lane) take(lane_bests[lane]);
  for (; i < count; ++i) take(values[i]);
  return result;
}

template <bool largest>
void AccumulateExtreme(const float* values, std::size_t count, std::uint64_t first, bool wants_index,
                       Partial& partial) {
  bool has_nan = false;
  const float extreme = BlockExtreme<largest>(values, count, has_nan);
  if (has_nan) {
    partial.has_nan = true;
    const auto* found = std::find_if(values, values + count, [](float value) { return std::isnan(value); });
    partial.index = first + static_cast<std::uint64_t>(found - values);
  } else if (partial.is_empty || (largest ? extreme > partial.extreme : extreme < partial.extreme)) {
    partial.extreme = extreme;
    if (wants_index)
      partial.index = first + static_cast<std::uint64_t>(std::find(values, values + count, extreme) - values);
  }
  partial.is_empty = false;
}

void AccumulateBlock(Reduction reduction, const float* values, std::size_t count, std::uint64_t first,
                     Partial& partial) {
  switch (reduction) {
    case Reduction::sum:
      partial.sum += sum_of(values, count);
      return;
    case Reduction::squares:
      partial.sum += sum_of_squares(values, count);
      return;
    case Reduction::min:
      return AccumulateExtreme<false>(values, count, first, false, partial);
    case Reduction::max:
    case Reduction::argmax:
      return AccumulateExtreme<true>(values, count, first, reduction == Reduction::argmax, partial);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

namespace {

HWY_EXPORT(AccumulateBlock);

// Elements that one thread processes at a time.
constexpr std::uint64_t chunk_elements = 64 * block_elements;

// `count` elements of a view from number `first` on, counted row by row; in place where they lie together as float32.
const float* elements(const VectisView& x, std::uint64_t first, std::size_t count, float* buffer) {
  const std::size_t bytes = size_of(x.type);
  std::uint64_t row = first / x.columns;
  std::uint64_t column = first % x.columns;
  if (column + count <= x.columns || is_contiguous(x)) {
    return as_floats(x.type, row_of(x, row) + column * bytes, count, buffer);
  }
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min<std::size_t>(count - done, x.columns - column);
    read_floats(x.type, row_of(x, row) + column * bytes, part, buffer + done);
    done += part;
    ++row;
    column = 0;
  }
  return buffer;
}

// Elements [first, end) of the view; indices are counted from `origin`.
Partial reduce_chunk(Reduction reduction, const VectisView& x, std::uint64_t first, std::uint64_t end,
                     std::uint64_t origin) {
  Partial partial;
  std::array<float, block_elements> buffer;
  for (; first < end && !partial.has_nan; first += block_elements) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, end - first));
    const float* values = elements(x, first, count, buffer.data());
    HWY_DYNAMIC_DISPATCH(AccumulateBlock)(reduction, values, count, first - origin, partial);
  }
  return partial;
}

// `next` comes after `partial`.
void join(Reduction reduction, const Partial& next, Partial& partial) {
  partial.sum += next.sum;
  const bool is_better = reduction == Reduction::min ? next.extreme < partial.extreme : next.extreme > partial.extreme;
  if (!partial.has_nan && (next.has_nan || partial.is_empty || is_better)) {
    partial.extreme = next.extreme;
    partial.index = next.index;
  }
  partial.has_nan = partial.has_nan || next.has_nan;
  partial.is_empty = partial.is_empty && next.is_empty;
}

// Reduces each of `groups` runs of `length` elements, counted row by row through the view; finish(group, partial).
template <class Finish>
void reduce(const Call& call, Reduction reduction, std::uint64_t groups, std::uint64_t length, const Finish& finish) {
  const VectisView& x = call.views[0];
  const std::uint64_t chunks = std::max<std::uint64_t>((length + chunk_elements - 1) / chunk_elements, 1);
  const std::uint64_t grain = std::max<std::uint64_t>(chunk_elements / std::max<std::uint64_t>(length, 1), 1);
  std::vector<Partial> partials(chunks == 1 ? 0 : groups * chunks);
  call.threads.parallel_for(groups * chunks, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t origin = i / chunks * length;
      const std::uint64_t first = origin + i % chunks * chunk_elements;
      const Partial partial =
          reduce_chunk(reduction, x, first, std::min(first + chunk_elements, origin + length), origin);
      if (chunks == 1) {
        finish(i, partial);
      } else {
        partials[i] = partial;
      }
    }
  });
  for (std::uint64_t group = 0; chunks > 1 && group < groups; ++group) {
    Partial whole;
    for (std::uint64_t i = 0; i < chunks; ++i) join(reduction, partials[group * chunks + i], whole);
    finish(group, whole);
  }
}

enum class Result { sum, mean, norm, extreme, index };

void write(const VectisView& out, std::uint64_t row, Result result, const Partial& partial, std::uint64_t length) {
  if (result == Result::index) {
    *row_as<std::int32_t>(out, row) = static_cast<std::int32_t>(partial.index);
    return;
  }
  double value = partial.has_nan ? std::numeric_limits<double>::quiet_NaN() : partial.extreme;
  if (result == Result::sum) value = partial.sum;
  if (result == Result::mean) value = partial.sum / static_cast<double>(length);
  if (result == Result::norm) value = std::sqrt(partial.sum);
  *row_as<float>(out, row) = static_cast<float>(value);
}

template <Reduction reduction, Result result, bool by_row>
VectisStatus run(const Call& call) {
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[1];
  if (!is_vector_type(x.type) || out.type != (result == Result::index ? VECTIS_INT32 : VECTIS_FLOAT32)) {
    return VECTIS_UNSUPPORTED;
  }
  const std::uint64_t length = by_row ? x.columns : x.rows * x.columns;
  reduce(call, reduction, by_row ? x.rows : 1, length,
         [&](std::uint64_t row, const Partial& partial) { write(out, row, result, partial, length); });
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 12> operations{{
    {"sum_rows", run<Reduction::sum, Result::sum, true>},
    {"mean_rows", run<Reduction::sum, Result::mean, true>},
    {"norm_rows", run<Reduction::squares, Result::norm, true>},
    {"max_rows", run<Reduction::max, Result::extreme, true>},
    {"min_rows", run<Reduction::min, Result::extreme, true>},
    {"argmax_rows", run<Reduction::argmax, Result::index, true>},
    {"sum", run<Reduction::sum, Result::sum, false>},
    {"mean", run<Reduction::sum, Result::mean, false>},
    {"norm", run<Reduction::squares, Result::norm, false>},
    {"max", run<Reduction::max, Result::extreme, false>},
    {"min", run<Reduction::min, Result::extreme, false>},
    {"argmax", run<Reduction::argmax, Result::index, false>},
}};

}  // namespace

std::span<const NamedOperation> reduce_operations() { return operations; }

}  // namespace vectis::cpu
#endif
