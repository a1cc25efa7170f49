#include "array/fusion.hpp"

#include <algorithm>

#include "array/element_function.hpp"
#include "array/lane.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Bounds the registers of a program, and with them the blocks that fit into the first-level cache.
constexpr std::size_t members_max = 48;

bool is_element_wise(const Node& node) {
  return node.primitive != nullptr && node.primitive->element_function() != nullptr;
}

// A conversion to 16 bits rounds, which happens only when a value is stored.
bool must_be_stored(const Node& node) {
  return node.primitive->element_function()->op == ElementOp::convert &&
         (node.type == DType::float16 || node.type == DType::bfloat16);
}

bool can_join(const Node& node, const Node& root) {
  return !node.is_computed && is_element_wise(node) && !node.is_grouped && !must_be_stored(node) &&
         node.in_group == node.consumers && node.lane == root.lane && node.shape == root.shape;
}

// The buffers that the kernel of a group binds, of which devices other than the CPU allow few.
class Buffers {
 public:
  explicit Buffers(const Node& root) : is_bounded_(!root.lane->is_host()) {
    if (is_bounded_) bound_ = with(root);
  }
  // Adds those of a member, unless they are too many.
  bool add(const Node& node) {
    if (!is_bounded_) return true;
    std::vector<const Node*> bound = with(node);
    if (bound.size() > std::max(buffers_max, bound_.size())) return false;
    bound_ = std::move(bound);
    return true;
  }

 private:
  // WebGPU binds at least eight; one is for the root.
  static constexpr std::size_t buffers_max = 7;

  // A new member is computed in passing unless others hold it. Its inputs are read, or passed as arguments.
  [[nodiscard]] std::vector<const Node*> with(const Node& node) const {
    std::vector<const Node*> bound = bound_;
    if (static_cast<std::size_t>(node.weak_from_this().use_count()) <= node.consumers) std::erase(bound, &node);
    for (const Tensor& input : node.inputs) {
      const Node* const one = input.node().get();
      const bool is_argument = one->is_computed && one->storage->host != nullptr;
      if (!is_argument && std::ranges::find(bound, one) == bound.end()) bound.push_back(one);
    }
    return bound;
  }

  bool is_bounded_;
  std::vector<const Node*> bound_;
};

Step group_of(Node& root) {
  Step step{.is_map = true, .members = {&root}};
  root.is_grouped = true;
  Buffers buffers(root);
  for (std::size_t next = 0; next < step.members.size(); ++next) {
    for (const Tensor& input : step.members[next]->inputs) {
      Node& node = *input.node();
      if (node.is_computed) continue;
      ++node.in_group;
      if (step.members.size() < members_max && can_join(node, root) && buffers.add(node)) {
        node.is_grouped = true;
        step.members.push_back(&node);
      }
    }
  }
  // Edges to nodes that did not join count for the groups that come later only.
  for (Node* const member : step.members) {
    for (const Tensor& input : member->inputs) {
      Node& node = *input.node();
      if (!node.is_computed && !node.is_grouped) node.in_group = 0;
    }
  }
  return step;
}

}  // namespace

std::vector<Step> make_steps(std::span<Node* const> order) {
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i]->slot = i;
  std::vector<Step> steps;
  for (std::size_t i = order.size(); i-- > 0;) {
    Node& node = *order[i];
    if (node.is_grouped) continue;
    if (!is_element_wise(node)) {
      steps.push_back({.is_map = false, .members = {&node}});
      continue;
    }
    steps.push_back(group_of(node));
    std::ranges::sort(steps.back().members, {}, &Node::slot);
  }
  std::ranges::reverse(steps);
  return steps;
}

std::vector<std::shared_ptr<Node>> outputs_of(const Step& group) {
  std::vector<std::shared_ptr<Node>> outputs;
  for (Node* const member : group.members) {
    std::shared_ptr<Node> node = member->shared_from_this();
    const bool is_root = member == group.members.back();
    if (is_root || static_cast<std::size_t>(node.use_count()) > member->consumers + std::size_t{1}) {
      outputs.push_back(std::move(node));
    }
  }
  return outputs;
}

}  // namespace vectis::inline v0_1::array
