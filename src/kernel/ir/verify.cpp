#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.hpp"
#include "kernel/ir/opcodes.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// Visits the blocks in execution order and tracks which values are visible.
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
      if (seen_[id] == State::absent) fail(id, "is in no reachable block");
    }
    for (std::size_t i = 0; i < loop_seen_.size(); ++i) {
      if (!loop_seen_[i]) refuse(fmt::format("no instruction uses loop {}", i));
    }
    check_outputs();
  }

 private:
  // `inside`: a loop whose body is being checked; `hidden`: a value of a body that has ended.
  enum class State : std::uint8_t { absent, visible, inside, hidden };

  [[noreturn]] static void refuse(const std::string& message) {
    throw Error(ErrorCode::invalid_input, "ir.verify", message);
  }
  [[noreturn]] void fail(Id id, const std::string& what) const {
    refuse(
        fmt::format("instruction {} ({}) of '{}' {}", id, name_of(function_.instructions[id]), function_.name, what));
  }
  static std::string_view name_of(const Instruction& inst) {
    return static_cast<std::size_t>(inst.op) < op_count ? name(inst.op) : "unknown";
  }

  void check_interface() const {
    if (!is_function_name(function_.name))
      refuse(fmt::format("'{}' is not a valid function name; use [a-z][a-z0-9_]* of at most {} characters",
                         detail::cut_utf8(function_.name, name_size_max), name_size_max));
    for (const auto* list : {&function_.inputs, &function_.tables}) {
      for (const DType element : *list) {
        if (!is_kernel_type(element))
          refuse(fmt::format("'{}' has an input or table of an unsupported type", function_.name));
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
      if (!is_kernel_type(output.element)) refuse(fmt::format("output {} has an unsupported type", i));
      if (output.value >= seen_.size() || seen_[output.value] != State::visible || is_loop(output.value))
        refuse(fmt::format("output {} refers to value {}, which the body does not compute", i, output.value));
      const DType type = function_.instructions[output.value].type;
      if (type != loaded_type(output.element))
        refuse(
            fmt::format("output {} stores a value of type {} as {}", i, short_name(type), short_name(output.element)));
    }
  }

  [[nodiscard]] bool is_loop(Id id) const { return function_.instructions[id].op == Op::loop; }

  void check_block(const Block& block, std::size_t depth) {
    for (const Id id : block) {
      if (id >= seen_.size())
        refuse(fmt::format("a block of '{}' refers to instruction {}, but there are only {}", function_.name, id,
                           seen_.size()));
      if (seen_[id] != State::absent) fail(id, "is in more than one place");
      check_instruction(id, depth);
      seen_[id] = State::visible;
    }
  }

  // Checks that `user` may use the value here, and returns its type.
  DType use(Id user, Id operand, std::string_view what) const {
    if (operand >= seen_.size() || seen_[operand] == State::absent)
      fail(user, fmt::format("uses {} {} before it is computed", what, operand));
    if (seen_[operand] == State::hidden) fail(user, fmt::format("uses {} {} of a loop that has ended", what, operand));
    if (is_loop(operand)) fail(user, fmt::format("uses loop {} as a value", operand));
    return function_.instructions[operand].type;
  }

  void expect(Id id, DType type) const {
    const DType is = function_.instructions[id].type;
    if (is != type) fail(id, fmt::format("has type {}, but computes {}", short_name(is), short_name(type)));
  }
  void expect_below(Id id, std::size_t count, std::string_view what) const {
    const std::uint32_t number = function_.instructions[id].immediate;
    if (number >= count) fail(id, fmt::format("refers to {} {}, but there are only {}", what, number, count));
  }

  void check_instruction(Id id, std::size_t depth) {
    const Instruction& inst = function_.instructions[id];
    if (static_cast<std::size_t>(inst.op) >= op_count)
      fail(id, fmt::format("has unknown opcode {}", static_cast<int>(inst.op)));
    if (!is_value_type(inst.type)) fail(id, fmt::format("has unsupported type {}", static_cast<int>(inst.type)));
    switch (op_class(inst.op)) {
      case OpClass::leaf:
        return check_leaf(id, inst);
      case OpClass::plain:
        return check_plain(id, inst);
      case OpClass::typed: {
        const DType from = use(id, inst.operands[0], "value");
        if (inst.op == Op::bitcast && !can_bitcast(from, inst.type)) fail(id, "converts only between f32, i32 and u32");
        return;
      }
      case OpClass::gather:
        if (use(id, inst.operands[0], "value") != DType::uint32) fail(id, "takes a u32 index");
        expect_below(id, function_.tables.size(), "table");
        return expect(id, loaded_type(function_.tables[inst.immediate]));
      case OpClass::loop_part:
        return inst.op == Op::loop ? check_loop(id, inst, depth) : check_part_of_loop(id, inst);
    }
  }

  void check_leaf(Id id, const Instruction& inst) const {
    if (inst.op == Op::input) {
      expect_below(id, function_.inputs.size(), "input");
      expect(id, loaded_type(function_.inputs[inst.immediate]));
    } else if (inst.op == Op::argument) {
      expect_below(id, function_.arguments.size(), "argument");
      expect(id, function_.arguments[inst.immediate]);
    } else if (inst.op == Op::index) {
      expect(id, DType::uint32);
    } else if (inst.type == DType::boolean && inst.immediate > 1) {
      fail(id, fmt::format("is a bool constant of {}; use 0 or 1", inst.immediate));
    }
  }

  void check_plain(Id id, const Instruction& inst) const {
    std::array<DType, 3> types{};
    const std::size_t count = operand_count(inst.op);
    for (std::size_t i = 0; i < count; ++i) types[i] = use(id, inst.operands[i], "value");
    const auto type = result_type(inst.op, std::span(types).first(count));
    if (!type) fail(id, fmt::format("takes {}", accepted_operands(inst.op)));
    expect(id, *type);
  }

  void check_loop(Id id, const Instruction& inst, std::size_t depth) {
    if (inst.type != DType::uint32) fail(id, "has a type other than u32, the type of loops");
    expect_below(id, function_.loops.size(), "loop");
    if (loop_seen_[inst.immediate])
      fail(id, fmt::format("uses loop {}, which belongs to another instruction", inst.immediate));
    if (depth == loop_depth_max) fail(id, fmt::format("is nested deeper than {}", loop_depth_max));
    loop_seen_[inst.immediate] = true;
    const Loop& loop = function_.loops[inst.immediate];
    const bool is_u32 = use(id, loop.trip_count, "trip count") == DType::uint32;
    const Op trip_count = function_.instructions[loop.trip_count].op;
    if (!is_u32 || (trip_count != Op::constant && trip_count != Op::argument))
      fail(id, "has a trip count that is not a u32 constant or argument");
    if (loop.initial.size() != loop.next.size())
      fail(id, fmt::format("has {} initial and {} next values", loop.initial.size(), loop.next.size()));
    for (const Id value : loop.initial) use(id, value, "initial value");
    seen_[id] = State::inside;
    check_block(loop.body, depth + 1);
    for (std::size_t i = 0; i < loop.next.size(); ++i) {
      if (use(id, loop.next[i], "next value") != function_.instructions[loop.initial[i]].type)
        fail(id, fmt::format("changes the type of carried value {}", i));
    }
    for (const Id value : loop.body) seen_[value] = State::hidden;
  }

  void check_part_of_loop(Id id, const Instruction& inst) const {
    const Id named = inst.operands[0];
    const State wanted = inst.op == Op::result ? State::visible : State::inside;
    if (named >= seen_.size() || !is_loop(named) || seen_[named] != wanted)
      fail(id, fmt::format("refers to {}, which is not a loop {}", named,
                           inst.op == Op::result ? "that has ended before it" : "around it"));
    if (inst.op == Op::iteration) return expect(id, DType::uint32);
    const Loop& loop = function_.loops[function_.instructions[named].immediate];
    expect_below(id, loop.initial.size(), "carried value");
    expect(id, function_.instructions[loop.initial[inst.immediate]].type);
  }

  const Function& function_;
  std::vector<State> seen_;
  std::vector<bool> loop_seen_;
};

}  // namespace

void verify(const Function& function) { Verifier(function).run(); }

}  // namespace vectis::inline v0_1::ir
