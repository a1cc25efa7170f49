#include "kernel/vm/draft.hpp"

#include <algorithm>
#include <utility>

namespace vectis::inline v0_1::executor {

namespace {

using ir::Id;
using ir::Instruction;
using ir::Op;

class Drafter {
 public:
  explicit Drafter(const ir::Function& function)
      : function_(function), holders_(function.instructions.size(), no_holder), carried_(function.loops.size()) {}

  Draft run() {
    block(function_.body, true);
    // An output that is an input as it came is kept apart first: another output may be the input's own memory.
    std::vector<Holder> values;
    for (const ir::Output& output : function_.outputs) {
      Holder holder = holders_[output.value];
      if (draft_.places[holder].kind == Place::Kind::input) holder = copy(holder, add({}));
      values.push_back(holder);
    }
    for (std::uint32_t o = 0; o < values.size(); ++o) {
      const Holder out = add({Place::Kind::output, o});
      push({.kernel = store_kernel(function_.outputs[o].element), .out = out, .in = {values[o]}});
    }
    return std::move(draft_);
  }

 private:
  const Instruction& at(Id id) const { return function_.instructions[id]; }

  Holder add(Place place) {
    draft_.places.push_back(place);
    return static_cast<Holder>(draft_.places.size() - 1);
  }
  Holder add_uniform() { return add({Place::Kind::uniform, draft_.uniforms++}); }
  [[nodiscard]] bool uniform(Holder holder) const { return draft_.places[holder].kind == Place::Kind::uniform; }

  Holder copy(Holder from, Holder to) {
    push({.kernel = store_kernel(DType::uint32), .out = to, .in = {from}});
    return to;
  }
  void push(DraftStep step) { draft_.steps.push_back(std::move(step)); }

  void block(const ir::Block& block, bool outermost) {
    for (const Id id : block) {
      if (at(id).op == Op::loop) {
        loop(at(id).immediate);
      } else {
        holders_[id] = value(at(id), outermost);
      }
    }
  }

  Holder scalar(bool is_argument, std::uint32_t value) {
    const Holder holder = add_uniform();
    draft_.scalars.push_back({draft_.places[holder].number, is_argument, value});
    return holder;
  }

  // True when the value has the bits of its operand.
  [[nodiscard]] bool same_bits(const Instruction& one) const {
    const DType from = at(one.operands[0]).type;
    if (one.op == Op::bitcast) return true;
    if (one.op == Op::abs) return from == DType::uint32;
    if (one.op != Op::convert) return false;
    return from == one.type || (from != DType::float32 && from != DType::boolean && one.type != DType::float32 &&
                                one.type != DType::boolean);
  }

  Holder value(const Instruction& one, bool outermost) {
    switch (one.op) {
      case Op::constant:
        return scalar(false, one.type == DType::boolean && one.immediate != 0 ? ~0U : one.immediate);
      case Op::argument:
        return scalar(true, one.immediate);
      case Op::input:
        return input(one.immediate);
      case Op::result:
      case Op::carried:
        return carried_[at(one.operands[0]).immediate][one.immediate];
      case Op::iteration:
        return iterations_[at(one.operands[0]).immediate];
      default:
        return same_bits(one) ? holders_[one.operands[0]] : computed(one, outermost);
    }
  }

  Holder input(std::uint32_t number) {
    const Holder source = add({Place::Kind::input, number});
    const DType element = function_.inputs[number];
    if (lanes(element) == 1) return source;
    const Holder out = add({});
    push({.kernel = load_kernel(element), .out = out, .in = {source}});
    return out;
  }

  Holder computed(const Instruction& one, bool outermost) {
    DraftStep step{.op = one.op};
    bool once = outermost && one.op != Op::index && one.op != Op::gather;
    const std::size_t operands = ir::operand_count(one.op);
    for (std::size_t i = 0; i < operands; ++i) {
      step.in.push_back(holders_[one.operands[i]]);
      once = once && uniform(step.in.back());
    }
    const DType from = operands == 0 ? one.type : at(one.operands[0]).type;
    step.kernel =
        one.op == Op::gather ? gather_kernel(function_.tables[one.immediate]) : find_kernel(one.op, from, one.type);
    step.table = one.immediate;
    step.linkable = from == DType::float32 && !once && can_be_linked(one.op);
    step.out = once ? add_uniform() : add({});
    (once ? draft_.once : draft_.steps).push_back(step);
    return step.out;
  }

  void loop(std::uint32_t number) {
    const ir::Loop& loop = function_.loops[number];
    std::vector<Holder> carried;
    carried.reserve(loop.initial.size());
    for (const Id id : loop.initial) carried.push_back(copy(holders_[id], add({})));
    carried_[number] = carried;
    iterations_.resize(function_.loops.size(), no_holder);
    iterations_[number] = add_uniform();
    const std::size_t begin = draft_.steps.size();
    push({.out = iterations_[number], .in = {holders_[loop.trips]}, .op = Op::loop});
    block(loop.body, false);
    // Carried values change together: one that is the next of another is kept apart first.
    std::vector<Holder> next;
    for (std::size_t k = 0; k < carried.size(); ++k) {
      const Holder holder = holders_[loop.next[k]];
      const bool other = holder != carried[k] && std::ranges::find(carried, holder) != carried.end();
      next.push_back(other ? copy(holder, add({})) : holder);
    }
    for (std::size_t k = 0; k < carried.size(); ++k) {
      if (next[k] != carried[k]) copy(next[k], carried[k]);
    }
    draft_.steps[begin].end = draft_.steps.size();
  }

  const ir::Function& function_;
  Draft draft_;
  std::vector<Holder> holders_;  // of each instruction
  std::vector<std::vector<Holder>> carried_;
  std::vector<Holder> iterations_;
};

}  // namespace

Draft make_draft(const ir::Function& function) { return Drafter(function).run(); }

}  // namespace vectis::inline v0_1::executor
