// Operations with arguments for which they are smooth: the cases of tests of values, gradients and devices.
#pragma once

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "tests/arrays/dense.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

using Arguments = std::span<const array::Tensor>;

// A function with the range of arguments where it is smooth.
struct OperationCase {
  const char* name;
  array::Function function;  // of any shape
  double low = -2;
  double high = 2;
  std::vector<Shape> shapes = {{2, 3}};
};

// A vector of indices on the device of `x`.
inline array::Tensor indices(const array::Tensor& x, const std::vector<std::int32_t>& values) {
  return array::Tensor::from_cpu(values, {static_cast<std::int64_t>(values.size())}, {.device = x.device()});
}

inline std::vector<OperationCase> operation_cases() {
  using namespace vectis::array;
  return {
      {"add", [](Arguments x) { return x[0] + x[1]; }, -2, 2, {{2, 3}, {3}}},
      {"subtract", [](Arguments x) { return x[0] - x[1]; }, -2, 2, {{2, 1}, {3}}},
      {"multiply", [](Arguments x) { return x[0] * x[1]; }, -2, 2, {{2, 3}, {3}}},
      {"divide", [](Arguments x) { return x[0] / x[1]; }, 0.5, 2, {{2, 3}, {2, 3}}},
      {"remainder", [](Arguments x) { return remainder(x[0] * 5, x[1]); }, 0.7, 1, {{5}, {5}}},
      {"fmod", [](Arguments x) { return fmod(x[0] * 5, x[1]); }, 0.7, 1, {{5}, {5}}},
      {"power", [](Arguments x) { return power(x[0], x[1]); }, 0.5, 2, {{2, 3}, {3}}},
      {"power of negative", [](Arguments x) { return power(x[0], 3); }, -2, -0.5},
      {"atan2", [](Arguments x) { return atan2(x[0], x[1]); }, 0.5, 2, {{4}, {4}}},
      {"hypot", [](Arguments x) { return hypot(x[0], x[1]); }, 0.5, 2, {{4}, {4}}},
      {"logaddexp", [](Arguments x) { return logaddexp(x[0], x[1]); }, -2, 2, {{4}, {4}}},
      {"minimum", [](Arguments x) { return minimum(x[0], x[1]); }, -2, 2, {{4}, {4}}},
      {"maximum", [](Arguments x) { return maximum(x[0], x[1]); }, -2, 2, {{4}, {4}}},
      {"clip", [](Arguments x) { return clip(x[0], -1, 1); }},
      {"negative", [](Arguments x) { return -x[0]; }},
      {"absolute", [](Arguments x) { return absolute(x[0]); }, 0.1, 2},
      {"square", [](Arguments x) { return square(x[0]); }},
      {"reciprocal", [](Arguments x) { return reciprocal(x[0]); }, 0.5, 2},
      {"sqrt", [](Arguments x) { return sqrt(x[0]); }, 0.5, 2},
      {"rsqrt", [](Arguments x) { return rsqrt(x[0]); }, 0.5, 2},
      {"exp", [](Arguments x) { return exp(x[0]); }},
      {"exp2", [](Arguments x) { return exp2(x[0]); }},
      {"expm1", [](Arguments x) { return expm1(x[0]); }},
      {"log", [](Arguments x) { return log(x[0]); }, 0.5, 2},
      {"log2", [](Arguments x) { return log2(x[0]); }, 0.5, 2},
      {"log10", [](Arguments x) { return log10(x[0]); }, 0.5, 2},
      {"log1p", [](Arguments x) { return log1p(x[0]); }, -0.5, 2},
      {"sin", [](Arguments x) { return sin(x[0]); }},
      {"cos", [](Arguments x) { return cos(x[0]); }},
      {"tan", [](Arguments x) { return tan(x[0]); }, -1, 1},
      {"sinh", [](Arguments x) { return sinh(x[0]); }},
      {"cosh", [](Arguments x) { return cosh(x[0]); }},
      {"tanh", [](Arguments x) { return tanh(x[0]); }},
      {"asin", [](Arguments x) { return asin(x[0]); }, -0.9, 0.9},
      {"acos", [](Arguments x) { return acos(x[0]); }, -0.9, 0.9},
      {"atan", [](Arguments x) { return atan(x[0]); }},
      {"asinh", [](Arguments x) { return asinh(x[0]); }},
      {"acosh", [](Arguments x) { return acosh(x[0]); }, 1.2, 3},
      {"atanh", [](Arguments x) { return atanh(x[0]); }, -0.9, 0.9},
      {"erf", [](Arguments x) { return erf(x[0]); }},
      {"sigmoid", [](Arguments x) { return sigmoid(x[0]); }},
      {"relu", [](Arguments x) { return relu(x[0]); }},
      {"leaky_relu", [](Arguments x) { return leaky_relu(x[0]); }},
      {"elu", [](Arguments x) { return elu(x[0]); }},
      {"gelu", [](Arguments x) { return gelu(x[0]); }},
      {"silu", [](Arguments x) { return silu(x[0]); }},
      {"softplus", [](Arguments x) { return softplus(x[0]); }},
      {"where", [](Arguments x) { return where(greater(x[0], 0), x[0] * x[1], x[1]); }, -2, 2, {{4}, {4}}},
      {"reshape", [](Arguments x) { return reshape(x[0], {3, 2}); }},
      {"permute", [](Arguments x) { return permute_dims(x[0], {2, 0, 1}); }, -2, 2, {{2, 3, 4}}},
      {"slice", [](Arguments x) { return slice(x[0], 1, {.step = -2}); }, -2, 2, {{2, 5}}},
      {"slice of nothing", [](Arguments x) { return sum(slice(x[0], 0, {.stop = 0})) + sum(x[0]); }},
      {"select", [](Arguments x) { return x[0][1]; }},
      {"broadcast", [](Arguments x) { return broadcast_to(x[0], {4, 2, 3}); }, -2, 2, {{2, 1}}},
      {"flip", [](Arguments x) { return flip(x[0]); }},
      {"concat", [](Arguments x) { return concat(x, 1); }, -2, 2, {{2, 3}, {2, 1}}},
      {"stack", [](Arguments x) { return stack(x, 1); }, -2, 2, {{2, 3}, {2, 3}}},
      {"pad",
       [](Arguments x) { return pad(x[0], std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}, {0, 1}}, 3); }},
      {"tile", [](Arguments x) { return tile(x[0], {2, 2}); }},
      {"repeat", [](Arguments x) { return repeat(x[0], 3, 0); }},
      {"roll", [](Arguments x) { return roll(x[0], 1, 1); }},
      {"tril", [](Arguments x) { return tril(x[0]); }, -2, 2, {{3, 3}}},
      {"sum", [](Arguments x) { return sum(x[0], {1}); }},
      {"sum of axes apart", [](Arguments x) { return sum(x[0], {0, 2}); }, -2, 2, {{2, 3, 2}}},
      {"prod", [](Arguments x) { return prod(x[0], {1}); }},
      {"mean", [](Arguments x) { return mean(x[0], {0}, true); }},
      {"var", [](Arguments x) { return var(x[0], {1}, 1); }},
      {"stddev", [](Arguments x) { return stddev(x[0], {1}); }},
      {"max", [](Arguments x) { return max(x[0], {1}); }},
      {"min", [](Arguments x) { return min(x[0]); }},
      {"norm", [](Arguments x) { return norm(x[0], {1}); }},
      {"logsumexp", [](Arguments x) { return logsumexp(x[0], {1}); }},
      {"softmax", [](Arguments x) { return softmax(x[0]); }},
      {"log_softmax", [](Arguments x) { return log_softmax(x[0], 0); }},
      {"matmul", [](Arguments x) { return matmul(x[0], x[1]); }, -2, 2, {{2, 3}, {3, 4}}},
      {"matmul of batches", [](Arguments x) { return matmul(x[0], x[1]); }, -2, 2, {{2, 1, 2, 3}, {3, 3, 2}}},
      {"matmul of vectors", [](Arguments x) { return matmul(x[0], x[1]); }, -2, 2, {{3}, {3}}},
      {"outer", [](Arguments x) { return outer(x[0], x[1]); }, -2, 2, {{3}, {2}}},
      {"vecdot", [](Arguments x) { return vecdot(x[0], x[1]); }, -2, 2, {{2, 3}, {3}}},
      {"take", [](Arguments x) { return take(x[0], indices(x[0], {0, 2, 0, -1}), 1); }},
      {"take_along_axis",
       [](Arguments x) { return take_along_axis(x[0], indices(x[0], {0, 2, 2, 1}).reshape({2, 2}), 1); }},
      {"put_along_axis",
       [](Arguments x) { return put_along_axis(x[0], indices(x[0], {0, 2, 2, 2}).reshape({2, 2}), x[1], 1); },
       -2,
       2,
       {{2, 3}, {2, 2}}},
      {"add_along_axis",
       [](Arguments x) { return add_along_axis(x[0], indices(x[0], {0, 2, 2, 2}).reshape({2, 2}), x[1], 1); },
       -2,
       2,
       {{2, 3}, {2, 2}}},
      {"index_add",
       [](Arguments x) { return index_add(x[0], indices(x[0], {1, 1, 0}), x[1]); },
       -2,
       2,
       {{2, 3}, {3, 3}}},
      {"sort", [](Arguments x) { return sort(x[0], 0, true); }},
      {"top_k", [](Arguments x) { return top_k(x[0], 2).first; }},
      {"cumulative_sum", [](Arguments x) { return cumulative_sum(x[0], 0); }},
      {"einsum", [](Arguments x) { return einsum("ij,jk,ii->ki", x); }, -2, 2, {{2, 3}, {3, 2}, {2, 2}}},
      {"checkpoint", [](Arguments x) { return checkpoint([](Arguments y) { return tanh(exp(y[0])); }, x); }},
  };
}

// A weighted sum of all elements, so that each has another adjoint.
inline array::Tensor weighted(const array::Tensor& x) {
  const array::Tensor numbers =
      array::arange(0, static_cast<double>(x.elements()), 1, x.dtype(), {.device = x.device()});
  return array::sum(array::flatten(x) * array::cos(numbers));
}

inline std::vector<array::Tensor> random_arguments(std::mt19937_64& random, const OperationCase& one) {
  std::vector<array::Tensor> arguments;
  for (const Shape& shape : one.shapes) arguments.push_back(random_dense(random, shape, one.low, one.high).tensor());
  return arguments;
}

}  // namespace vectis::test
