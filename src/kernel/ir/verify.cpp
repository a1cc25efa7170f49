#include <fmt/format.h>

#include <algorithm>

#include "kernel/ir/ops.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// Walks the blocks in the order they are computed and knows which values can be seen.
class Verifier {
 public:
  explicit Verifier(const Function& function)
      : function_(function),
        seen_(function.instructions.size(), State::absent),
        loop_seen_(function.loops.size(), false) {}

  void run() {
    check_interface();
    check_block(function_.body, 0);
    for (Id id = 0; id < seen_.size(); ++id) {
      if (seen_[id] == State::absent) fail(id, "is in no block that is reached");
    }
    for (std::size_t i = 0; i < loop_seen_.size(); ++i) {
      if (!loop_seen_[i]) refuse(fmt::format("loop {} has no instruction", i));
    }
    check_outputs();
  }

 private:
  // `inside`: a loop whose body is being walked; `hidden`: of a body that has ended.
  enum class State : std::uint8_t { absent, visible, inside, hidden };

  [[noreturn]] static void refuse(const std::string& message) {
    throw Error(ErrorCode::invalid_input, "ir.verify", message);
  }
  [[noreturn]] void fail(Id id, const std::string& what) const {
    refuse(
        fmt::format("instruction {} ({}) of '{}' {}", id, name_of(function_.instructions[id]), function_.name, what));
  }
  static std::string_view name_of(const Instruction& one) {
    return static_cast<std::size_t>(one.op) < op_count ? name(one.op) : "unknown";
  }

  void check_interface() const {
    if (!is_name(function_.name))
      refuse(fmt::format("'{}' is no name of a function; use [a-z][a-z0-9_]* of at most {} characters",
                         function_.name.substr(0, name_size_max), name_size_max));
    for (const auto* list : {&function_.inputs, &function_.tables}) {
      for (const DType element : *list) {
        if (!is_kernel_type(element))
          refuse(fmt::format("'{}' has an input or table of no known element", function_.name));
      }
    }
    for (const DType type : function_.arguments) {
      if (!is_value_type(type) || type == DType::boolean)
        refuse(fmt::format("'{}' has an argument that is not f32, i32 or u32", function_.name));
    }
  }

  void check_outputs() const {
    if (function_.outputs.empty()) refuse(fmt::format("'{}' has no output", function_.name));
    for (std::size_t i = 0; i < function_.outputs.size(); ++i) {
      const Output& output = function_.outputs[i];
      if (!is_kernel_type(output.element)) refuse(fmt::format("output {} has no known element", i));
      if (output.value >= seen_.size() || seen_[output.value] != State::visible || is_loop(output.value))
        refuse(fmt::format("output {} names value {}, which the body does not have", i, output.value));
      const DType type = function_.instructions[output.value].type;
      if (type != loaded_type(output.element))
        refuse(fmt::format("output {} stores {} as {}", i, short_name(type), short_name(output.element)));
    }
  }

  [[nodiscard]] bool is_loop(Id id) const { return function_.instructions[id].op == Op::loop; }

  void check_block(const Block& block, std::size_t depth) {
    for (const Id id : block) {
      if (id >= seen_.size())
        refuse(fmt::format("a block of '{}' names instruction {} of {}", function_.name, id, seen_.size()));
      if (seen_[id] != State::absent) fail(id, "is twice in blocks");
      check_instruction(id, depth);
      seen_[id] = State::visible;
    }
  }

  // A value that the instruction may use here.
  DType use(Id user, Id operand, std::string_view what) const {
    if (operand >= seen_.size() || seen_[operand] == State::absent)
      fail(user, fmt::format("uses {} {}, which is not computed before it", what, operand));
    if (seen_[operand] == State::hidden) fail(user, fmt::format("uses {} {} of a loop that has ended", what, operand));
    if (is_loop(operand)) fail(user, fmt::format("uses loop {} as a value", operand));
    return function_.instructions[operand].type;
  }

  void expect(Id id, DType type) const {
    const DType is = function_.instructions[id].type;
    if (is != type) fail(id, fmt::format("has type {}, but gives {}", short_name(is), short_name(type)));
  }
  void expect_below(Id id, std::size_t count, std::string_view what) const {
    const std::uint32_t number = function_.instructions[id].immediate;
    if (number >= count) fail(id, fmt::format("names {} {} of {}", what, number, count));
  }

  void check_instruction(Id id, std::size_t depth) {
    const Instruction& one = function_.instructions[id];
    if (static_cast<std::size_t>(one.op) >= op_count)
      fail(id, fmt::format("has no operation {}", static_cast<int>(one.op)));
    if (!is_value_type(one.type)) fail(id, fmt::format("has no type {}", static_cast<int>(one.type)));
    switch (shape(one.op)) {
      case Shape::leaf:
        return check_leaf(id, one);
      case Shape::plain:
        return check_plain(id, one);
      case Shape::typed: {
        const DType from = use(id, one.operands[0], "value");
        if (one.op == Op::bitcast && !bitcastable(from, one.type)) fail(id, "goes among f32, i32 and u32 only");
        return;
      }
      case Shape::gather:
        if (use(id, one.operands[0], "value") != DType::uint32) fail(id, "takes an index of u32");
        expect_below(id, function_.tables.size(), "table");
        return expect(id, loaded_type(function_.tables[one.immediate]));
      case Shape::looped:
        return one.op == Op::loop ? check_loop(id, one, depth) : check_part_of_loop(id, one);
    }
  }

  void check_leaf(Id id, const Instruction& one) const {
    if (one.op == Op::input) {
      expect_below(id, function_.inputs.size(), "input");
      expect(id, loaded_type(function_.inputs[one.immediate]));
    } else if (one.op == Op::argument) {
      expect_below(id, function_.arguments.size(), "argument");
      expect(id, function_.arguments[one.immediate]);
    } else if (one.op == Op::index) {
      expect(id, DType::uint32);
    } else if (one.type == DType::boolean && one.immediate > 1) {
      fail(id, fmt::format("is a bool of {}; it is 0 or 1", one.immediate));
    }
  }

  void check_plain(Id id, const Instruction& one) const {
    std::array<DType, 3> types{};
    const std::size_t count = operand_count(one.op);
    for (std::size_t i = 0; i < count; ++i) types[i] = use(id, one.operands[i], "value");
    const auto type = plain_type(one.op, std::span(types).first(count));
    if (!type) fail(id, fmt::format("takes {}", accepted(one.op)));
    expect(id, *type);
  }

  void check_loop(Id id, const Instruction& one, std::size_t depth) {
    if (one.type != DType::uint32) fail(id, "has a type other than u32, which a loop bears by agreement");
    expect_below(id, function_.loops.size(), "loop");
    if (loop_seen_[one.immediate]) fail(id, fmt::format("names loop {}, which another has", one.immediate));
    if (depth == loop_depth_max) fail(id, fmt::format("is nested deeper than {}", loop_depth_max));
    loop_seen_[one.immediate] = true;
    const Loop& loop = function_.loops[one.immediate];
    const bool is_u32 = use(id, loop.trips, "trips") == DType::uint32;
    const Op trips = function_.instructions[loop.trips].op;
    if (!is_u32 || (trips != Op::constant && trips != Op::argument))
      fail(id, "has trips that are no u32 constant or argument");
    if (loop.initial.size() != loop.next.size())
      fail(id, fmt::format("has {} initial and {} next values", loop.initial.size(), loop.next.size()));
    for (const Id value : loop.initial) use(id, value, "initial value");
    seen_[id] = State::inside;
    check_block(loop.body, depth + 1);
    for (std::size_t i = 0; i < loop.next.size(); ++i) {
      if (use(id, loop.next[i], "next value") != function_.instructions[loop.initial[i]].type)
        fail(id, fmt::format("carries value {} with another type than it begins with", i));
    }
    for (const Id value : loop.body) seen_[value] = State::hidden;
  }

  void check_part_of_loop(Id id, const Instruction& one) const {
    const Id named = one.operands[0];
    const State wanted = one.op == Op::result ? State::visible : State::inside;
    if (named >= seen_.size() || !is_loop(named) || seen_[named] != wanted)
      fail(id, fmt::format("names {}, which is no loop {}", named,
                           one.op == Op::result ? "that has ended before it" : "around it"));
    if (one.op == Op::iteration) return expect(id, DType::uint32);
    const Loop& loop = function_.loops[function_.instructions[named].immediate];
    expect_below(id, loop.initial.size(), "carried value");
    expect(id, function_.instructions[loop.initial[one.immediate]].type);
  }

  const Function& function_;
  std::vector<State> seen_;
  std::vector<bool> loop_seen_;
};

}  // namespace

void verify(const Function& function) { Verifier(function).run(); }

}  // namespace vectis::inline v0_1::ir
