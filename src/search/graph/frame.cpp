#include "search/graph/frame.hpp"

#include <algorithm>
#include <cmath>

#include "search/graph/basis.hpp"
#include "search/graph/code_choice.hpp"
#include "search/graph/norms.hpp"
#include "search/graph/products.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t directions_max = 512;
// The least vectors for each direction that say where they differ, and the most products that finding it out may take.
constexpr std::size_t rows_per_direction = 2;
constexpr std::size_t covariance_products_max = 10'000'000'000;
constexpr std::size_t basis_rows_max = 10'000;

constexpr std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The vector as the frame's distance wants it. `added` is the coordinate of inner product.
void transform(const Frame& frame, const float* vector, double added, float* target) {
  double factor = std::ldexp(1.0, -frame.exponent);
  if (frame.distance == Metric::cosine) {
    const double norm = std::sqrt(squared_norm(vector, frame.dim));
    if (norm > 0) factor = 1 / norm;
  }
  for (std::size_t i = 0; i < frame.dim; ++i) target[i] = static_cast<float>(double{vector[i]} * factor);
  if (frame.full_dim > frame.dim) target[frame.dim] = static_cast<float>(added);
}

double missing_norm(const Frame& frame, const float* vector) {
  if (frame.distance != Metric::inner_product) return 0;
  const double wanted = double{frame.norm} * double{frame.norm};
  const double there = std::ldexp(squared_norm(vector, frame.dim), -2 * frame.exponent);
  return std::sqrt(std::max(0.0, wanted - there));
}

void set_scale(Frame& frame, std::span<const float> vectors) {
  double longest = 0;
  for (std::size_t at = 0; at < vectors.size(); at += frame.dim) {
    longest = std::max(longest, std::sqrt(squared_norm(vectors.data() + at, frame.dim)));
  }
  if (frame.distance != Metric::cosine && longest > 0) std::frexp(longest, &frame.exponent);
  if (frame.distance == Metric::inner_product) frame.norm = static_cast<float>(std::ldexp(longest, -frame.exponent));
}

// The vectors as rows of full_dim numbers, the centre found and taken away.
std::vector<float> centred(Frame& frame, std::span<const float> vectors) {
  const std::size_t count = vectors.size() / frame.dim;
  std::vector<float> rows(count * frame.full_dim);
  std::vector<double> sums(frame.full_dim);
  for (std::size_t i = 0; i < count; ++i) {
    const float* const vector = vectors.data() + i * frame.dim;
    float* const row = rows.data() + i * frame.full_dim;
    transform(frame, vector, missing_norm(frame, vector), row);
    for (std::size_t j = 0; j < frame.full_dim; ++j) sums[j] += double{row[j]};
  }
  for (std::size_t j = 0; j < frame.full_dim; ++j) {
    frame.centre[j] = static_cast<float>(sums[j] / static_cast<double>(count));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] -= frame.centre[i % frame.full_dim];
  return rows;
}

// Rows of full_dim numbers.
void into_directions(const Frame& frame, const std::vector<float>& full, float* coordinates) {
  if (frame.directions.empty()) {
    std::ranges::copy(full, coordinates);
    return;
  }
  const std::size_t count = full.size() / frame.full_dim;
  const std::size_t length = frame.directions_length();
  thread_local std::vector<float> padded;
  padded.resize(count * length);
  combine(full.data(), count, frame.full_dim, frame.directions.data(), length, padded.data());
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(padded.data() + i * length, frame.coded_dim, coordinates + i * frame.coded_dim);
  }
}

// For so many rows.
std::vector<float>& scratch_of(const Frame& frame, std::size_t rows = 1) {
  thread_local std::vector<float> full;
  full.resize(rows * frame.full_dim);
  return full;
}

}  // namespace

Frame empty_frame(Metric distance, std::size_t dim) {
  Frame frame;
  frame.distance = distance;
  frame.dim = dim;
  frame.full_dim = dim + (distance == Metric::inner_product ? 1 : 0);
  frame.centre.resize(frame.full_dim);
  set_codes(frame, frame.full_dim, 8);
  return frame;
}

void set_codes(Frame& frame, std::size_t coded_dim, std::size_t bits) {
  frame.coded_dim = coded_dim;
  frame.bits = bits;
  frame.row_bytes = rounded_up(terms_bytes + (coded_dim * bits + 7) / 8, line_bytes);
}

Frame make_frame(Executor& executor, Metric distance, std::size_t dim, std::span<const float> vectors) {
  Frame frame = empty_frame(distance, dim);
  frame.sampled = vectors.size() / dim;
  set_scale(frame, vectors);
  const std::vector<float> rows = centred(frame, vectors);
  if (frame.row_bytes == line_bytes) return frame;
  const std::size_t used =
      std::min({frame.sampled, basis_rows_max, covariance_products_max / (frame.full_dim * frame.full_dim)});
  const std::size_t count = std::min({frame.full_dim, directions_max, used / rows_per_direction});
  if (count < frame.full_dim && count < directions_max) return frame;
  const std::span<const float> some = std::span(rows).first(used * frame.full_dim);
  choose_codes(executor, some, leading_directions(executor, some, frame.full_dim, count), frame);
  return frame;
}

void place_row(const Frame& frame, const float* vector, float* coordinates) {
  std::vector<float>& full = scratch_of(frame);
  transform(frame, vector, missing_norm(frame, vector), full.data());
  for (std::size_t i = 0; i < full.size(); ++i) full[i] -= frame.centre[i];
  into_directions(frame, full, coordinates);
}

void place_query(const Frame& frame, const float* vector, float* coordinates) {
  place_queries(frame, {vector, frame.dim}, coordinates);
}

void place_queries(const Frame& frame, std::span<const float> vectors, float* coordinates) {
  const std::size_t count = vectors.size() / frame.dim;
  std::vector<float>& full = scratch_of(frame, count);
  for (std::size_t row = 0; row < count; ++row) {
    float* const target = full.data() + row * frame.full_dim;
    transform(frame, vectors.data() + row * frame.dim, 0, target);
    if (frame.distance == Metric::inner_product) continue;  // where the centre's part is the same for all rows
    for (std::size_t i = 0; i < frame.full_dim; ++i) target[i] -= frame.centre[i];
  }
  into_directions(frame, full, coordinates);
}

void place_query_among_rows(const Frame& frame, const float* vector, float* coordinates) {
  std::vector<float>& full = scratch_of(frame);
  transform(frame, vector, 0, full.data());
  const double norm = std::sqrt(squared_norm(full.data(), full.size()));
  if (frame.distance == Metric::inner_product && norm > 0) {
    for (float& number : full) number = static_cast<float>(double{number} * double{frame.norm} / norm);
  }
  for (std::size_t i = 0; i < full.size(); ++i) full[i] -= frame.centre[i];
  into_directions(frame, full, coordinates);
}

float product_offset(const Frame& frame, const float* vector) {
  std::vector<float>& full = scratch_of(frame);
  transform(frame, vector, 0, full.data());
  double centre = 0;
  for (std::size_t i = 0; i < full.size(); ++i) centre += double{full[i]} * double{frame.centre[i]};
  return static_cast<float>(2 * (double{frame.norm} * std::sqrt(squared_norm(full.data(), full.size())) - centre));
}

}  // namespace vectis::inline v0_1::graph
