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

// What one step does with a vector `a` and the memory at `p` that belongs to it.
template <class Function>
struct WithOperand {
  static HWY_INLINE void Run(Floats d, V& a, const float* p) { a = Function::Apply(d, a, hn::LoadU(d, p)); }
};
template <class Function>
struct Reversed {
  static HWY_INLINE void Run(Floats d, V& a, const float* p) { a = Function::Apply(d, hn::LoadU(d, p), a); }
};
template <class Function>
struct WithItself {
  static HWY_INLINE void Run(Floats d, V& a, const float* /*p*/) { a = Function::Apply(d, a, a); }
};
template <class Function>
struct Alone {
  static HWY_INLINE void Run(Floats d, V& a, const float* /*p*/) { a = Function::Apply(d, a); }
};
struct Store {
  static HWY_INLINE void Run(Floats d, V& a, float* p) { hn::StoreU(a, d, p); }
};
struct StoreNontemporal {
  static HWY_INLINE void Run(Floats d, V& a, float* p) { hn::Stream(a, d, p); }
};

// The vectors of a chain, which stay in registers. References, because a scalable vector cannot be a member. Each()
// runs a step on every vector; its memory is `s` elements after that of the vector before.
struct Eight {
  V& a0;
  V& a1;
  V& a2;
  V& a3;
  V& a4;
  V& a5;
  V& a6;
  V& a7;
  template <class Step, class T>
  HWY_INLINE void Each(T* p, std::size_t s) const {
    const Floats d;
    Step::Run(d, a0, p);
    Step::Run(d, a1, p + s);
    Step::Run(d, a2, p + 2 * s);
    Step::Run(d, a3, p + 3 * s);
    Step::Run(d, a4, p + 4 * s);
    Step::Run(d, a5, p + 5 * s);
    Step::Run(d, a6, p + 6 * s);
    Step::Run(d, a7, p + 7 * s);
  }
};
struct Single {
  V& a;
  template <class Step, class T>
  HWY_INLINE void Each(T* p, std::size_t /*s*/) const {
    Step::Run(Floats(), a, p);
  }
};

template <class Function, class Vectors>
HWY_INLINE void RunBinary(FusedOp::Form form, const Vectors& vectors, const float* b, std::size_t s) {
  if (form == FusedOp::Form::binary) {
    vectors.template Each<WithOperand<Function>>(b, s);
  } else if (form == FusedOp::Form::reversed) {
    vectors.template Each<Reversed<Function>>(b, s);
  } else {
    vectors.template Each<WithItself<Function>>(b, s);
  }
}

template <class Vectors>
HWY_INLINE void RunOp(const FusedOp& fused, const Vectors& vectors, const float* b, std::size_t s) {
  switch (fused.op) {
    case ir::Op::add:
      return RunBinary<AddOp>(fused.form, vectors, b, s);
    case ir::Op::sub:
      return RunBinary<SubOp>(fused.form, vectors, b, s);
    case ir::Op::mul:
      return RunBinary<MulOp>(fused.form, vectors, b, s);
    case ir::Op::div:
      return RunBinary<DivOp>(fused.form, vectors, b, s);
    case ir::Op::min:
      return RunBinary<FloatMinOp>(fused.form, vectors, b, s);
    case ir::Op::max:
      return RunBinary<FloatMaxOp>(fused.form, vectors, b, s);
    case ir::Op::neg:
      return vectors.template Each<Alone<FloatNegOp>>(b, s);
    case ir::Op::abs:
      return vectors.template Each<Alone<FloatAbsOp>>(b, s);
    default:
      return vectors.template Each<Alone<SqrtOp>>(b, s);
  }
}

// Runs the chain on vectors of which the first begins at element `at` of the block.
template <class Vectors>
HWY_INLINE void RunChain(const KernelArgs& args, std::size_t at, const Vectors& vectors) {
  const std::size_t lanes = hn::Lanes(Floats());
  for (const FusedOp& fused : args.fused)
    RunOp(fused, vectors, fused.operand + at * fused.stride, lanes * fused.stride);
}

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
  const Eight vectors{a0, a1, a2, a3, a4, a5, a6, a7};
  RunChain(args, at, vectors);
  if (nontemporal) return vectors.Each<StoreNontemporal>(out, lanes);
  vectors.Each<Store>(out, lanes);
}

void RunOne(const KernelArgs& args, const float* a, std::size_t at, float* out) {
  const Floats d;
  V value = hn::LoadU(d, a);
  const Single vectors{value};
  RunChain(args, at, vectors);
  vectors.Each<Store>(out, 0);
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
