// float32 operations of one or two vectors that take one to three machine instructions. Included once per instruction
// set.
#if defined(VECTIS_KERNEL_VM_FLOAT_OPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VECTIS_KERNEL_VM_FLOAT_OPS_INL
#undef VECTIS_KERNEL_VM_FLOAT_OPS_INL
#else
#define VECTIS_KERNEL_VM_FLOAT_OPS_INL
#endif

#include "kernel/vm/vector_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::vm::HWY_NAMESPACE {

VECTIS_BINARY(AddOp, hn::Add(a, b))
VECTIS_BINARY(SubOp, hn::Sub(a, b))
VECTIS_BINARY(MulOp, hn::Mul(a, b))
VECTIS_BINARY(DivOp, hn::Div(a, b))
// The other operand if one is NaN; the first of equal operands.
VECTIS_BINARY(MinOp, hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(a)), b, a))
VECTIS_BINARY(MaxOp, hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(a)), b, a))
VECTIS_UNARY(NegOp, hn::Xor(a, hn::SignBit(d)))
VECTIS_UNARY(AbsOp, hn::Abs(a))
VECTIS_UNARY(SqrtOp, hn::Sqrt(a))

}  // namespace vectis::inline v0_1::vm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
