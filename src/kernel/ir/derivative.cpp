#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/ir/folding_builder.hpp"
#include "kernel/ir/opcodes.hpp"
#include "kernel/ir/passes.hpp"
#include "vectis/base/error.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// Limits of unrolling, which bound the size of the derivative and the time to make it. Loops that only move values
// execute instructions but add no steps to the tape.
constexpr std::uint32_t unrolled_trip_count_max = 1024;
constexpr std::size_t tape_steps_max = std::size_t{1} << 18U;
constexpr std::size_t executed_max = 16 * tape_steps_max;

// One entry of the tape: one execution of an instruction. Value numbering may give two entries one value; each still
// has its own adjoint.
struct Step {
  Op op = Op::constant;
  DType type = DType::float32;
  std::array<std::size_t, 3> operands{};  // indices into the tape
  std::uint32_t immediate = 0;
  Value value;          // in the derivative's function
  bool active = false;  // an f32 that depends on an input through f32 values only
};

struct Tape {
  std::vector<Step> steps;
  std::vector<std::size_t> outputs;  // indices of steps
};

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::invalid_input, "ir.derivative", message);
}

// Executes the function symbolically and records the tape, with loops unrolled.
class Unroller {
 public:
  Unroller(const Function& function, FoldingBuilder& folder)
      : function_(function),
        folder_(folder),
        step_of_(function.instructions.size()),
        carried_(function.loops.size()),
        iteration_(function.loops.size()) {}

  Tape run() {
    block(function_.body);
    for (const Output& output : function_.outputs) tape_.outputs.push_back(step_of_[output.value]);
    return std::move(tape_);
  }

 private:
  void block(const Block& ids) {
    for (const Id id : ids) {
      const Instruction& inst = function_.instructions[id];
      if (inst.op == Op::loop) {
        loop(inst.immediate);
      } else if (inst.op == Op::result || inst.op == Op::carried) {
        step_of_[id] = carried_[loop_of(inst)][inst.immediate];
      } else if (inst.op == Op::iteration) {
        step_of_[id] = add({Op::constant, DType::uint32, {}, iteration_[loop_of(inst)], {}, false});
      } else {
        Step step{inst.op, inst.type, {}, inst.immediate, {}, false};
        for (std::size_t i = 0; i < operand_count(inst.op); ++i) step.operands[i] = step_of_[inst.operands[i]];
        step_of_[id] = add(step);
      }
    }
  }
  [[nodiscard]] std::uint32_t loop_of(const Instruction& part) const {
    return function_.instructions[part.operands[0]].immediate;
  }

  std::size_t add(Step step) {
    if (tape_.steps.size() == tape_steps_max)
      reject(fmt::format("'{}' unrolls into more than {} instructions; make its loops shorter", function_.name,
                         tape_steps_max));
    Node node{step.op, step.type, {}, step.immediate};
    bool from_active = step.op == Op::input;
    for (std::size_t i = 0; i < operand_count(step.op); ++i) {
      const Step& operand = tape_.steps[step.operands[i]];
      node.operands[i] = operand.value;
      from_active = from_active || operand.active;
    }
    step.active = from_active && step.type == DType::float32;
    step.value = folder_.emit(node);
    tape_.steps.push_back(step);
    return tape_.steps.size() - 1;
  }

  void loop(std::uint32_t number) {
    const Loop& loop = function_.loops[number];
    const Instruction& trip_count = function_.instructions[loop.trip_count];
    if (trip_count.op != Op::constant)
      reject(fmt::format("loop {} of '{}' has a trip count that is not a constant; differentiation needs a constant",
                         number, function_.name));
    if (trip_count.immediate > unrolled_trip_count_max)
      reject(fmt::format("loop {} of '{}' has a trip count of {}, more than {}; make it shorter", number,
                         function_.name, trip_count.immediate, unrolled_trip_count_max));
    count_executed(loop.initial.size());  // a loop of no iterations in another loop copies them as often
    carried_[number] = steps_of(loop.initial);
    for (std::uint32_t i = 0; i < trip_count.immediate; ++i) {
      count_executed(1 + loop.body.size() + loop.next.size());
      iteration_[number] = i;
      block(loop.body);
      carried_[number] = steps_of(loop.next);
    }
  }
  void count_executed(std::size_t instructions) {
    executed_ += instructions;
    if (executed_ > executed_max)
      reject(fmt::format("'{}' executes more than {} instructions in its loops; make them shorter", function_.name,
                         executed_max));
  }
  [[nodiscard]] std::vector<std::size_t> steps_of(const std::vector<Id>& ids) const {
    std::vector<std::size_t> steps;
    steps.reserve(ids.size());
    for (const Id id : ids) steps.push_back(step_of_[id]);
    return steps;
  }

  const Function& function_;
  FoldingBuilder& folder_;
  Tape tape_;
  std::vector<std::size_t> step_of_;  // of each instruction: its latest execution
  std::vector<std::vector<std::size_t>> carried_;
  std::vector<std::uint32_t> iteration_;
  std::size_t executed_ = 0;  // instructions of loop bodies, and values carried into loops and to the next iteration
};

// Reverse-mode differentiation (Griewank and Walther, "Evaluating Derivatives") over the tape of the unrolled
// function. With g the adjoint of r = op(a, b, c), the operands receive:
//
//   add g, g             sub g, -g            mul g*b, g*a          div g/b, -(g/b)*r     fma g*b, g*a, g
//   neg -g               sqrt g*0.5/r         rsqrt -g*0.5*r/a      exp g*r               exp2 g*r*ln 2
//   log g/a              log2 g/a/ln 2        sin g*cos a           cos -g*sin a          tan g*(1+r*r)
//   tanh g*(1-r*r)       asin g/sqrt(1-a*a)   acos -g/sqrt(1-a*a)   atan g/(1+a*a)        erf g*exp(-a*a)*2/sqrt(pi)
//   pow g*b*pow(a,b-1), 0 where b = 0; and g*r*log a where a > 0, else 0
//   atan2 g*b/(a*a+b*b), -g*a/(a*a+b*b); 0 at 0, 0 and at infinity
//   rem g, -g*round((a-r)/b), which is trunc(a/b) without the rounding of a/b to the next integer
//   abs g*sign a (0 at 0)      min, max: g to the operand that was returned, to a when both are equal
//   select: g to the value that was chosen, 0 to the other
//   floor, ceil, round, trunc, sign, comparisons, convert, bitcast, gather, random: nothing
//
// The adjoint of a branch that was not taken is zero, and stays zero even where the branch has an infinite slope: 0
// times infinity would be NaN. `masked` marks these adjoints.
class Differentiator {
 public:
  explicit Differentiator(const Function& function)
      : function_(function), folder_(with_adjoints(function), derived_name(function.name)) {}

  Function run() {
    tape_ = Unroller(function_, folder_).run();
    adjoints_.resize(tape_.steps.size());
    auto number = static_cast<std::uint32_t>(function_.inputs.size());
    for (const std::size_t output : tape_.outputs) {
      if (tape_.steps[output].type == DType::float32) accumulate(output, {folder_.input(number++), false});
    }
    for (std::size_t step = tape_.steps.size(); step-- > 0;) {
      if (adjoints_[step]) propagate(tape_.steps[step], *adjoints_[step]);
    }
    write_outputs();
    return eliminate_dead_code(folder_.builder().finish());
  }

 private:
  struct Adjoint {
    Value value;
    bool masked = false;  // may be the zero of a branch that was not taken
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
      throw Error(
          ErrorCode::invalid_input, "ir.derivative",
          fmt::format("'{}' has no f32 input or no f32 output; there is nothing to differentiate", function.name));
    return interface;
  }

  // Adds up the adjoints of all steps that load an input.
  void write_outputs() {
    for (std::uint32_t i = 0; i < function_.inputs.size(); ++i) {
      if (loaded_type(function_.inputs[i]) != DType::float32) continue;
      std::optional<Value> sum;
      for (std::size_t step = 0; step < tape_.steps.size(); ++step) {
        const Step& inst = tape_.steps[step];
        if (inst.op != Op::input || inst.immediate != i || !adjoints_[step]) continue;
        sum = sum ? op(Op::add, *sum, adjoints_[step]->value) : adjoints_[step]->value;
      }
      folder_.builder().output(sum.value_or(folder_.real(0)), DType::float32);
    }
  }

  Value op(Op name, Value a, Value b = {}, Value c = {}) { return folder_.float_op(name, a, b, c); }
  Value times(Value a, Value b) { return op(Op::mul, a, b); }
  Value real(double value) { return folder_.real(static_cast<float>(value)); }
  Value boolean(Op name, Value a, Value b) { return folder_.emit({name, DType::boolean, {a, b, {}}, 0}); }
  Value choose(Value condition, Value yes, Value no) { return op(Op::select, condition, yes, no); }

  void accumulate(std::size_t step, Adjoint more) {
    if (!tape_.steps[step].active) return;
    auto& has = adjoints_[step];
    has = has ? Adjoint{op(Op::add, has->value, more.value), has->masked && more.masked} : more;
  }

  // Adds a step's contribution to the adjoint of each operand.
  void propagate(const Step& step, const Adjoint& adjoint) {
    step_ = &step;
    adjoint_ = adjoint;
    for (std::size_t i = 0; i < operand_count(step.op); ++i) {
      if (!tape_.steps[step.operands[i]].active) continue;
      if (const auto share = contribution(i)) accumulate(step.operands[i], *share);
    }
  }

  [[nodiscard]] Value operand(std::size_t number) const { return tape_.steps[step_->operands[number]].value; }
  [[nodiscard]] Adjoint passed(Value value) const { return {value, adjoint_.masked}; }
  // g times a slope that may be infinite or NaN where g is a masked zero.
  Adjoint scaled(Value product) {
    if (!adjoint_.masked) return {product, false};
    const Value none = real(0);
    return {choose(boolean(Op::eq, adjoint_.value, none), none, product), true};
  }
  Adjoint branch(Value condition, bool when) {
    const Value none = real(0);
    return {when ? choose(condition, adjoint_.value, none) : choose(condition, none, adjoint_.value), true};
  }

  std::optional<Adjoint> contribution(std::size_t number) {
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
        return scaled(times(g, operand(1 - number)));
      case Op::fma:
        return number == 2 ? passed(g) : scaled(times(g, operand(1 - number)));
      case Op::div:
        return division_contribution(number);
      case Op::rem:
        if (number == 0) return passed(g);
        return scaled(op(Op::neg, times(g, op(Op::round, op(Op::div, op(Op::sub, a, step_->value), operand(1))))));
      case Op::abs:
        return passed(times(g, op(Op::sign, a)));
      case Op::min:
      case Op::max:
        return min_max_contribution(number);
      case Op::select:
        return branch(a, number == 1);
      case Op::pow:
        return pow_contribution(number);
      case Op::atan2:
        return atan2_contribution(number);
      case Op::convert:
      case Op::bitcast:  // f32 to f32: otherwise operand or result would not be active
        return passed(g);
      default:
        return unary_contribution();
    }
  }

  Adjoint division_contribution(std::size_t number) {
    const Value quotient = op(Op::div, adjoint_.value, operand(1));
    return scaled(number == 0 ? quotient : op(Op::neg, times(quotient, step_->value)));
  }

  Adjoint min_max_contribution(std::size_t number) {
    const Value a = operand(0);
    const Value b = operand(1);
    const Value beyond = step_->op == Op::min ? boolean(Op::lt, b, a) : boolean(Op::lt, a, b);
    const Value from_b = boolean(Op::bit_or, beyond, boolean(Op::ne, a, a));
    return branch(from_b, number == 1);
  }

  // The operands are divided by the larger one first, since squares of representable numbers underflow and overflow.
  Adjoint atan2_contribution(std::size_t number) {
    const Value a_size = op(Op::abs, operand(0));
    const Value b_size = op(Op::abs, operand(1));
    const Value size = choose(boolean(Op::lt, a_size, b_size), b_size, a_size);
    const Value a = op(Op::div, operand(0), size);
    const Value b = op(Op::div, operand(1), size);
    const Value squares = op(Op::add, times(a, a), times(b, b));
    const Value slope = op(Op::div, op(Op::div, number == 0 ? b : op(Op::neg, a), squares), size);
    const Value none = real(0);
    const Value sum = op(Op::add, a_size, b_size);  // NaN if an operand is NaN
    const Value flat = boolean(Op::bit_or, boolean(Op::eq, sum, none),
                               boolean(Op::gt, sum, folder_.real(std::numeric_limits<float>::max())));
    return scaled(times(adjoint_.value, choose(flat, none, slope)));
  }

  Adjoint pow_contribution(std::size_t number) {
    const Value g = adjoint_.value;
    const Value a = operand(0);
    const Value b = operand(1);
    const Value none = real(0);
    if (number == 0) {
      const Value slope = times(b, op(Op::pow, a, op(Op::sub, b, real(1))));
      return scaled(times(g, choose(boolean(Op::eq, b, none), none, slope)));
    }
    const Value slope = times(step_->value, op(Op::log, a));
    return scaled(times(g, choose(boolean(Op::gt, a, none), slope, none)));
  }

  // Functions of one operand.
  std::optional<Adjoint> unary_contribution() {
    const Value g = adjoint_.value;
    const Value a = operand(0);
    const Value r = step_->value;
    const auto over = [&](Value from, Value by) { return scaled(op(Op::div, from, by)); };
    switch (step_->op) {
      case Op::sqrt:
        return over(times(g, real(0.5)), r);
      case Op::rsqrt:
        return over(times(times(g, real(-0.5)), r), a);
      case Op::exp:
        return scaled(times(g, r));
      case Op::exp2:
        return scaled(times(g, times(r, real(std::numbers::ln2))));
      case Op::log:
        return over(g, a);
      case Op::log2:
        return over(times(g, real(std::numbers::log2e)), a);
      case Op::sin:
        return scaled(times(g, op(Op::cos, a)));
      case Op::cos:
        return scaled(op(Op::neg, times(g, op(Op::sin, a))));
      case Op::tan:
        return scaled(times(g, op(Op::fma, r, r, real(1))));
      case Op::tanh:
        return scaled(times(g, op(Op::fma, op(Op::neg, r), r, real(1))));
      case Op::asin:
        return over(g, op(Op::sqrt, one_minus_square(a)));
      case Op::acos:
        return over(op(Op::neg, g), op(Op::sqrt, one_minus_square(a)));
      case Op::atan:
        return over(g, op(Op::fma, a, a, real(1)));
      case Op::erf:
        return scaled(times(times(g, real(2 * std::numbers::inv_sqrtpi)), op(Op::exp, op(Op::neg, times(a, a)))));
      default:
        return std::nullopt;  // step functions, and results that are not f32
    }
  }
  // 1 - a*a without cancellation near 1.
  Value one_minus_square(Value a) { return times(op(Op::sub, real(1), a), op(Op::add, real(1), a)); }

  const Function& function_;
  FoldingBuilder folder_;
  Tape tape_;
  std::vector<std::optional<Adjoint>> adjoints_;  // of each step
  const Step* step_ = nullptr;                    // the step being differentiated
  Adjoint adjoint_;
};

}  // namespace

Function derivative(const Function& function) {
  verify(function);
  return Differentiator(function).run();
}
}  // namespace vectis::inline v0_1::ir
