// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vm/kernels_arithmetic.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "kernel/vm/vector_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::vm::HWY_NAMESPACE {

VECTIS_UNARY(RsqrtOp, hn::Div(hn::Set(d, 1.0F), hn::Sqrt(a)))
VECTIS_UNARY(FloorOp, hn::Floor(a))
VECTIS_UNARY(CeilOp, hn::Ceil(a))
VECTIS_UNARY(RoundOp, hn::Round(a))
VECTIS_UNARY(TruncOp, hn::Trunc(a))
// The sign of zero and of NaN is zero.
VECTIS_UNARY(SignOp, hn::IfThenElseZero(hn::Gt(hn::Abs(a), hn::Zero(d)), hn::CopySign(hn::Set(d, 1.0F), a)))
VECTIS_BINARY(EqOp, hn::VecFromMask(d, hn::Eq(a, b)))
// Highway's Ne is false for NaN with AVX-512.
VECTIS_BINARY(NeOp, hn::Not(hn::VecFromMask(d, hn::Eq(a, b))))
VECTIS_BINARY(LtOp, hn::VecFromMask(d, hn::Lt(a, b)))
VECTIS_BINARY(LeOp, hn::VecFromMask(d, hn::Le(a, b)))
VECTIS_BINARY(GtOp, hn::VecFromMask(d, hn::Gt(a, b)))
VECTIS_BINARY(GeOp, hn::VecFromMask(d, hn::Ge(a, b)))

VectorKernel FindArithmetic(ir::Op op) {
  using ir::Op;
  switch (op) {
    case Op::add:
      return &Binary<Floats, AddOp>;
    case Op::sub:
      return &Binary<Floats, SubOp>;
    case Op::mul:
      return &Binary<Floats, MulOp>;
    case Op::div:
      return &Binary<Floats, DivOp>;
    case Op::min:
      return &Binary<Floats, FloatMinOp>;
    case Op::max:
      return &Binary<Floats, FloatMaxOp>;
    case Op::neg:
      return &Unary<Floats, FloatNegOp>;
    case Op::abs:
      return &Unary<Floats, FloatAbsOp>;
    case Op::sqrt:
      return &Unary<Floats, SqrtOp>;
    case Op::rsqrt:
      return &Unary<Floats, RsqrtOp>;
    case Op::floor:
      return &Unary<Floats, FloorOp>;
    case Op::ceil:
      return &Unary<Floats, CeilOp>;
    case Op::round:
      return &Unary<Floats, RoundOp>;
    case Op::trunc:
      return &Unary<Floats, TruncOp>;
    case Op::sign:
      return &Unary<Floats, SignOp>;
    case Op::eq:
      return &Binary<Floats, EqOp>;
    case Op::ne:
      return &Binary<Floats, NeOp>;
    case Op::lt:
      return &Binary<Floats, LtOp>;
    case Op::le:
      return &Binary<Floats, LeOp>;
    case Op::gt:
      return &Binary<Floats, GtOp>;
    case Op::ge:
      return &Binary<Floats, GeOp>;
    default:
      return nullptr;
  }
}

}  // namespace vectis::inline v0_1::vm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::inline v0_1::vm {

HWY_EXPORT(FindArithmetic);

VectorKernel find_arithmetic(ir::Op op, DType type) {
  return type == DType::float32 ? HWY_DYNAMIC_DISPATCH(FindArithmetic)(op) : nullptr;
}

}  // namespace vectis::inline v0_1::vm
#endif
