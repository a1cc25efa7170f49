#include "array/primitives/reduce_on_device.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "array/around_axis.hpp"
#include "array/device_kernel.hpp"
#include "array/dry_run.hpp"
#include "array/element_code.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/wide.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::int64_t steps_min = 128;      // elements that a work-item reduces, when there are enough of them
constexpr std::int64_t parts_max = 1 << 16;  // of one result; more than a GPU has work-items under way

// A value and, for argmax and argmin, its position.
struct Candidate {
  ir::Value value;
  ir::Value position;
};

// Elements to be reduced: an operand, or what a pass left of it.
struct Source {
  std::shared_ptr<Node> values;
  std::shared_ptr<Node> positions;  // null: each value stands at its own
};

// Chooses the extremum of two; NaN wins, and of equal ones that with the lower position.
ir::Value replaces(ir::Builder& code, Reduction how, const Candidate& a, const Candidate& b) {
  const auto both = [&](ir::Value x, ir::Value y) { return code.binary(ir::Op::bit_and, x, y); };
  const auto either = [&](ir::Value x, ir::Value y) { return code.binary(ir::Op::bit_or, x, y); };
  const bool largest = how == Reduction::max || how == Reduction::argmax;
  const ir::Value is_better = code.binary(largest ? ir::Op::gt : ir::Op::lt, b.value, a.value);
  const ir::Value a_is_nan = code.binary(ir::Op::ne, a.value, a.value);
  const ir::Value b_is_nan = code.binary(ir::Op::ne, b.value, b.value);
  if (!is_argument(how)) return either(is_better, b_is_nan);
  const ir::Value is_new_nan = both(b_is_nan, code.unary(ir::Op::bit_not, a_is_nan));
  const ir::Value is_equal = either(code.binary(ir::Op::eq, a.value, b.value), both(a_is_nan, b_is_nan));
  const ir::Value is_before = code.binary(ir::Op::lt, b.position, a.position);
  return either(either(is_better, is_new_nan), both(is_equal, is_before));
}

Candidate combined(ir::Builder& code, Reduction how, const Candidate& a, const Candidate& b) {
  if (how == Reduction::sum) return {code.add(a.value, b.value), a.position};
  if (how == Reduction::prod) return {code.mul(a.value, b.value), a.position};
  const ir::Value is_b = replaces(code, how, a, b);
  return {code.select(is_b, b.value, a.value), code.select(is_b, b.position, a.position)};
}

// One kernel that reduces [outer, extent, inner] to [outer, parts, inner]. Part p takes the elements p, p + parts, ...:
// adjacent work-items read adjacent elements.
class Pass {
 public:
  Pass(Reduction how, const Source& source, const AroundAxis& around, std::int64_t parts)
      : how_(how), source_(source), around_(around), parts_(parts), kernel_(is_argument(how) ? "argument" : "reduce") {}

  // Returns what the part of a work-item amounts to.
  Candidate reduce() {
    ir::Builder& code = kernel_.code();
    values_ = kernel_.array(*source_.values);
    if (source_.positions) positions_ = kernel_.array(*source_.positions);
    extent_ = kernel_.number(around_.extent);
    inner_ = kernel_.number(around_.inner);
    const ir::Value parts = kernel_.number(parts_);
    const ir::Value trips = kernel_.number((around_.extent - 1) / parts_);  // beside the first element
    at_ = kernel_.split(kernel_.index(), parts, inner_);
    const Candidate first = read(at_.along);
    const auto loop = code.begin_loop(trips, std::array{first.value, first.position});
    const ir::Value along =
        kernel_.add(at_.along, kernel_.mul(kernel_.add(loop.iteration, code.constant(std::uint32_t{1})), parts));
    const Candidate best{loop.carried[0], loop.carried[1]};
    const Candidate next = combined(code, how_, best, read(along));
    const ir::Value is_there = code.binary(ir::Op::lt, along, extent_);
    const std::vector<ir::Value> results = code.end_loop(
        loop,
        std::array{code.select(is_there, next.value, best.value), code.select(is_there, next.position, best.position)});
    return {results[0], results[1]};
  }
  DeviceKernel& kernel() { return kernel_; }

 private:
  Candidate read(ir::Value along) {
    ir::Builder& code = kernel_.code();
    const ir::Value position = kernel_.join({at_.outer, along, at_.inner}, extent_, inner_);
    ir::Value value = kernel_.load(values_, position);
    if (value.type == DType::boolean) value = code.convert(value, DType::int32);
    return {value, source_.positions ? kernel_.load(positions_, position) : code.bitcast(along, DType::int32)};
  }

  Reduction how_;
  const Source& source_;
  const AroundAxis& around_;
  std::int64_t parts_;
  DeviceKernel kernel_;
  DeviceKernel::Array values_;
  DeviceKernel::Array positions_;
  DeviceKernel::Position at_;
  ir::Value extent_;
  ir::Value inner_;
};

std::shared_ptr<Node> new_node(Lane& lane, DType type, std::int64_t elements) {
  auto node = std::make_shared<Node>(lane, type, Shape{elements});
  lane.allocate(*node);
  return node;
}

// The parts in which a pass reduces an extent above steps_min.
std::int64_t parts_of(std::int64_t extent) { return std::min(parts_max, (extent + steps_min - 1) / steps_min); }

// The value of a sum or product of nothing.
void store_neutral(Reduction how, Node& node) {
  const Tensor neutral = constant(*node.lane, how == Reduction::prod ? 1 : 0, node.type, node.shape);
  share_value(*neutral.node(), node);
}

}  // namespace

void reduce_on_device(Reduction how, std::size_t first, std::size_t last, Node& node) {
  const std::shared_ptr<Node>& x = node.inputs[0].node();
  AroundAxis around(x->shape, first, last);
  if (node.elements() == 0) return node.lane->allocate(node);
  if (around.extent == 0) return store_neutral(how, node);
  Source source{x, nullptr};
  const std::int64_t axis = around.extent;
  while (around.extent > steps_min) {
    const std::int64_t parts = parts_of(around.extent);
    Pass pass(how, source, around, parts);
    const Candidate part = pass.reduce();
    const std::int64_t elements = around.outer * parts * around.inner;
    Source reduced{new_node(*node.lane, value_type(x->type), elements), nullptr};
    pass.kernel().store(part.value, reduced.values->type, reduced.values->storage);
    if (is_argument(how)) {
      reduced.positions = new_node(*node.lane, DType::int32, elements);
      pass.kernel().store(part.position, DType::int32, reduced.positions->storage);
    }
    pass.kernel().run(*node.lane, elements);
    source = std::move(reduced);
    around.extent = parts;
  }
  node.lane->allocate(node);
  Pass pass(how, source, around, 1);
  const Candidate result = pass.reduce();
  const ir::Value value = is_argument(how) ? result.position : converted(pass.kernel().code(), result.value, node.type);
  pass.kernel().store(value, node.type, node.storage);
  pass.kernel().run(*node.lane, node.elements());
  if (is_argument(how)) node.storage->bounds = Bounds{0, axis - 1};
}

void dry_run_reduction(Reduction how, std::size_t first, std::size_t last, Node& node, DryRun& run) {
  const Node& x = *node.inputs[0].node();
  AroundAxis around(x.shape, first, last);
  if (node.elements() != 0 && around.extent == 0) return store_neutral(how, node);
  std::vector<std::shared_ptr<Storage>> source;
  while (node.elements() != 0 && around.extent > steps_min) {
    const std::int64_t parts = parts_of(around.extent);
    const auto elements = static_cast<std::uint64_t>(around.outer * parts * around.inner);
    std::vector<std::shared_ptr<Storage>> reduced = {run.workspace(*node.lane, elements * size_of(value_type(x.type)))};
    if (is_argument(how)) reduced.push_back(run.workspace(*node.lane, elements * sizeof(std::int32_t)));
    source = std::move(reduced);
    around.extent = parts;
  }
  run.allocate(node);
}

}  // namespace vectis::inline v0_1::array
