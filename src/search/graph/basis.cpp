#include "search/graph/basis.hpp"

#include <algorithm>
#include <cmath>

#include "search/graph/products.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t rounds = 6;
constexpr std::size_t basis_grain = 16;
constexpr float negligible = 1e-6F;  // what is left of a direction that says nothing new

std::vector<float> transposed(std::span<const float> rows, std::size_t dim) {
  const std::size_t count = rows.size() / dim;
  std::vector<float> columns(rows.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < dim; ++j) columns[j * count + i] = rows[i * dim + j];
  }
  return columns;
}

// left times the transpose of right, rows of `length`.
std::vector<float> multiplied(Executor& executor, std::span<const float> left, std::span<const float> right,
                              std::size_t length) {
  const std::size_t columns = right.size() / length;
  std::vector<float> result(left.size() / length * columns);
  executor.parallel_for(left.size() / length, basis_grain, [&](std::size_t begin, std::size_t end) {
    products(left.data() + begin * length, end - begin, right.data(), columns, length, result.data() + begin * columns);
  });
  return result;
}

void random_direction(Random& random, std::span<float> direction) {
  for (float& number : direction) number = static_cast<float>(random.unit() - 0.5);
}

float normalise(std::span<float> direction) {
  float square = 0;
  products(direction.data(), 1, direction.data(), 1, direction.size(), &square);
  const float norm = std::sqrt(square);
  if (norm > 0) {
    for (float& number : direction) number /= norm;
  }
  return norm;
}

// Takes away what lies in the directions before it.
void make_orthogonal(std::span<const float> before, std::span<float> direction, std::vector<float>& parts) {
  const std::size_t dim = direction.size();
  const std::size_t count = before.size() / dim;
  if (count == 0) return;
  parts.resize(count);
  products(direction.data(), 1, before.data(), count, dim, parts.data());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < dim; ++j) direction[j] -= parts[i] * before[i * dim + j];
  }
}

void make_orthonormal(Random& random, std::span<float> directions, std::size_t dim) {
  std::vector<float> parts;
  for (std::size_t i = 0; i < directions.size() / dim; ++i) {
    const std::span<float> one = directions.subspan(i * dim, dim);
    const std::span<const float> before = directions.first(i * dim);
    normalise(one);
    make_orthogonal(before, one, parts);
    while (normalise(one) < negligible) {
      random_direction(random, one);
      make_orthogonal(before, one, parts);
    }
    make_orthogonal(before, one, parts);  // the first time leaves what rounding lost
    normalise(one);
  }
}

}  // namespace

std::vector<float> leading_directions(Executor& executor, std::span<const float> rows, std::size_t dim,
                                      std::size_t count) {
  const std::vector<float> columns = transposed(rows, dim);
  const std::vector<float> covariance = multiplied(executor, columns, columns, rows.size() / dim);
  Random random(1);
  std::vector<float> directions(count * dim);
  random_direction(random, directions);
  make_orthonormal(random, directions, dim);
  for (std::size_t round = 0; round < rounds; ++round) {
    directions = multiplied(executor, directions, covariance, dim);
    make_orthonormal(random, directions, dim);
  }
  return directions;
}

}  // namespace vectis::inline v0_1::graph
