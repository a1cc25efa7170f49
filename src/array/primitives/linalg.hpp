// What the primitives that call LAPACK share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "array/lapack.hpp"
#include "array/node.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// Returns `x` as an operand of LAPACK: matrices of float32 or float64 on the CPU. Throws as linalg.hpp says.
Tensor as_matrices(std::string_view op, const Operand& x);
// The same for square matrices.
Tensor as_square_matrices(std::string_view op, const Operand& x);
// Throws InvalidInput when `extent` is more than `max`, beyond which the routine's workspace exceeds its integers.
void check_extent(std::string_view op, std::int64_t extent, std::int64_t max);

// Returns the shape of a batch of matrices with other extents instead of its last two axes.
Shape batch_shape(const Shape& matrices, std::initializer_list<std::int64_t> extents = {});

// Several arrays one after the other in an array of one axis: how a primitive has several results, each of which is a
// view of it. Immutable.
class Packing {
 public:
  Packing(std::initializer_list<Shape> shapes);

  [[nodiscard]] Shape shape() const { return {starts_.back()}; }
  // Returns the array at position `number`.
  [[nodiscard]] Tensor part(const Tensor& packed, std::size_t number) const;
  // Returns where the array at position `number` starts in a computed node.
  template <class T>
  [[nodiscard]] T* data(const Node& packed, std::size_t number) const {
    return packed.data<T>() + starts_[number];
  }

 private:
  std::vector<Shape> shapes_;
  std::vector<std::int64_t> starts_;  // in elements, and the end
};

// Memory of the pool for `count` elements with undefined content.
template <class T>
class Scratch {
 public:
  Scratch(Lane& lane, std::int64_t count);
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(storage_->host); }

 private:
  std::shared_ptr<Storage> storage_;
};

// Result of a routine for a matrix with elements that are not finite, for which it is not called.
constexpr LapackInt is_not_finite = std::numeric_limits<LapackInt>::min();

template <class T>
[[nodiscard]] bool all_finite(const T* values, std::int64_t count) {
  return std::all_of(values, values + count, [](T value) { return std::isfinite(value); });
}

// Sets the elements above the diagonal of a row-major matrix to 0.
template <class T>
void clear_above_diagonal(T* matrix, std::int64_t n) {
  for (std::int64_t row = 0; row < n; ++row) std::fill(matrix + row * n + row + 1, matrix + (row + 1) * n, T{0});
}

// Returns the size of a workspace from the answer to a query, which a float may have rounded down.
template <class T>
[[nodiscard]] LapackInt workspace_size(T answer) {
  const double size = std::ceil(static_cast<double>(answer) * (1 + std::numeric_limits<T>::epsilon()));
  return static_cast<LapackInt>(std::clamp(size, 1.0, double{std::numeric_limits<LapackInt>::max()}));
}

// The loop over the matrices of a batch.
class MatrixLoop {
 public:
  // Over the matrices of `x`, with about `work` multiply-adds for each. Errors name `op`.
  MatrixLoop(std::string_view op, const Node& x, double work);

  template <class T>
  [[nodiscard]] const LapackRoutines<T>& routines() const noexcept {
    return lapack_->routines<T>();
  }
  // Calls `make()` for each range of matrices, and what it returns with the number of each matrix of the range: returns
  // the `info` of the routine. Throws InvalidInput for the first matrix whose `info` is not 0, with
  // `explain(info)`, such as "is singular".
  template <class Make, class Explain>
  void run(const Make& make, const Explain& explain) const {
    std::vector<LapackInt> infos(count_);
    lapack_->for_ranges(*executor_, count_, grain_, [&](std::size_t begin, std::size_t end) {
      const auto body = make();
      for (std::size_t i = begin; i < end; ++i) infos[i] = body(static_cast<std::int64_t>(i));
    });
    const auto failed = std::ranges::find_if(infos, [](LapackInt info) { return info != 0; });
    if (failed == infos.end()) return;
    throw_for_matrix(failed - infos.begin(), *failed == is_not_finite ? not_finite_text() : explain(*failed));
  }

 private:
  static std::string not_finite_text();
  [[noreturn]] void throw_for_matrix(std::int64_t number, const std::string& what) const;

  std::string_view op_;
  const Lapack* lapack_;
  Executor* executor_;
  Shape batch_;
  std::size_t count_;
  std::size_t grain_;
};

// Calls `body` with a 0 of the type: float or double.
template <class Body>
void with_element_type(DType type, const Body& body) {
  if (type == DType::float32) return body(float{0});
  body(double{0});
}

// Returns 1 / x, and 0 where x is 0.
Tensor reciprocal_or_zero(const Tensor& x);
// Returns matrices with `values` on their diagonals.
Tensor diagonal_matrices(const Tensor& values);
// Returns (x + x^T) / 2.
Tensor symmetrized(const Tensor& x);
// Returns identity matrices beside the square matrices `a`, of their shape.
Tensor identity_like(const Tensor& a);

}  // namespace vectis::inline v0_1::array
