#include "vectis/array/exchange.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/strided.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

bool is_aligned(const std::byte* data, DType type) {
  return reinterpret_cast<std::uintptr_t>(data) % size_of(type) == 0;
}

// The elements in row-major order without gaps.
std::vector<std::byte> packed(const HostElements& memory) {
  const std::size_t size = size_of(memory.type);
  const std::int64_t elements = memory.shape.elements();
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * size);
  if (elements != 0) {
    StridedReader(memory.data, size, memory.shape, memory.strides).read(0, elements, bytes.data());
  }
  return bytes;
}

}  // namespace

HostElements host_memory(const Tensor& x) {
  const Node& node = *x.eval().node();
  if (node.storage->host != nullptr) {
    return {.data = node.host_data(),
            .type = node.type,
            .shape = node.shape,
            .strides = node.all_strides(),
            .owner = node.storage};
  }
  auto copy = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(node.elements()) * size_of(node.type));
  x.copy_to(*copy, node.type);
  const std::byte* const data = copy->data();
  return {.data = data,
          .type = node.type,
          .shape = node.shape,
          .strides = contiguous_strides(node.shape),
          .owner = std::move(copy)};
}

Tensor from_host_memory(const HostElements& memory, const TensorOptions& options) {
  check_shape("from_host_memory", memory.shape, memory.type);
  if (memory.strides.rank() != memory.shape.rank()) {
    throw_invalid("from_host_memory", fmt::format("{} strides were given for shape {}; give one for each axis",
                                                  memory.strides.rank(), to_string(memory.shape)));
  }
  Lane& lane = lane_for(options);
  if (!lane.is_host() || !is_aligned(memory.data, memory.type) || memory.shape.elements() == 0) {
    return Tensor::from_bytes(packed(memory), memory.type, memory.shape, options);
  }
  auto node = std::make_shared<Node>(lane, memory.type, memory.shape);
  node->storage = std::make_shared<Storage>();
  // Nobody writes to the memory of a computed node.
  node->storage->host = const_cast<std::byte*>(memory.data);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  node->storage->owner = memory.owner;
  const Shape contiguous = contiguous_strides(memory.shape);
  for (std::size_t axis = 0; axis < memory.shape.rank(); ++axis) {
    if (memory.shape[axis] != 1 && memory.strides[axis] != contiguous[axis]) node->is_contiguous = false;
  }
  if (!node->is_contiguous) node->strides = memory.strides;
  node->is_computed = true;
  return Tensor(std::move(node));
}

Runtime& runtime_of(const Tensor& x) { return as_tensor("runtime_of", x).node()->lane->runtime(); }

DType position_type(const Tensor& x) {
  return as_tensor("position_type", x).node()->lane->is_host() ? DType::int64 : DType::int32;
}

Tensor indices_beside(const Tensor& x, const Tensor& indices) {
  if (indices.dtype() != DType::int64 || position_type(x) == DType::int64) return indices.on(x.device());
  using Limits = std::numeric_limits<std::int32_t>;
  return clip(indices, Limits::min(), Limits::max()).astype(DType::int32).on(x.device());
}

void set_evaluation_observer(Runtime& runtime, EvaluationObserver* observer) {
  runtime.service<Engine>().set_observer(observer);
}

}  // namespace vectis::inline v0_1::array
