// The reference of array tests: elements as doubles in row-major order, and indices computed one by one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "vectis/array.hpp"

namespace vectis::test {

struct Dense {
  array::Tensor tensor() const { return array::Tensor::from_cpu(values, shape); }
  [[nodiscard]] std::int64_t elements() const { return shape.elements(); }
  [[nodiscard]] double at(const Shape& index) const {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) position = position * shape[axis] + index[axis];
    return values[static_cast<std::size_t>(position)];
  }

  Shape shape;
  std::vector<double> values;
};

// Options of a Runtime of its own, whose pool counts the arrays of one test.
inline RuntimeOptions with_threads(std::size_t threads) {
  RuntimeOptions options;
  options.threads = threads;
  return options;
}

// Calls `body` with each index of `shape` in row-major order.
inline void for_each_index(const Shape& shape, const std::function<void(const Shape&)>& body) {
  Shape index(shape.rank(), 0);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    body(index);
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

// The array of `shape` whose element at each index is `element(index)`.
inline Dense dense(const Shape& shape, const std::function<double(const Shape&)>& element) {
  Dense result{shape, {}};
  for_each_index(shape, [&](const Shape& index) { result.values.push_back(element(index)); });
  return result;
}

inline Dense random_dense(std::mt19937_64& random, const Shape& shape, double low = -2, double high = 2) {
  std::uniform_real_distribution<double> uniform(low, high);
  return dense(shape, [&](const Shape&) { return uniform(random); });
}

// As random_dense, of numbers that float32 holds exactly.
inline Dense single_dense(std::mt19937_64& random, const Shape& shape, double range = 2) {
  Dense result = random_dense(random, shape, -range, range);
  for (double& value : result.values) value = static_cast<float>(value);
  return result;
}

// A shape of up to four axes with extents from 0 (seldom) to 7.
inline Shape random_shape(std::mt19937_64& random, std::size_t rank_max = 4) {
  Shape shape;
  for (std::size_t rank = random() % (rank_max + 1); rank > 0; --rank) {
    shape.push_back(random() % 12 == 0 ? 0 : static_cast<std::int64_t>(1 + random() % 7));
  }
  return shape;
}

// The elements of any array as doubles.
inline std::vector<double> values_of(const array::Tensor& x) { return x.astype(DType::float64).to_cpu<double>(); }

// Expects shape and elements to be equal, within `tolerance` relative to max(1, |expected|). NaN equals NaN.
inline void expect_near(const array::Tensor& found, const Dense& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(to_string(found.shape()), to_string(expected.shape)) << what;
  const std::vector<double> values = values_of(found);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double wanted = expected.values[i];
    if (std::isnan(wanted) ? std::isnan(values[i]) : values[i] == wanted) continue;
    ASSERT_LE(std::fabs(values[i] - wanted), tolerance * std::max(1.0, std::fabs(wanted)))
        << what << ", element " << i << ": " << values[i] << ", expected " << wanted;
  }
}

inline void expect_equal(const array::Tensor& found, const Dense& expected, const std::string& what) {
  expect_near(found, expected, 0, what);
}

}  // namespace vectis::test
