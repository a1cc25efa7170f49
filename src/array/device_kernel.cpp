#include "array/device_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "array/dry_run.hpp"
#include "array/element_code.hpp"
#include "array/engine.hpp"
#include "array/strided.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::array {

namespace {

// The host knows the element that all elements of the array are.
bool is_known(const Node& node) { return node.storage->host != nullptr; }

// The number of an operand among the inputs and members of a group.
std::size_t number_of(const Node* node, std::span<const Node* const> inputs) {
  const auto input = std::ranges::find(inputs, node);
  if (input != inputs.end()) return static_cast<std::size_t>(input - inputs.begin());
  return inputs.size() + node->slot;
}

// A copy of the elements in row-major order, converted to `type`.
std::shared_ptr<Storage> copied_as(const Node& node, DType type) {
  std::shared_ptr<Storage> copy = node.lane->allocate(static_cast<std::uint64_t>(node.elements()) * size_of(type));
  if (node.elements() == 0) return copy;
  DeviceKernel kernel("copy");
  const ir::Value value = kernel.current(node);
  kernel.store(type == node.type ? value : converted(kernel.code(), value, type), type, copy);
  kernel.run(*node.lane, node.elements());
  return copy;
}

// The elements of arrays without memory: true, and finite.
void fill_with_ones(DType type, std::span<std::byte> target) {
  const std::size_t bytes = size_of(type);
  for (std::size_t at = 0; at < target.size(); at += bytes) {
    if (is_real(type)) {
      const double one = 1;
      store_wide(type, &one, 1, &target[at]);
    } else {
      const std::int64_t one = 1;
      store_wide(type, &one, 1, &target[at]);
    }
  }
}

}  // namespace

ir::Value DeviceKernel::number(std::int64_t value) {
  constexpr std::int64_t limit = std::numeric_limits<std::uint32_t>::max();
  if (value > limit || value < -limit) {
    throw Error(ErrorCode::unsupported, "array",
                fmt::format("a kernel addresses up to {} elements, this array needs {}; compute it in parts, or on the "
                            "CPU",
                            limit, value));
  }
  arguments_.push_back(static_cast<std::uint32_t>(value));
  return code_.argument(DType::uint32);
}

ir::Value DeviceKernel::element(DType type, const std::byte* value) {
  arguments_.push_back(argument_bits(type, value));
  return loaded(code_, code_.argument(value_type(type)), type);
}

DeviceKernel::Array DeviceKernel::array(const Node& node) {
  Array array;
  array.type = node.type;
  if (is_known(node)) {
    array.is_known = true;
    array.argument = element(node.type, node.host_data());
    return array;
  }
  const MergedAxes axes(node.shape, node.all_strides());
  array.table = code_.table(stored_type(node.type));
  tables_.push_back(node.storage->buffer.memory());
  kept_.push_back(node.storage);
  array.offset = number(node.offset);
  for (std::size_t axis = 0; axis < axes.shape.rank(); ++axis) {
    if (axis > 0) array.extents.push_back(number(axes.shape[axis]));
    array.strides.push_back(number(axes.strides[axis]));
  }
  return array;
}

ir::Value DeviceKernel::load(const Array& array, ir::Value position) {
  if (array.is_known) return array.argument;
  // Strides may be negative: sums of u32 wrap to the right element.
  ir::Value at = array.offset;
  for (std::size_t axis = array.strides.size(); axis-- > 1;) {
    const ir::Value extent = array.extents[axis - 1];
    at = add(at, mul(rem(position, extent), array.strides[axis]));
    position = div(position, extent);
  }
  at = add(at, mul(position, array.strides[0]));
  return loaded(code_, code_.gather(array.table, at), array.type);
}

ir::Value DeviceKernel::current(const Node& node) {
  if (is_known(node) || !node.is_contiguous || node.offset != 0) return load(array(node), index());
  inputs_.push_back(node.storage->buffer.memory());
  kept_.push_back(node.storage);
  return loaded(code_, code_.input(stored_type(node.type)), node.type);
}

DeviceKernel::Position DeviceKernel::split(ir::Value position, ir::Value extent, ir::Value inner) {
  const ir::Value row = div(position, inner);
  return {div(row, extent), rem(row, extent), rem(position, inner)};
}

ir::Value DeviceKernel::join(const Position& at, ir::Value extent, ir::Value inner) {
  return add(mul(add(mul(at.outer, extent), at.along), inner), at.inner);
}

void DeviceKernel::store(ir::Value value, DType type, std::shared_ptr<Storage> target) {
  array::store(code_, value, type);
  outputs_.push_back(target->buffer.memory());
  kept_.push_back(std::move(target));
}

void DeviceKernel::run(Lane& lane, std::int64_t count) {
  if (count == 0) return;
  lane.map(code_.finish(), {.inputs = inputs_, .tables = tables_, .outputs = outputs_, .arguments = arguments_},
           static_cast<std::uint64_t>(count));
}

DeviceElements contiguous_on_device(const Node& node) {
  if (node.is_contiguous && !is_known(node)) return {node.storage, node.offset};
  return {copied_as(node, node.type)};
}

DeviceElements as_float32(const Node& node) {
  if (node.type == DType::float32) return contiguous_on_device(node);
  return {copied_as(node, DType::float32)};
}

void read_elements(const Node& node, std::span<std::byte> target) {
  if (target.empty()) return;
  if (is_without_memory(*node.storage)) return fill_with_ones(node.type, target);
  if (node.storage->host == nullptr) {
    const DeviceElements from = contiguous_on_device(node);
    node.lane->copy_to_host(*from.storage, static_cast<std::uint64_t>(from.offset) * node.element_bytes(), target);
  } else if (node.is_contiguous) {
    std::memcpy(target.data(), node.host_data(), target.size());
  } else {
    StridedReader(node).read(0, node.elements(), target.data());
  }
}

std::shared_ptr<Node> copied_to_host(const Node& node) {
  auto copy = std::make_shared<Node>(node.lane->engine().lane(std::nullopt), node.type, node.shape);
  copy->lane->allocate(*copy);
  read_elements(node, {copy->host_data(), static_cast<std::size_t>(node.elements()) * node.element_bytes()});
  copy->is_computed = true;
  return copy;
}

void compute_map_on_device(std::span<Node* const> members, std::span<const std::shared_ptr<Node>> outputs) {
  for (std::uint32_t i = 0; i < members.size(); ++i) members[i]->slot = i;
  for (const std::shared_ptr<Node>& output : outputs) output->lane->allocate(*output);
  DeviceKernel kernel("map");
  std::vector<const Node*> inputs;
  for (Node* const member : members) {
    for (const Tensor& input : member->inputs) {
      const Node* const node = input.node().get();
      const bool is_member = node->slot < members.size() && members[node->slot] == node;
      if (!is_member && std::ranges::find(inputs, node) == inputs.end()) inputs.push_back(node);
    }
  }
  if (outputs.front()->elements() == 0) return;
  std::vector<ir::Value> values;
  for (const Node* const input : inputs) values.push_back(kernel.current(*input));
  for (Node* const member : members) {
    std::vector<ir::Value> operands;
    for (const Tensor& input : member->inputs) {
      operands.push_back(values[number_of(input.node().get(), inputs)]);
    }
    values.push_back(applied(kernel.code(), *member->primitive->element_function(), operands, member->type));
  }
  for (const std::shared_ptr<Node>& output : outputs) {
    kernel.store(values[inputs.size() + output->slot], output->type, output->storage);
  }
  kernel.run(*outputs.front()->lane, outputs.front()->elements());
}

void store_converted(const std::shared_ptr<Storage>& from, DType type, Node& node) {
  Node source(*node.lane, type, node.shape);
  source.storage = from;
  node.storage = copied_as(source, node.type);
}

void compute_by_host(const Primitive& primitive, Node& node) {
  Engine& engine = node.lane->engine();
  Node twin(engine.lane(std::nullopt), node.type, node.shape);
  for (const Tensor& input : node.inputs) twin.inputs.emplace_back(copied_to_host(*input.node()));
  primitive.compute(twin);
  node.lane->allocate(node);
  if (node.elements() == 0) return;
  std::shared_ptr<Storage> keep;
  const std::byte* const data = contiguous_data(twin, keep);
  node.lane->copy_to_device({data, static_cast<std::size_t>(node.elements()) * node.element_bytes()}, *node.storage);
}

}  // namespace vectis::inline v0_1::array
