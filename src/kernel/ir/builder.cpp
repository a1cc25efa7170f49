#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/utf8.hpp"
#include "kernel/ir/opcodes.hpp"
#include "kernel/ir/value_numbering.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, "ir.builder", message); }

std::string type_list(std::span<const DType> types) {
  std::string list;
  for (const DType type : types) list += (list.empty() ? "" : ", ") + std::string(short_name(type));
  return list.empty() ? "none" : list;
}

void check_element(DType type, std::string_view what) {
  if (!is_kernel_type(type))
    refuse(fmt::format("{} cannot hold {}; use f32, i32, u32, f16, bf16 or i8", what, name(type)));
}

}  // namespace

struct Builder::State {
  Function function;
  ValueNumbering value_numbering;
  std::vector<std::uint32_t> scope_of;    // of each instruction: 0 for the function's body, n + 1 for loop n
  std::vector<std::uint32_t> open_loops;  // outermost first
  std::vector<Id> loop_instructions;      // of each loop

  [[nodiscard]] std::uint32_t scope() const { return open_loops.empty() ? 0 : open_loops.back() + 1; }

  [[nodiscard]] bool open(std::uint32_t scope) const {
    return scope == 0 || std::ranges::find(open_loops, scope - 1) != open_loops.end();
  }

  void check(Value value) const {
    const auto& all = function.instructions;
    if (value.id >= all.size())
      refuse(fmt::format("value {} belongs to another builder; this one has {} values", value.id, all.size()));
    if (all[value.id].op == Op::loop || all[value.id].type != value.type)
      refuse(fmt::format("value {} is not {} in this builder; it belongs to another builder", value.id,
                         short_name(value.type)));
    if (!open(scope_of[value.id]))
      refuse(fmt::format("value {} belongs to a loop that has ended; return it through end_loop", value.id));
  }

  Value append(const Instruction& instruction) {
    const bool leaf = op_class(instruction.op) == OpClass::leaf;
    if (const auto known = value_numbering.find(instruction)) return {*known, instruction.type};
    const Id id = static_cast<Id>(function.instructions.size());
    function.instructions.push_back(instruction);
    if (leaf) {
      // Leaves are inserted before the outermost open loop, the last instruction of the body, so that they dominate
      // every block.
      function.body.insert(open_loops.empty() ? function.body.end() : std::prev(function.body.end()), id);
      scope_of.push_back(0);
      value_numbering.add_outermost(instruction, id);
      return {id, instruction.type};
    }
    (open_loops.empty() ? function.body : function.loops[open_loops.back()].body).push_back(id);
    scope_of.push_back(scope());
    value_numbering.add(instruction, id);
    return {id, instruction.type};
  }

  Value constant(DType type, std::uint32_t bits) { return append({Op::constant, type, {}, bits}); }
};

Builder::Builder(std::string name) : state_(std::make_unique<State>()) {
  if (!is_function_name(name))
    refuse(fmt::format("'{}' is not a valid function name; use [a-z][a-z0-9_]* of at most {} characters",
                       detail::cut_utf8(name, name_size_max), name_size_max));
  state_->function.name = std::move(name);
}
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;
Builder::~Builder() = default;

Value Builder::input(DType element) {
  check_element(element, "an input");
  State& state = *state_;
  state.function.inputs.push_back(element);
  const auto number = static_cast<std::uint32_t>(state.function.inputs.size() - 1);
  return state.append({Op::input, loaded_type(element), {}, number});
}

std::uint32_t Builder::table(DType element) {
  check_element(element, "a table");
  state_->function.tables.push_back(element);
  return static_cast<std::uint32_t>(state_->function.tables.size() - 1);
}

Value Builder::argument(DType type) {
  if (type == DType::boolean || !is_value_type(type))
    refuse(fmt::format("an argument is f32, i32 or u32, not {}; compare one with zero for a bool", short_name(type)));
  State& state = *state_;
  state.function.arguments.push_back(type);
  return state.append({Op::argument, type, {}, static_cast<std::uint32_t>(state.function.arguments.size() - 1)});
}

Value Builder::index() { return state_->append({Op::index, DType::uint32, {}, 0}); }
Value Builder::constant(float value) { return state_->constant(DType::float32, std::bit_cast<std::uint32_t>(value)); }
Value Builder::constant(std::int32_t value) {
  return state_->constant(DType::int32, static_cast<std::uint32_t>(value));
}
Value Builder::constant(std::uint32_t value) { return state_->constant(DType::uint32, value); }
Value Builder::constant(bool value) { return state_->constant(DType::boolean, value ? 1 : 0); }

Value Builder::apply(Op op, std::span<const Value> operands) {
  std::vector<DType> types;
  for (const Value& operand : operands) {
    state_->check(operand);
    types.push_back(operand.type);
  }
  const auto type = result_type(op, types);
  if (!type) refuse(fmt::format("{} takes {}, not {}", name(op), accepted_operands(op), type_list(types)));
  Instruction instruction{op, *type, {}, 0};
  std::ranges::transform(operands, instruction.operands.begin(), &Value::id);
  return state_->append(instruction);
}

Value Builder::convert(Value a, DType to) {
  state_->check(a);
  if (!is_value_type(to)) refuse(fmt::format("convert takes f32, i32, u32 or bool, not {}", short_name(to)));
  if (a.type == to) return a;
  return state_->append({Op::convert, to, {a.id}, 0});
}

Value Builder::bitcast(Value a, DType to) {
  state_->check(a);
  if (!can_bitcast(a.type, to)) refuse("bitcast converts between f32, i32 and u32; use convert for bool");
  if (a.type == to) return a;
  return state_->append({Op::bitcast, to, {a.id}, 0});
}

Value Builder::gather(std::uint32_t table, Value index) {
  state_->check(index);
  const auto& tables = state_->function.tables;
  if (table >= tables.size())
    refuse(fmt::format("there is no table {}; the function has {} tables", table, tables.size()));
  if (index.type != DType::uint32) refuse(fmt::format("gather takes a u32 index, not {}", short_name(index.type)));
  return state_->append({Op::gather, loaded_type(tables[table]), {index.id}, table});
}

Builder::LoopHandle Builder::begin_loop(Value trip_count, std::span<const Value> initial) {
  State& state = *state_;
  state.check(trip_count);
  const Op trip_count_op = state.function.instructions[trip_count.id].op;
  if (trip_count.type != DType::uint32 || (trip_count_op != Op::constant && trip_count_op != Op::argument))
    refuse("the trip count of a loop must be a u32 constant or argument; pass it as an argument");
  if (state.open_loops.size() == loop_depth_max)
    refuse(fmt::format("loops are nested deeper than {}; merge some", loop_depth_max));
  Loop loop{trip_count.id, {}, {}, {}};
  for (const Value& value : initial) {
    state.check(value);
    loop.initial.push_back(value.id);
  }
  LoopHandle handle;
  handle.number = static_cast<std::uint32_t>(state.function.loops.size());
  const Value named = state.append({Op::loop, DType::uint32, {}, handle.number});
  state.function.loops.push_back(std::move(loop));
  state.loop_instructions.push_back(named.id);
  state.open_loops.push_back(handle.number);
  state.value_numbering.push_scope();
  handle.iteration = state.append({Op::iteration, DType::uint32, {named.id}, 0});
  for (std::uint32_t i = 0; i < initial.size(); ++i)
    handle.carried.push_back(state.append({Op::carried, initial[i].type, {named.id}, i}));
  return handle;
}

std::vector<Value> Builder::end_loop(const LoopHandle& loop, std::span<const Value> next) {
  State& state = *state_;
  if (state.open_loops.empty() || state.open_loops.back() != loop.number)
    refuse(fmt::format("loop {} is not the innermost open loop; end the inner loops first", loop.number));
  if (next.size() != loop.carried.size())
    refuse(fmt::format("loop {} carries {} values, not {}; pass one next value for each", loop.number,
                       loop.carried.size(), next.size()));
  std::vector<Id> ids;  // stored after all checks, so that a rejected call leaves the loop unchanged
  ids.reserve(next.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    state.check(next[i]);
    if (next[i].type != loop.carried[i].type)
      refuse(fmt::format("next value {} of loop {} is {}, its initial value is {}; convert it", i, loop.number,
                         short_name(next[i].type), short_name(loop.carried[i].type)));
    ids.push_back(next[i].id);
  }
  state.function.loops[loop.number].next = std::move(ids);
  state.open_loops.pop_back();
  state.value_numbering.pop_scope();
  std::vector<Value> results;
  results.reserve(next.size());
  const Id named = state.loop_instructions[loop.number];
  for (std::uint32_t i = 0; i < next.size(); ++i)
    results.push_back(state.append({Op::result, next[i].type, {named}, i}));
  return results;
}

namespace {

// Builds the selects of a decision tree from the leaves up; a node reached twice is built once.
class DecisionTreeBuilder {
 public:
  DecisionTreeBuilder(Builder& builder, std::span<const Builder::DecisionNode> tree, std::span<const Value> leaves)
      : builder_(builder), tree_(tree), leaves_(leaves), made_(tree.size()), state_(tree.size(), unvisited) {}

  Value branch(int where, std::size_t depth) {
    if (where < 0) {
      const int number = ~where;
      const auto leaf = static_cast<std::size_t>(number);
      if (leaf >= leaves_.size())
        refuse(fmt::format("leaf {} of the decision tree is out of range; there are {} leaves", leaf, leaves_.size()));
      return leaves_[leaf];
    }
    return node(static_cast<std::size_t>(where), depth);
  }

 private:
  static constexpr std::size_t depth_max = 4096;
  enum NodeState : std::uint8_t { unvisited, open, done };

  Value node(std::size_t where, std::size_t depth) {
    if (where >= tree_.size())
      refuse(fmt::format("node {} of the decision tree is out of range; there are {} nodes", where, tree_.size()));
    if (state_[where] == open)
      refuse(fmt::format("node {} of the decision tree is part of a cycle; remove the cycle", where));
    if (depth > depth_max) refuse(fmt::format("the decision tree is deeper than {} nodes; split it", depth_max));
    if (state_[where] == done) return made_[where];
    state_[where] = open;
    const Value yes = branch(tree_[where].yes, depth + 1);
    const Value no = branch(tree_[where].no, depth + 1);
    made_[where] = builder_.select(tree_[where].condition, yes, no);
    state_[where] = done;
    return made_[where];
  }

  Builder& builder_;
  std::span<const Builder::DecisionNode> tree_;
  std::span<const Value> leaves_;
  std::vector<Value> made_;
  std::vector<NodeState> state_;
};

}  // namespace

Value Builder::decision_tree(std::span<const DecisionNode> tree, std::span<const Value> leaves) {
  return DecisionTreeBuilder(*this, tree, leaves).branch(tree.empty() ? ~0 : 0, 0);
}

void Builder::output(Value value, DType element) {
  State& state = *state_;
  if (!state.open_loops.empty())
    refuse(fmt::format("loop {} is still open; end it before adding outputs", state.open_loops.back()));
  check_element(element, "an output");
  state.check(value);
  if (value.type != loaded_type(element))
    refuse(fmt::format("a {} cannot be stored as {}; convert it to {}", short_name(value.type), short_name(element),
                       short_name(loaded_type(element))));
  state.function.outputs.push_back({value.id, element});
}

Function Builder::finish() {
  if (!state_->open_loops.empty()) refuse(fmt::format("loop {} is still open; end it", state_->open_loops.back()));
  verify(state_->function);
  return std::exchange(state_->function, Function{});
}

}  // namespace vectis::inline v0_1::ir
