// What an array is computed by.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

struct ElementFunction;
class DryRun;

// One kind of computation with its parameters: how the value is computed and what its gradient is. The rule for shapes
// and types is the function that records it, beside it in its file. Immutable, shared by nodes.
class Primitive {
 public:
  Primitive() = default;
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;
  virtual ~Primitive() = default;

  // Returns the operation's name in messages: "matmul".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Computes the value of `node`, whose inputs have values: sets its storage, offset and strides. Throws Allocation
  // when memory is short, and then leaves the node as it was.
  virtual void compute(Node& node) const = 0;
  // Computes the value of `node` on a device other than the CPU: enqueues work on the node's lane. Called when
  // runs_on_device(); otherwise the inputs are copied to the host, compute() is called there and the value copied back.
  virtual void compute_on_device(Node& /*node*/) const {}
  // Returns whether compute_on_device() computes `node`, whose inputs need not have values yet.
  [[nodiscard]] virtual bool runs_on_device(const Node& /*node*/) const { return false; }
  // Does what computing does with memory, without the elements: sets storage, offset and strides, and takes from `run`
  // what the computation would allocate. By default the storage of the value and, on the CPU, copies of inputs that are
  // not in row-major order.
  virtual void dry_run(Node& node, DryRun& run) const;
  // Returns an estimate of the arithmetic operations that computing `node` takes.
  [[nodiscard]] virtual double operations(const Node& node) const;
  // Returns the gradient of each input from `adjoint`, the gradient of `output`: the vector-Jacobian product. A
  // Tensor is empty where an input has none.
  [[nodiscard]] virtual std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> inputs,
                                                     const Tensor& adjoint) const = 0;
  // Returns the function that is applied to each element, when that is all the primitive does: such nodes are fused.
  [[nodiscard]] virtual const ElementFunction* element_function() const noexcept { return nullptr; }
  // Returns whether the value is the input with its last two axes exchanged.
  [[nodiscard]] virtual bool is_transposition() const noexcept { return false; }
};

// A primitive that changes only how elements are addressed: it computes without touching them, on every device alike.
class ViewPrimitive : public Primitive {
 public:
  void compute_on_device(Node& node) const final { compute(node); }
  void dry_run(Node& node, DryRun& /*run*/) const final { compute(node); }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const final { return true; }
  [[nodiscard]] double operations(const Node& /*node*/) const final { return 0; }
};

}  // namespace vectis::inline v0_1::array
