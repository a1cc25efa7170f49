#include "vectis/search/sample_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>

namespace vectis::inline v0_1 {

namespace {

constexpr std::size_t sample_inner_dim = 32;
constexpr std::size_t sample_clusters = 1000;

// Returns a * b. Throws std::bad_alloc when no vector has so many floats.
std::size_t floats_of(std::size_t a, std::size_t b) {
  if (b != 0 && a > std::vector<float>().max_size() / b) throw std::bad_array_new_length();
  return a * b;
}

float normal_value(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * random.unit()));
}

std::vector<float> normal_values(Random& random, std::size_t count, float scale) {
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return scale * normal_value(random); });
  return values;
}

}  // namespace

SampleVectors::SampleVectors(std::uint64_t seed, std::size_t dim)
    : random_(seed),
      dim_(dim),
      centers_(normal_values(random_, sample_clusters * sample_inner_dim, 1)),
      projection_(normal_values(random_, floats_of(sample_inner_dim, dim),
                                1 / std::sqrt(static_cast<float>(sample_inner_dim)))) {
  for (std::size_t i = 0; i < sample_clusters; ++i) {
    widths_.push_back(std::exp2(static_cast<float>(random_.unit()) * 3 - 2.5F));
  }
}

std::vector<float> SampleVectors::draw(std::size_t rows) {
  std::vector<float> values(floats_of(rows, dim_));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t cluster = random_.below(sample_clusters);
    float* const target = values.data() + row * dim_;
    for (std::size_t i = 0; i < sample_inner_dim; ++i) {
      const float inner = centers_[cluster * sample_inner_dim + i] + widths_[cluster] * normal_value(random_);
      for (std::size_t j = 0; j < dim_; ++j) target[j] += inner * projection_[i * dim_ + j];
    }
  }
  return values;
}

}  // namespace vectis::inline v0_1
