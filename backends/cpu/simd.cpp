// Compiled once for each instruction set by Highway's foreach_target; the last section is compiled once.

// Highway leaves AVX3_DL (AVX-512 with VNNI) out by default.
#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd.cpp"
#include "backends/cpu/targets-inl.hpp"
//
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"
#include "vectis/base/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

const char* Target() { return hwy::TargetName(HWY_TARGET); }

// --- Conversion ----------------------------------------------------------------------------------------------------

using Integers = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;

// Highway uses the CPU's conversions of float16, which round correctly; its emulation in plain C++ does not.
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
struct HalfType {
  using Lane = std::uint16_t;
  static FloatVector Load(const Lane* from) {
    const Floats d;
    alignas(16) float values[hn::MaxLanes(d)];
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) values[i] = to_float(Half{from[i]});
    return hn::Load(d, values);
  }
  static void Store(FloatVector value, Lane* to) {
    const Floats d;
    alignas(16) float values[hn::MaxLanes(d)];
    hn::Store(value, d, values);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) to[i] = to_half(values[i]).bits;
  }
};
#else
struct HalfType {
  using Lane = std::uint16_t;
  static FloatVector Load(const Lane* from) {
    const Floats d;
    const hn::Rebind<hwy::float16_t, Floats> halves;
    return hn::PromoteTo(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
  }
  static void Store(FloatVector value, Lane* to) {
    const hn::Rebind<hwy::float16_t, Floats> halves;
    hn::StoreU(hn::DemoteTo(halves, value), halves, reinterpret_cast<hwy::float16_t*>(to));
  }
};
#endif

struct BfloatType {
  using Lane = std::uint16_t;
  static FloatVector Load(const Lane* from) {
    const hn::Rebind<std::uint16_t, Floats> lanes;
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(hn::PromoteTo(Words(), hn::LoadU(lanes, from))));
  }
  static void Store(FloatVector value, Lane* to) {
    const Words d;
    const auto bits = hn::BitCast(d, value);
    const auto upper = hn::ShiftRight<16>(bits);
    const auto is_odd = hn::And(upper, hn::Set(d, 1U));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(is_odd, hn::Set(d, 0x7fffU))));
    const auto quiet = hn::Or(upper, hn::Set(d, 0x40U));
    const auto result = hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(value)), quiet, rounded);
    const hn::Rebind<std::uint16_t, Floats> lanes;
    hn::StoreU(hn::DemoteTo(lanes, hn::BitCast(Integers(), result)), lanes, to);
  }
};

struct ByteType {
  using Lane = std::int8_t;
  static FloatVector Load(const Lane* from) {
    const hn::Rebind<std::int8_t, Floats> lanes;
    return hn::ConvertTo(Floats(), hn::PromoteTo(Integers(), hn::LoadU(lanes, from)));
  }
  static void Store(FloatVector value, Lane* to) {
    const Floats d;
    const auto finite = hn::IfThenZeroElse(hn::IsNaN(value), value);
    const auto clamped = hn::Min(hn::Max(finite, hn::Set(d, -128.0F)), hn::Set(d, 127.0F));
    const hn::Rebind<std::int8_t, Floats> lanes;
    hn::StoreU(hn::DemoteTo(lanes, hn::NearestInt(clamped)), lanes, to);
  }
};

struct IntegerType {
  using Lane = std::int32_t;
  static FloatVector Load(const Lane* from) { return hn::ConvertTo(Floats(), hn::LoadU(Integers(), from)); }
  static void Store(FloatVector value, Lane* to) {
    const Floats d;
    const Integers integers;
    const auto finite = hn::IfThenZeroElse(hn::IsNaN(value), value);
    // Below 2^31 every float is an int32 after rounding; from there on it is the largest one.
    const auto is_over = hn::Ge(finite, hn::Set(d, 0x1.0p31F));
    const auto clamped = hn::Max(hn::IfThenZeroElse(is_over, finite), hn::Set(d, -0x1.0p31F));
    const auto largest = hn::Set(integers, hwy::LimitsMax<std::int32_t>());
    hn::StoreU(hn::IfThenElse(hn::RebindMask(integers, is_over), largest, hn::NearestInt(clamped)), integers, to);
  }
};

// Converts whole vectors, and the remainder through a padded copy.
template <class Type>
void Read(const void* memory, std::size_t count, float* HWY_RESTRICT to) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* from = static_cast<const typename Type::Lane*>(memory);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(Type::Load(from + i), d, to + i);
  if (i == count) return;
  typename Type::Lane rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, from + i, (count - i) * sizeof(rest[0]));
  float values[hn::MaxLanes(d)];
  hn::StoreU(Type::Load(rest), d, values);
  std::memcpy(to + i, values, (count - i) * sizeof(float));
}

template <class Type>
void Write(const float* HWY_RESTRICT from, std::size_t count, void* memory) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  auto* to = static_cast<typename Type::Lane*>(memory);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) Type::Store(hn::LoadU(d, from + i), to + i);
  if (i == count) return;
  float rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, from + i, (count - i) * sizeof(float));
  typename Type::Lane values[hn::MaxLanes(d)];
  Type::Store(hn::LoadU(d, rest), values);
  std::memcpy(to + i, values, (count - i) * sizeof(values[0]));
}

void ReadFloats(VectisType type, const void* from, std::size_t count, float* to) {
  switch (type) {
    case VECTIS_FLOAT16:
      return Read<HalfType>(from, count, to);
    case VECTIS_BFLOAT16:
      return Read<BfloatType>(from, count, to);
    case VECTIS_INT8:
      return Read<ByteType>(from, count, to);
    case VECTIS_INT32:
      return Read<IntegerType>(from, count, to);
    default:
      std::memcpy(to, from, count * sizeof(float));
  }
}

void WriteFloats(VectisType type, const float* from, std::size_t count, void* to) {
  switch (type) {
    case VECTIS_FLOAT16:
      return Write<HalfType>(from, count, to);
    case VECTIS_BFLOAT16:
      return Write<BfloatType>(from, count, to);
    case VECTIS_INT8:
      return Write<ByteType>(from, count, to);
    case VECTIS_INT32:
      return Write<IntegerType>(from, count, to);
    default:
      std::memcpy(to, from, count * sizeof(float));
  }
}

// --- Sums ------------------------------------------------------------------------------------------------------------

template <bool squared, bool scaled>
HWY_INLINE FloatVector Added(FloatVector sum, FloatVector value, FloatVector scale) {
  if constexpr (scaled) value = hn::Mul(value, scale);
  if constexpr (squared) return hn::MulAdd(value, value, sum);
  return hn::Add(sum, value);
}

// The sum of the elements or of their squares. Elements are multiplied by `scale`, a power of two, before they are
// added in float32, and the sum is divided by it, or by its square, in float64. Four accumulators, so that an addition
// does not wait for the previous one.
template <bool squared, bool scaled>
double BlockSum(const float* values, std::size_t count, float scale) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const FloatVector by = hn::Set(d, scale);
  FloatVector a = hn::Zero(d);
  FloatVector b = hn::Zero(d);
  FloatVector e = hn::Zero(d);
  FloatVector f = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = Added<squared, scaled>(a, hn::LoadU(d, values + i), by);
    b = Added<squared, scaled>(b, hn::LoadU(d, values + i + lanes), by);
    e = Added<squared, scaled>(e, hn::LoadU(d, values + i + 2 * lanes), by);
    f = Added<squared, scaled>(f, hn::LoadU(d, values + i + 3 * lanes), by);
  }
  for (; i + lanes <= count; i += lanes) a = Added<squared, scaled>(a, hn::LoadU(d, values + i), by);
  alignas(64) float sums[hn::MaxLanes(d)];
  hn::Store(hn::Add(hn::Add(a, b), hn::Add(e, f)), d, sums);
  double total = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) total += sums[lane];
  if constexpr (scaled) total /= squared ? static_cast<double>(scale) * scale : scale;
  for (; i < count; ++i) total += squared ? static_cast<double>(values[i]) * values[i] : values[i];
  return total;
}

double Sum(const float* values, std::size_t count) {
  const double total = BlockSum<false, false>(values, count, 1.0F);
  return std::isfinite(total) ? total : BlockSum<false, true>(values, count, 0x1p-64F);
}

// From 2^-80 on, the squares that float32 flushes to zero do not count; below, every scaled square is a normal float32.
double SumOfSquares(const float* values, std::size_t count) {
  const double total = BlockSum<true, false>(values, count, 1.0F);
  if (total >= 0x1p-80 && std::isfinite(total)) return total;
  return BlockSum<true, true>(values, count, total < 0x1p-80 ? 0x1p90F : 0x1p-96F);
}

// --- Transposition ---------------------------------------------------------------------------------------------------

#if HWY_TARGET == HWY_SCALAR
template <class T>
constexpr std::size_t kSide = 1;

template <class T>
HWY_INLINE void Square(const T* from, std::size_t /*from_stride*/, T* to, std::size_t /*to_stride*/) {
  *to = *from;
}
#else
// The side of the square that is transposed in registers: a row has 16 bytes.
template <class T>
constexpr std::size_t kSide = 16 / sizeof(T);

// Interleaving each row with the row half a square below moves one bit of the row index to the column index; repeated
// for every bit, this is the transpose.
template <class T, class Lanes, std::size_t... i>
HWY_INLINE void Interleave(std::index_sequence<i...> /*halves*/, Lanes* rows) {
  const hn::FixedTag<T, kSide<T> > d;
  constexpr std::size_t half = kSide<T> / 2;
  const Lanes mixed[] = {(i % 2 == 0 ? hn::InterleaveLower(d, rows[i / 2], rows[i / 2 + half])
                                     : hn::InterleaveUpper(d, rows[i / 2], rows[i / 2 + half]))...};
  ((rows[i] = mixed[i]), ...);
}

template <class T, std::size_t... row>
HWY_INLINE void SquareRows(std::index_sequence<row...> rows, const T* from, std::size_t from_stride, T* to,
                           std::size_t to_stride) {
  const hn::FixedTag<T, kSide<T> > d;
  hn::Vec<decltype(d)> vectors[] = {hn::LoadU(d, from + row * from_stride)...};
  for (std::size_t side = kSide<T>; side > 1; side /= 2) Interleave<T>(rows, vectors);
  (hn::StoreU(vectors[row], d, to + row * to_stride), ...);
}

template <class T>
HWY_INLINE void Square(const T* from, std::size_t from_stride, T* to, std::size_t to_stride) {
  SquareRows<T>(std::make_index_sequence<kSide<T> >(), from, from_stride, to, to_stride);
}
#endif

template <class T>
void TransposeAs(const T* from, std::size_t rows, std::size_t columns, std::size_t from_stride, T* to,
                 std::size_t to_stride) {
  constexpr std::size_t side = kSide<T>;
  const std::size_t whole_rows = rows / side * side;
  const std::size_t whole_columns = columns / side * side;
  for (std::size_t c = 0; c < whole_columns; c += side) {
    for (std::size_t r = 0; r < whole_rows; r += side) {
      Square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
}

void Transpose(std::size_t element_bytes, const void* from, std::size_t rows, std::size_t columns,
               std::size_t from_stride, void* to, std::size_t to_stride) {
  const auto as = [&]<class T>(T* target) {
    TransposeAs(static_cast<const T*>(from), rows, columns, from_stride, target, to_stride);
  };
  if (element_bytes == 1) return as(static_cast<std::uint8_t*>(to));
  if (element_bytes == 2) return as(static_cast<std::uint16_t*>(to));
  as(static_cast<std::uint32_t*>(to));
}

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

HWY_EXPORT(Target);
HWY_EXPORT(ReadFloats);
HWY_EXPORT(WriteFloats);
HWY_EXPORT(Sum);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(Transpose);

const char* dispatch_target() { return HWY_DYNAMIC_DISPATCH(Target)(); }

void read_floats(VectisType type, const void* from, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(ReadFloats)(type, from, count, to);
}
void write_floats(VectisType type, const float* from, std::size_t count, void* to) {
  HWY_DYNAMIC_DISPATCH(WriteFloats)(type, from, count, to);
}

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

void transpose_elements(std::size_t element_bytes, const void* from, std::size_t rows, std::size_t columns,
                        std::size_t from_stride, void* to, std::size_t to_stride) {
  HWY_DYNAMIC_DISPATCH(Transpose)(element_bytes, from, rows, columns, from_stride, to, to_stride);
}

}  // namespace vectis::cpu
#endif
