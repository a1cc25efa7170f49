#include "array/primitives/linalg.hpp"

#include <fmt/format.h>

#include "array/engine.hpp"
#include "array/operands.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::array {

namespace {

constexpr double lapack_work_per_task_min = 1 << 16;  // multiply-adds, about 20 microseconds

Shape without_matrix(const Shape& matrices) { return Shape(std::span(matrices.begin(), matrices.rank() - 2)); }

// "the matrix", or "matrix (1, 2) of the batch".
std::string name_of_matrix(const Shape& batch, std::int64_t number) {
  if (batch.rank() == 0) return "the matrix";
  Shape index = batch;
  for (std::size_t axis = batch.rank(); axis-- > 0;) {
    index[axis] = number % batch[axis];
    number /= batch[axis];
  }
  return fmt::format("matrix {} of the batch", to_string(index));
}

}  // namespace

Tensor as_matrices(std::string_view op, const Operand& x) {
  const Tensor& tensor = as_tensor(op, x);
  if (tensor.rank() < 2) {
    throw_invalid(op,
                  fmt::format("shape {} is no matrix; give an array of at least two axes", to_string(tensor.shape())));
  }
  const DType type = tensor.dtype();
  if (type == DType::boolean || type == DType::float16 || type == DType::bfloat16) {
    throw_invalid(
        op, fmt::format("takes float32 and float64, not {}; convert by astype(DType::float32)", vectis::name(type)));
  }
  const Lane& lane = *tensor.node()->lane;
  if (!lane.is_host()) {
    throw Error(ErrorCode::unsupported, op,
                fmt::format("runs on the CPU only, the array is on '{}'; call x.on(cpu) first", lane.device().label()));
  }
  lane.runtime().service<Lapack>().check(op);
  check_extent(op, std::max(tensor.extent(-1), tensor.extent(-2)), std::numeric_limits<LapackInt>::max());
  return is_real(type) ? tensor : tensor.astype(DType::float32);
}

Tensor as_square_matrices(std::string_view op, const Operand& x) {
  Tensor matrices = as_matrices(op, x);
  if (matrices.extent(-1) != matrices.extent(-2)) {
    throw_invalid(op, fmt::format("the matrices of shape {} are {} x {}, not square", to_string(matrices.shape()),
                                  matrices.extent(-2), matrices.extent(-1)));
  }
  return matrices;
}

void check_extent(std::string_view op, std::int64_t extent, std::int64_t max) {
  if (extent <= max) return;
  throw_invalid(
      op, fmt::format("a matrix has extent {}, LAPACK takes at most {} here; factorize blocks of it", extent, max));
}

Shape batch_shape(const Shape& matrices, std::initializer_list<std::int64_t> extents) {
  Shape shape = without_matrix(matrices);
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return shape;
}

Packing::Packing(std::initializer_list<Shape> shapes) : shapes_(shapes), starts_({0}) {
  for (const Shape& shape : shapes_) starts_.push_back(starts_.back() + shape.elements());
}

Tensor Packing::part(const Tensor& packed, std::size_t number) const {
  return slice(packed, 0, {.start = starts_[number], .stop = starts_[number + 1]}).reshape(shapes_[number]);
}

template <class T>
Scratch<T>::Scratch(Lane& lane, std::int64_t count)
    : storage_(lane.allocate(static_cast<std::uint64_t>(count) * sizeof(T))) {}
template class Scratch<float>;
template class Scratch<double>;
template class Scratch<LapackInt>;

MatrixLoop::MatrixLoop(std::string_view op, const Node& x, double work)
    : op_(op),
      lapack_(&x.lane->runtime().service<Lapack>()),
      executor_(&x.lane->executor()),
      batch_(without_matrix(x.shape)),
      count_(static_cast<std::size_t>(batch_.elements())),
      grain_(static_cast<std::size_t>(lapack_work_per_task_min / std::max(work, 1.0)) + 1) {}

std::string MatrixLoop::not_finite_text() { return "has elements that are not finite; replace NaN and infinity"; }

void MatrixLoop::throw_for_matrix(std::int64_t number, const std::string& what) const {
  throw_invalid(op_, fmt::format("{} {}", name_of_matrix(batch_, number), what));
}

Tensor reciprocal_or_zero(const Tensor& x) {
  const Tensor is_zero = equal(x, 0);
  return where(is_zero, 0, 1 / where(is_zero, 1, x));
}

Tensor diagonal_matrices(const Tensor& values) {
  const std::int64_t n = values.extent(-1);
  return expand_dims(values, -1) * eye(n, n, 0, values.dtype(), options_of(values));
}

Tensor symmetrized(const Tensor& x) { return (x + matrix_transpose(x)) * 0.5; }

Tensor identity_like(const Tensor& a) {
  const std::int64_t n = a.extent(-1);
  return broadcast_to(eye(n, n, 0, a.dtype(), options_of(a)), a.shape());
}

}  // namespace vectis::inline v0_1::array
