// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vm/kernels_math.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <array>
#include <cmath>
#include <limits>

#include "kernel/ir/scalar_ops.hpp"
#include "kernel/vm/vector_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::vm::HWY_NAMESPACE {

using V = hn::Vec<Floats>;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// Highway's functions require finite operands within their domain; NaN, infinity and other operands are fixed up
// afterwards.
HWY_INLINE V KeepNaN(V x, V result) { return hn::IfThenElse(hn::IsNaN(x), x, result); }

struct ExpOp {
  static HWY_INLINE V Apply(Floats d, V x) {
    const V bounded = hn::Min(hn::Max(x, hn::Set(d, -110.0F)), hn::Set(d, 100.0F));
    const V inside = hn::Exp(d, hn::IfThenZeroElse(hn::IsNaN(x), bounded));
    return KeepNaN(x, hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228391F)), hn::Set(d, infinity), inside));
  }
};

// The integer part goes into the exponent, so that only the fraction, within 1/2, is subject to the rounding of x *
// ln 2.
struct Exp2Op {
  static HWY_INLINE V Apply(Floats d, V x) {
    const Ints di;
    const V clean = hn::IfThenZeroElse(hn::IsNaN(x), x);
    const V bounded = hn::Min(hn::Max(clean, hn::Set(d, -151.0F)), hn::Set(d, 129.0F));
    const V whole = hn::Round(bounded);
    const V part = hn::Exp(d, hn::Mul(hn::Sub(bounded, whole), hn::Set(d, 0.693147181F)));
    // Scaled in two steps, since 2^whole itself may underflow or overflow.
    const auto exponent = hn::ConvertTo(di, whole);
    const auto first = hn::ShiftRight<1>(exponent);
    const auto second = hn::Sub(exponent, first);
    const auto bias = hn::Set(di, 127);
    const V scale_first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(first, bias)));
    const V scale_second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(second, bias)));
    return KeepNaN(x, hn::Mul(hn::Mul(part, scale_first), scale_second));
  }
};

HWY_INLINE V LogDomain(Floats d, V x, V inside) {
  const V zero = hn::Zero(d);
  V result = hn::IfThenElse(hn::Eq(x, hn::Set(d, infinity)), x, inside);
  result = hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -infinity), result);
  result = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, not_a_number), result);
  return KeepNaN(x, result);
}
HWY_INLINE V LogSafe(Floats d, V x) {
  const auto inside = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Set(d, infinity)));
  return hn::IfThenElse(inside, x, hn::Set(d, 1.0F));
}
struct LogOp {
  static HWY_INLINE V Apply(Floats d, V x) { return LogDomain(d, x, hn::Log(d, LogSafe(d, x))); }
};
struct Log2Op {
  static HWY_INLINE V Apply(Floats d, V x) { return LogDomain(d, x, hn::Log2(d, LogSafe(d, x))); }
};

struct TanhOp {
  static HWY_INLINE V Apply(Floats d, V x) {
    const V bounded = hn::Min(hn::Abs(hn::IfThenZeroElse(hn::IsNaN(x), x)), hn::Set(d, 10.0F));
    const V result = hn::CopySign(hn::Tanh(d, bounded), x);
    // Below 0.0003, tanh(x) is x: the next term, x^3 / 3, is less than half a unit in the last place of x.
    return KeepNaN(x, hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 0.0003F)), x, result));
  }
};

HWY_INLINE V Polynomial(Floats d, V x, const std::array<float, 8>& coefficients) {
  V sum = hn::Set(d, coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

struct ErfOp {
  static HWY_INLINE V Apply(Floats d, V x) {
    const V one = hn::Set(d, 1.0F);
    const V size = hn::Min(hn::Abs(hn::IfThenZeroElse(hn::IsNaN(x), x)), hn::Set(d, 4.0F));
    const V near = hn::Mul(size, Polynomial(d, hn::Mul(size, size), ir::erf_near));
    const V far = hn::Sub(one, hn::Exp(d, hn::Neg(hn::Mul(size, Polynomial(d, size, ir::erf_far)))));
    return KeepNaN(x, hn::CopySign(hn::IfThenElse(hn::Lt(size, one), near, far), x));
  }
};

struct FmaOp {
  static HWY_INLINE V Apply(Floats d, V a, V b, V c) {
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM
    static_cast<void>(d);
    return hn::MulAdd(a, b, c);
#else
    // Without an FMA instruction, Highway rounds twice.
    HWY_ALIGN std::array<float, lanes_max> x;
    HWY_ALIGN std::array<float, lanes_max> y;
    HWY_ALIGN std::array<float, lanes_max> z;
    hn::Store(a, d, x.data());
    hn::Store(b, d, y.data());
    hn::Store(c, d, z.data());
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) z[i] = std::fma(x[i], y[i], z[i]);
    return hn::Load(d, z.data());
#endif
  }
};

// Sine and cosine of large operands need an argument reduction with many digits of pi, which the C library has. Lanes
// beyond the vector function's range always come from the C library and the others never do, so that a result does not
// depend on its neighbors.
template <class Vector, class Scalar>
void Periodic(const KernelArgs& args, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const float*>(args.in[0]);
  auto* out = static_cast<float*>(args.out);
  HWY_ALIGN std::array<float, lanes_max> operands;
  for (std::size_t i = 0; i < count; i += lanes, a += lanes * args.stride[0]) {
    const V x = hn::LoadU(d, a);
    const auto inside = hn::Le(hn::Abs(x), hn::Set(d, 30000.0F));
    hn::StoreU(Vector::Apply(d, hn::IfThenElseZero(inside, x)), d, out + i);
    if (hn::AllTrue(d, inside)) continue;
    hn::Store(x, d, operands.data());
    for (std::size_t k = 0; k < lanes; ++k) {
      if (!(std::fabs(operands[k]) <= 30000.0F)) out[i + k] = Scalar::Apply(operands[k]);
    }
  }
}
struct SinVector {
  static HWY_INLINE V Apply(Floats d, V x) { return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Sin(d, x)); }
};
struct CosVector {
  static HWY_INLINE V Apply(Floats d, V x) { return hn::Cos(d, x); }
};

#define VECTIS_SCALAR(Name, function)                                       \
  struct Name {                                                             \
    static float Apply(float a) { return static_cast<float>(function(a)); } \
  };
VECTIS_SCALAR(SinScalar, std::sin)
VECTIS_SCALAR(CosScalar, std::cos)
#undef VECTIS_SCALAR

// --- Functions computed in double precision, so that rounding to float is their only error --------------------------
// Lanes outside of a vector function's range always come from the C library and the others never do.

using Doubles = hn::CappedTag<double, lanes_max / 2>;
using FewFloats = hn::Rebind<float, Doubles>;  // as many as a vector of doubles has
using W = hn::Vec<Doubles>;
using WideMask = hn::Mask<Doubles>;

// Replaces the lanes of `out` that are not `inside` by one(lane).
template <class One>
HWY_INLINE void FixLanes(Doubles d, WideMask inside, float* out, const One& one) {
  if (hn::AllTrue(d, inside)) return;
  HWY_ALIGN std::array<double, lanes_max / 2> is_inside;
  hn::Store(hn::IfThenElseZero(inside, hn::Set(d, 1.0)), d, is_inside.data());
  for (std::size_t k = 0; k < hn::Lanes(d); ++k) {
    if (is_inside[k] == 0) out[k] = one(k);
  }
}

template <class F>
void WideUnary(const KernelArgs& args, std::size_t count) {
  const Doubles d;
  const FewFloats few;
  const std::size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const float*>(args.in[0]);
  auto* out = static_cast<float*>(args.out);
  HWY_ALIGN std::array<float, lanes_max> operands;
  for (std::size_t i = 0; i < count; i += lanes, a += lanes * args.stride[0]) {
    hn::Store(hn::LoadU(few, a), few, operands.data());  // `out` may be the operand
    const W x = hn::PromoteTo(d, hn::Load(few, operands.data()));
    const WideMask inside = F::IsInside(d, x);
    hn::StoreU(hn::DemoteTo(few, F::Apply(d, hn::IfThenElse(inside, x, hn::Set(d, 0.5)))), few, out + i);
    FixLanes(d, inside, out + i, [&](std::size_t k) { return F::One(operands[k]); });
  }
}

template <class F>
void WideBinary(const KernelArgs& args, std::size_t count) {
  const Doubles d;
  const FewFloats few;
  const std::size_t lanes = hn::Lanes(d);
  const auto* a = static_cast<const float*>(args.in[0]);
  const auto* b = static_cast<const float*>(args.in[1]);
  auto* out = static_cast<float*>(args.out);
  HWY_ALIGN std::array<float, lanes_max> first;
  HWY_ALIGN std::array<float, lanes_max> second;
  for (std::size_t i = 0; i < count; i += lanes, a += lanes * args.stride[0], b += lanes * args.stride[1]) {
    hn::Store(hn::LoadU(few, a), few, first.data());
    hn::Store(hn::LoadU(few, b), few, second.data());
    const W x = hn::PromoteTo(d, hn::Load(few, first.data()));
    const W y = hn::PromoteTo(d, hn::Load(few, second.data()));
    const W one = hn::Set(d, 1.0);
    const WideMask inside = F::IsInside(d, x, y);
    const W result = F::Apply(d, hn::IfThenElse(inside, x, one), hn::IfThenElse(inside, y, one));
    hn::StoreU(hn::DemoteTo(few, result), few, out + i);
    FixLanes(d, inside, out + i, [&](std::size_t k) { return F::One(first[k], second[k]); });
  }
}

HWY_INLINE WideMask IsUpTo(Doubles d, W x, double limit) { return hn::Le(hn::Abs(x), hn::Set(d, limit)); }
HWY_INLINE W KeepZero(Doubles d, W x, W result) { return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result); }

struct TanOp {
  static HWY_INLINE WideMask IsInside(Doubles d, W x) { return IsUpTo(d, x, 30000); }
  static HWY_INLINE W Apply(Doubles d, W x) { return KeepZero(d, x, hn::Div(hn::Sin(d, x), hn::Cos(d, x))); }
  static float One(float x) { return std::tan(x); }
};
struct AsinOp {
  static HWY_INLINE WideMask IsInside(Doubles d, W x) { return IsUpTo(d, x, 1); }
  static HWY_INLINE W Apply(Doubles d, W x) { return KeepZero(d, x, hn::Asin(d, x)); }
  static float One(float x) { return std::asin(x); }
};
struct AcosOp {
  static HWY_INLINE WideMask IsInside(Doubles d, W x) { return IsUpTo(d, x, 1); }
  static HWY_INLINE W Apply(Doubles d, W x) { return hn::Acos(d, x); }
  static float One(float x) { return std::acos(x); }
};
struct AtanOp {
  static HWY_INLINE WideMask IsInside(Doubles d, W x) { return IsUpTo(d, x, 1e30); }
  static HWY_INLINE W Apply(Doubles d, W x) { return KeepZero(d, x, hn::Atan(d, x)); }
  static float One(float x) { return std::atan(x); }
};
// exp(y log x): the exponent is at most 700, so that its error is far below that of rounding to float.
struct PowOp {
  static constexpr double exponent_max = 700;
  static HWY_INLINE WideMask IsInside(Doubles d, W x, W y) {
    const WideMask is_positive = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, hn::Set(d, 1e39)));
    const W logarithm = hn::Log(d, hn::IfThenElse(is_positive, x, hn::Set(d, 1.0)));
    return hn::And(
        is_positive,
        IsUpTo(d, hn::Mul(y, hn::IfThenElse(hn::Eq(x, hn::Set(d, 1.0)), hn::Set(d, 1.0), logarithm)), exponent_max));
  }
  static HWY_INLINE W Apply(Doubles d, W x, W y) { return hn::Exp(d, hn::Mul(y, hn::Log(d, x))); }
  static float One(float x, float y) { return std::pow(x, y); }
};
struct Atan2Op {
  static HWY_INLINE WideMask IsInside(Doubles d, W y, W x) {
    const WideMask is_finite = hn::And(IsUpTo(d, y, 1e39), IsUpTo(d, x, 1e39));
    return hn::And(is_finite, hn::And(hn::Ne(y, hn::Zero(d)), hn::Ne(x, hn::Zero(d))));
  }
  static HWY_INLINE W Apply(Doubles d, W y, W x) {
    constexpr double pi = 3.14159265358979323846;
    const W turn = hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), hn::CopySign(hn::Set(d, pi), y));
    return hn::Add(hn::Atan(d, hn::Div(y, x)), turn);
  }
  static float One(float y, float x) { return std::atan2(y, x); }
};
// The quotient has at most 28 bits and the divisor 24, so that their product is exact, and so is the difference. The
// quotient may be 1 too large, because it was rounded before it was truncated.
struct RemOp {
  static HWY_INLINE WideMask IsInside(Doubles d, W x, W y) {
    const W bound = hn::Mul(hn::Abs(y), hn::Set(d, 0x1p28));
    return hn::And(hn::Lt(hn::Abs(x), hn::Min(bound, hn::Set(d, 1e39))), hn::Lt(hn::Abs(y), hn::Set(d, 1e39)));
  }
  static HWY_INLINE W Apply(Doubles d, W x, W y) {
    const W size = hn::Abs(x);
    const W divisor = hn::Abs(y);
    const W rest = hn::Sub(size, hn::Mul(divisor, hn::Trunc(hn::Div(size, divisor))));
    const W fixed = hn::IfThenElse(hn::Lt(rest, hn::Zero(d)), hn::Add(rest, divisor), rest);
    return hn::CopySign(fixed, x);
  }
  static float One(float x, float y) { return std::fmod(x, y); }
};

VectorKernel FindMath(ir::Op op) {
  using ir::Op;
  switch (op) {
    case Op::fma:
      return &Ternary<Floats, FmaOp>;
    case Op::exp:
      return &UnaryLong<Floats, ExpOp>;
    case Op::exp2:
      return &UnaryLong<Floats, Exp2Op>;
    case Op::log:
      return &UnaryLong<Floats, LogOp>;
    case Op::log2:
      return &UnaryLong<Floats, Log2Op>;
    case Op::sin:
      return &Periodic<SinVector, SinScalar>;
    case Op::cos:
      return &Periodic<CosVector, CosScalar>;
    case Op::tan:
      return &WideUnary<TanOp>;
    case Op::tanh:
      return &UnaryLong<Floats, TanhOp>;
    case Op::asin:
      return &WideUnary<AsinOp>;
    case Op::acos:
      return &WideUnary<AcosOp>;
    case Op::atan:
      return &WideUnary<AtanOp>;
    case Op::pow:
      return &WideBinary<PowOp>;
    case Op::atan2:
      return &WideBinary<Atan2Op>;
    case Op::rem:
      return &WideBinary<RemOp>;
    case Op::erf:
      return &UnaryLong<Floats, ErfOp>;
    default:
      return nullptr;
  }
}

}  // namespace vectis::inline v0_1::vm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::inline v0_1::vm {

HWY_EXPORT(FindMath);

VectorKernel find_math(ir::Op op) { return HWY_DYNAMIC_DISPATCH(FindMath)(op); }

VectorKernel find_kernel(ir::Op op, DType from, DType to) {
  if (op == ir::Op::convert) return find_conversion(op, from, to);
  if (op == ir::Op::select || op == ir::Op::random || op == ir::Op::index) return find_integer(op, DType::uint32);
  if (const VectorKernel kernel = find_arithmetic(op, from)) return kernel;
  return from == DType::float32 ? find_math(op) : find_integer(op, from);
}

}  // namespace vectis::inline v0_1::vm
#endif
