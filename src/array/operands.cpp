#include "array/operands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/engine.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr std::int64_t bytes_max = std::int64_t{1} << 56;

// bool, integer, floating point: a higher kind wins.
int kind_of(DType type) { return type == DType::boolean ? 0 : is_real(type) ? 2 : 1; }

}  // namespace

void throw_invalid(std::string_view op, const std::string& message) {
  throw Error(ErrorCode::invalid_input, op, message);
}

DType promote(DType a, DType b) noexcept {
  if (a == b) return a;
  if (kind_of(a) != kind_of(b)) return kind_of(a) > kind_of(b) ? a : b;
  const std::size_t bytes_a = size_of(a);
  const std::size_t bytes_b = size_of(b);
  if (bytes_a != bytes_b) return bytes_a > bytes_b ? a : b;
  return is_real(a) ? DType::float32 : DType::int32;  // float16 and bfloat16, or int8 and uint8
}

DType promote(DType type, const Scalar& scalar) noexcept {
  if (static_cast<int>(scalar.kind()) < kind_of(type)) return type;
  if (scalar.kind() == Scalar::Kind::real) return is_real(type) ? type : DType::float32;
  if (scalar.kind() == Scalar::Kind::boolean || is_real(type)) return type;
  for (const DType wider : {type, DType::int32}) {
    std::int64_t value = scalar.integer();
    narrow(wider, &value, 1);
    if (wider != DType::boolean && value == scalar.integer()) return promote(type, wider);
  }
  return DType::int64;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const std::size_t missing = longer.rank() - shorter.rank();
  for (std::size_t axis = 0; axis < shorter.rank(); ++axis) {
    std::int64_t& extent = result[missing + axis];
    if (extent == shorter[axis] || shorter[axis] == 1) continue;
    if (extent != 1) {
      throw_invalid(op,
                    fmt::format("shapes {} and {} do not fit: extents {} and {} differ and neither is 1; reshape or "
                                "slice one of them",
                                to_string(a), to_string(b), extent, shorter[axis]));
    }
    extent = shorter[axis];
  }
  return result;
}

std::size_t checked_axis(std::string_view op, std::int64_t axis, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    throw_invalid(
        op, rank == 0 ? fmt::format("axis {} of a scalar, which has none; reshape it first", axis)
                      : fmt::format("axis {} of an array of {} axes; give {} to {}", axis, rank, -limit, limit - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

Shape checked_axes(std::string_view op, const Shape& axes, std::size_t rank) {
  Shape result;
  if (axes.empty()) {
    for (std::size_t axis = 0; axis < rank; ++axis) result.push_back(static_cast<std::int64_t>(axis));
    return result;
  }
  for (const std::int64_t axis : axes) result.push_back(static_cast<std::int64_t>(checked_axis(op, axis, rank)));
  std::ranges::sort(result);
  const auto* const twice = std::ranges::adjacent_find(result);
  if (twice != result.end()) throw_invalid(op, fmt::format("axis {} is named twice; name each axis once", *twice));
  return result;
}

void check_shape(std::string_view op, const Shape& shape, DType type) {
  if (type == DType::complex64 || type == DType::uint32) {
    throw_invalid(op, fmt::format("arrays of {} do not exist; choose another type", vectis::name(type)));
  }
  auto bytes = static_cast<std::int64_t>(size_of(type));
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw_invalid(op, fmt::format("shape {} has a negative extent", to_string(shape)));
    if (extent != 0 && bytes > bytes_max / extent) {
      throw_invalid(op, fmt::format("shape {} of {} has more than 2^56 bytes; compute it in parts", to_string(shape),
                                    vectis::name(type)));
    }
    bytes *= std::max<std::int64_t>(extent, 1);
  }
}

Tensor constant(Lane& lane, const Scalar& value, DType type, const Shape& shape) {
  lane.check_type("full", type);
  auto node = std::make_shared<Node>(lane, type, shape);
  node->storage = Lane::allocate_element();
  if (is_real(type)) {
    const double real = value.real();
    store_wide(type, &real, 1, node->storage->host);
  } else {
    const std::int64_t integer = value.kind() != Scalar::Kind::real ? value.integer()
                                 : type == DType::boolean           ? std::int64_t{value.real() != 0}
                                                                    : truncated(type, value.real());
    store_wide(type, &integer, 1, node->storage->host);
  }
  if (!shape.empty()) {
    node->is_contiguous = false;
    node->strides = Shape(shape.rank(), 0);
  }
  node->is_computed = true;
  return Tensor(std::move(node));
}

TensorOptions options_of(const Tensor& x) { return {.device = x.device(), .runtime = &x.node()->lane->runtime()}; }

const Tensor& as_tensor(std::string_view op, const Operand& operand) {
  if (operand.tensor() == nullptr) throw_invalid(op, "a number stands where an array is needed; make one by full()");
  if (operand.tensor()->is_empty()) throw_invalid(op, "an operand is an empty Tensor; assign an array to it first");
  return *operand.tensor();
}

void check_devices(std::string_view op, const Tensor& a, const Tensor& b) {
  const Lane* const first = a.node()->lane;
  const Lane* const second = b.node()->lane;
  if (first == second) return;
  if (&first->engine() != &second->engine()) {
    throw_invalid(op, "operands belong to two Runtimes; make both with the same TensorOptions::runtime");
  }
  throw_invalid(op, fmt::format("operands are on {} and {}; make both on one device", first->device().label(),
                                second->device().label()));
}

Resolved resolve(std::string_view op, std::initializer_list<const Operand*> operands) {
  const Tensor* first = nullptr;
  DType type = DType::boolean;
  Shape shape;
  for (const Operand* const operand : operands) {
    if (operand->tensor() == nullptr) continue;
    const Tensor& tensor = as_tensor(op, *operand);
    type = first == nullptr ? tensor.dtype() : promote(type, tensor.dtype());
    shape = first == nullptr ? tensor.shape() : broadcast_shapes(op, shape, tensor.shape());
    if (first == nullptr) first = &tensor;
    check_devices(op, *first, tensor);
  }
  if (first == nullptr) throw_invalid(op, "no operand is an array; give at least one");
  for (const Operand* const operand : operands) {
    if (operand->tensor() == nullptr) type = promote(type, operand->scalar());
  }
  check_shape(op, shape, type);
  Resolved resolved{.tensors = {}, .where = (*operands.begin())->where()};
  resolved.tensors.reserve(operands.size());
  for (const Operand* const operand : operands) {
    resolved.tensors.push_back(operand->tensor() == nullptr
                                   ? constant(*first->node()->lane, operand->scalar(), type, shape)
                                   : broadcast(operand->tensor()->astype(type), shape, resolved.where));
  }
  return resolved;
}

}  // namespace vectis::inline v0_1::array
