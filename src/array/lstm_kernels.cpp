// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "array/lstm_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "array/lstm_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::array::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Functions of Highway require finite operands: beyond 80 the results are those of 80, and NaN stays.
template <class D, class V>
HWY_INLINE V within_80(D d, V x) {
  return hn::Max(hn::Min(x, hn::Set(d, 80.0F)), hn::Set(d, -80.0F));
}

template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const V result = hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(within_80(d, x)))));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  const V result = hn::Tanh(d, within_80(d, x));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// The elements [begin, end) of a row, in whole vectors of D. Returns where it ended.
template <class D>
HWY_INLINE std::size_t forward_elements(D d, const LstmRow& row, std::size_t begin) {
  const std::size_t n = row.hidden;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = begin;
  for (; i + lanes <= n; i += lanes) {
    const auto gate = [&](std::size_t number) HWY_ATTR {
      const std::size_t at = number * n + i;
      return hn::Add(hn::LoadU(d, row.inputs + at), hn::LoadU(d, row.recurrent + at));
    };
    const auto input = sigmoid_of(d, gate(0));
    const auto forget = sigmoid_of(d, gate(1));
    const auto candidate = tanh_of(d, gate(2));
    const auto output = sigmoid_of(d, gate(3));
    const auto kept = hn::Mul(forget, hn::LoadU(d, row.cell_before + i));
    const auto cell = hn::Add(kept, hn::Mul(input, candidate));
    hn::StoreU(input, d, row.gates + i);
    hn::StoreU(forget, d, row.gates + n + i);
    hn::StoreU(candidate, d, row.gates + 2 * n + i);
    hn::StoreU(output, d, row.gates + 3 * n + i);
    hn::StoreU(cell, d, row.cell + i);
    hn::StoreU(hn::Mul(output, tanh_of(d, cell)), d, row.output + i);
  }
  return i;
}

template <class D>
HWY_INLINE std::size_t gradient_elements(D d, const LstmRowGradient& row, std::size_t begin) {
  const std::size_t n = row.hidden;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0F);
  std::size_t i = begin;
  for (; i + lanes <= n; i += lanes) {
    const auto input = hn::LoadU(d, row.gates + i);
    const auto forget = hn::LoadU(d, row.gates + n + i);
    const auto candidate = hn::LoadU(d, row.gates + 2 * n + i);
    const auto output = hn::LoadU(d, row.gates + 3 * n + i);
    const auto squashed = tanh_of(d, hn::LoadU(d, row.cell + i));
    const auto hidden = hn::Add(hn::LoadU(d, row.output_adjoint + i), hn::LoadU(d, row.later_adjoint + i));
    const auto slope = hn::Mul(output, hn::Sub(one, hn::Mul(squashed, squashed)));
    const auto results = hn::Add(hn::LoadU(d, row.cell_adjoint + i), hn::LoadU(d, row.carried + i));
    const auto cell = hn::Add(results, hn::Mul(hidden, slope));
    const auto of_sigmoid = [&](auto value, auto adjoint)
                                HWY_ATTR { return hn::Mul(adjoint, hn::Mul(value, hn::Sub(one, value))); };
    const auto of_candidate = hn::Mul(hn::Mul(cell, input), hn::Sub(one, hn::Mul(candidate, candidate)));
    hn::StoreU(of_sigmoid(input, hn::Mul(cell, candidate)), d, row.gates_adjoint + i);
    hn::StoreU(of_sigmoid(forget, hn::Mul(cell, hn::LoadU(d, row.cell_before + i))), d, row.gates_adjoint + n + i);
    hn::StoreU(of_candidate, d, row.gates_adjoint + 2 * n + i);
    hn::StoreU(of_sigmoid(output, hn::Mul(hidden, squashed)), d, row.gates_adjoint + 3 * n + i);
    hn::StoreU(hn::Mul(cell, forget), d, row.carried + i);
  }
  return i;
}

// What does not fill a vector is computed one by one.
void compute_row(const LstmRow& row) {
  forward_elements(hn::CappedTag<float, 1>(), row, forward_elements(hn::CappedTag<float, 16>(), row, 0));
}
void compute_gradient(const LstmRowGradient& row) {
  gradient_elements(hn::CappedTag<float, 1>(), row, gradient_elements(hn::CappedTag<float, 16>(), row, 0));
}

}  // namespace vectis::inline v0_1::array::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace vectis::inline v0_1::array {

HWY_EXPORT(compute_row);
HWY_EXPORT(compute_gradient);

void lstm_row(const LstmRow& row) { HWY_DYNAMIC_DISPATCH(compute_row)(row); }
void lstm_row_gradient(const LstmRowGradient& row) { HWY_DYNAMIC_DISPATCH(compute_gradient)(row); }

}  // namespace vectis::inline v0_1::array

#endif
