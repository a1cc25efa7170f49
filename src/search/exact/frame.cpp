#include <algorithm>
#include <cmath>
#include <vector>

#include "search/exact/encode.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t sample_max = 255;
constexpr int exponent_min = -100;
constexpr int exponent_max = 126;

// Rows spread evenly over all, divided by their norms under cosine.
std::vector<float> sampled_rows(Metric distance, std::size_t dim, std::span<const float> vectors) {
  const std::size_t rows = vectors.size() / dim;
  const std::size_t count = std::min(rows, sample_max);
  std::vector<float> sample(count * dim);
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = vectors.data() + (i * rows / count) * dim;
    const double norm = distance == Metric::cosine ? norm_of(row, dim) : 1.0;
    for (std::size_t j = 0; j < dim; ++j) {
      sample[i * dim + j] = norm == 0 ? 0.0F : static_cast<float>(double{row[j]} / norm);
    }
  }
  return sample;
}

float middle_of(std::vector<float>& numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

void choose_centre(const std::vector<float>& sample, std::size_t dim, float* centre) {
  std::vector<float> column(sample.size() / dim);
  for (std::size_t j = 0; j < dim; ++j) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = sample[i * dim + j];
    centre[j] = middle_of(column);
  }
}

int choose_exponent(const std::vector<float>& sample, std::size_t dim, const float* centre) {
  std::vector<double> norms(sample.size() / dim);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < dim; ++j) {
      const double difference = double{sample[i * dim + j]} - double{centre[j]};
      sum += difference * difference;
    }
    norms[i] = std::sqrt(sum);
  }
  const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
  std::nth_element(norms.begin(), middle, norms.end());
  return *middle == 0 ? 0 : std::clamp(std::ilogb(*middle) + 1, exponent_min, exponent_max);
}

}  // namespace

double norm_of(const float* vector, std::size_t dim) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += double{vector[i]} * double{vector[i]};
  return std::sqrt(sum);
}

Frame choose_frame(Metric distance, Precision precision, std::size_t dim, std::span<const float> vectors) {
  Frame frame{.distance = distance,
              .precision = precision,
              .dim = dim,
              .chunks = code_chunks(precision, dim),
              .centre = std::make_unique<float[]>(dim)};
  if (precision == Precision::fp32) return frame;
  const std::vector<float> sample = sampled_rows(distance, dim, vectors);
  choose_centre(sample, dim, frame.centre.get());
  frame.exponent = choose_exponent(sample, dim, frame.centre.get());
  return frame;
}

}  // namespace vectis::inline v0_1::exact
