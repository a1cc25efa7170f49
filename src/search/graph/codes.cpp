#include "search/graph/codes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace vectis::inline v0_1::graph {

namespace {

constexpr float code_max = 255;
constexpr float query_code_max = 127;
constexpr std::size_t row_alignment = 16;

constexpr std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

double squared_norm(const float* vector, std::size_t dim) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += double{vector[i]} * double{vector[i]};
  return sum;
}

// The vector as the frame's distance wants it, centre not yet taken away. `added` is the coordinate of inner product.
void transform(const Frame& frame, const float* vector, double added, float* target) {
  double factor = std::ldexp(1.0, -frame.exponent);
  if (frame.distance == Distance::cosine) {
    const double norm = std::sqrt(squared_norm(vector, frame.dim));
    if (norm > 0) factor = 1 / norm;
  }
  for (std::size_t i = 0; i < frame.dim; ++i) target[i] = static_cast<float>(double{vector[i]} * factor);
  if (frame.coded_dim > frame.dim) target[frame.dim] = static_cast<float>(added);
}

double missing_norm(const Frame& frame, const float* vector) {
  if (frame.distance != Distance::inner_product) return 0;
  const double wanted = double{frame.norm} * double{frame.norm};
  const double there = std::ldexp(squared_norm(vector, frame.dim), -2 * frame.exponent);
  return std::sqrt(std::max(0.0, wanted - there));
}

}  // namespace

Frame empty_frame(Distance distance, std::size_t dim) {
  Frame frame;
  frame.distance = distance;
  frame.dim = dim;
  frame.coded_dim = dim + (distance == Distance::inner_product ? 1 : 0);
  frame.code_bytes = rounded_up(frame.coded_dim, sizeof(float));
  frame.row_bytes = rounded_up(frame.code_bytes + sizeof(RowTerms), row_alignment);
  return frame;
}

Frame make_frame(Distance distance, std::size_t dim, std::span<const float> vectors) {
  Frame frame = empty_frame(distance, dim);
  const std::size_t rows = vectors.size() / dim;
  double longest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    longest = std::max(longest, std::sqrt(squared_norm(vectors.data() + row * dim, dim)));
  }
  if (distance != Distance::cosine && longest > 0) std::frexp(longest, &frame.exponent);
  if (distance == Distance::inner_product) frame.norm = static_cast<float>(std::ldexp(longest, -frame.exponent));
  std::vector<double> sums(frame.coded_dim);
  std::vector<float> one(frame.coded_dim);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const vector = vectors.data() + row * dim;
    transform(frame, vector, missing_norm(frame, vector), one.data());
    for (std::size_t i = 0; i < one.size(); ++i) sums[i] += double{one[i]};
  }
  frame.centre.resize(frame.coded_dim);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    frame.centre[i] = static_cast<float>(sums[i] / static_cast<double>(rows));
  }
  return frame;
}

void encode_row(const Frame& frame, const float* vector, std::byte* row) {
  thread_local std::vector<float> centred;
  centred.resize(frame.coded_dim);
  transform(frame, vector, missing_norm(frame, vector), centred.data());
  for (std::size_t i = 0; i < centred.size(); ++i) centred[i] -= frame.centre[i];
  const auto [low, high] = std::ranges::minmax(centred);
  RowTerms terms;
  terms.low = low;
  terms.step = (high - low) / code_max;
  terms.square = static_cast<float>(squared_norm(centred.data(), centred.size()));
  if (frame.distance == Distance::cosine && squared_norm(vector, frame.dim) == 0) terms.square += 1;
  const float inverse = terms.step > 0 ? 1 / terms.step : 0;
  auto* const codes = reinterpret_cast<std::uint8_t*>(row);
  for (std::size_t i = 0; i < centred.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(std::clamp(std::nearbyint((centred[i] - low) * inverse), 0.0F, code_max));
  }
  std::memset(codes + centred.size(), 0, frame.row_bytes - centred.size());
  std::memcpy(row + frame.code_bytes, &terms, sizeof terms);
}

void decode_row(const Frame& frame, const std::byte* row, float* vector) noexcept {
  const RowTerms terms = terms_of(frame, row);
  const auto* const codes = reinterpret_cast<const std::uint8_t*>(row);
  for (std::size_t i = 0; i < frame.dim; ++i) {
    vector[i] = std::ldexp(terms.low + terms.step * static_cast<float>(codes[i]) + frame.centre[i], frame.exponent);
  }
  // Under cosine all norms are 1 but for zeros.
  if (frame.distance == Distance::cosine && squared_norm(vector, frame.dim) < 0.25)
    std::fill_n(vector, frame.dim, 0.0F);
}

RowTerms terms_of(const Frame& frame, const std::byte* row) noexcept {
  RowTerms terms;
  std::memcpy(&terms, row + frame.code_bytes, sizeof terms);
  return terms;
}

CodedQuery::CodedQuery(const Frame& frame)
    : chunks_((frame.coded_dim + chunk_bytes - 1) / chunk_bytes),
      memory_((chunks_ + 1) * chunk_bytes),
      codes_(memory_.data() + (chunk_bytes - reinterpret_cast<std::uintptr_t>(memory_.data()) % chunk_bytes)),
      coordinates_(frame.coded_dim) {}

void CodedQuery::set_vector(const Frame& frame, const float* vector) {
  transform(frame, vector, 0, coordinates_.data());
  const bool product = frame.distance == Distance::inner_product;  // the centre's part is the same for all rows
  float largest = 0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    if (!product) coordinates_[i] -= frame.centre[i];
    largest = std::max(largest, std::abs(coordinates_[i]));
  }
  scale_ = largest / query_code_max;
  shift_ = 0;
  weight_ = product ? 0 : 1;
  const float inverse = scale_ > 0 ? 1 / scale_ : 0;
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    codes_[i] = static_cast<std::int8_t>(std::nearbyint(coordinates_[i] * inverse));
    sum += codes_[i];
  }
  sum_ = scale_ * static_cast<float>(sum);
  square_ = static_cast<float>(squared_norm(coordinates_.data(), coordinates_.size()));
}

void CodedQuery::set_row(const Frame& frame, const std::byte* row) {
  const RowTerms terms = terms_of(frame, row);
  const auto* const codes = reinterpret_cast<const std::uint8_t*>(row);
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < frame.coded_dim; ++i) {
    codes_[i] = static_cast<std::int8_t>(codes[i] - 128);
    sum += codes_[i];
  }
  weight_ = 1;
  scale_ = terms.step;
  shift_ = terms.low + 128 * terms.step;
  sum_ = scale_ * static_cast<float>(sum) + shift_ * static_cast<float>(frame.coded_dim);
  square_ = terms.square;
}

}  // namespace vectis::inline v0_1::graph
