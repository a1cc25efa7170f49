#include "kernel/ir/random_program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernel/ir/opcodes.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// A value, and for f32 a bound of its magnitude.
struct BoundedOperand {
  Value value;
  double bound = 0;    // |value| <= bound
  bool exact = false;  // the same bits on every device: loaded, constant, or computed from integers
};

constexpr double magnitude_max = 64;  // larger f32 values are scaled down before they are used again
constexpr double leaf = 4;            // bound of inputs, tables and arguments
constexpr double rounding = 1.001;    // relative growth of a bound by rounding

// Every random draw is assigned to a variable before it is used: the evaluation order of arguments is unspecified, and
// a seed must give the same function with every compiler.
class Generator {
 public:
  Generator(Random& random, const ProgramOptions& options) : random_(random), options_(options), b_("program") {}

  Function run() {
    make_leaves();
    for (std::size_t i = 0; i < options_.steps; ++i) step();
    make_outputs();
    return b_.finish();
  }

 private:
  // --- choosing
  bool chance(unsigned one_in) { return random_.below(one_in) == 0; }
  template <std::size_t Count>
  Op one_of(const std::array<Op, Count>& ops) {
    return ops[random_.below(Count)];
  }
  std::vector<BoundedOperand>& pool(DType type) { return pools_[value_type_index(type)]; }
  // Prefers later values, so that programs grow deep.
  BoundedOperand pick(DType type) {
    const auto& known = pool(type);
    const std::size_t last = known.size() - 1;
    return known[chance(2) ? last - random_.below(std::min<std::size_t>(last + 1, 4)) : random_.below(last + 1)];
  }
  DType integer_type() { return chance(2) ? DType::int32 : DType::uint32; }
  Value pick_integer(DType type) { return pick(type).value; }
  void keep(Value value, double bound = 0, bool exact = false) { pool(value.type).push_back({value, bound, exact}); }

  Value real(double value) { return b_.constant(static_cast<float>(value)); }
  double random_float() { return chance(3) ? static_cast<double>(random_.below(17)) / 4 - 2 : random_.unit() * 4 - 2; }
  Value random_integer_constant(DType type) {
    const auto bits = static_cast<std::uint32_t>(random_.next() >> (32 + random_.below(32)));
    return type == DType::uint32 ? b_.constant(bits) : b_.constant(static_cast<std::int32_t>(bits));
  }
  bool unguarded() { return options_.special && chance(6); }

  // An f32 of magnitude at most `limit`; scaled down if it may be larger.
  BoundedOperand bounded(double limit) {
    const BoundedOperand x = pick(DType::float32);
    if (x.bound <= limit || unguarded()) return x;
    const double near = limit * rounding;
    switch (random_.below(4)) {
      case 0:
        return {b_.mul(b_.unary(Op::tanh, scaled(x, 2).value), real(limit)), near};
      case 1:
        return {b_.mul(b_.unary(Op::sin, scaled(x, magnitude_max).value), real(limit)), near};
      case 2:
        return scaled(x, limit);
      default:
        return {b_.binary(Op::max, b_.binary(Op::min, x.value, real(limit)), real(-limit)), near};
    }
  }
  BoundedOperand scaled(const BoundedOperand& x, double limit) {
    if (x.bound <= limit) return x;
    return {b_.mul(x.value, real(limit / x.bound)), limit * rounding};
  }
  BoundedOperand number() { return bounded(magnitude_max); }
  // An f32 of at least `low` and at most `high`.
  BoundedOperand positive(double low, double high = magnitude_max) {
    const bool square = chance(2);
    const BoundedOperand x = bounded(square ? 8 : high);
    if (unguarded()) return x;
    const Value size = square ? b_.mul(x.value, x.value) : b_.unary(Op::abs, x.value);
    const double bound = square ? x.bound * x.bound : x.bound;
    const BoundedOperand sized = scaled({size, bound * rounding}, high);
    return {b_.add(sized.value, real(low)), (sized.bound + low) * rounding};
  }

  // --- leaves and outputs
  DType random_element_type() {
    static constexpr std::array all = {DType::float32, DType::float32,  DType::int32, DType::uint32,
                                       DType::float16, DType::bfloat16, DType::int8};
    return all[random_.below(options_.packed ? all.size() : 4)];
  }
  void make_leaves() {
    keep(b_.input(DType::float32), leaf, true);
    for (std::uint64_t i = random_.below(4); i > 0; --i) keep(b_.input(random_element_type()), leaf, true);
    for (std::uint64_t i = random_.below(3); i > 0; --i) tables_.push_back(b_.table(random_element_type()));
    keep(b_.argument(DType::float32), leaf, true);
    if (chance(2)) keep(b_.argument(integer_type()));
    keep(real(random_float()), 2, true);
    keep(b_.index());
    for (const DType type : {DType::int32, DType::uint32}) keep(random_integer_constant(type));
    keep(b_.constant(chance(2)));
    comparison();
  }
  void make_outputs() {
    // The last values, so that little of the program is dead, and some others.
    const auto& reals = pool(DType::float32);
    Value sum = reals.back().value;
    for (std::size_t i = 2; i <= std::min<std::size_t>(reals.size(), 6); ++i)
      sum = b_.add(sum, reals[reals.size() - i].value);
    b_.output(sum, DType::float32);
    for (std::uint64_t i = random_.below(3); i > 0; --i) {
      const DType element = random_element_type();
      b_.output(pick(loaded_type(element)).value, element);
    }
  }

  // --- one step each
  void step() {
    const std::uint64_t loops = options_.loops && depth_ < 2 ? 1 : 0;
    switch (random_.below(19 + loops)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return arithmetic();
      case 4:
      case 5:
      case 6:
      case 7:
        return function_of_one();
      case 8:
      case 9:
        return function_of_two();
      case 10:
        return rounded();
      case 11:
        return comparison();
      case 12:
        return choice();
      case 13:
      case 14:
        return integers();
      case 15:
        return conversion();
      case 16:
        return chance(2) ? reinterpreted() : random_number();
      case 17:
        return gathered();
      case 18:
        return decision();
      default:
        return loop();
    }
  }

  void arithmetic() {
    const BoundedOperand x = number();
    const BoundedOperand y = number();
    switch (random_.below(8)) {
      case 0:
        return keep(b_.add(x.value, y.value), (x.bound + y.bound) * rounding);
      case 1:
        return keep(b_.sub(x.value, y.value), (x.bound + y.bound) * rounding);
      case 2:
        return keep(b_.mul(x.value, y.value), x.bound * y.bound * rounding);
      case 3:
        return keep(b_.unary(chance(2) ? Op::neg : Op::abs, x.value), x.bound, x.exact);
      case 4:
        return keep(b_.binary(chance(2) ? Op::min : Op::max, x.value, y.value), std::max(x.bound, y.bound));
      case 5: {
        const BoundedOperand z = number();
        return keep(b_.apply(Op::fma, std::array{x.value, y.value, z.value}), (x.bound * y.bound + z.bound) * rounding);
      }
      case 6: {
        const BoundedOperand z = positive(0.5);
        return keep(b_.div(x.value, z.value), x.bound * 2 * rounding);
      }
      default: {
        const BoundedOperand z = positive(0.5, 8);
        return keep(b_.binary(Op::rem, x.value, z.value), std::min(x.bound, z.bound));
      }
    }
  }

  void function_of_one() {
    switch (random_.below(6)) {
      case 0: {
        const BoundedOperand x = positive(0.25);
        return chance(2) ? keep(b_.unary(Op::sqrt, x.value), 9) : keep(b_.unary(Op::rsqrt, x.value), 2 * rounding);
      }
      case 1: {
        const BoundedOperand x = positive(0.25);
        return keep(b_.unary(chance(2) ? Op::log : Op::log2, x.value), 7);
      }
      case 2:
        return chance(2) ? keep(b_.unary(Op::exp, bounded(4).value), 56)
                         : keep(b_.unary(Op::exp2, bounded(5).value), 33);
      case 3: {
        const BoundedOperand x = bounded(16);
        return keep(b_.unary(one_of(std::array{Op::sin, Op::cos, Op::tanh, Op::erf}), x.value), rounding);
      }
      case 4: {
        const BoundedOperand x = bounded(0.875);
        return keep(b_.unary(chance(2) ? Op::asin : Op::acos, x.value), 3.2);
      }
      default:
        return chance(2) ? keep(b_.unary(Op::tan, bounded(1.25).value), 3.2)
                         : keep(b_.unary(Op::atan, number().value), 1.6);
    }
  }

  void function_of_two() {
    if (chance(2)) {
      const BoundedOperand base = positive(0.25, 4);
      return keep(b_.binary(Op::pow, base.value, bounded(3).value), 90);
    }
    const BoundedOperand y = number();
    const BoundedOperand x = options_.differentiable || chance(2) ? positive(0.25) : number();
    keep(b_.binary(Op::atan2, y.value, x.value), 3.2);
  }

  void rounded() {
    const BoundedOperand x = number();
    keep(b_.unary(one_of(std::array{Op::floor, Op::ceil, Op::round, Op::trunc, Op::sign}), x.value), x.bound + 1,
         x.exact);
  }

  void comparison() {
    static constexpr std::array ops = {Op::lt, Op::le, Op::gt, Op::ge, Op::eq, Op::ne};
    const DType type = chance(3) ? integer_type() : DType::float32;
    // f32 values are compared for equality only where they are exact: rounding errors would decide otherwise.
    const Value a = pick(type).value;
    const Value b = pick(type).value;
    const bool ordered = type == DType::float32 && !(exact(a) && exact(b));
    keep(b_.binary(ops[random_.below(ordered ? 4 : 6)], a, b));
  }
  bool exact(Value value) {
    const auto& known = pool(value.type);
    return std::ranges::any_of(known, [&](const BoundedOperand& one) { return one.value.id == value.id && one.exact; });
  }

  void choice() {
    const Value condition = pick(DType::boolean).value;
    if (chance(3)) {
      const DType type = chance(4) ? DType::boolean : integer_type();
      const Value yes = pick(type).value;
      return keep(b_.select(condition, yes, pick(type).value));
    }
    const BoundedOperand x = pick(DType::float32);
    const BoundedOperand y = pick(DType::float32);
    keep(b_.select(condition, x.value, y.value), std::max(x.bound, y.bound));
  }

  void integers() {
    if (chance(5)) {
      const Op op = one_of(std::array{Op::bit_and, Op::bit_or, Op::bit_xor, Op::eq, Op::ne});
      if (chance(4)) return keep(b_.unary(Op::bit_not, pick(DType::boolean).value));
      const Value a = pick(DType::boolean).value;
      return keep(b_.binary(op, a, pick(DType::boolean).value));
    }
    const DType type = integer_type();
    if (chance(4)) {
      const Op op = one_of(std::array{Op::neg, Op::abs, Op::bit_not, Op::popcount, Op::leading_zeros});
      return keep(b_.unary(op, pick_integer(type)));
    }
    const Op op = one_of(std::array{Op::add, Op::sub, Op::mul, Op::div, Op::rem, Op::min, Op::max, Op::bit_and,
                                    Op::bit_or, Op::bit_xor, Op::shl, Op::shr});
    const Value a = pick_integer(type);
    keep(b_.binary(op, a, chance(3) ? random_integer_constant(type) : pick_integer(type)));
  }

  void conversion() {
    const DType type = integer_type();
    switch (random_.below(5)) {
      case 0:
        return keep(b_.convert(pick(DType::float32).value, type));
      case 1: {
        const Value mask = type == DType::uint32 ? b_.constant(255U) : b_.constant(63);
        const Value small = b_.binary(Op::bit_and, pick_integer(type), mask);
        return keep(b_.mul(b_.convert(small, DType::float32), real(1.0 / 64)), 4, true);
      }
      case 2:
        return keep(b_.convert(pick_integer(type), type == DType::uint32 ? DType::int32 : DType::uint32));
      case 3: {
        const Value condition = pick(DType::boolean).value;
        return chance(2) ? keep(b_.convert(condition, type)) : keep(b_.convert(condition, DType::float32), 1, true);
      }
      default:
        // f32 is converted to bool only where it is exact.
        if (const BoundedOperand x = pick(DType::float32); x.exact && chance(2))
          return keep(b_.convert(x.value, DType::boolean));
        return keep(b_.convert(pick_integer(type), DType::boolean));
    }
  }

  void reinterpreted() {
    const BoundedOperand x = pick(DType::float32);
    if (x.exact && !options_.differentiable && chance(2)) return keep(b_.bitcast(x.value, integer_type()));
    if (chance(3)) return keep(b_.bitcast(pick_integer(DType::uint32), DType::int32));
    const Value mantissa = b_.binary(Op::shr, pick_integer(DType::uint32), b_.constant(9U));
    keep(b_.bitcast(b_.binary(Op::bit_or, mantissa, b_.constant(0x3f800000U)), DType::float32), 2, true);
  }

  void random_number() {
    const Value key = pick_integer(DType::uint32);
    const Value bits = b_.random(key, b_.binary(Op::add, b_.index(), pick_integer(DType::uint32)));
    if (chance(3)) return keep(bits);
    const Value top = b_.binary(Op::shr, bits, b_.constant(8U));
    keep(b_.mul(b_.convert(top, DType::float32), real(0x1p-24)), 1, true);
  }

  void gathered() {
    if (tables_.empty()) return integers();
    Value at = pick_integer(DType::uint32);
    if (!chance(4)) at = b_.binary(Op::bit_and, at, b_.constant(31U));
    keep(b_.gather(tables_[random_.below(tables_.size())], at), leaf, true);
  }

  void decision() {
    std::vector<Builder::DecisionNode> tree;
    const auto conditions = static_cast<int>(1 + random_.below(4));
    std::vector<Value> leaves;
    double bound = 0;
    const auto add_leaf = [&] {
      const BoundedOperand x = pick(DType::float32);
      leaves.push_back(x.value);
      bound = std::max(bound, x.bound);
      return ~static_cast<int>(leaves.size() - 1);
    };
    for (int i = 0; i < conditions; ++i) {
      const int next = i + 1 < conditions ? i + 1 : add_leaf();
      const int other = add_leaf();
      if (i > 0) comparison();
      const Value condition = pick(DType::boolean).value;
      tree.push_back(chance(2) ? Builder::DecisionNode{condition, next, other}
                               : Builder::DecisionNode{condition, other, next});
    }
    keep(b_.decision_tree(tree, leaves), bound);
  }

  // Carries one f32, and sometimes an integer and a bool. Values of the body are dropped after the loop.
  void loop() {
    const Value trip_count = options_.differentiable || chance(2)
                                 ? b_.constant(static_cast<std::uint32_t>(random_.below(5)))
                                 : b_.argument(DType::uint32);
    const BoundedOperand start = bounded(leaf);
    std::vector<Value> initial = {start.value};
    if (chance(2)) initial.push_back(pick_integer(integer_type()));
    if (chance(4)) initial.push_back(pick(DType::boolean).value);
    const auto outside = pools_;
    const auto handle = b_.begin_loop(trip_count, initial);
    ++depth_;
    keep(handle.iteration);
    for (const Value& value : handle.carried) keep(value, leaf * rounding);
    for (std::uint64_t i = 2 + random_.below(4); i > 0; --i) step();
    std::vector<Value> next = {bounded(leaf).value};
    for (std::size_t i = 1; i < initial.size(); ++i) next.push_back(pick(initial[i].type).value);
    --depth_;
    const auto results = b_.end_loop(handle, next);
    pools_ = outside;
    for (const Value& value : results) keep(value, leaf * rounding * rounding);
  }

  Random& random_;
  const ProgramOptions& options_;
  Builder b_;
  std::array<std::vector<BoundedOperand>, 4> pools_;
  std::vector<std::uint32_t> tables_;
  std::size_t depth_ = 0;
};

}  // namespace

Function random_program(Random& random, const ProgramOptions& options) { return Generator(random, options).run(); }

namespace {

constexpr std::uint32_t trips_max = 5;

float random_float_element(Random& random) {
  const auto quarter =
      static_cast<float>(random.below(33)) / 4.0F - 4.0F;  // multiples of 0.25 give rounding ties and equal values
  return random.below(4) == 0 ? quarter : static_cast<float>(random.unit() * 8 - 4);
}

std::uint32_t random_integer(Random& random) {
  const std::uint64_t draw = random.next();
  switch (draw & 3U) {
    case 0:
      return static_cast<std::uint32_t>(draw >> 32U);
    case 1:
      return static_cast<std::uint32_t>((draw >> 32U) & 15U);
    case 2:
      return 0U - static_cast<std::uint32_t>((draw >> 32U) & 255U);
    default:
      return static_cast<std::uint32_t>((draw >> 32U) & 1023U);
  }
}

template <class Bits>
void put(std::vector<std::byte>* bytes, std::size_t at, Bits bits) {
  std::memcpy(bytes->data() + at * sizeof(Bits), &bits, sizeof(Bits));
}

}  // namespace

std::vector<std::byte> random_elements(DType element, std::size_t count, Random& random) {
  const std::size_t per_word = lanes(element);
  std::vector<std::byte> bytes((count + per_word - 1) / per_word * 4);
  for (std::size_t i = 0; i < count; ++i) {
    switch (element) {
      case DType::float32:
        put(&bytes, i, random_float_element(random));
        break;
      case DType::float16:
        put(&bytes, i, to_half(random_float_element(random)).bits);
        break;
      case DType::bfloat16:
        put(&bytes, i, to_bfloat16(random_float_element(random)).bits);
        break;
      case DType::int8:
        put(&bytes, i, static_cast<std::uint8_t>(random.below(256)));
        break;
      default:
        put(&bytes, i, random_integer(random));
    }
  }
  return bytes;
}

Bindings ProgramData::bindings() const {
  Bindings all;
  all.inputs.assign(inputs.begin(), inputs.end());
  all.tables.assign(tables.begin(), tables.end());
  all.arguments = arguments;
  return all;
}

ProgramData random_data(const Function& function, std::size_t count, Random& random) {
  ProgramData data;
  for (const DType element : function.inputs) data.inputs.push_back(random_elements(element, count, random));
  for (const DType element : function.tables)
    data.tables.push_back(random_elements(element, 4 + 4 * random.below(16), random));
  for (const DType type : function.arguments)
    data.arguments.push_back(type == DType::float32 ? std::bit_cast<std::uint32_t>(random_float_element(random))
                                                    : random_integer(random));
  for (const Loop& loop : function.loops) {
    const Instruction& trip_count = function.instructions[loop.trip_count];
    if (trip_count.op == Op::argument)
      data.arguments[trip_count.immediate] = static_cast<std::uint32_t>(random.below(trips_max + 1));
  }
  return data;
}

}  // namespace vectis::inline v0_1::ir
