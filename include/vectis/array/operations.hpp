// Operations on arrays. They check shapes, types and devices at the call and record what to compute.
//
// Operands may be arrays of several types and shapes, or numbers: they are converted to the type that holds all, and
// broadcast to one shape as NumPy does. A number takes the type of the array beside it. All functions throw
// InvalidInput for shapes, types and devices that do not fit, naming the operation and the shapes; what they compute
// later throws what Tensor::eval() throws. `axes` counts from the end when negative; an empty list means all axes.
// docs/arrays.md lists the operations with their types and gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// --- New arrays -----------------------------------------------------------------------------------------------------

// Returns an array whose elements are all `value`, stored once.
VECTIS_API Tensor full(const Shape& shape, const Scalar& value, DType type = DType::float32,
                       const TensorOptions& options = {});
VECTIS_API Tensor zeros(const Shape& shape, DType type = DType::float32, const TensorOptions& options = {});
VECTIS_API Tensor ones(const Shape& shape, DType type = DType::float32, const TensorOptions& options = {});
// Returns an array of the shape, type and device of `x` whose elements are all `value`.
VECTIS_API Tensor full_like(const Tensor& x, const Scalar& value);
VECTIS_API Tensor zeros_like(const Tensor& x);
VECTIS_API Tensor ones_like(const Tensor& x);
// Returns start, start + step, ... up to but without `stop`. Throws InvalidInput for a step of 0.
VECTIS_API Tensor arange(double start, double stop, double step = 1, DType type = DType::int32,
                         const TensorOptions& options = {});
// Returns `count` numbers at equal distances from `start` to `stop`, which is the last one.
VECTIS_API Tensor linspace(double start, double stop, std::int64_t count, DType type = DType::float32,
                           const TensorOptions& options = {});
// Returns a matrix with ones on diagonal `diagonal` (above the main one when positive) and zeros elsewhere.
VECTIS_API Tensor eye(std::int64_t rows, std::int64_t columns, std::int64_t diagonal = 0, DType type = DType::float32,
                      const TensorOptions& options = {});

// --- Element by element ---------------------------------------------------------------------------------------------
// Arithmetic takes numbers of any type but bool. Functions of real numbers convert integers to float32 first.

VECTIS_API Tensor add(const Operand& a, const Operand& b);
VECTIS_API Tensor subtract(const Operand& a, const Operand& b);
VECTIS_API Tensor multiply(const Operand& a, const Operand& b);
VECTIS_API Tensor divide(const Operand& a, const Operand& b);  // of real numbers
// The quotient rounded down, and what it leaves, which has the sign of the divisor, as in Python. By an integer 0: 0.
VECTIS_API Tensor floor_divide(const Operand& a, const Operand& b);
VECTIS_API Tensor remainder(const Operand& a, const Operand& b);
VECTIS_API Tensor fmod(const Operand& a, const Operand& b);  // what truncated division leaves, with the sign of a
VECTIS_API Tensor power(const Operand& a, const Operand& b);
VECTIS_API Tensor atan2(const Operand& y, const Operand& x);
VECTIS_API Tensor hypot(const Operand& a, const Operand& b);
VECTIS_API Tensor logaddexp(const Operand& a, const Operand& b);  // log(exp(a) + exp(b)) without overflow
VECTIS_API Tensor copysign(const Operand& a, const Operand& b);   // |a| with the sign of b
// NaN when either is NaN.
VECTIS_API Tensor minimum(const Operand& a, const Operand& b);
VECTIS_API Tensor maximum(const Operand& a, const Operand& b);
VECTIS_API Tensor clip(const Operand& x, const Operand& low, const Operand& high);

VECTIS_API Tensor negative(const Operand& x);
VECTIS_API Tensor absolute(const Operand& x);
VECTIS_API Tensor sign(const Operand& x);  // -1, 0, 1 or NaN
VECTIS_API Tensor square(const Operand& x);
VECTIS_API Tensor reciprocal(const Operand& x);
VECTIS_API Tensor floor(const Operand& x);  // integers stay integers, also of ceil, round and trunc
VECTIS_API Tensor ceil(const Operand& x);
VECTIS_API Tensor round(const Operand& x);  // ties to even
VECTIS_API Tensor trunc(const Operand& x);
VECTIS_API Tensor sqrt(const Operand& x);
VECTIS_API Tensor rsqrt(const Operand& x);  // 1 / sqrt(x)
VECTIS_API Tensor exp(const Operand& x);
VECTIS_API Tensor exp2(const Operand& x);
VECTIS_API Tensor expm1(const Operand& x);  // exp(x) - 1 without cancellation
VECTIS_API Tensor log(const Operand& x);
VECTIS_API Tensor log2(const Operand& x);
VECTIS_API Tensor log10(const Operand& x);
VECTIS_API Tensor log1p(const Operand& x);  // log(1 + x) without cancellation
VECTIS_API Tensor sin(const Operand& x);
VECTIS_API Tensor cos(const Operand& x);
VECTIS_API Tensor tan(const Operand& x);
VECTIS_API Tensor sinh(const Operand& x);
VECTIS_API Tensor cosh(const Operand& x);
VECTIS_API Tensor tanh(const Operand& x);
VECTIS_API Tensor asin(const Operand& x);
VECTIS_API Tensor acos(const Operand& x);
VECTIS_API Tensor atan(const Operand& x);
VECTIS_API Tensor asinh(const Operand& x);
VECTIS_API Tensor acosh(const Operand& x);
VECTIS_API Tensor atanh(const Operand& x);
VECTIS_API Tensor erf(const Operand& x);

// Activation functions of neural networks.
VECTIS_API Tensor sigmoid(const Operand& x);
VECTIS_API Tensor relu(const Operand& x);
VECTIS_API Tensor leaky_relu(const Operand& x, double slope = 0.01);
VECTIS_API Tensor elu(const Operand& x, double alpha = 1);
VECTIS_API Tensor gelu(const Operand& x);      // x * (1 + erf(x / sqrt 2)) / 2
VECTIS_API Tensor silu(const Operand& x);      // x * sigmoid(x)
VECTIS_API Tensor softplus(const Operand& x);  // log(1 + exp(x))

// Comparisons have type bool. Those with NaN are false, except not_equal.
VECTIS_API Tensor equal(const Operand& a, const Operand& b);
VECTIS_API Tensor not_equal(const Operand& a, const Operand& b);
VECTIS_API Tensor less(const Operand& a, const Operand& b);
VECTIS_API Tensor less_equal(const Operand& a, const Operand& b);
VECTIS_API Tensor greater(const Operand& a, const Operand& b);
VECTIS_API Tensor greater_equal(const Operand& a, const Operand& b);
VECTIS_API Tensor isnan(const Operand& x);
VECTIS_API Tensor isinf(const Operand& x);
VECTIS_API Tensor isfinite(const Operand& x);
VECTIS_API Tensor signbit(const Operand& x);  // of reals the sign bit, also of -0 and NaN

// Of integers bit by bit, of bool as truth values.
VECTIS_API Tensor bitwise_and(const Operand& a, const Operand& b);
VECTIS_API Tensor bitwise_or(const Operand& a, const Operand& b);
VECTIS_API Tensor bitwise_xor(const Operand& a, const Operand& b);
VECTIS_API Tensor bitwise_not(const Operand& x);
// A shift by the width of the type or more leaves 0, to the right of a negative number -1.
VECTIS_API Tensor left_shift(const Operand& a, const Operand& b);
VECTIS_API Tensor right_shift(const Operand& a, const Operand& b);
// Of truth values: numbers other than 0 are true.
VECTIS_API Tensor logical_and(const Operand& a, const Operand& b);
VECTIS_API Tensor logical_or(const Operand& a, const Operand& b);
VECTIS_API Tensor logical_xor(const Operand& a, const Operand& b);
VECTIS_API Tensor logical_not(const Operand& x);

// Returns `yes` where `condition`, of type bool, is true, else `no`.
VECTIS_API Tensor where(const Operand& condition, const Operand& yes, const Operand& no);

VECTIS_API Tensor operator+(const Operand& a, const Operand& b);
VECTIS_API Tensor operator-(const Operand& a, const Operand& b);
VECTIS_API Tensor operator*(const Operand& a, const Operand& b);
VECTIS_API Tensor operator/(const Operand& a, const Operand& b);
VECTIS_API Tensor operator-(const Operand& x);

// --- Shapes ---------------------------------------------------------------------------------------------------------
// Most share the memory of their operand.

VECTIS_API Tensor reshape(const Operand& x, const Shape& shape);
VECTIS_API Tensor flatten(const Operand& x);
VECTIS_API Tensor permute_dims(const Operand& x, const Shape& axes);
VECTIS_API Tensor swapaxes(const Operand& x, std::int64_t a, std::int64_t b);
VECTIS_API Tensor moveaxis(const Operand& x, std::int64_t from, std::int64_t to);
VECTIS_API Tensor matrix_transpose(const Operand& x);  // of the last two axes
VECTIS_API Tensor expand_dims(const Operand& x, std::int64_t axis);
// Removes `axes`, whose extents must be 1; without any, all axes of extent 1.
VECTIS_API Tensor squeeze(const Operand& x, const Shape& axes = {});
VECTIS_API Tensor broadcast_to(const Operand& x, const Shape& shape);
VECTIS_API Tensor flip(const Operand& x, const Shape& axes = {});

// A range of an axis as in Python: `step` may be negative, numbers below 0 count from the end, and those beyond the
// ends are moved to them.
struct Range {
  std::optional<std::int64_t> start = std::nullopt;
  std::optional<std::int64_t> stop = std::nullopt;
  std::int64_t step = 1;
};
// Returns the elements in `range` of `axis`. Throws InvalidInput for a step of 0.
VECTIS_API Tensor slice(const Operand& x, std::int64_t axis, const Range& range);
// Returns the sub-array at `index` of `axis`, which it lacks. Throws InvalidInput when there is no such index.
VECTIS_API Tensor select(const Operand& x, std::int64_t axis, std::int64_t index);
// Returns parts of equal extent along `axis`. Throws InvalidInput when its extent is not a multiple of `parts`.
VECTIS_API std::vector<Tensor> split(const Operand& x, std::int64_t parts, std::int64_t axis = 0);
// Returns the sub-arrays at each index of `axis`, which they lack.
VECTIS_API std::vector<Tensor> unstack(const Operand& x, std::int64_t axis = 0);

// Joins arrays of one rank along `axis`.
VECTIS_API Tensor concat(std::span<const Tensor> tensors, std::int64_t axis = 0);
// Joins arrays of one shape along a new axis.
VECTIS_API Tensor stack(std::span<const Tensor> tensors, std::int64_t axis = 0);
// Surrounds `x` by `value`: `widths` has elements before and after for each axis.
VECTIS_API Tensor pad(const Operand& x, std::span<const std::pair<std::int64_t, std::int64_t>> widths,
                      const Scalar& value = 0);
VECTIS_API Tensor tile(const Operand& x, const Shape& repetitions);
VECTIS_API Tensor repeat(const Operand& x, std::int64_t repetitions, std::int64_t axis);
VECTIS_API Tensor roll(const Operand& x, std::int64_t shift, std::int64_t axis);
// Keeps the elements on and below (tril), or on and above (triu), a diagonal of the last two axes; the others become 0.
VECTIS_API Tensor tril(const Operand& x, std::int64_t diagonal = 0);
VECTIS_API Tensor triu(const Operand& x, std::int64_t diagonal = 0);

// --- Reductions -----------------------------------------------------------------------------------------------------
// Over `axes`, by default all; `keep_dims` leaves reduced axes with extent 1. Sums are accumulated in double precision
// or 64 bits. Extrema are NaN when an element is.

VECTIS_API Tensor sum(const Operand& x, const Shape& axes = {}, bool keep_dims = false);   // int32 of small integers
VECTIS_API Tensor prod(const Operand& x, const Shape& axes = {}, bool keep_dims = false);  // int32 of small integers
VECTIS_API Tensor mean(const Operand& x, const Shape& axes = {}, bool keep_dims = false);
// The mean squared distance to the mean, divided by the number of elements - `correction`.
VECTIS_API Tensor var(const Operand& x, const Shape& axes = {}, double correction = 0, bool keep_dims = false);
VECTIS_API Tensor stddev(const Operand& x, const Shape& axes = {}, double correction = 0, bool keep_dims = false);
VECTIS_API Tensor max(const Operand& x, const Shape& axes = {}, bool keep_dims = false);
VECTIS_API Tensor min(const Operand& x, const Shape& axes = {}, bool keep_dims = false);
VECTIS_API Tensor all(const Operand& x, const Shape& axes = {}, bool keep_dims = false);
VECTIS_API Tensor any(const Operand& x, const Shape& axes = {}, bool keep_dims = false);
VECTIS_API Tensor count_nonzero(const Operand& x, const Shape& axes = {}, bool keep_dims = false);
VECTIS_API Tensor norm(const Operand& x, const Shape& axes = {}, bool keep_dims = false);  // Euclidean
VECTIS_API Tensor logsumexp(const Operand& x, const Shape& axes = {}, bool keep_dims = false);
// The lowest index, of type int32, of the largest or smallest element along `axis`, by default of the flattened array.
// NaN counts as largest, or smallest.
VECTIS_API Tensor argmax(const Operand& x, std::optional<std::int64_t> axis = std::nullopt, bool keep_dims = false);
VECTIS_API Tensor argmin(const Operand& x, std::optional<std::int64_t> axis = std::nullopt, bool keep_dims = false);
// exp(x) divided by its sum along `axis`, and the logarithm of that.
VECTIS_API Tensor softmax(const Operand& x, std::int64_t axis = -1);
VECTIS_API Tensor log_softmax(const Operand& x, std::int64_t axis = -1);

// --- Products -------------------------------------------------------------------------------------------------------

// The product of matrices in the last two axes; the axes before them are broadcast. A vector is a row (left) or a
// column (right), and the result lacks its axis.
VECTIS_API Tensor matmul(const Operand& a, const Operand& b);
VECTIS_API Tensor outer(const Operand& a, const Operand& b);   // of two vectors
VECTIS_API Tensor vecdot(const Operand& a, const Operand& b);  // sums of products along the last axis
// The sums of products over pairs of axes, each of `axes_a` with that of `axes_b`; the axes that are left come in
// order.
VECTIS_API Tensor tensordot(const Operand& a, const Operand& b, const Shape& axes_a, const Shape& axes_b);
// The sum of products that `equation` describes, such as "ij,jk->ik": a letter for each axis of each operand, and those
// of the result; the letters that the result lacks are summed over. Without "->" the result has the letters that occur
// once, in alphabetical order. Throws InvalidInput, naming the equation, when it does not fit the operands.
VECTIS_API Tensor einsum(std::string_view equation, std::span<const Tensor> tensors);

// --- Indices and orders ---------------------------------------------------------------------------------------------
// Indices are arrays of integers and count from the end when negative. One that does not exist throws InvalidInput when
// the array is computed.

// What an index below 0 is: a position from the end, or one that does not exist.
enum class NegativeIndices : std::uint8_t { from_end, refused };

// Returns the elements at `indices` of `axis`, which is replaced by the axes of `indices`.
VECTIS_API Tensor take(const Operand& x, const Operand& indices, std::int64_t axis = 0,
                       NegativeIndices negative = NegativeIndices::from_end);
// Returns, for each element of `indices`, the element that it names along `axis`; the other axes agree.
VECTIS_API Tensor take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis,
                                  NegativeIndices negative = NegativeIndices::from_end);
// Returns `x` with `values` written over the elements that `indices` names along `axis`. Of several values for one
// element the last one stays.
VECTIS_API Tensor put_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis);
// Returns `x` with `values` added to the elements that `indices` names along `axis`, in order.
VECTIS_API Tensor add_along_axis(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis);
// Returns `x` with `values` added at a vector of `indices` of `axis`, in order: the reverse of take.
VECTIS_API Tensor index_add(const Operand& x, const Operand& indices, const Operand& values, std::int64_t axis = 0);

// Returns the elements, or their positions of type int32, in increasing or decreasing order along `axis`. NaN comes
// last; equal elements keep their order.
VECTIS_API Tensor sort(const Operand& x, std::int64_t axis = -1, bool descending = false);
VECTIS_API Tensor argsort(const Operand& x, std::int64_t axis = -1, bool descending = false);
// Returns the k largest, or smallest, elements along `axis` in order, and their positions. NaN comes last.
VECTIS_API std::pair<Tensor, Tensor> top_k(const Operand& x, std::int64_t k, std::int64_t axis = -1,
                                           bool largest = true);
// Returns the sums of the elements along `axis` up to and including each; small integers are counted in int32.
VECTIS_API Tensor cumulative_sum(const Operand& x, std::int64_t axis = -1);
// Returns the products of the elements along `axis` up to and including each; small integers are multiplied in int32.
VECTIS_API Tensor cumulative_prod(const Operand& x, std::int64_t axis = -1);
// Returns the differences of adjacent elements along `axis`, taken `times` times; of bool, whether they differ.
VECTIS_API Tensor diff(const Operand& x, std::int64_t times = 1, std::int64_t axis = -1);

// --- Computed at the call -------------------------------------------------------------------------------------------
// Results whose shape depends on the elements, and searches. They throw what Tensor::eval() throws, and have no
// gradient but repeat.

// Returns, for each axis, the indices (int64) of the elements that are not 0 in row-major order. Throws InvalidInput
// for a scalar.
VECTIS_API std::vector<Tensor> nonzero(const Operand& x);

// Repeats each element of `axis` as often as the integer in `repetitions` says, which has one for all or one for each.
VECTIS_API Tensor repeat(const Operand& x, const Tensor& repetitions, std::int64_t axis);
// Returns, for each element of `values`, its first position (int64) in the vector `sorted`, in increasing order with
// NaN last; `after_equal`: the position behind equal elements.
VECTIS_API Tensor searchsorted(const Operand& sorted, const Operand& values, bool after_equal = false);
// Returns, for each element of `x`, whether `values` has an equal one.
VECTIS_API Tensor isin(const Operand& x, const Operand& values);
// Returns the floating-point number after each element of `x` in the direction of `towards`.
VECTIS_API Tensor nextafter(const Operand& x, const Operand& towards);

// The different elements of an array in increasing order; each NaN differs from all others.
struct Unique {
  Tensor values;
  Tensor indices;  // int64, of the first occurrence of each in the flattened array
  Tensor inverse;  // int64, in the shape of the array: for each element, its position in `values`
  Tensor counts;   // int64, how often each occurs
};
VECTIS_API Unique unique(const Operand& x);

}  // namespace vectis::inline v0_1::array
