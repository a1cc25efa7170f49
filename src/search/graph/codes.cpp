#include "search/graph/codes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "search/graph/norms.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr float query_code_max = 127;
// Adding and taking this away again rounds numbers up to 2^22 to whole ones.
constexpr float whole_rounding = 0x1.8p23F;

// Upper halves of floats; rounded up, and rounded down, so that a row's steps reach from its least number to its
// largest.
std::uint32_t upper_bits(float value) { return std::bit_cast<std::uint32_t>(value) >> 16U; }
float from_upper(std::uint32_t bits) { return std::bit_cast<float>(bits << 16U); }
std::uint32_t rounded_away(float value) {
  const std::uint32_t bits = upper_bits(value);
  return from_upper(bits) == value ? bits : bits + 1;
}
std::uint32_t step_bits(float step) { return rounded_away(step); }
std::uint32_t low_bits(float low) { return low < 0 ? rounded_away(low) : upper_bits(low); }

std::size_t codes_in_half(const Frame& frame) { return frame.row_bytes - terms_bytes; }

}  // namespace

void encode_coordinates(const Frame& frame, const float* coordinates, std::byte* row) noexcept {
  const auto code_max = static_cast<float>((1U << frame.bits) - 1);
  const auto [low, high] = std::minmax_element(coordinates, coordinates + frame.coded_dim);
  const std::uint32_t low_part = low_bits(*low);
  const float begin = from_upper(low_part);
  const std::uint32_t step_part = step_bits((*high - begin) / code_max);
  const float step = from_upper(step_part);
  const float inverse = step > 0 ? 1 / step : 0;
  const auto square = static_cast<float>(squared_norm(coordinates, frame.coded_dim));
  std::memset(row, 0, frame.row_bytes);
  const std::uint32_t terms = step_part | (low_part << 16U);
  std::memcpy(row, &terms, sizeof terms);
  std::memcpy(row + sizeof terms, &square, sizeof square);
  auto* const codes = reinterpret_cast<std::uint8_t*>(row) + terms_bytes;
  const std::size_t half = frame.bits == 8 ? frame.coded_dim : codes_in_half(frame);
  for (std::size_t i = 0; i < frame.coded_dim; ++i) {
    const float whole = ((coordinates[i] - begin) * inverse + whole_rounding) - whole_rounding;
    const auto code = static_cast<unsigned>(std::clamp(whole, 0.0F, code_max));
    const bool upper = i >= half;
    codes[upper ? i - half : i] |= static_cast<std::uint8_t>(upper ? code << 4U : code);
  }
}

void encode_row(const Frame& frame, const float* vector, std::byte* row) {
  thread_local std::vector<float> coordinates;
  coordinates.resize(frame.coded_dim);
  place_row(frame, vector, coordinates.data());
  encode_coordinates(frame, coordinates.data(), row);
  if (frame.distance == Metric::cosine && squared_norm(vector, frame.dim) == 0) {
    const float square = terms_of(row).square + 1;
    std::memcpy(row + sizeof(std::uint32_t), &square, sizeof square);
  }
}

RowTerms terms_of(const std::byte* row) noexcept {
  std::uint32_t parts = 0;
  RowTerms terms;
  std::memcpy(&parts, row, sizeof parts);
  std::memcpy(&terms.square, row + sizeof parts, sizeof terms.square);
  terms.step = from_upper(parts & 0xFFFFU);
  terms.low = from_upper(parts >> 16U);
  return terms;
}

CodedQuery::CodedQuery(const Frame& frame)
    : row_bytes_(frame.row_bytes),
      memory_(2 * row_bytes_ + line_bytes),
      codes_(memory_.data() + (line_bytes - reinterpret_cast<std::uintptr_t>(memory_.data()) % line_bytes)),
      coordinates_(frame.coded_dim) {}

void CodedQuery::set_vector(const Frame& frame, const float* vector) {
  place_query(frame, vector, coordinates_.data());
  set_placed(frame, vector, coordinates_.data());
}

void CodedQuery::set_placed(const Frame& frame, const float* vector, const float* coordinates) {
  set_coordinates(frame, coordinates);
  if (frame.distance != Metric::inner_product) return;
  weight_ = 0;
  square_ = product_offset(frame, vector);
}

void CodedQuery::set_coordinates(const Frame& frame, const float* coordinates) {
  float largest = 0;
  for (std::size_t i = 0; i < frame.coded_dim; ++i) largest = std::max(largest, std::abs(coordinates[i]));
  scale_ = largest / query_code_max;
  shift_ = 0;
  weight_ = 1;
  const float inverse = scale_ > 0 ? 1 / scale_ : 0;
  const std::size_t half = codes_in_half(frame);
  std::memset(codes_, 0, 2 * row_bytes_);  // a row may have been here
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < frame.coded_dim; ++i) {
    const auto code = static_cast<std::int8_t>((coordinates[i] * inverse + whole_rounding) - whole_rounding);
    codes_[terms_bytes + (i < half ? i : i - half + row_bytes_)] = code;
    sum += code;
  }
  sum_ = scale_ * static_cast<float>(sum);
  square_ = static_cast<float>(squared_norm(coordinates, frame.coded_dim));
}

void CodedQuery::set_row(const Frame& frame, const std::byte* row) {
  const RowTerms terms = terms_of(row);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(row);
  const int middle = 1 << (frame.bits - 1);
  std::int32_t sum = -middle * static_cast<std::int32_t>(frame.coded_dim);
  if (frame.bits == 8) {
    for (std::size_t i = terms_bytes; i < row_bytes_; ++i) {
      codes_[i] = static_cast<std::int8_t>(bytes[i] - 128);
      sum += bytes[i];
    }
  } else {
    for (std::size_t i = terms_bytes; i < row_bytes_; ++i) {
      codes_[i] = static_cast<std::int8_t>((bytes[i] & 15) - 8);
      codes_[row_bytes_ + i] = static_cast<std::int8_t>((bytes[i] >> 4) - 8);
      sum += (bytes[i] & 15) + (bytes[i] >> 4);
    }
  }
  weight_ = 1;
  scale_ = terms.step;
  shift_ = terms.low + static_cast<float>(middle) * terms.step;
  sum_ = scale_ * static_cast<float>(sum) + shift_ * static_cast<float>(frame.coded_dim);
  square_ = terms.square;
}

}  // namespace vectis::inline v0_1::graph
