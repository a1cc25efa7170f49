// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/vm/kernels_fused.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernel/vm/vector_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::vm::HWY_NAMESPACE {

using V = hn::Vec<Floats>;

// One operation on eight vectors that stay in registers.
template <class Function>
struct Eight {
  static HWY_INLINE void Last(Floats d, const float* b, std::size_t s, V& a0, V& a1, V& a2, V& a3, V& a4, V& a5, V& a6,
                              V& a7) {
    a0 = Function::Apply(d, a0, hn::LoadU(d, b));
    a1 = Function::Apply(d, a1, hn::LoadU(d, b + s));
    a2 = Function::Apply(d, a2, hn::LoadU(d, b + 2 * s));
    a3 = Function::Apply(d, a3, hn::LoadU(d, b + 3 * s));
    a4 = Function::Apply(d, a4, hn::LoadU(d, b + 4 * s));
    a5 = Function::Apply(d, a5, hn::LoadU(d, b + 5 * s));
    a6 = Function::Apply(d, a6, hn::LoadU(d, b + 6 * s));
    a7 = Function::Apply(d, a7, hn::LoadU(d, b + 7 * s));
  }
  static HWY_INLINE void First(Floats d, const float* b, std::size_t s, V& a0, V& a1, V& a2, V& a3, V& a4, V& a5, V& a6,
                               V& a7) {
    a0 = Function::Apply(d, hn::LoadU(d, b), a0);
    a1 = Function::Apply(d, hn::LoadU(d, b + s), a1);
    a2 = Function::Apply(d, hn::LoadU(d, b + 2 * s), a2);
    a3 = Function::Apply(d, hn::LoadU(d, b + 3 * s), a3);
    a4 = Function::Apply(d, hn::LoadU(d, b + 4 * s), a4);
    a5 = Function::Apply(d, hn::LoadU(d, b + 5 * s), a5);
    a6 = Function::Apply(d, hn::LoadU(d, b + 6 * s), a6);
    a7 = Function::Apply(d, hn::LoadU(d, b + 7 * s), a7);
  }
  static HWY_INLINE void Twice(Floats d, V& a0, V& a1, V& a2, V& a3, V& a4, V& a5, V& a6, V& a7) {
    a0 = Function::Apply(d, a0, a0);
    a1 = Function::Apply(d, a1, a1);
    a2 = Function::Apply(d, a2, a2);
    a3 = Function::Apply(d, a3, a3);
    a4 = Function::Apply(d, a4, a4);
    a5 = Function::Apply(d, a5, a5);
    a6 = Function::Apply(d, a6, a6);
    a7 = Function::Apply(d, a7, a7);
  }
  static HWY_INLINE void Alone(Floats d, V& a0, V& a1, V& a2, V& a3, V& a4, V& a5, V& a6, V& a7) {
    a0 = Function::Apply(d, a0);
    a1 = Function::Apply(d, a1);
    a2 = Function::Apply(d, a2);
    a3 = Function::Apply(d, a3);
    a4 = Function::Apply(d, a4);
    a5 = Function::Apply(d, a5);
    a6 = Function::Apply(d, a6);
    a7 = Function::Apply(d, a7);
  }
  static HWY_INLINE void Any(Floats d, FusedOp::Form form, const float* b, std::size_t s, V& a0, V& a1, V& a2, V& a3,
                             V& a4, V& a5, V& a6, V& a7) {
    if (form == FusedOp::Form::binary) {
      Last(d, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
    } else if (form == FusedOp::Form::reversed) {
      First(d, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
    } else {
      Twice(d, a0, a1, a2, a3, a4, a5, a6, a7);
    }
  }
};

// Prefetches the eight vectors one page ahead (the fastest of 1 to 16 KiB in measurements). Loads and stores are issued
// eight at a time, too far apart for out-of-order execution to start the next loads while non-temporal stores wait for
// memory.
HWY_INLINE void PrefetchAhead(const float* from, std::size_t lanes) {
  constexpr std::size_t ahead = 4096 / sizeof(float);
  for (std::size_t i = 0; i < 8; ++i) hwy::Prefetch(from + ahead + i * lanes);
}

// Runs the chain on the eight vectors at `a`: enough that the dispatch on the opcode costs little.
void RunEight(const KernelArgs& args, const float* a, std::size_t step, std::size_t at, float* out, bool nontemporal) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  V a0 = hn::LoadU(d, a);
  V a1 = hn::LoadU(d, a + step);
  V a2 = hn::LoadU(d, a + 2 * step);
  V a3 = hn::LoadU(d, a + 3 * step);
  V a4 = hn::LoadU(d, a + 4 * step);
  V a5 = hn::LoadU(d, a + 5 * step);
  V a6 = hn::LoadU(d, a + 6 * step);
  V a7 = hn::LoadU(d, a + 7 * step);
  if (nontemporal && step != 0) PrefetchAhead(a, lanes);
  for (const FusedOp& fused : args.fused) {
    const float* const b = fused.operand + at * fused.stride;
    const std::size_t s = lanes * fused.stride;
    switch (fused.op) {
      case ir::Op::add:
        Eight<AddOp>::Any(d, fused.form, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      case ir::Op::sub:
        Eight<SubOp>::Any(d, fused.form, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      case ir::Op::mul:
        Eight<MulOp>::Any(d, fused.form, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      case ir::Op::div:
        Eight<DivOp>::Any(d, fused.form, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      case ir::Op::min:
        Eight<FloatMinOp>::Any(d, fused.form, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      case ir::Op::max:
        Eight<FloatMaxOp>::Any(d, fused.form, b, s, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      case ir::Op::neg:
        Eight<FloatNegOp>::Alone(d, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      case ir::Op::abs:
        Eight<FloatAbsOp>::Alone(d, a0, a1, a2, a3, a4, a5, a6, a7);
        break;
      default:
        Eight<SqrtOp>::Alone(d, a0, a1, a2, a3, a4, a5, a6, a7);
    }
  }
  if (nontemporal) {
    hn::Stream(a0, d, out);
    hn::Stream(a1, d, out + lanes);
    hn::Stream(a2, d, out + 2 * lanes);
    hn::Stream(a3, d, out + 3 * lanes);
    hn::Stream(a4, d, out + 4 * lanes);
    hn::Stream(a5, d, out + 5 * lanes);
    hn::Stream(a6, d, out + 6 * lanes);
    hn::Stream(a7, d, out + 7 * lanes);
    return;
  }
  hn::StoreU(a0, d, out);
  hn::StoreU(a1, d, out + lanes);
  hn::StoreU(a2, d, out + 2 * lanes);
  hn::StoreU(a3, d, out + 3 * lanes);
  hn::StoreU(a4, d, out + 4 * lanes);
  hn::StoreU(a5, d, out + 5 * lanes);
  hn::StoreU(a6, d, out + 6 * lanes);
  hn::StoreU(a7, d, out + 7 * lanes);
}

template <class Function>
HWY_INLINE V One(Floats d, const FusedOp& fused, const float* b, V a) {
  if (fused.form == FusedOp::Form::binary) return Function::Apply(d, a, hn::LoadU(d, b));
  if (fused.form == FusedOp::Form::reversed) return Function::Apply(d, hn::LoadU(d, b), a);
  return Function::Apply(d, a, a);
}

void RunOne(const KernelArgs& args, const float* a, std::size_t at, float* out) {
  const Floats d;
  V value = hn::LoadU(d, a);
  for (const FusedOp& fused : args.fused) {
    const float* const b = fused.operand + at * fused.stride;
    switch (fused.op) {
      case ir::Op::add:
        value = One<AddOp>(d, fused, b, value);
        break;
      case ir::Op::sub:
        value = One<SubOp>(d, fused, b, value);
        break;
      case ir::Op::mul:
        value = One<MulOp>(d, fused, b, value);
        break;
      case ir::Op::div:
        value = One<DivOp>(d, fused, b, value);
        break;
      case ir::Op::min:
        value = One<FloatMinOp>(d, fused, b, value);
        break;
      case ir::Op::max:
        value = One<FloatMaxOp>(d, fused, b, value);
        break;
      case ir::Op::neg:
        value = FloatNegOp::Apply(d, value);
        break;
      case ir::Op::abs:
        value = FloatAbsOp::Apply(d, value);
        break;
      default:
        value = SqrtOp::Apply(d, value);
    }
  }
  hn::StoreU(value, d, out);
}

void RunFused(const KernelArgs& args, std::size_t count) {
  const std::size_t lanes = hn::Lanes(Floats());
  const auto* a = static_cast<const float*>(args.in[0]);
  auto* out = static_cast<float*>(args.out);
  const std::size_t step = lanes * args.stride[0];
  const bool nontemporal = args.nontemporal && reinterpret_cast<std::uintptr_t>(out) % (lanes * sizeof(float)) == 0;
  std::size_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes) RunEight(args, a + i * args.stride[0], step, i, out + i, nontemporal);
  for (; i < count; i += lanes) RunOne(args, a + i * args.stride[0], i, out + i);
}

VectorKernel FindFused() { return &RunFused; }

}  // namespace vectis::inline v0_1::vm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::inline v0_1::vm {

HWY_EXPORT(FindFused);

VectorKernel fused_kernel() { return HWY_DYNAMIC_DISPATCH(FindFused)(); }

bool is_fusible(ir::Op op) noexcept {
  switch (op) {
    case ir::Op::add:
    case ir::Op::sub:
    case ir::Op::mul:
    case ir::Op::div:
    case ir::Op::min:
    case ir::Op::max:
    case ir::Op::neg:
    case ir::Op::abs:
    case ir::Op::sqrt:
      return true;
    default:
      return false;
  }
}

}  // namespace vectis::inline v0_1::vm
#endif
