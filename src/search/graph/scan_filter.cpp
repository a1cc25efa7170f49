#include "search/graph/scan_filter.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "search/graph/float_kernels.hpp"
#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t amx_queries_min = 4;  // for fewer, one query after the other is faster

}  // namespace

void ScannedRows::read_headers(const Quantizer& quantizer) noexcept {
  const auto levels = static_cast<float>((1U << quantizer.bits) - 1);
  const float half_diagonal = 0.5F * std::sqrt(static_cast<float>(quantizer.dim)) * (1 + score_rounding);
  for (std::size_t i = 0; i < count; ++i) {
    const CodeHeader header = code_header(codes[i]);
    scale[i] = header.scale;
    min[i] = header.min;
    square[i] = header.squared_norm;
  }
  // Loops of their own and of a fixed length, which become SIMD.
  for (std::size_t i = 0; i < scanned_batch; ++i) {
    step[i] = scale[i] + 2 * score_rounding * (levels * scale[i] + std::abs(min[i]));
  }
  for (std::size_t i = 0; i < scanned_batch; ++i) square_rounding[i] = -score_rounding * square[i];
  for (std::size_t first = 0; first < count; first += scanned_group) {
    const auto group = static_cast<std::ptrdiff_t>(first);
    const auto end = static_cast<std::ptrdiff_t>(std::min(first + scanned_group, count));
    const float largest_square = *std::max_element(square.begin() + group, square.begin() + end);
    const float largest_scale = *std::max_element(scale.begin() + group, scale.begin() + end);
    norm[first / scanned_group] = std::sqrt(largest_square) * (1 + score_rounding) + half_diagonal * largest_scale;
    if (largest_square < shortened_square_min) continue;
    for (std::size_t i = first; i < std::min(first + scanned_group, count); ++i) {
      if (square[i] >= shortened_square_min) square_rounding[i] = -std::numeric_limits<float>::infinity();
    }
  }
}

ScannedQueries::ScannedQueries(const Quantizer& quantizer, std::size_t count) {
  codes_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) codes_.emplace_back(quantizer);
}

void ScannedQueries::set_vector(std::size_t i, const Encoding& encoding, const float* vector) {
  QuantizedQuery& query = codes_[i];
  query.set_vector(encoding, vector);
  gamma[i] = -2 * query.scale();
  sum[i] = -2 * query.sum();
  step_factor[i] = query.coordinates_sum() * (1 + score_rounding);
  norm_factor[i] = 2 * query.error() * (1 + score_rounding) + 4 * score_rounding * query.coordinates_norm();
  limit[i] = std::numeric_limits<float>::infinity();
}

void ScannedQueries::pack_tiles(const Quantizer& quantizer) {
  const std::size_t padded_bytes = quantizer.padded_bytes();
  const std::size_t lines = padded_bytes / cache_line_bytes;
  const std::size_t blocks = (size() + scanned_group - 1) / scanned_group;
  planes_ = quantizer.bits == 8 ? lines : 2 * lines;
  block_bytes_ = planes_ * cache_line_bytes * scanned_group;
  memory_.assign(blocks * block_bytes_ + scanned_batch * planes_ * cache_line_bytes + cache_line_bytes, std::byte{0});
  tiles_ = memory_.data() + (cache_line_bytes - reinterpret_cast<std::uintptr_t>(memory_.data()) % cache_line_bytes);
  unpacked_rows_ = tiles_ + blocks * block_bytes_;
  constexpr std::size_t word_bytes = 4;
  for (std::size_t query = 0; query < size(); ++query) {
    std::byte* const block = tiles_ + query / scanned_group * block_bytes_;
    for (std::size_t word = 0; word < planes_ * cache_line_bytes / word_bytes; ++word) {
      const std::size_t at = word * word_bytes;
      const std::int8_t* const from =
          at < padded_bytes ? codes_[query].codes() + at : codes_[query].upper_codes() + at - padded_bytes;
      std::memcpy(block + word * cache_line_bytes + query % scanned_group * word_bytes, from, word_bytes);
    }
  }
}

void filter_by_scores(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows,
                      ScoreRows score_rows, std::uint64_t* passing) {
  std::array<float, scanned_batch> scores;
  rows.read_headers(quantizer);
  std::fill_n(passing, rows.count, std::uint64_t{0});
  for (std::size_t query = 0; query < queries.size(); ++query) {
    score_rows(quantizer, queries.codes(query), rows.codes.data(), rows.count, scores.data());
    const float step_factor = queries.step_factor[query];
    const float norm_factor = queries.norm_factor[query];
    const float limit = queries.limit[query];
    for (std::size_t row = 0; row < rows.count; ++row) {
      const float lower = scores[row] - step_factor * rows.step[row] - norm_factor * rows.norm[row / scanned_group] +
                          rows.square_rounding[row];
      passing[row] |= static_cast<std::uint64_t>(!(lower > limit)) << query;  // also when it is NaN
    }
  }
}

void filter_floats(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows, ScoreRows score_rows,
                   std::uint64_t* passing) {
  const auto rounding = static_cast<float>(sum_rounding(quantizer.dim));
  std::array<float, scanned_batch> scores;
  for (std::size_t row = 0; row < rows.count; ++row) rows.square[row] = code_header(rows.codes[row]).squared_norm;
  std::fill_n(passing, rows.count, std::uint64_t{0});
  for (std::size_t query = 0; query < queries.size(); ++query) {
    const QuantizedQuery& codes = queries.codes(query);
    score_rows(quantizer, codes, rows.codes.data(), rows.count, scores.data());
    // A sum of squares is its own magnitude. The magnitudes of a product add up to at most the product of the norms.
    const bool products = codes.norm_weight() == 0;
    const float norm_factor = products ? 2 * rounding * codes.coordinates_norm() * (1 + score_rounding) : 0;
    const float limit = products ? queries.limit[query] : queries.limit[query] * (1 + rounding);
    for (std::size_t row = 0; row < rows.count; ++row) {
      const float error = products ? norm_factor * std::sqrt(rows.square[row]) : 0;
      const bool passes = !(scores[row] - error > limit) || rows.square[row] >= shortened_square_min;
      passing[row] |= static_cast<std::uint64_t>(passes) << query;
    }
  }
}

std::vector<FilterRows> supported_filters() {
  std::vector<FilterRows> filters;
#if defined(__x86_64__)
  if (cpu_info().avx512 && cpu_info().amx_int8) filters.push_back(filter_amx);
  if (cpu_info().avx512 && cpu_info().avx512_vnni) filters.push_back(filter_vnni);
#endif
  filters.push_back(filter_by_scores);
  return filters;
}

FilterRows prepare_filter(const Quantizer& quantizer, ScannedQueries& queries) {
  if (quantizer.floats()) return filter_floats;
#if defined(__x86_64__)
  if (queries.size() >= amx_queries_min && cpu_info().avx512 && cpu_info().amx_int8) {
    queries.pack_tiles(quantizer);
    return filter_amx;
  }
  if (cpu_info().avx512 && cpu_info().avx512_vnni) return filter_vnni;
#endif
  return filter_by_scores;
}

}  // namespace vectis::inline v0_1::graph
