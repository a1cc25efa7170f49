// Highway's foreach_target compiles this file once for each instruction set, and the last section only once. Loops are
// plain C++, which the compiler vectorizes for the instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "array/element_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "array/element_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::array::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// --- Functions of one element. Integers wrap. -----------------------------------------------------------------------

template <class T>
using Arithmetic = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Arithmetic<T>>(a) + static_cast<Arithmetic<T>>(b));
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Arithmetic<T>>(a) - static_cast<Arithmetic<T>>(b));
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Arithmetic<T>>(a) * static_cast<Arithmetic<T>>(b));
  }
};
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    const T smaller = a < b ? a : b;
    if constexpr (std::is_integral_v<T>) return smaller;
    return a != a ? a : b != b ? b : smaller;
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    const T larger = a > b ? a : b;
    if constexpr (std::is_integral_v<T>) return larger;
    return a != a ? a : b != b ? b : larger;
  }
};
struct Negative {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) return -a;
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    return a < 0 ? Negative()(a) : a;
  }
};
struct Square {
  template <class T>
  T operator()(T a) const {
    return Multiply()(a, a);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct InverseSqrt {
  template <class T>
  T operator()(T a) const {
    return 1 / std::sqrt(a);
  }
};
struct Floor {
  template <class T>
  T operator()(T a) const {
    return std::floor(a);
  }
};
struct Ceil {
  template <class T>
  T operator()(T a) const {
    return std::ceil(a);
  }
};
struct Trunc {
  template <class T>
  T operator()(T a) const {
    return std::trunc(a);
  }
};
struct Round {
  template <class T>
  T operator()(T a) const {
    return std::nearbyint(a);
  }
};
struct Equal {
  template <class T>
  std::uint8_t operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  std::uint8_t operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  std::uint8_t operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  std::uint8_t operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  std::uint8_t operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  std::uint8_t operator()(T a, T b) const {
    return a >= b;
  }
};
struct SignBit {
  template <class T>
  std::uint8_t operator()(T a) const {
    return std::signbit(a);
  }
};
struct BitAnd {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct BitOr {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct BitXor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct BitNot {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};

// A truth value: every byte but 0 is true.
struct Truth {
  std::uint8_t byte;
};
template <class F>
struct OfTruth {
  std::uint8_t operator()(Truth a) const { return F()(std::uint8_t{a.byte != 0}) & 1U; }
  std::uint8_t operator()(Truth a, Truth b) const { return F()(std::uint8_t{a.byte != 0}, std::uint8_t{b.byte != 0}); }
};

// --- Loops ----------------------------------------------------------------------------------------------------------

template <class T>
const T* ElementsOf(const KernelOperand& operand) {
  return reinterpret_cast<const T*>(operand.data);
}

template <class T, class F>
void Unary(const KernelOperand* operands, std::byte* target, std::size_t count) {
  using Out = decltype(F()(T()));
  const T* HWY_RESTRICT const x = ElementsOf<T>(operands[0]);
  auto* HWY_RESTRICT const out = reinterpret_cast<Out*>(target);
  for (std::size_t i = 0; i < count; ++i) out[i] = F()(x[i]);
}

template <class T, class F>
void Binary(const KernelOperand* operands, std::byte* target, std::size_t count) {
  using Out = decltype(F()(T(), T()));
  const T* HWY_RESTRICT const a = ElementsOf<T>(operands[0]);
  const T* HWY_RESTRICT const b = ElementsOf<T>(operands[1]);
  auto* HWY_RESTRICT const out = reinterpret_cast<Out*>(target);
  if (operands[0].is_uniform) {
    const T first = *a;
    for (std::size_t i = 0; i < count; ++i) out[i] = F()(first, b[i]);
  } else if (operands[1].is_uniform) {
    const T second = *b;
    for (std::size_t i = 0; i < count; ++i) out[i] = F()(a[i], second);
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = F()(a[i], b[i]);
  }
}

// Of elements of any type with the size of T.
template <class T>
void Where(const KernelOperand* operands, std::byte* target, std::size_t count) {
  const auto* HWY_RESTRICT const condition = ElementsOf<std::uint8_t>(operands[0]);
  const T* HWY_RESTRICT const yes = ElementsOf<T>(operands[1]);
  const T* HWY_RESTRICT const no = ElementsOf<T>(operands[2]);
  auto* HWY_RESTRICT const out = reinterpret_cast<T*>(target);
  if (operands[0].is_uniform) {
    const KernelOperand& chosen = operands[*condition != 0 ? 1 : 2];
    if (!chosen.is_uniform) {
      std::memcpy(out, chosen.data, count * sizeof(T));
    } else {
      const T value = *ElementsOf<T>(chosen);
      for (std::size_t i = 0; i < count; ++i) out[i] = value;
    }
    return;
  }
  const T first = *yes;
  const T second = *no;
  if (operands[1].is_uniform && operands[2].is_uniform) {
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? first : second;
  } else if (operands[1].is_uniform) {
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? first : no[i];
  } else if (operands[2].is_uniform) {
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? yes[i] : second;
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? yes[i] : no[i];
  }
}

template <class From, class To>
void Convert(const KernelOperand* operands, std::byte* target, std::size_t count) {
  const From* HWY_RESTRICT const x = ElementsOf<From>(operands[0]);
  auto* HWY_RESTRICT const out = reinterpret_cast<To*>(target);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<From, Truth>) {
      out[i] = static_cast<To>(x[i].byte != 0);
    } else if constexpr (std::is_same_v<From, std::int64_t> && std::is_same_v<To, float>) {
      out[i] = static_cast<float>(static_cast<double>(x[i]));  // as wide arithmetic does
    } else {
      out[i] = static_cast<To>(x[i]);
    }
  }
}
template <class From>
void ConvertToTruth(const KernelOperand* operands, std::byte* target, std::size_t count) {
  const From* HWY_RESTRICT const x = ElementsOf<From>(operands[0]);
  auto* HWY_RESTRICT const out = reinterpret_cast<std::uint8_t*>(target);
  for (std::size_t i = 0; i < count; ++i) out[i] = std::uint8_t{x[i] != 0};
}

// --- Functions of doubles by Highway, within 4 units of the last place where it is exact ----------------------------

using Doubles = hn::CappedTag<double, 8>;
using V = hn::Vec<Doubles>;

// Calls F::Vector, and F::One for vectors with an element outside of its range, which includes NaN.
template <class F>
void OfDoubles(const KernelOperand* operands, std::byte* target, std::size_t count) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* const x = ElementsOf<double>(operands[0]);
  auto* const out = reinterpret_cast<double*>(target);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const V v = hn::LoadU(d, x + i);
    const V magnitude = hn::Abs(v);
    const auto is_inside =
        hn::And(hn::Ge(F::IsSigned() ? magnitude : v, hn::Set(d, F::Low())), hn::Le(magnitude, hn::Set(d, F::High())));
    if (hn::AllTrue(d, is_inside)) {
      hn::StoreU(F::Vector(d, v), d, out + i);
    } else {
      for (std::size_t lane = 0; lane < lanes; ++lane) out[i + lane] = F::One(x[i + lane]);
    }
  }
  for (; i < count; ++i) out[i] = F::One(x[i]);
}

#define VECTIS_OF_DOUBLES(Name, is_signed, low, high, function) \
  struct Name {                                                 \
    static constexpr bool IsSigned() { return is_signed; }      \
    static constexpr double Low() { return low; }               \
    static constexpr double High() { return high; }             \
    static V Vector(Doubles d, V x) { return hn::Name(d, x); }  \
    static double One(double x) { return std::function(x); }    \
  };
VECTIS_OF_DOUBLES(Exp, true, 0, 700, exp)
VECTIS_OF_DOUBLES(Expm1, true, 1e-300, 700, expm1)
VECTIS_OF_DOUBLES(Log, false, 1e-300, 1e300, log)
VECTIS_OF_DOUBLES(Log2, false, 1e-300, 1e300, log2)
VECTIS_OF_DOUBLES(Log1p, false, 1e-300, 1e300, log1p)
VECTIS_OF_DOUBLES(Sin, true, 1e-300, 30000, sin)
VECTIS_OF_DOUBLES(Cos, true, 0, 30000, cos)
VECTIS_OF_DOUBLES(Sinh, true, 1e-300, 700, sinh)
VECTIS_OF_DOUBLES(Tanh, true, 1e-300, 700, tanh)
VECTIS_OF_DOUBLES(Asin, true, 1e-300, 1, asin)
VECTIS_OF_DOUBLES(Acos, true, 0, 1, acos)
VECTIS_OF_DOUBLES(Atan, true, 1e-300, 1e300, atan)
VECTIS_OF_DOUBLES(Asinh, true, 1e-300, 1e100, asinh)
VECTIS_OF_DOUBLES(Acosh, false, 1, 1e100, acosh)
VECTIS_OF_DOUBLES(Atanh, true, 1e-300, 0.999, atanh)
#undef VECTIS_OF_DOUBLES

// --- Tables ---------------------------------------------------------------------------------------------------------

template <class T>
ElementKernel OfNumbers(ElementOp op) {
  switch (op) {
    case ElementOp::add:
      return Binary<T, Add>;
    case ElementOp::subtract:
      return Binary<T, Subtract>;
    case ElementOp::multiply:
      return Binary<T, Multiply>;
    case ElementOp::minimum:
      return Binary<T, Minimum>;
    case ElementOp::maximum:
      return Binary<T, Maximum>;
    case ElementOp::negative:
      return Unary<T, Negative>;
    case ElementOp::absolute:
      return Unary<T, Absolute>;
    case ElementOp::square:
      return Unary<T, Square>;
    case ElementOp::equal:
      return Binary<T, Equal>;
    case ElementOp::not_equal:
      return Binary<T, NotEqual>;
    case ElementOp::less:
      return Binary<T, Less>;
    case ElementOp::less_equal:
      return Binary<T, LessEqual>;
    case ElementOp::greater:
      return Binary<T, Greater>;
    case ElementOp::greater_equal:
      return Binary<T, GreaterEqual>;
    default:
      return nullptr;
  }
}

template <class T>
ElementKernel OfIntegers(ElementOp op) {
  switch (op) {
    case ElementOp::bitwise_and:
      return Binary<T, BitAnd>;
    case ElementOp::bitwise_or:
      return Binary<T, BitOr>;
    case ElementOp::bitwise_xor:
      return Binary<T, BitXor>;
    case ElementOp::bitwise_not:
      return Unary<T, BitNot>;
    default:
      return OfNumbers<T>(op);
  }
}

ElementKernel OfTruths(ElementOp op) {
  switch (op) {
    case ElementOp::bitwise_and:
      return Binary<Truth, OfTruth<BitAnd>>;
    case ElementOp::bitwise_or:
      return Binary<Truth, OfTruth<BitOr>>;
    case ElementOp::bitwise_xor:
    case ElementOp::not_equal:
      return Binary<Truth, OfTruth<BitXor>>;
    case ElementOp::bitwise_not:
      return Unary<Truth, OfTruth<BitNot>>;
    case ElementOp::equal:
      return Binary<Truth, OfTruth<Equal>>;
    default:
      return nullptr;
  }
}

template <class T>
ElementKernel OfReals(ElementOp op) {
  switch (op) {
    case ElementOp::divide:
      return Binary<T, Divide>;
    case ElementOp::sqrt:
      return Unary<T, Sqrt>;
    case ElementOp::signbit:
      return Unary<T, SignBit>;
    case ElementOp::floor:
      return Unary<T, Floor>;
    case ElementOp::ceil:
      return Unary<T, Ceil>;
    case ElementOp::trunc:
      return Unary<T, Trunc>;
    case ElementOp::round:
      return Unary<T, Round>;
    default:
      return OfNumbers<T>(op);
  }
}

ElementKernel OfDoublesOnly(ElementOp op) {
  switch (op) {
    case ElementOp::rsqrt:
      return Unary<double, InverseSqrt>;
    case ElementOp::exp:
      return OfDoubles<Exp>;
    case ElementOp::expm1:
      return OfDoubles<Expm1>;
    case ElementOp::log:
      return OfDoubles<Log>;
    case ElementOp::log2:
      return OfDoubles<Log2>;
    case ElementOp::log1p:
      return OfDoubles<Log1p>;
    case ElementOp::sin:
      return OfDoubles<Sin>;
    case ElementOp::cos:
      return OfDoubles<Cos>;
    case ElementOp::sinh:
      return OfDoubles<Sinh>;
    case ElementOp::tanh:
      return OfDoubles<Tanh>;
    case ElementOp::asin:
      return OfDoubles<Asin>;
    case ElementOp::acos:
      return OfDoubles<Acos>;
    case ElementOp::atan:
      return OfDoubles<Atan>;
    case ElementOp::asinh:
      return OfDoubles<Asinh>;
    case ElementOp::acosh:
      return OfDoubles<Acosh>;
    case ElementOp::atanh:
      return OfDoubles<Atanh>;
    default:
      return OfReals<double>(op);
  }
}

ElementKernel Chosen(std::size_t bytes) {
  if (bytes == 1) return Where<std::uint8_t>;
  if (bytes == 2) return Where<std::uint16_t>;
  return bytes == 4 ? Where<std::uint32_t> : Where<std::uint64_t>;
}

ElementKernel FindKernel(ElementOp op, DType type) {
  if (op == ElementOp::where) return Chosen(size_of(type));
  switch (type) {
    case DType::float32:
      return OfReals<float>(op);
    case DType::float64:
      return OfDoublesOnly(op);
    case DType::int8:
      return OfIntegers<std::int8_t>(op);
    case DType::uint8:
      return OfIntegers<std::uint8_t>(op);
    case DType::int32:
      return OfIntegers<std::int32_t>(op);
    case DType::int64:
      return OfIntegers<std::int64_t>(op);
    case DType::boolean:
      return OfTruths(op);
    default:
      return nullptr;
  }
}

// Reals are not truncated to integers here: what exceeds the type needs care.
template <class From>
ElementKernel ConversionFrom(DType to) {
  constexpr bool is_real = std::is_floating_point_v<From>;
  switch (to) {
    case DType::float32:
      return Convert<From, float>;
    case DType::float64:
      return Convert<From, double>;
    case DType::boolean:
      if constexpr (std::is_same_v<From, Truth>)
        return nullptr;
      else
        return ConvertToTruth<From>;
    default:
      break;
  }
  if constexpr (!is_real) {
    if (to == DType::int8) return Convert<From, std::int8_t>;
    if (to == DType::uint8) return Convert<From, std::uint8_t>;
    if (to == DType::int32) return Convert<From, std::int32_t>;
    if (to == DType::int64) return Convert<From, std::int64_t>;
  }
  return nullptr;
}

ElementKernel FindConversion(DType from, DType to) {
  switch (from) {
    case DType::float32:
      return ConversionFrom<float>(to);
    case DType::float64:
      return ConversionFrom<double>(to);
    case DType::int8:
      return ConversionFrom<std::int8_t>(to);
    case DType::uint8:
      return ConversionFrom<std::uint8_t>(to);
    case DType::int32:
      return ConversionFrom<std::int32_t>(to);
    case DType::int64:
      return ConversionFrom<std::int64_t>(to);
    case DType::boolean:
      return ConversionFrom<Truth>(to);
    default:
      return nullptr;
  }
}

}  // namespace vectis::inline v0_1::array::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace vectis::inline v0_1::array {

HWY_EXPORT(FindKernel);
HWY_EXPORT(FindConversion);

ElementKernel element_kernel(ElementOp op, DType type) noexcept { return HWY_DYNAMIC_DISPATCH(FindKernel)(op, type); }
ElementKernel conversion_kernel(DType from, DType to) noexcept {
  return HWY_DYNAMIC_DISPATCH(FindConversion)(from, to);
}

}  // namespace vectis::inline v0_1::array

#endif
