// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vm/kernels_memory.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernel/vm/vector_loops-inl.hpp"
#include "vectis/base/dtype.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::vm::HWY_NAMESPACE {

// --- Conversions of values ------------------------------------------------------------------------------------------

// Truncates; values out of range saturate, NaN is zero.
struct FloatToInt {
  static HWY_INLINE hn::Vec<Words> Apply(Words d, hn::Vec<Words> bits) {
    const Floats df;
    const Ints di;
    const auto x = hn::BitCast(df, bits);
    const auto above = hn::Ge(x, hn::Set(df, 2147483648.0F));
    const auto below = hn::Lt(x, hn::Set(df, -2147483648.0F));
    const auto fits = hn::AndNot(above, hn::Ge(x, hn::Set(df, -2147483648.0F)));
    const auto inside = hn::ConvertTo(di, hn::IfThenElseZero(fits, x));
    const auto high = hn::IfThenElse(hn::RebindMask(di, above), hn::Set(di, 0x7fffffff), inside);
    const auto both = hn::IfThenElse(hn::RebindMask(di, below), hn::Set(di, -0x7fffffff - 1), high);
    return hn::BitCast(d, both);
  }
};

struct FloatToWord {
  static HWY_INLINE hn::Vec<Words> Apply(Words d, hn::Vec<Words> bits) {
    const Floats df;
    const Ints di;
    const auto x = hn::BitCast(df, bits);
    const auto half = hn::Set(df, 2147483648.0F);
    const auto above = hn::Ge(x, hn::Set(df, 4294967296.0F));
    const auto upper = hn::Ge(x, half);
    const auto fits = hn::AndNot(above, hn::Ge(x, hn::Zero(df)));
    // The upper half of the range is shifted down by 2^31, which is exact, converted, and shifted up again.
    const auto moved = hn::Sub(x, hn::IfThenElseZero(upper, half));
    const auto inside = hn::BitCast(d, hn::ConvertTo(di, hn::IfThenElseZero(fits, moved)));
    const auto back = hn::Add(inside, hn::IfThenElseZero(hn::RebindMask(d, upper), hn::Set(d, 0x80000000U)));
    return hn::IfThenElse(hn::RebindMask(d, above), hn::Set(d, 0xffffffffU), back);
  }
};

struct IntToFloat {
  static HWY_INLINE hn::Vec<Words> Apply(Words d, hn::Vec<Words> a) {
    return hn::BitCast(d, hn::ConvertTo(Floats(), hn::BitCast(Ints(), a)));
  }
};

// Both halves are exact, so the sum is rounded once.
struct WordToFloat {
  static HWY_INLINE hn::Vec<Words> Apply(Words d, hn::Vec<Words> a) {
    const Floats df;
    const Ints di;
    const auto high = hn::ConvertTo(df, hn::BitCast(di, hn::ShiftRight<16>(a)));
    const auto low = hn::ConvertTo(df, hn::BitCast(di, hn::And(a, hn::Set(d, 0xffffU))));
    return hn::BitCast(d, hn::Add(hn::Mul(high, hn::Set(df, 65536.0F)), low));
  }
};

VECTIS_UNARY(WordToBool, hn::VecFromMask(d, hn::Ne(a, hn::Zero(d))))
VECTIS_UNARY(FloatToBool, hn::VecFromMask(d, hn::Ne(hn::And(a, hn::Set(d, 0x7fffffffU)), hn::Zero(d))))
VECTIS_UNARY(BoolToWord, hn::And(a, hn::Set(d, 1U)))
VECTIS_UNARY(BoolToFloat, hn::And(a, hn::Set(d, 0x3f800000U)))
VECTIS_UNARY(SameWord, a)

VectorKernel FindConversion(DType from, DType to) {
  if (from == DType::boolean) return to == DType::float32 ? &Unary<Words, BoolToFloat> : &Unary<Words, BoolToWord>;
  if (to == DType::boolean) return from == DType::float32 ? &Unary<Words, FloatToBool> : &Unary<Words, WordToBool>;
  if (from == DType::float32) return to == DType::int32 ? &Unary<Words, FloatToInt> : &Unary<Words, FloatToWord>;
  return from == DType::int32 ? &Unary<Words, IntToFloat> : &Unary<Words, WordToFloat>;
}

// --- Packed elements ------------------------------------------------------------------------------------------------

// Exact; a subnormal half is a multiple of 2^-24.
struct HalfToFloat {
  static HWY_INLINE hn::Vec<Words> Apply(Words d, hn::Vec<Words> bits) {
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000U)));
    const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffU));
    const auto wide = hn::ShiftLeft<13>(magnitude);
    const auto number = hn::ConvertTo(Floats(), hn::BitCast(Ints(), magnitude));
    const auto small = hn::BitCast(d, hn::Mul(number, hn::Set(Floats(), 0x1p-24F)));
    const auto is_small = hn::Lt(magnitude, hn::Set(d, 0x0400U));
    const auto is_special = hn::Gt(magnitude, hn::Set(d, 0x7bffU));
    const auto finite = hn::IfThenElse(is_small, small, hn::Add(wide, hn::Set(d, 0x38000000U)));
    return hn::Or(sign, hn::IfThenElse(is_special, hn::Or(wide, hn::Set(d, 0x7f800000U)), finite));
  }
};

// Rounds to nearest, ties to even. A result that is subnormal as a half is rounded by adding 0.5, whose unit in the
// last place is 2^-24: the lowest bits of the sum are the half.
struct FloatToHalf {
  static HWY_INLINE hn::Vec<Words> Apply(Words d, hn::Vec<Words> bits) {
    const Floats df;
    const auto one = hn::Set(d, 1U);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000U));
    const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffffffU));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), one);
    const auto rounded = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, hn::Set(d, 0x0fffU)), odd));
    const auto normal = hn::Min(hn::Sub(rounded, hn::Set(d, 0x1c000U)), hn::Set(d, 0x7c00U));
    const auto sum = hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5F));
    const auto small = hn::Sub(hn::BitCast(d, sum), hn::Set(d, 0x3f000000U));
    const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x38800000U)), small, normal);
    const auto is_nan = hn::Gt(magnitude, hn::Set(d, 0x7f800000U));
    return hn::Or(sign, hn::IfThenElse(is_nan, hn::Set(d, 0x7e00U), finite));
  }
};

struct BfloatToFloat {
  static HWY_INLINE hn::Vec<Words> Apply(Words /*d*/, hn::Vec<Words> bits) { return hn::ShiftLeft<16>(bits); }
};

struct FloatToBfloat {
  static HWY_INLINE hn::Vec<Words> Apply(Words d, hn::Vec<Words> bits) {
    const auto upper = hn::ShiftRight<16>(bits);
    const auto odd = hn::And(upper, hn::Set(d, 1U));
    const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(d, 0x7fffU)), odd));
    const auto is_nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7fffffffU)), hn::Set(d, 0x7f800000U));
    return hn::IfThenElse(is_nan, hn::Or(upper, hn::Set(d, 0x40U)), rounded);
  }
};

template <class Function>
void Load16(const KernelArgs& args, std::size_t count) {
  const Words d;
  const hn::Rebind<std::uint16_t, Words> packed;
  const std::size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const std::uint16_t*>(args.in[0]);
  auto* out = static_cast<std::uint32_t*>(args.out);
  for (std::size_t i = 0; i < count; i += lanes)
    hn::StoreU(Function::Apply(d, hn::PromoteTo(d, hn::LoadU(packed, a + i))), d, out + i);
}

template <class Function>
void Store16(const KernelArgs& args, std::size_t count) {
  const Words d;
  const hn::Rebind<std::uint16_t, Words> packed;
  const std::size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const std::uint32_t*>(args.in[0]);
  auto* out = static_cast<std::uint16_t*>(args.out);
  for (std::size_t i = 0; i < count; i += lanes, a += lanes * args.stride[0]) {
    const auto wide = hn::BitCast(Ints(), Function::Apply(d, hn::LoadU(d, a)));
    hn::StoreU(hn::DemoteTo(packed, wide), packed, out + i);
  }
}

void Load8(const KernelArgs& args, std::size_t count) {
  const Ints d;
  const hn::Rebind<std::int8_t, Ints> packed;
  const std::size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const std::int8_t*>(args.in[0]);
  auto* out = static_cast<std::int32_t*>(args.out);
  for (std::size_t i = 0; i < count; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(packed, a + i)), d, out + i);
}

void Store8(const KernelArgs& args, std::size_t count) {
  const Ints d;
  const hn::Rebind<std::int8_t, Ints> packed;
  const std::size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const std::int32_t*>(args.in[0]);
  auto* out = static_cast<std::int8_t*>(args.out);
  for (std::size_t i = 0; i < count; i += lanes, a += lanes * args.stride[0])
    hn::StoreU(hn::DemoteTo(packed, hn::LoadU(d, a)), packed, out + i);
}

VectorKernel FindLoad(DType element) {
  switch (element) {
    case DType::float16:
      return &Load16<HalfToFloat>;
    case DType::bfloat16:
      return &Load16<BfloatToFloat>;
    case DType::int8:
      return &Load8;
    default:
      return &Unary<Words, SameWord>;
  }
}

VectorKernel FindStore(DType element) {
  switch (element) {
    case DType::float16:
      return &Store16<FloatToHalf>;
    case DType::bfloat16:
      return &Store16<FloatToBfloat>;
    case DType::int8:
      return &Store8;
    default:
      return &Unary<Words, SameWord>;
  }
}

// --- Tables ---------------------------------------------------------------------------------------------------------

// Indices are clamped to the table of `number` elements, at least one. Gather instructions take signed indices, so
// tables of more than 2^31 elements are read one element at a time.
void GatherWords(const KernelArgs& args, std::size_t count) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* index = static_cast<const std::uint32_t*>(args.in[0]);
  const auto* table = static_cast<const std::uint32_t*>(args.table);
  auto* out = static_cast<std::uint32_t*>(args.out);
  const auto last = static_cast<std::uint32_t>(std::min<std::uint64_t>(args.number - 1, UINT32_MAX));
  if (last > 0x7fffffffU) {
    for (std::size_t i = 0; i < count; ++i) out[i] = table[std::min(index[i * args.stride[0]], last)];
    return;
  }
  for (std::size_t i = 0; i < count; i += lanes, index += lanes * args.stride[0]) {
    const auto clamped = hn::Min(hn::LoadU(d, index), hn::Set(d, last));
    hn::StoreU(hn::GatherIndex(d, table, hn::BitCast(Ints(), clamped)), d, out + i);
  }
}

template <class T, class Decode>
void GatherPacked(const KernelArgs& args, std::size_t count) {
  const auto* index = static_cast<const std::uint32_t*>(args.in[0]);
  const auto* table = static_cast<const T*>(args.table);
  auto* out = static_cast<std::uint32_t*>(args.out);
  const auto last = static_cast<std::uint32_t>(std::min<std::uint64_t>(args.number - 1, UINT32_MAX));
  for (std::size_t i = 0; i < count; ++i) out[i] = Decode::Apply(table[std::min(index[i * args.stride[0]], last)]);
}

struct DecodeHalf {
  static std::uint32_t Apply(std::uint16_t bits) { return std::bit_cast<std::uint32_t>(to_float(Half{bits})); }
};
struct DecodeBfloat {
  static std::uint32_t Apply(std::uint16_t bits) { return static_cast<std::uint32_t>(bits) << 16U; }
};
struct DecodeByte {
  static std::uint32_t Apply(std::int8_t value) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(value)); }
};

VectorKernel FindGather(DType element) {
  switch (element) {
    case DType::float16:
      return &GatherPacked<std::uint16_t, DecodeHalf>;
    case DType::bfloat16:
      return &GatherPacked<std::uint16_t, DecodeBfloat>;
    case DType::int8:
      return &GatherPacked<std::int8_t, DecodeByte>;
    default:
      return &GatherWords;
  }
}

}  // namespace vectis::inline v0_1::vm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::inline v0_1::vm {

HWY_EXPORT(FindConversion);
HWY_EXPORT(FindLoad);
HWY_EXPORT(FindStore);
HWY_EXPORT(FindGather);

VectorKernel find_conversion(ir::Op op, DType from, DType to) {
  return op == ir::Op::convert ? HWY_DYNAMIC_DISPATCH(FindConversion)(from, to) : nullptr;
}
VectorKernel load_kernel(DType element) { return HWY_DYNAMIC_DISPATCH(FindLoad)(element); }
VectorKernel store_kernel(DType element) { return HWY_DYNAMIC_DISPATCH(FindStore)(element); }
VectorKernel gather_kernel(DType element) { return HWY_DYNAMIC_DISPATCH(FindGather)(element); }

}  // namespace vectis::inline v0_1::vm
#endif
