#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <optional>

#include "kernel/ir/emitter.hpp"
#include "kernel/ir/ops.hpp"
#include "kernel/ir/tape.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// Reverse mode over the unrolled function. With g the adjoint of r = op(a, b, c), what the operands get:
//
//   add g, g             sub g, -g            mul g*b, g*a          div g/b, -(g/b)*r     fma g*b, g*a, g
//   neg -g               sqrt g*0.5/r         rsqrt -g*0.5*r/a      exp g*r               exp2 g*r*ln 2
//   log g/a              log2 g/a/ln 2        sin g*cos a           cos -g*sin a          tan g*(1+r*r)
//   tanh g*(1-r*r)       asin g/sqrt(1-a*a)   acos -g/sqrt(1-a*a)   atan g/(1+a*a)        erf g*exp(-a*a)*2/sqrt(pi)
//   pow g*b*pow(a,b-1), and g*r*log a where a > 0, else 0           atan2 g*b/(a*a+b*b), -g*a/(a*a+b*b); 0 at 0, 0
//   rem g, -g*trunc(a/b)
//   abs g*sign a (0 at 0)      min, max: g to the operand that was returned, to a when both are equal
//   select: g to the value that was chosen, 0 to the other
//   floor, ceil, round, trunc, sign, comparisons, convert, bitcast, gather, random: nothing
//
// A zero that a decision gave stays zero, whatever is on the way: 0 times an infinite slope of the branch not taken
// would be NaN.
class Reverse {
 public:
  explicit Reverse(const Function& function)
      : function_(function), emitter_(with_adjoints(function), derived_name(function.name)) {}

  Function run() {
    tape_ = unroll(function_, emitter_);
    adjoints_.resize(tape_.steps.size());
    auto number = static_cast<std::uint32_t>(function_.inputs.size());
    for (const std::size_t output : tape_.outputs) {
      if (tape_.steps[output].type == DType::float32) give(output, {emitter_.input(number++), false});
    }
    for (std::size_t step = tape_.steps.size(); step-- > 0;) {
      if (adjoints_[step]) propagate(tape_.steps[step], *adjoints_[step]);
    }
    write_outputs();
    return drop_dead(emitter_.builder().finish());
  }

 private:
  struct Adjoint {
    Value value;
    bool masked = false;  // may be a zero that a decision gave
  };

  static std::string derived_name(const std::string& name) { return ("grad_" + name).substr(0, name_size_max); }

  static Function with_adjoints(const Function& function) {
    Function interface;
    interface.inputs = function.inputs;
    interface.tables = function.tables;
    interface.arguments = function.arguments;
    for (const Output& output : function.outputs) {
      if (loaded_type(output.element) == DType::float32) interface.inputs.push_back(DType::float32);
    }
    const auto is_real = [](DType element) { return loaded_type(element) == DType::float32; };
    if (interface.inputs.size() == function.inputs.size() || std::ranges::none_of(function.inputs, is_real))
      throw Error(ErrorCode::invalid_input, "ir.derivative",
                  fmt::format("'{}' has no floating input or no floating output, so no derivative", function.name));
    return interface;
  }

  // Adjoints are kept per step; an input's steps are added up here.
  void write_outputs() {
    for (std::uint32_t i = 0; i < function_.inputs.size(); ++i) {
      if (loaded_type(function_.inputs[i]) != DType::float32) continue;
      std::optional<Value> sum;
      for (std::size_t step = 0; step < tape_.steps.size(); ++step) {
        const Step& one = tape_.steps[step];
        if (one.op != Op::input || one.immediate != i || !adjoints_[step]) continue;
        sum = sum ? op(Op::add, *sum, adjoints_[step]->value) : adjoints_[step]->value;
      }
      emitter_.builder().output(sum.value_or(emitter_.real(0)), DType::float32);
    }
  }

  Value op(Op name, Value a, Value b = {}, Value c = {}) { return emitter_.real_op(name, a, b, c); }
  Value times(Value a, Value b) { return op(Op::mul, a, b); }
  Value real(double value) { return emitter_.real(static_cast<float>(value)); }
  Value boolean(Op name, Value a, Value b) { return emitter_.emit({name, DType::boolean, {a, b, {}}, 0}); }
  Value choose(Value condition, Value yes, Value no) { return op(Op::select, condition, yes, no); }

  void give(std::size_t step, Adjoint more) {
    if (!tape_.steps[step].active) return;
    auto& has = adjoints_[step];
    has = has ? Adjoint{op(Op::add, has->value, more.value), has->masked && more.masked} : more;
  }

  // Gives each operand of a step its share.
  void propagate(const Step& step, const Adjoint& adjoint) {
    step_ = &step;
    adjoint_ = adjoint;
    for (std::size_t i = 0; i < operand_count(step.op); ++i) {
      if (!tape_.steps[step.operands[i]].active) continue;
      if (const auto share = share_of(i)) give(step.operands[i], *share);
    }
  }

  [[nodiscard]] Value operand(std::size_t number) const { return tape_.steps[step_->operands[number]].value; }
  [[nodiscard]] Adjoint passed(Value value) const { return {value, adjoint_.masked}; }
  // g times a slope that may be infinite or NaN where g is a decision's zero.
  Adjoint sloped(Value product) {
    if (!adjoint_.masked) return {product, false};
    const Value none = real(0);
    return {choose(boolean(Op::eq, adjoint_.value, none), none, product), true};
  }
  Adjoint decided(Value condition, bool when) {
    const Value none = real(0);
    return {when ? choose(condition, adjoint_.value, none) : choose(condition, none, adjoint_.value), true};
  }

  std::optional<Adjoint> share_of(std::size_t number) {
    const Value g = adjoint_.value;
    const Value a = operand(0);
    switch (step_->op) {
      case Op::add:
        return passed(g);
      case Op::sub:
        return passed(number == 0 ? g : op(Op::neg, g));
      case Op::neg:
        return passed(op(Op::neg, g));
      case Op::mul:
        return sloped(times(g, operand(1 - number)));
      case Op::fma:
        return number == 2 ? passed(g) : sloped(times(g, operand(1 - number)));
      case Op::div:
        return of_division(number);
      case Op::rem:
        if (number == 0) return passed(g);
        return sloped(op(Op::neg, times(g, op(Op::trunc, op(Op::div, a, operand(1))))));
      case Op::abs:
        return passed(times(g, op(Op::sign, a)));
      case Op::min:
      case Op::max:
        return of_extreme(number);
      case Op::select:
        return decided(a, number == 1);
      case Op::pow:
        return of_power(number);
      case Op::atan2: {
        const Value squares = op(Op::add, times(a, a), times(operand(1), operand(1)));
        const Value share = op(Op::div, times(g, operand(1 - number)), squares);
        const Adjoint given = sloped(number == 0 ? share : op(Op::neg, share));
        const Value none = real(0);
        return passed(choose(boolean(Op::eq, squares, none), none, given.value));
      }
      case Op::convert:
      case Op::bitcast:  // of f32 to f32: the operand would not be active otherwise, nor the result
        return passed(g);
      default:
        return of_function();
    }
  }

  Adjoint of_division(std::size_t number) {
    const Value quotient = op(Op::div, adjoint_.value, operand(1));
    return sloped(number == 0 ? quotient : op(Op::neg, times(quotient, step_->value)));
  }

  Adjoint of_extreme(std::size_t number) {
    const Value a = operand(0);
    const Value b = operand(1);
    const Value beyond = step_->op == Op::min ? boolean(Op::lt, b, a) : boolean(Op::lt, a, b);
    const Value from_b = boolean(Op::bit_or, beyond, boolean(Op::ne, a, a));
    return decided(from_b, number == 1);
  }

  Adjoint of_power(std::size_t number) {
    const Value g = adjoint_.value;
    const Value a = operand(0);
    const Value b = operand(1);
    if (number == 0) return sloped(times(times(g, b), op(Op::pow, a, op(Op::sub, b, real(1)))));
    const Value none = real(0);
    const Value slope = times(step_->value, op(Op::log, a));
    return sloped(times(g, choose(boolean(Op::gt, a, none), slope, none)));
  }

  // Functions of one operand.
  std::optional<Adjoint> of_function() {
    const Value g = adjoint_.value;
    const Value a = operand(0);
    const Value r = step_->value;
    const auto over = [&](Value from, Value by) { return sloped(op(Op::div, from, by)); };
    switch (step_->op) {
      case Op::sqrt:
        return over(times(g, real(0.5)), r);
      case Op::rsqrt:
        return over(times(times(g, real(-0.5)), r), a);
      case Op::exp:
        return sloped(times(g, r));
      case Op::exp2:
        return sloped(times(g, times(r, real(std::numbers::ln2))));
      case Op::log:
        return over(g, a);
      case Op::log2:
        return over(times(g, real(std::numbers::log2e)), a);
      case Op::sin:
        return sloped(times(g, op(Op::cos, a)));
      case Op::cos:
        return sloped(op(Op::neg, times(g, op(Op::sin, a))));
      case Op::tan:
        return sloped(times(g, op(Op::fma, r, r, real(1))));
      case Op::tanh:
        return sloped(times(g, op(Op::fma, op(Op::neg, r), r, real(1))));
      case Op::asin:
        return over(g, op(Op::sqrt, rest_of_square(a)));
      case Op::acos:
        return over(op(Op::neg, g), op(Op::sqrt, rest_of_square(a)));
      case Op::atan:
        return over(g, op(Op::fma, a, a, real(1)));
      case Op::erf:
        return sloped(times(times(g, real(2 * std::numbers::inv_sqrtpi)), op(Op::exp, op(Op::neg, times(a, a)))));
      default:
        return std::nullopt;  // steps, and what leaves f32
    }
  }
  // 1 - a*a without cancellation near 1.
  Value rest_of_square(Value a) { return times(op(Op::sub, real(1), a), op(Op::add, real(1), a)); }

  const Function& function_;
  Emitter emitter_;
  Tape tape_;
  std::vector<std::optional<Adjoint>> adjoints_;  // of each step
  const Step* step_ = nullptr;                    // being propagated
  Adjoint adjoint_;
};

}  // namespace

Function derivative(const Function& function) {
  verify(function);
  return Reverse(function).run();
}

}  // namespace vectis::inline v0_1::ir
