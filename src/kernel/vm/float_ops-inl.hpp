// Operations of one or two vectors of f32 that are single instructions or nearly so. Included once for each instruction
// set.
#if defined(VECTIS_KERNEL_EXECUTOR_FLOAT_OPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VECTIS_KERNEL_EXECUTOR_FLOAT_OPS_INL
#undef VECTIS_KERNEL_EXECUTOR_FLOAT_OPS_INL
#else
#define VECTIS_KERNEL_EXECUTOR_FLOAT_OPS_INL
#endif

#include "kernel/vm/loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::executor::HWY_NAMESPACE {

VECTIS_BINARY(AddOp, hn::Add(a, b))
VECTIS_BINARY(SubOp, hn::Sub(a, b))
VECTIS_BINARY(MulOp, hn::Mul(a, b))
VECTIS_BINARY(DivOp, hn::Div(a, b))
// The other operand when one is NaN; the first of equal ones.
VECTIS_BINARY(MinOp, hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), b, a))
VECTIS_BINARY(MaxOp, hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(a)), b, a))
VECTIS_UNARY(NegOp, hn::Xor(a, hn::SignBit(d)))
VECTIS_UNARY(AbsOp, hn::Abs(a))
VECTIS_UNARY(SqrtOp, hn::Sqrt(a))

}  // namespace vectis::inline v0_1::executor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
