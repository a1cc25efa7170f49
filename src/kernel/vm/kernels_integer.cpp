// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vm/kernels_integer.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <bit>

#include "kernel/vm/vector_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::vm::HWY_NAMESPACE {

VECTIS_BINARY(MinOp, hn::Min(a, b))
VECTIS_BINARY(MaxOp, hn::Max(a, b))
VECTIS_UNARY(NegOp, hn::Sub(hn::Zero(d), a))
VECTIS_UNARY(AbsOp, hn::Max(a, hn::Sub(hn::Zero(d), a)))
VECTIS_BINARY(EqOp, hn::VecFromMask(d, hn::Eq(a, b)))
VECTIS_BINARY(NeOp, hn::VecFromMask(d, hn::Ne(a, b)))
VECTIS_BINARY(LtOp, hn::VecFromMask(d, hn::Lt(a, b)))
VECTIS_BINARY(LeOp, hn::Not(hn::VecFromMask(d, hn::Gt(a, b))))
VECTIS_BINARY(GtOp, hn::VecFromMask(d, hn::Gt(a, b)))
VECTIS_BINARY(GeOp, hn::Not(hn::VecFromMask(d, hn::Lt(a, b))))
VECTIS_BINARY(AndOp, hn::And(a, b))
VECTIS_BINARY(OrOp, hn::Or(a, b))
VECTIS_BINARY(XorOp, hn::Xor(a, b))
VECTIS_UNARY(NotOp, hn::Not(a))
VECTIS_BINARY(ShlOp, hn::Shl(a, hn::And(b, hn::Set(d, 31))))
VECTIS_BINARY(ShrOp, hn::Shr(a, hn::And(b, hn::Set(d, 31))))
VECTIS_UNARY(PopcountOp, hn::PopulationCount(a))

struct SelectOp {
  template <class D, class V>
  static HWY_INLINE V Apply(D /*d*/, V condition, V yes, V no) {
    return hn::IfThenElse(hn::MaskFromVec(condition), yes, no);
  }
};

// The mixing function of ir::random_u32.
struct RandomOp {
  template <class D, class V>
  static HWY_INLINE V Mix(D d, V x) {
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7feb352dU));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846ca68bU));
    return hn::Xor(x, hn::ShiftRight<16>(x));
  }
  template <class D, class V>
  static HWY_INLINE V Apply(D d, V key, V counter) {
    const V first = Mix(d, hn::Xor(counter, Mix(d, hn::Add(key, hn::Set(d, 0x9e3779b9U)))));
    return hn::Add(Mix(d, hn::Add(first, key)), first);
  }
};

// Division by zero is zero. INT32_MIN / -1 wraps, as the 64-bit quotient truncated to 32 bits does.
template <class T>
struct ScalarDiv {
  static T Apply(T a, T b) {
    return b == 0 ? T{0} : static_cast<T>(static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b));
  }
};
template <class T>
struct ScalarRem {
  static T Apply(T a, T b) {
    return b == 0 ? T{0} : static_cast<T>(static_cast<std::int64_t>(a) % static_cast<std::int64_t>(b));
  }
};
struct ScalarLeadingZeros {
  static std::uint32_t Apply(std::uint32_t a) { return static_cast<std::uint32_t>(std::countl_zero(a)); }
};

void Index(const KernelArgs& args, std::size_t count) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  auto* out = static_cast<std::uint32_t*>(args.out);
  for (std::size_t i = 0; i < count; i += lanes)
    hn::StoreU(hn::Iota(d, static_cast<std::uint32_t>(args.number + i)), d, out + i);
}

// Operations that are the same for int32, uint32 and bool, or defined for one of them alone.
VectorKernel FindBits(ir::Op op) {
  using ir::Op;
  switch (op) {
    case Op::add:
      return &Binary<Words, AddOp>;
    case Op::sub:
      return &Binary<Words, SubOp>;
    case Op::mul:
      return &Binary<Words, MulOp>;
    case Op::neg:
      return &Unary<Words, NegOp>;
    case Op::eq:
      return &Binary<Words, EqOp>;
    case Op::ne:
      return &Binary<Words, NeOp>;
    case Op::bit_and:
      return &Binary<Words, AndOp>;
    case Op::bit_or:
      return &Binary<Words, OrOp>;
    case Op::bit_xor:
      return &Binary<Words, XorOp>;
    case Op::bit_not:
      return &Unary<Words, NotOp>;
    case Op::shl:
      return &Binary<Words, ShlOp>;
    case Op::popcount:
      return &Unary<Words, PopcountOp>;
    case Op::leading_zeros:
      return &ScalarUnary<std::uint32_t, ScalarLeadingZeros>;
    case Op::select:
      return &Ternary<Words, SelectOp>;
    case Op::random:
      return &Binary<Words, RandomOp>;
    case Op::index:
      return &Index;
    default:
      return nullptr;
  }
}

template <class Tag>
VectorKernel FindOrdered(ir::Op op) {
  using ir::Op;
  using T = hn::TFromD<Tag>;
  switch (op) {
    case Op::div:
      return &ScalarBinary<T, ScalarDiv<T>>;
    case Op::rem:
      return &ScalarBinary<T, ScalarRem<T>>;
    case Op::min:
      return &Binary<Tag, MinOp>;
    case Op::max:
      return &Binary<Tag, MaxOp>;
    case Op::lt:
      return &Binary<Tag, LtOp>;
    case Op::le:
      return &Binary<Tag, LeOp>;
    case Op::gt:
      return &Binary<Tag, GtOp>;
    case Op::ge:
      return &Binary<Tag, GeOp>;
    case Op::shr:
      return &Binary<Tag, ShrOp>;
    default:
      return nullptr;
  }
}

VectorKernel FindInteger(ir::Op op, DType type) {
  if (op == ir::Op::abs && type == DType::int32) return &Unary<Ints, AbsOp>;
  if (const VectorKernel kernel = FindBits(op)) return kernel;
  return type == DType::int32 ? FindOrdered<Ints>(op) : FindOrdered<Words>(op);
}

}  // namespace vectis::inline v0_1::vm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::inline v0_1::vm {

HWY_EXPORT(FindInteger);

VectorKernel find_integer(ir::Op op, DType type) { return HWY_DYNAMIC_DISPATCH(FindInteger)(op, type); }

}  // namespace vectis::inline v0_1::vm
#endif
