#include "vectis/array/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "array/device_kernel.hpp"
#include "array/engine.hpp"
#include "array/node.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

const Node& checked(const std::shared_ptr<Node>& node) {
  if (node == nullptr) throw_invalid("tensor", "the Tensor is empty; assign an array to it first");
  return *node;
}

}  // namespace

Lane& lane_for(const TensorOptions& options) {
  if (options.device && options.runtime == nullptr) return lane_of(*options.device);
  Runtime& runtime = options.runtime != nullptr ? *options.runtime : Runtime::get_default();
  return runtime.service<Engine>().lane(options.device);
}

Tensor Tensor::from_bytes(std::span<const std::byte> bytes, DType type, const Shape& shape,
                          const TensorOptions& options) {
  check_shape("from_cpu", shape, type);
  const std::uint64_t expected = static_cast<std::uint64_t>(shape.elements()) * size_of(type);
  if (bytes.size() != expected) {
    throw_invalid("from_cpu", fmt::format("{} elements were given for shape {}, which has {}; give as many",
                                          bytes.size() / size_of(type), to_string(shape), shape.elements()));
  }
  Lane& lane = lane_for(options);
  if (const DType placed = lane.placed_type("from_cpu", type, options.wide_types); placed != type) {
    const Tensor wide = from_bytes(bytes, type, shape, {.runtime = &lane.runtime()});
    return wide.astype(placed).on(lane.device());
  }
  auto node = std::make_shared<Node>(lane, type, shape);
  if (lane.is_host() || shape.elements() == 1) {
    node->storage = shape.elements() == 1 ? Lane::allocate_element() : lane.allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(node->storage->host, bytes.data(), bytes.size());
  } else {
    lane.allocate(*node);
    if (!bytes.empty()) lane.copy_to_device(bytes, *node->storage);
    node->storage->bounds = bounds_of(type, bytes);
  }
  node->is_computed = true;
  return Tensor(std::move(node));
}

const Shape& Tensor::shape() const { return checked(node_).shape; }
DType Tensor::dtype() const { return checked(node_).type; }
Device Tensor::device() const { return checked(node_).lane->device(); }
bool Tensor::is_computed() const noexcept { return node_ != nullptr && node_->is_computed; }

std::int64_t Tensor::extent(std::int64_t axis) const { return shape()[checked_axis("extent", axis, rank())]; }

const Tensor& Tensor::eval() const {
  const Node& node = checked(node_);
  if (!node.is_computed.load(std::memory_order_acquire)) node.lane->engine().evaluate({this, 1});
  return *this;
}

void eval(std::span<const Tensor> tensors) {
  if (tensors.empty()) return;
  std::vector<Engine*> engines;  // of the Runtimes of the arrays
  for (const Tensor& tensor : tensors) {
    Engine& engine = checked(tensor.node()).lane->engine();
    if (std::ranges::find(engines, &engine) == engines.end()) engines.push_back(&engine);
  }
  if (engines.size() == 1) return engines.front()->evaluate(tensors);
  for (Engine* const engine : engines) {
    std::vector<Tensor> own;
    std::ranges::copy_if(tensors, std::back_inserter(own),
                         [&](const Tensor& tensor) { return &tensor.node()->lane->engine() == engine; });
    engine->evaluate(own);
  }
}

void Tensor::copy_to(std::span<std::byte> target, DType type) const {
  const Node& node = checked(node_);
  if (type != node.type) {
    throw_invalid("to_cpu", fmt::format("the elements are {}, not {}; convert by astype first", vectis::name(node.type),
                                        vectis::name(type)));
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(node.elements()) * node.element_bytes();
  if (target.size() != bytes) {
    throw_invalid("to_cpu", fmt::format("{} bytes were given for {}; give memory of that size", target.size(), bytes));
  }
  eval();
  read_elements(node, target);
}

Scalar Tensor::item_scalar() const {
  if (elements() != 1) {
    throw_invalid("item",
                  fmt::format("the array has shape {}, an item has one element; select one", to_string(shape())));
  }
  const Node& node = *eval().node_;
  std::array<std::byte, sizeof(double)> element{};
  read_elements(node, std::span(element).first(node.element_bytes()));
  if (is_real(node.type)) {
    double value = 0;
    load_wide(node.type, element.data(), 1, &value);
    return value;
  }
  std::int64_t value = 0;
  load_wide(node.type, element.data(), 1, &value);
  return node.type == DType::boolean ? Scalar(value != 0) : Scalar(value);
}

Tensor Tensor::reshape(const Shape& shape) const { return array::reshape(*this, shape); }
Tensor Tensor::operator[](std::int64_t index) const { return select(*this, 0, index); }

Tensor Tensor::transpose(const Shape& axes) const {
  if (!axes.empty()) return permute_dims(*this, axes);
  Shape reversed;
  for (std::size_t axis = rank(); axis-- > 0;) reversed.push_back(static_cast<std::int64_t>(axis));
  return permute_dims(*this, reversed);
}

}  // namespace vectis::inline v0_1::array
