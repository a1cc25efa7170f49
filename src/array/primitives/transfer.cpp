// Copies between devices.

#include <algorithm>

#include "array/device_kernel.hpp"
#include "array/dry_run.hpp"
#include "array/engine.hpp"
#include "array/operands.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

namespace {

// Copies its input from another lane.
class Transfer final : public Primitive {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "on"; }
  void compute(Node& node) const override {
    node.lane->allocate(node);
    read_elements(*node.inputs[0].node(), {node.storage->host, bytes_of(node)});
  }
  [[nodiscard]] bool runs_on_device(const Node& /*node*/) const override { return true; }
  void compute_on_device(Node& node) const override {
    const Node& x = *node.inputs[0].node();
    if (x.storage->host != nullptr && x.is_uniform()) return share_value(x, node);
    std::vector<std::byte> copy;  // when the elements are not on the host, or not in order
    std::span<const std::byte> from;
    if (x.storage->host != nullptr && x.is_contiguous) {
      from = {x.host_data(), bytes_of(x)};
    } else {
      copy.resize(bytes_of(x));
      read_elements(x, copy);
      from = copy;
    }
    node.lane->allocate(node);
    if (!from.empty()) node.lane->copy_to_device(from, *node.storage);
    node.storage->bounds = bounds_of(node.type, from);
  }
  void dry_run(Node& node, DryRun& run) const override {
    const Node& x = *node.inputs[0].node();
    if (!node.lane->is_host() && x.lane->is_host() && x.is_uniform()) return share_value(x, node);
    run.allocate(node);
  }
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor&, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    return {adjoint.on(inputs[0].device())};
  }

 private:
  static std::size_t bytes_of(const Node& node) {
    return static_cast<std::size_t>(node.elements()) * node.element_bytes();
  }
};

const Transfer transfer_primitive;

}  // namespace

Tensor Tensor::on(const Device& device, std::optional<WideTypes> wide_types, std::source_location where) const {
  const Tensor& tensor = as_tensor("on", Operand(*this, where));
  Lane& source = *tensor.node()->lane;
  Lane& target = lane_of(device);
  if (&target == &source) return tensor;
  if (&target.engine() != &source.engine()) {
    throw_invalid("on", "the device belongs to another Runtime; find it in the registry of the array's Runtime");
  }
  const Tensor placed = tensor.astype(target.placed_type("on", tensor.dtype(), wide_types));
  return record(unowned(transfer_primitive), {placed}, placed.dtype(), placed.shape(), where, &target);
}

}  // namespace vectis::inline v0_1::array
