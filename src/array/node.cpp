#include "array/node.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "array/engine.hpp"
#include "array/recording.hpp"
#include "array/wide.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Beyond this many recorded operations the engine computes, so that loops that never ask for a value are bounded. While
// a gradient is open the limit is higher, since what is computed early is kept for the gradient.
constexpr std::uint32_t pending_max = 1000;
constexpr std::uint32_t pending_max_of_gradients = 20000;

// The part of a tape that this thread records for.
std::shared_ptr<Tape> recorded_part(const std::shared_ptr<Tape>& tape) {
  if (!tape || is_recording(*tape)) return tape;
  if (!tape->first()) return nullptr;
  return joined(recorded_part(tape->first()), recorded_part(tape->second()));
}

std::shared_ptr<Tape> outermost_tape(std::span<const Tensor> inputs) {
  std::shared_ptr<Tape> outermost;
  for (const Tensor& input : inputs) {
    if (input.node()->tape) outermost = joined(outermost, recorded_part(input.node()->tape));
  }
  return outermost;
}

}  // namespace

// The nodes of a long chain are destroyed one after the other, not by recursion, also those that functions of the
// program hold.
Node::~Node() {
  thread_local std::vector<Origin>* waiting = nullptr;  // of the outermost destructor of this thread
  if (inputs.empty() && !primitive) return;
  try {
    if (waiting != nullptr) {
      waiting->push_back(take_origin());
      return;
    }
    std::vector<Origin> origins;
    origins.push_back(take_origin());
    waiting = &origins;
    while (!origins.empty()) {
      const Origin last = std::move(origins.back());
      origins.pop_back();
    }
    waiting = nullptr;
  } catch (const std::bad_alloc&) {
    return;  // of push_back: the members are destroyed by recursion
  }
}

bool Tape::covers(const Tape& other) const noexcept {
  if (this == &other) return true;
  if (other.first_) return covers(*other.first_) && covers(*other.second_);
  if (first_) return first_->covers(other) || second_->covers(other);
  return other.enclosing_ && covers(*other.enclosing_);
}

std::shared_ptr<Tape> joined(const std::shared_ptr<Tape>& a, const std::shared_ptr<Tape>& b) {
  if (!b || (a && a->covers(*b))) return a;
  if (!a || b->covers(*a)) return b;
  return std::make_shared<Tape>(a, b);
}

bool Tape::keep(Node& node) {
  if (first_) {
    const bool is_kept = first_->keep(node);
    return second_->keep(node) || is_kept;
  }
  const std::scoped_lock lock(mutex_);
  if (!is_open_) return false;
  kept_.push_back(node.weak_from_this());
  return true;
}

void Tape::close() noexcept {
  std::vector<std::weak_ptr<Node>> kept;
  {
    const std::scoped_lock lock(mutex_);
    is_open_ = false;
    kept.swap(kept_);
  }
  for (const std::weak_ptr<Node>& one : kept) {
    if (const std::shared_ptr<Node> node = one.lock(); node && !node->tape->is_open()) {
      const Origin unneeded = node->lane->engine().take_origin(*node);
    }
  }
}

void share_value(const Node& source, Node& node) {
  node.storage = source.storage;
  node.offset = source.offset;
  node.is_contiguous = source.is_contiguous;
  node.strides = source.strides;
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.rank(), 1);
  for (std::size_t axis = shape.rank(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

Shape Node::all_strides() const { return is_contiguous ? contiguous_strides(shape) : strides; }

bool Node::is_uniform() const noexcept {
  if (is_contiguous) return elements() == 1;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 && strides[axis] != 0) return false;
  }
  return true;
}

Tensor record(std::shared_ptr<const Primitive> primitive, std::vector<Tensor> inputs, DType type, Shape shape,
              const std::source_location& where, Lane* target) {
  Lane& lane = target != nullptr ? *target : *inputs.front().node()->lane;
  lane.check_type(primitive->name(), type);
  auto node = std::make_shared<Node>(lane, type, std::move(shape));
  std::uint32_t pending = 1;
  for (const Tensor& input : inputs) {
    pending = std::min(pending + input.node()->pending.load(std::memory_order_relaxed), pending_max_of_gradients);
  }
  if (is_real(type)) node->tape = outermost_tape(inputs);  // integers and bool have no gradient
  node->number = node->lane->engine().next_number();
  node->primitive = std::move(primitive);
  node->inputs = std::move(inputs);
  node->where = where;
  node->pending = pending;
  Tensor recorded(std::move(node));
  if (pending >= (recorded.node()->tape ? pending_max_of_gradients : pending_max)) recorded.eval();
  return recorded;
}

}  // namespace vectis::inline v0_1::array
