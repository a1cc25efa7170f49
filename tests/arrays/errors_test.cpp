// Each mismatch of shapes, types and arguments has one message that names the operation and the numbers.

#include <gtest/gtest.h>

#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;
constexpr ErrorCode invalid = ErrorCode::invalid_input;

}  // namespace

TEST(ArrayErrors, NameOperationAndShapes) {
  const Tensor a = zeros({2, 3});
  const Tensor b = zeros({4});
  EXPECT_ERROR(a + b, invalid, "[add]", "(2, 3)", "(4,)", "3 and 4");
  EXPECT_ERROR(matmul(a, a), invalid, "[matmul]", "(2, 3)", "3, must be");
  EXPECT_ERROR(matmul(a, zeros({})), invalid, "[matmul]", "scalar");
  EXPECT_ERROR((void)a.reshape({4, 2}), invalid, "[reshape]", "6 elements", "(4, 2)");
  EXPECT_ERROR((void)a.reshape({-1, -1}), invalid, "[reshape]", "negative");
  EXPECT_ERROR((void)a.reshape({-1, 0}), invalid, "[reshape]");
  EXPECT_ERROR((void)a.transpose({0, 0}), invalid, "[permute_dims]", "axis 0 is named twice");
  EXPECT_ERROR((void)a.transpose({0}), invalid, "[permute_dims]", "1 axes are named, the array has 2");
  EXPECT_ERROR(sum(a, {2}), invalid, "[sum]", "axis 2", "-2 to 1");
  EXPECT_ERROR(mean(a, {2}), invalid, "[mean]", "axis 2", "-2 to 1");
  EXPECT_ERROR(stddev(a, {2}), invalid, "[stddev]", "axis 2");
  EXPECT_ERROR(softmax(a, 2), invalid, "[softmax]", "axis 2");
  EXPECT_ERROR(sort(a, 2), invalid, "[sort]", "axis 2");
  EXPECT_ERROR(top_k(a, 1, 2), invalid, "[top_k]", "axis 2");
  EXPECT_ERROR(sum(zeros({}), {0}), invalid, "[sum]", "scalar");
  EXPECT_ERROR(max(zeros({0})), invalid, "[max]", "(0,)");
  EXPECT_ERROR((void)a[2], invalid, "[select]", "index 2", "-2 to 1");
  EXPECT_ERROR(slice(a, 0, {.step = 0}), invalid, "[slice]", "step is 0");
  EXPECT_ERROR(squeeze(a, {0}), invalid, "[squeeze]", "extent 2");
  EXPECT_ERROR(broadcast_to(a, {3}), invalid, "[broadcast_to]", "(2, 3)", "(3,)");
  EXPECT_ERROR(concat(std::vector{a, b}), invalid, "[concat]", "(2, 3)", "(4,)");
  EXPECT_ERROR(concat({}), invalid, "[concat]", "no arrays");
  EXPECT_ERROR(stack(std::vector{a, b}), invalid, "[stack]");
  EXPECT_ERROR(split(a, 2, 1), invalid, "[split]", "extent 3", "2 equal parts");
  EXPECT_ERROR(pad(a, {}), invalid, "[pad]", "0 pairs");
  EXPECT_ERROR(zeros({-1}), invalid, "[full]", "negative");
  EXPECT_ERROR(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), invalid, "[full]", "2^56");
  EXPECT_ERROR(arange(0, 1, 0), invalid, "[arange]");
  EXPECT_ERROR(Tensor::from_cpu(std::vector<float>{1, 2}, {3}), invalid, "[from_cpu]", "2 elements", "(3,)");
  EXPECT_ERROR((void)a.item(), invalid, "[item]", "(2, 3)");
  EXPECT_ERROR(Shape(65, 1), invalid, "[shape]", "65 axes", "64");
}

TEST(ArrayErrors, NameTypes) {
  const Tensor truth = zeros({2}, DType::boolean);
  EXPECT_ERROR(truth + truth, invalid, "[add]", "bool");
  EXPECT_ERROR(exp(truth), invalid, "[exp]", "bool");
  EXPECT_ERROR(bitwise_and(zeros({2}), zeros({2})), invalid, "[bitwise_and]", "float32");
  EXPECT_ERROR(where(zeros({2}), 1, 2), invalid, "[where]", "float32");
  EXPECT_ERROR((void)zeros({2}).to_cpu<double>(), invalid, "[to_cpu]", "float32", "float64");
  EXPECT_ERROR((void)zeros({2}).astype(DType::complex64), invalid, "[astype]", "complex64");
  EXPECT_ERROR(matmul(zeros({2, 2}, DType::boolean), zeros({2, 2}, DType::boolean)), invalid, "[matmul]", "bool");
}

TEST(ArrayErrors, EmptyTensorsAndNumbersAreNoArrays) {
  EXPECT_ERROR((void)Tensor().shape(), invalid, "empty");
  EXPECT_ERROR(Tensor() + 1, invalid, "[add]", "empty");
  EXPECT_ERROR(add(1, 2), invalid, "[add]", "no operand is an array");
  EXPECT_ERROR(array::exp(Operand(1)), invalid, "[exp]", "number");
  EXPECT_ERROR(sum(Tensor()), invalid, "[sum]", "empty");
}

TEST(ArrayErrors, OtherRuntimesAreOtherDevices) {
  Runtime runtime(with_threads(1));
  const Tensor there = zeros({2}, DType::float32, {.runtime = &runtime});
  EXPECT_ERROR(zeros({2}) + there, invalid, "[add]", "two Runtimes");
}

}  // namespace vectis::test
