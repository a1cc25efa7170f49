// This file is compiled once for each instruction set, by Highway's foreach_target; the last section once in all.

#include "backends/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/convert.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <cstring>

#include "backends/cpu/convert.hpp"
#include "vectis/base/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Integers = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using FloatVector = hn::Vec<Floats>;

// Highway's half conversions are the processor's own, which round right, except in its plain C++, which does not.
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
    const auto number = hn::IfThenZeroElse(hn::IsNaN(value), value);
    const auto clamped = hn::Min(hn::Max(number, hn::Set(d, -128.0F)), hn::Set(d, 127.0F));
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
    const auto number = hn::IfThenZeroElse(hn::IsNaN(value), value);
    // Below 2^31 every float is an int32 after rounding; from there on it is the largest one.
    const auto is_over = hn::Ge(number, hn::Set(d, 0x1.0p31F));
    const auto clamped = hn::Max(hn::IfThenZeroElse(is_over, number), hn::Set(d, -0x1.0p31F));
    const auto largest = hn::Set(integers, hwy::LimitsMax<std::int32_t>());
    hn::StoreU(hn::IfThenElse(hn::RebindMask(integers, is_over), largest, hn::NearestInt(clamped)), integers, to);
  }
};

// Whole vectors, and the rest through one with room behind it.
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

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

HWY_EXPORT(ReadFloats);
HWY_EXPORT(WriteFloats);

void read_floats(VectisType type, const void* from, std::size_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(ReadFloats)(type, from, count, to);
}
void write_floats(VectisType type, const float* from, std::size_t count, void* to) {
  HWY_DYNAMIC_DISPATCH(WriteFloats)(type, from, count, to);
}

}  // namespace vectis::cpu
#endif
