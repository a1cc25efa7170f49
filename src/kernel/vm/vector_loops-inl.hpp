// The operations and loops that vector kernels share. Included once per instruction set.
#if defined(VECTIS_KERNEL_VM_VECTOR_LOOPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VECTIS_KERNEL_VM_VECTOR_LOOPS_INL
#undef VECTIS_KERNEL_VM_VECTOR_LOOPS_INL
#else
#define VECTIS_KERNEL_VM_VECTOR_LOOPS_INL
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernel/vm/kernel_table.hpp"

// Defines a struct whose Apply() computes `expression` of the Highway vector `a` (VECTIS_UNARY), or of `a` and `b`
// (VECTIS_BINARY), with the Highway tag `d`.
#ifndef VECTIS_UNARY
#define VECTIS_UNARY(Name, expression)    \
  struct Name {                           \
    template <class D, class V>           \
    static HWY_INLINE V Apply(D d, V a) { \
      static_cast<void>(d);               \
      return expression;                  \
    }                                     \
  };
#define VECTIS_BINARY(Name, expression)        \
  struct Name {                                \
    template <class D, class V>                \
    static HWY_INLINE V Apply(D d, V a, V b) { \
      static_cast<void>(d);                    \
      return expression;                       \
    }                                          \
  };
#endif

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::vm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<std::int32_t>;
using Words = hn::ScalableTag<std::uint32_t>;

// Operations of one or two vectors. Float... operations differ from the integer ones in semantics or instructions.
VECTIS_BINARY(AddOp, hn::Add(a, b))
VECTIS_BINARY(SubOp, hn::Sub(a, b))
VECTIS_BINARY(MulOp, hn::Mul(a, b))
VECTIS_BINARY(DivOp, hn::Div(a, b))
// The minimum and maximum of floats: the other operand if one is NaN, and the first of equal operands.
VECTIS_BINARY(FloatMinOp, hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), b, a))
VECTIS_BINARY(FloatMaxOp, hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(a)), b, a))
VECTIS_UNARY(FloatNegOp, hn::Xor(a, hn::SignBit(d)))
VECTIS_UNARY(FloatAbsOp, hn::Abs(a))
VECTIS_UNARY(SqrtOp, hn::Sqrt(a))

// Applies Function::Apply(d, a) to `count` elements of args.in[0], unrolled by four, which keeps the load ports busy.
// Requires `count` to be a multiple of the vector's lanes; does not check it.
template <class Tag, class Function>
void Unary(const KernelArgs& args, std::size_t count) {
  using T = hn::TFromD<Tag>;
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const T* a = static_cast<const T*>(args.in[0]);
  const std::size_t step = lanes * args.stride[0];
  auto* out = static_cast<T*>(args.out);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes, a += 4 * step) {
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a)), d, out + i);
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a + step)), d, out + i + lanes);
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a + 2 * step)), d, out + i + 2 * lanes);
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a + 3 * step)), d, out + i + 3 * lanes);
  }
  for (; i < count; i += lanes, a += step) hn::StoreU(Function::Apply(d, hn::LoadU(d, a)), d, out + i);
}

// Applies a long Function::Apply(d, a) to `count` elements of args.in[0], not unrolled, to save instruction cache.
// Requires `count` to be a multiple of the vector's lanes; does not check it.
template <class Tag, class Function>
void UnaryLong(const KernelArgs& args, std::size_t count) {
  using T = hn::TFromD<Tag>;
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const T* a = static_cast<const T*>(args.in[0]);
  auto* out = static_cast<T*>(args.out);
  for (std::size_t i = 0; i < count; i += lanes, a += lanes * args.stride[0])
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a)), d, out + i);
}

// Applies Function::Apply(d, a, b) to `count` elements of args.in[0] and args.in[1], unrolled by four. Requires
// `count` to be a multiple of the vector's lanes; does not check it.
template <class Tag, class Function>
void Binary(const KernelArgs& args, std::size_t count) {
  using T = hn::TFromD<Tag>;
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const T* a = static_cast<const T*>(args.in[0]);
  const T* b = static_cast<const T*>(args.in[1]);
  const std::size_t sa = lanes * args.stride[0];
  const std::size_t sb = lanes * args.stride[1];
  auto* out = static_cast<T*>(args.out);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes, a += 4 * sa, b += 4 * sb) {
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a), hn::LoadU(d, b)), d, out + i);
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a + sa), hn::LoadU(d, b + sb)), d, out + i + lanes);
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a + 2 * sa), hn::LoadU(d, b + 2 * sb)), d, out + i + 2 * lanes);
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a + 3 * sa), hn::LoadU(d, b + 3 * sb)), d, out + i + 3 * lanes);
  }
  for (; i < count; i += lanes, a += sa, b += sb)
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a), hn::LoadU(d, b)), d, out + i);
}

// Applies Function::Apply(d, a, b, c) to `count` elements of args.in[0] to args.in[2]. Requires `count` to be a
// multiple of the vector's lanes; does not check it.
template <class Tag, class Function>
void Ternary(const KernelArgs& args, std::size_t count) {
  using T = hn::TFromD<Tag>;
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const T* a = static_cast<const T*>(args.in[0]);
  const T* b = static_cast<const T*>(args.in[1]);
  const T* c = static_cast<const T*>(args.in[2]);
  auto* out = static_cast<T*>(args.out);
  for (std::size_t i = 0; i < count; i += lanes) {
    hn::StoreU(Function::Apply(d, hn::LoadU(d, a), hn::LoadU(d, b), hn::LoadU(d, c)), d, out + i);
    a += lanes * args.stride[0];
    b += lanes * args.stride[1];
    c += lanes * args.stride[2];
  }
}

// Applies Function::Apply(a) to `count` elements of args.in[0] one by one. Requires memory for `count` elements.
// For operations without a vector instruction.
template <class T, class Function>
void ScalarUnary(const KernelArgs& args, std::size_t count) {
  const T* a = static_cast<const T*>(args.in[0]);
  auto* out = static_cast<T*>(args.out);
  for (std::size_t i = 0; i < count; ++i) out[i] = Function::Apply(a[i * args.stride[0]]);
}

// Applies Function::Apply(a, b) to `count` elements of args.in[0] and args.in[1] one by one. Requires memory for
// `count` elements. For operations without a vector instruction.
template <class T, class Function>
void ScalarBinary(const KernelArgs& args, std::size_t count) {
  const T* a = static_cast<const T*>(args.in[0]);
  const T* b = static_cast<const T*>(args.in[1]);
  auto* out = static_cast<T*>(args.out);
  for (std::size_t i = 0; i < count; ++i) out[i] = Function::Apply(a[i * args.stride[0]], b[i * args.stride[1]]);
}

}  // namespace vectis::inline v0_1::vm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
