// Indices, orders, running sums, einsum and random numbers against loops and the C++ library.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

// A shape with one axis at least, none of which is empty.
Shape filled_shape(std::mt19937_64& random) {
  Shape shape = random_shape(random, 3);
  if (shape.empty()) shape = {5};
  for (std::int64_t& extent : shape) extent = std::max<std::int64_t>(extent, 1);
  return shape;
}

Dense random_indices(std::mt19937_64& random, const Shape& shape, std::int64_t extent) {
  return dense(shape, [&](const Shape&) {
    return static_cast<double>(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * extent)) - extent);
  });
}

std::int64_t wrapped(double index, std::int64_t extent) {
  return static_cast<std::int64_t>(index) + (index < 0 ? extent : 0);
}

}  // namespace

TEST(ArrayIndices, TakeAgreesWithLoops) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 100; ++round) {
    const Shape shape = filled_shape(random);
    const Dense x = random_dense(random, shape);
    const std::size_t axis = random() % shape.rank();
    const Dense indices = random_indices(random, random_shape(random, 2), shape[axis]);
    Shape result = shape;
    result.erase(axis);
    for (std::size_t i = indices.shape.rank(); i-- > 0;) result.insert(axis, indices.shape[i]);
    const Dense expected = dense(result, [&](const Shape& at) {
      Shape of_index;
      for (std::size_t i = 0; i < indices.shape.rank(); ++i) of_index.push_back(at[axis + i]);
      Shape source;
      for (std::size_t i = 0; i < axis; ++i) source.push_back(at[i]);
      source.push_back(wrapped(indices.at(of_index), shape[axis]));
      for (std::size_t i = axis + indices.shape.rank(); i < at.rank(); ++i) source.push_back(at[i]);
      return x.at(source);
    });
    const DType index_type = round % 2 == 0 ? DType::int32 : DType::int64;
    expect_equal(take(x.tensor(), indices.tensor().astype(index_type), static_cast<std::int64_t>(axis)), expected,
                 "round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayIndices, AlongAnAxisAgreeWithLoops) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 100; ++round) {
    const Shape shape = filled_shape(random);
    const Dense x = random_dense(random, shape);
    const std::size_t axis = random() % shape.rank();
    Shape chosen = shape;
    chosen[axis] = static_cast<std::int64_t>(random() % 6);
    const Dense indices = random_indices(random, chosen, shape[axis]);
    const Dense values = random_dense(random, chosen);
    const auto source_of = [&](Shape at) {
      at[axis] = wrapped(indices.at(at), shape[axis]);
      return at;
    };
    const auto position = [&](const Shape& at) {
      std::int64_t flat = 0;
      for (std::size_t i = 0; i < shape.rank(); ++i) flat = flat * shape[i] + at[i];
      return static_cast<std::size_t>(flat);
    };
    Dense put = x;
    Dense added = x;
    for_each_index(chosen, [&](const Shape& at) {
      put.values[position(source_of(at))] = values.at(at);
      added.values[position(source_of(at))] += values.at(at);
    });
    const Tensor at = indices.tensor().astype(DType::int32);
    const auto named = static_cast<std::int64_t>(axis);
    const std::string what = "round " + std::to_string(round);
    expect_equal(take_along_axis(x.tensor(), at, named),
                 dense(chosen, [&](const Shape& i) { return x.at(source_of(i)); }), what);
    expect_equal(put_along_axis(x.tensor(), at, values.tensor(), named), put, what);
    expect_near(add_along_axis(x.tensor(), at, values.tensor(), named), added, 1e-14, what);
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayIndices, AddRows) {
  const Tensor rows = Tensor::from_cpu(std::vector<std::int32_t>{0, 2, 0}, {3});
  expect_equal(index_add(ones({3, 2}), rows, arange(0, 6).reshape({3, 2})), {{3, 2}, {5, 7, 1, 1, 3, 4}}, "index_add");
}

TEST(ArrayIndices, RejectThoseThatDoNotExist) {
  const Tensor x = ones({3});
  const Tensor beyond = Tensor::from_cpu(std::vector<std::int32_t>{1, 3}, {2});
  EXPECT_ERROR(take(x, beyond).eval(), ErrorCode::invalid_input, "[take]", "index 3", "3 elements");
  EXPECT_ERROR(take(x, ones({2})), ErrorCode::invalid_input, "[take]", "float32");
  EXPECT_ERROR(take_along_axis(ones({2, 3}), zeros({3, 3}, DType::int32), 1), ErrorCode::invalid_input,
               "[take_along_axis]", "(2, 3)", "(3, 3)");
  EXPECT_ERROR(top_k(x, 4), ErrorCode::invalid_input, "[top_k]", "k is 4");
}

TEST(ArrayIndices, BelowZeroCanBeRefused) {
  const Tensor x = arange(0, 6).reshape({3, 2});
  const auto at = [](std::vector<std::int32_t> indices) { return Tensor::from_cpu(indices, {2, 1}); };
  constexpr NegativeIndices refused = NegativeIndices::refused;
  expect_equal(take(x, at({0, 2}).reshape({2}), 0, refused), {{2, 2}, {0, 1, 4, 5}}, "take");
  EXPECT_ERROR(take(x, at({0, -1}), 0, refused).eval(), ErrorCode::invalid_input, "index -1", "give 0 to 2");
  const Tensor rows = slice(x, 0, {.stop = 2});
  expect_equal(take_along_axis(rows, at({1, 0}), 1, refused), {{2, 1}, {1, 2}}, "take_along_axis");
  EXPECT_ERROR(take_along_axis(rows, at({0, -1}), 1, refused).eval(), ErrorCode::invalid_input, "give 0 to 1");
}

TEST(ArrayOrders, AgreeWithTheLibrary) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 100; ++round) {
    const Shape shape = filled_shape(random);
    const bool has_nan = round % 4 == 0;
    // Only some different values, so that equal ones occur.
    const Dense x = dense(shape, [&](const Shape&) {
      const std::uint64_t draw = random() % 7;
      return has_nan && draw == 6 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(draw);
    });
    const std::size_t axis = random() % shape.rank();
    const bool descending = random() % 2 == 0;
    const auto order_of = [&](Shape at) {
      std::vector<double> row;
      for (at[axis] = 0; at[axis] < shape[axis]; ++at[axis]) row.push_back(x.at(at));
      std::vector<std::size_t> order(row.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        if (std::isnan(row[a]) != std::isnan(row[b])) return std::isnan(row[b]);
        if (std::isnan(row[a]) || row[a] == row[b]) return a < b;
        return descending ? row[a] > row[b] : row[a] < row[b];
      });
      return order;
    };
    const Dense expected = dense(
        shape, [&](const Shape& at) { return static_cast<double>(order_of(at)[static_cast<std::size_t>(at[axis])]); });
    const auto named = static_cast<std::int64_t>(axis);
    const Tensor tensor = x.tensor().astype(DType::float32);
    expect_equal(argsort(tensor, named, descending), expected, "argsort");
    expect_equal(sort(tensor, named, descending),
                 dense(shape,
                       [&](const Shape& at) {
                         Shape source = at;
                         source[axis] = static_cast<std::int64_t>(order_of(at)[static_cast<std::size_t>(at[axis])]);
                         return x.at(source);
                       }),
                 "sort");
    const std::int64_t k = shape[axis] / 2;
    Shape fewer = shape;
    fewer[axis] = k;
    expect_equal(
        top_k(tensor, k, named, descending).second,
        dense(fewer,
              [&](const Shape& at) { return static_cast<double>(order_of(at)[static_cast<std::size_t>(at[axis])]); }),
        "top_k");
    if (HasFatalFailure()) return;
  }
}

TEST(ArrayOrders, RunningSumsAgreeWithLoops) {
  std::mt19937_64 random(seed());
  const Dense x = random_dense(random, {3, 5, 4});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Dense expected = dense(x.shape, [&](const Shape& at) {
      double sum = 0;
      Shape source = at;
      for (source[axis] = 0; source[axis] <= at[axis]; ++source[axis]) sum += x.at(source);
      return sum;
    });
    expect_near(cumulative_sum(x.tensor(), static_cast<std::int64_t>(axis)), expected, 1e-14, "cumulative_sum");
  }
  expect_equal(cumulative_sum(full({4}, 100, DType::int8)), {{4}, {100, 200, 300, 400}}, "int8");
}

TEST(ArrayEinsum, AgreesWithLoops) {
  std::mt19937_64 random(seed());
  const std::map<char, std::int64_t> extents = {{'i', 3}, {'j', 4}, {'k', 2}, {'l', 5}, {'b', 2}};
  for (const std::string equation :
       {"ij,jk->ik", "ij->ji", "ij->", "ij->j", "ii->i", "ii->", "bij,bjk->bik", "i,j->ij", "ij,ij->ij", "ij,ij->",
        "ij,jk,kl->il", "bij,kj->bki", "ijk,ijl->kl", "ij,jk", "i,i", "iij->j", "ij,k->jki", "l,jl,ji->i"}) {
    const std::size_t arrow = equation.find("->");
    std::vector<std::string> inputs(1);
    for (const char c : equation.substr(0, arrow)) {
      if (c == ',') {
        inputs.emplace_back();
      } else {
        inputs.back().push_back(c);
      }
    }
    std::string output = arrow == std::string::npos ? (equation == "i,i" ? "" : "ik") : equation.substr(arrow + 2);
    std::vector<Dense> operands;
    std::vector<Tensor> tensors;
    std::string all = output;
    for (const std::string& labels : inputs) {
      Shape shape;
      for (const char label : labels) {
        shape.push_back(extents.at(label));
        if (all.find(label) == std::string::npos) all.push_back(label);
      }
      operands.push_back(random_dense(random, shape));
      tensors.push_back(operands.back().tensor());
    }
    Shape result;
    for (const char label : output) result.push_back(extents.at(label));
    Shape summed;
    for (const char label : all.substr(output.size())) summed.push_back(extents.at(label));
    const Dense expected = dense(result, [&](const Shape& at) {
      double sum = 0;
      for_each_index(summed, [&](const Shape& rest) {
        double product = 1;
        for (std::size_t i = 0; i < operands.size(); ++i) {
          Shape index;
          for (const char label : inputs[i]) {
            const std::size_t position = all.find(label);
            index.push_back(position < output.size() ? at[position] : rest[position - output.size()]);
          }
          product *= operands[i].at(index);
        }
        sum += product;
      });
      return sum;
    });
    expect_near(einsum(equation, tensors), expected, 1e-13, equation);
  }
  EXPECT_ERROR(einsum("ij,jk->ik", std::vector{ones({2, 3}), ones({4, 2})}), ErrorCode::invalid_input, "[einsum]",
               "label 'j'", "3 and 4");
  EXPECT_ERROR(einsum("i.->i", std::vector{ones({2})}), ErrorCode::invalid_input, "'.'");
  EXPECT_ERROR(einsum("ij->i", std::vector{ones({2})}), ErrorCode::invalid_input, "2 labels", "(2,)");
  EXPECT_ERROR(einsum("i->k", std::vector{ones({2})}), ErrorCode::invalid_input, "in no operand");
  EXPECT_ERROR(einsum("i,i->i", std::vector{ones({2})}), ErrorCode::invalid_input, "2 operands");
}

TEST(ArrayRandom, IsAFunctionOfSeedAndDraw) {
  Generator a(7);
  Generator b(7);
  Generator other(8);
  const std::vector<std::int32_t> first = a.bits({1000}).to_cpu<std::int32_t>();
  EXPECT_EQ(first, b.bits({1000}).to_cpu<std::int32_t>());
  EXPECT_NE(first, a.bits({1000}).to_cpu<std::int32_t>());
  EXPECT_NE(first, other.bits({1000}).to_cpu<std::int32_t>());
  // A longer draw begins with the shorter one.
  std::vector<std::int32_t> longer = Generator(7).bits({100000}).to_cpu<std::int32_t>();
  longer.resize(1000);
  EXPECT_EQ(first, longer);
}

// Means and deviations within five standard errors, and the distribution function of Kolmogorov and Smirnov.
TEST(ArrayRandom, HasTheDistributionsItNames) {
  constexpr std::int64_t count = 200000;
  const double root = std::sqrt(static_cast<double>(count));
  Generator random(seed());
  const auto distance = [&](const Tensor& drawn, auto distribution) {
    const std::vector<double> sorted = values_of(sort(drawn));
    double largest = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      largest =
          std::max(largest, std::fabs(distribution(sorted[i]) - static_cast<double>(i) / static_cast<double>(count)));
    }
    return largest * root;  // 1.95 is exceeded once in a thousand
  };
  for (const DType type : {DType::float32, DType::float64}) {
    const Tensor uniform = random.uniform({count}, -1, 3, type);
    EXPECT_LT(distance(uniform, [](double x) { return (x + 1) / 4; }), 1.95);
    EXPECT_GE(min(uniform).item(), -1);
    EXPECT_LT(max(uniform).item(), 3);
    EXPECT_LT(distance(random.normal({count}, 1, 2, type),
                       [](double x) { return 0.5 * std::erfc(-(x - 1) / 2 / std::sqrt(2.0)); }),
              1.95);
  }
  EXPECT_NEAR(mean(random.bernoulli({count}, 0.3).astype(DType::float64)).item(), 0.3, 5 * 0.46 / root);
  const Tensor dice = random.integers({count}, 1, 7);
  for (int side = 1; side <= 6; ++side) {
    EXPECT_NEAR(count_nonzero(equal(dice, side)).item() / static_cast<double>(count), 1 / 6.0, 5 * 0.373 / root);
  }
  expect_equal(sort(random.permutation(1000)), {{1000}, values_of(arange(0, 1000))}, "permutation");
  EXPECT_ERROR(random.integers({2}, 3, 3), ErrorCode::invalid_input, "[integers]");
  EXPECT_ERROR(random.bernoulli({2}, 1.5), ErrorCode::invalid_input, "1.5");
  EXPECT_ERROR(random.uniform({2}, 0, 1, DType::int32), ErrorCode::invalid_input, "int32");
}

TEST(ArrayDataDependent, UniqueAndNonzeroAgreeWithLoops) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 50; ++round) {
    const Shape shape = random_shape(random, 3);
    const Dense x = dense(shape, [&](const Shape&) { return static_cast<double>(random() % 6); });
    const Tensor tensor = x.tensor().astype(round % 2 == 0 ? DType::float32 : DType::uint8);
    std::map<double, std::int64_t> counts;
    for (const double value : x.values) ++counts[value];
    const Unique found = unique(tensor);
    Dense values{{static_cast<std::int64_t>(counts.size())}, {}};
    Dense expected_counts = values;
    for (const auto& [value, count] : counts) {
      values.values.push_back(value);
      expected_counts.values.push_back(static_cast<double>(count));
    }
    EXPECT_EQ(found.values.dtype(), tensor.dtype());
    expect_equal(found.values, values, "values");
    expect_equal(found.counts, expected_counts, "counts");
    expect_equal(take(found.values, found.inverse), {shape, x.values}, "inverse");
    expect_equal(take(flatten(tensor), found.indices), values, "indices");
    if (shape.rank() == 0) continue;
    const std::vector<Tensor> indices = nonzero(tensor);
    std::vector<Dense> expected(shape.rank());
    for_each_index(shape, [&](const Shape& at) {
      if (x.at(at) == 0) return;
      for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
        expected[axis].values.push_back(static_cast<double>(at[axis]));
      }
    });
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      expected[axis].shape = {static_cast<std::int64_t>(expected[axis].values.size())};
      expect_equal(indices[axis], expected[axis], "nonzero");
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(unique(full({3}, std::numeric_limits<double>::quiet_NaN())).values.elements(), 3);
}

}  // namespace vectis::test
