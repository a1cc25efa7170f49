// Loops over float32 elements of a row, compiled for each instruction set.
#pragma once

#include <cstddef>
#include <vector>

#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::array {

// Returns the sum of `count` elements in double precision. The order of the additions does not depend on the
// instruction set.
double sum_of_row(const float* row, std::size_t count);
// Adds `count` rows of `columns` elements, whose starts are `stride` elements apart, to `sums`, in their order.
void add_rows(const float* rows, std::size_t stride, std::size_t count, std::size_t columns, double* sums);
// Returns the largest of `count` elements, at least one; NaN if there is one.
float max_of_row(const float* row, std::size_t count);
// Returns the smallest of `count` elements, at least one; NaN if there is one.
float min_of_row(const float* row, std::size_t count);

// Converts `count` elements of float16 or bfloat16.
void widen_row(DType type, const std::byte* from, std::size_t count, float* out);

// Reads rows of float32, float16 or bfloat16 as float32.
class FloatRows {
 public:
  explicit FloatRows(DType type) : type_(type) {}
  // Returns `count` elements, valid until the next call when they are of 16 bits.
  [[nodiscard]] const float* at(const std::byte* from, std::size_t count) {
    if (type_ == DType::float32) return reinterpret_cast<const float*>(from);
    widened_.resize(count);
    widen_row(type_, from, count, widened_.data());
    return widened_.data();
  }

 private:
  DType type_;
  std::vector<float> widened_;
};

// Writes exp(x - max) / sum of exp(x - max) of each of `count` elements, at least one. Sums in double precision.
void softmax_of_row(const float* row, std::size_t count, float* out);
// Writes x - max - log(sum of exp(x - max)) of each of `count` elements, at least one. Sums in double precision.
void log_softmax_of_row(const float* row, std::size_t count, float* out);

// Writes the gradient of softmax_of_row(): value * (adjoint - sum of value * adjoint). Sums in double precision.
void softmax_gradient_of_row(const float* value, const float* adjoint, std::size_t count, float* out);
// Writes the gradient of log_softmax_of_row(): adjoint - exp(value) * sum of adjoint. Sums in double precision.
void log_softmax_gradient_of_row(const float* value, const float* adjoint, std::size_t count, float* out);

// Writes (x - mean) / sqrt(variance + epsilon) of each of `count` elements, at least one. Sums in double precision.
void layer_norm_of_row(const float* row, std::size_t count, double epsilon, float* out);
// Writes the gradient of layer_norm_of_row(). Sums in double precision.
void layer_norm_gradient_of_row(const float* row, const float* adjoint, std::size_t count, double epsilon, float* out);

}  // namespace vectis::inline v0_1::array
