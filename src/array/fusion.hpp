// Which recorded operations are computed together.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "array/node.hpp"

namespace vectis::inline v0_1::array {

// One step of an evaluation: a node, or a group of element-wise nodes of one shape.
struct Step {
  bool is_map = false;
  std::vector<Node*> members;  // inputs before their consumers
};

// Divides nodes, inputs before their consumers, into steps in an order in which they can be computed. An element-wise
// node joins the group of its consumers when all of them are in that group. Uses the engine's fields of the nodes.
std::vector<Step> make_steps(std::span<Node* const> order);

// Returns the members of a group that others refer to, whose values must be stored.
std::vector<std::shared_ptr<Node>> outputs_of(const Step& group);

}  // namespace vectis::inline v0_1::array
