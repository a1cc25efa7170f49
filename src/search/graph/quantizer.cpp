#include "search/graph/quantizer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "search/graph/float_kernels.hpp"
#include "search/graph/row_blocks.hpp"
#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr float query_code_max = 127;
// Adding and subtracting 1.5 * 2^23 rounds floats of magnitude below 2^22 to integers.
constexpr float rounding_constant = 0x1.8p23F;

// bfloat16 is the upper half of a float. `scale` is rounded up and `min` down, so that the codes cover the whole range
// of the row.
std::uint32_t bfloat16_bits(float value) { return std::bit_cast<std::uint32_t>(value) >> 16U; }
float from_bfloat16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16U); }
std::uint32_t round_away_from_zero(float value) {
  const std::uint32_t bits = bfloat16_bits(value);
  return from_bfloat16(bits) == value ? bits : bits + 1;
}
std::uint32_t scale_bits(float scale) { return round_away_from_zero(scale); }
std::uint32_t min_bits(float min) { return min < 0 ? round_away_from_zero(min) : bfloat16_bits(min); }

// A scale that is 0 or so large that its inverse is finite.
float invertible_scale(float scale) { return scale > 0 ? std::max(scale, std::numeric_limits<float>::min()) : 0; }

// Bytes of a row that hold codes, which are the coordinates in low nibbles when codes have 4 bits.
std::size_t code_bytes(const Quantizer& quantizer) { return quantizer.row_bytes - code_header_bytes; }

struct Range {
  float smallest = 0;
  float largest = 0;
};

// `count` must be at least 1. Several lanes, which the compiler turns into SIMD.
Range range_of(const float* values, std::size_t count) {
  constexpr std::size_t lanes = 16;
  std::array<float, lanes> smallest;
  std::array<float, lanes> largest;
  smallest.fill(values[0]);
  largest.fill(values[0]);
  const auto take = [&](std::size_t lane, float value) {
    smallest[lane] = value < smallest[lane] ? value : smallest[lane];
    largest[lane] = value > largest[lane] ? value : largest[lane];
  };
  std::size_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) take(lane, values[at + lane]);
  }
  for (; at < count; ++at) take(0, values[at]);
  return {*std::ranges::min_element(smallest), *std::ranges::max_element(largest)};
}

struct CodeSums {
  std::int32_t product = 0;  // with the query's codes
  std::int32_t sum = 0;
};

CodeSums sum_codes(const Quantizer& quantizer, const std::byte* row, const QuantizedQuery& query) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(row);
  CodeSums sums;
  if (quantizer.bits == 8) {
    for (std::size_t i = code_header_bytes; i < quantizer.row_bytes; ++i) {
      sums.product += bytes[i] * query.codes()[i];
      sums.sum += bytes[i];
    }
    return sums;
  }
  for (std::size_t i = code_header_bytes; i < quantizer.row_bytes; ++i) {
    sums.product += (bytes[i] & 15) * query.codes()[i] + (bytes[i] >> 4) * query.upper_codes()[i];
    sums.sum += (bytes[i] & 15) + (bytes[i] >> 4);
  }
  return sums;
}

// Training: principal components, and the code size.
constexpr std::size_t components_max = 512;
constexpr std::size_t rows_per_component = 2;  // fewer training rows than this per component make no basis
constexpr std::size_t covariance_products_max = 10'000'000'000;  // multiplications, a few seconds of one core
constexpr std::size_t basis_rows_max = 10'000;
constexpr std::size_t trial_queries_max = 100;  // training rows that are searched for among the others
constexpr std::size_t trial_k = 10;
constexpr std::size_t trial_reranked = 32;  // as a search for trial_k neighbors reranks
constexpr double trial_recall_min = 0.995;
constexpr std::size_t error_stride = 50;  // every 50th pair of a query and a row is measured
// Training vectors this many times as long as the median are left out, most of them errors in the data. They would set
// the scale and move the mean so far that all other vectors get the same codes.
constexpr double outlier_factor = 1024;

// A training sample and its ground truth.
struct CodeTrial {
  std::span<const float> rows;  // augmented_dim floats each, centered
  std::size_t row_dim = 0;
  std::size_t count = 0;
  std::size_t queries = 0;  // the first rows
  std::size_t projected_dim = 0;
  std::vector<float> projected;  // onto all components
  std::vector<std::vector<Slot>> ground_truth;
};

void keep_best(std::vector<Slot>& slots, std::size_t count, const std::vector<float>& scores) {
  const std::size_t kept = std::min(count, slots.size());
  std::partial_sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(kept), slots.end(),
                    [&](Slot a, Slot b) { return scores[a] != scores[b] ? scores[a] < scores[b] : a < b; });
  slots.resize(kept);
}

std::vector<Slot> all_except(const CodeTrial& trial, std::size_t query) {
  std::vector<Slot> slots(trial.count);
  std::iota(slots.begin(), slots.end(), Slot{0});
  slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(query));
  return slots;
}

void find_ground_truth(Executor& executor, CodeTrial& trial) {
  std::vector<float> squares(trial.count);
  for (std::size_t i = 0; i < trial.count; ++i) {
    squares[i] = static_cast<float>(squared_norm(trial.rows.data() + i * trial.row_dim, trial.row_dim));
  }
  trial.ground_truth.resize(trial.queries);
  executor.parallel_for(trial.queries, 4, [&](std::size_t begin, std::size_t end) {
    std::vector<float> scores(trial.count);
    for (std::size_t query = begin; query < end; ++query) {
      dot_products(trial.rows.data() + query * trial.row_dim, 1, trial.rows.data(), trial.count, trial.row_dim,
                   scores.data());
      for (std::size_t i = 0; i < trial.count; ++i) scores[i] = squares[i] - 2 * scores[i];
      trial.ground_truth[query] = all_except(trial, query);
      keep_best(trial.ground_truth[query], trial_k, scores);
    }
  });
}

// The share of the ground truth among the best trial_reranked rows by code.
double recall_of_codes(Executor& executor, const Quantizer& quantizer, const CodeTrial& trial) {
  RowBlocks codes(quantizer.row_bytes);
  codes.reserve(trial.count);
  executor.parallel_for(trial.count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      encode_projected(quantizer, trial.projected.data() + i * trial.projected_dim, codes[static_cast<Slot>(i)]);
    }
  });
  std::atomic<std::size_t> found = 0;
  executor.parallel_for(trial.queries, 4, [&](std::size_t begin, std::size_t end) {
    QuantizedQuery query(quantizer);
    std::vector<float> scores(trial.count);
    std::vector<const std::byte*> rows(trial.count);
    for (std::size_t i = 0; i < trial.count; ++i) rows[i] = codes[static_cast<Slot>(i)];
    for (std::size_t i = begin; i < end; ++i) {
      query.set_coordinates(quantizer, trial.projected.data() + i * trial.projected_dim);
      best_score_rows()(quantizer, query, rows.data(), rows.size(), scores.data());
      std::vector<Slot> best = all_except(trial, i);
      keep_best(best, trial_reranked, scores);
      for (const Slot slot : trial.ground_truth[i]) found += static_cast<std::size_t>(std::ranges::count(best, slot));
    }
  });
  std::size_t wanted = 0;
  for (const auto& nearest : trial.ground_truth) wanted += nearest.size();
  return wanted == 0 ? 1 : static_cast<double>(found) / static_cast<double>(wanted);
}

double exact_squared_distance(const CodeTrial& trial, std::size_t left, std::size_t right) {
  double sum = 0;
  for (std::size_t j = 0; j < trial.row_dim; ++j) {
    const double difference =
        double{trial.rows[left * trial.row_dim + j]} - double{trial.rows[right * trial.row_dim + j]};
    sum += difference * difference;
  }
  return sum;
}

// See Quantizer::relative_error.
float measure_relative_error(const Quantizer& quantizer, const CodeTrial& trial) {
  RowBlocks rows(quantizer.row_bytes);
  rows.reserve(1);
  const std::byte* const row = rows[0];
  QuantizedQuery query(quantizer);
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < trial.queries; ++i) {
    query.set_coordinates(quantizer, trial.projected.data() + i * trial.projected_dim);
    for (std::size_t j = i % error_stride; j < trial.count; j += error_stride) {
      const double exact = exact_squared_distance(trial, i, j);
      if (exact <= 0) continue;
      encode_projected(quantizer, trial.projected.data() + j * trial.projected_dim, rows[0]);
      float score = 0;
      best_score_rows()(quantizer, query, &row, 1, &score);
      const double error = (double{score} + double{query.squared_norm()}) / exact - 1;
      sum += error * error;
      ++count;
    }
  }
  return count > 0 ? static_cast<float>(std::min(1.0, std::sqrt(sum / count))) : 0;
}

// The vectors without those that are outlier_factor times as long as the median; empty when there are none of these.
std::vector<float> without_outliers(std::span<const float> vectors, std::size_t dim) {
  const std::size_t count = vectors.size() / dim;
  std::vector<double> squares(count);
  for (std::size_t i = 0; i < count; ++i) squares[i] = squared_norm(vectors.data() + i * dim, dim);
  std::vector<double> sorted = squares;
  std::erase(sorted, 0.0);
  if (sorted.empty()) return {};
  const auto median = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), median, sorted.end());
  const double limit = *median * outlier_factor * outlier_factor;
  if (std::ranges::none_of(squares, [&](double square) { return square > limit; })) return {};
  std::vector<float> typical;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const float> vector = vectors.subspan(i * dim, dim);
    if (squares[i] <= limit) typical.insert(typical.end(), vector.begin(), vector.end());
  }
  return typical;
}

// Stores the first output_dim components, transposed and padded.
void set_basis(std::span<const float> components, Projection& projection) {
  const std::size_t stride = projection.basis_stride();
  projection.basis.assign(projection.augmented_dim * stride, 0);
  for (std::size_t i = 0; i < projection.augmented_dim; ++i) {
    for (std::size_t j = 0; j < projection.output_dim; ++j) {
      projection.basis[i * stride + j] = components[j * projection.augmented_dim + i];
    }
  }
}

// Tries growing row sizes on `rows`, 8 and 4 bits each, until one reaches trial_recall_min; keeps all coordinates when
// none does. `rows` and `components` have augmented_dim floats each.
void choose_code_size(Executor& executor, std::span<const float> rows, std::span<const float> components,
                      Encoding& encoding) {
  CodeTrial trial;
  trial.rows = rows;
  trial.row_dim = encoding.projection.augmented_dim;
  trial.count = rows.size() / trial.row_dim;
  trial.queries = std::min(trial_queries_max, trial.count);
  trial.projected_dim = components.size() / trial.row_dim;
  trial.projected.resize(trial.count * trial.projected_dim);
  executor.parallel_for(trial.count, 64, [&](std::size_t begin, std::size_t end) {
    dot_products(rows.data() + begin * trial.row_dim, end - begin, components.data(), trial.projected_dim,
                 trial.row_dim, trial.projected.data() + begin * trial.projected_dim);
  });
  find_ground_truth(executor, trial);
  const std::size_t longest = encoding.quantizer.row_bytes;
  for (std::size_t bytes = cache_line_bytes; bytes < longest; bytes += cache_line_bytes) {
    const std::size_t codes = bytes - code_header_bytes;
    double best_recall = 0;
    std::size_t best_bits = 0;
    for (const std::size_t bits : {8U, 4U}) {
      encoding.set_code_size(std::min(codes * 8 / bits, trial.projected_dim), bits);
      if (const double recall = recall_of_codes(executor, encoding.quantizer, trial); recall > best_recall) {
        best_recall = recall;
        best_bits = bits;
      }
    }
    if (best_recall < trial_recall_min) continue;
    encoding.set_code_size(std::min(codes * 8 / best_bits, trial.projected_dim), best_bits);
    encoding.quantizer.relative_error = measure_relative_error(encoding.quantizer, trial);
    set_basis(components, encoding.projection);
    return;
  }
  encoding.set_code_size(encoding.projection.augmented_dim, 8);
}

}  // namespace

void Encoding::set_code_size(std::size_t output_dim, std::size_t bits) {
  projection.output_dim = output_dim;
  quantizer.dim = output_dim;
  quantizer.bits = bits;
  const std::size_t bytes = code_header_bytes + (output_dim * bits + 7) / 8;
  quantizer.row_bytes = (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

Encoding make_encoding(Metric metric, std::size_t dim) {
  Encoding encoding{make_projection(metric, dim), {}};
  encoding.set_code_size(encoding.projection.augmented_dim, 8);
  return encoding;
}

Encoding train_encoding(Executor& executor, Metric metric, std::size_t dim, std::span<const float> vectors) {
  Encoding encoding = make_encoding(metric, dim);
  Projection& projection = encoding.projection;
  const std::vector<float> typical = metric == Metric::cosine ? std::vector<float>() : without_outliers(vectors, dim);
  const std::vector<float> rows = fit_mean(projection, typical.empty() ? vectors : typical);
  const std::size_t typical_rows = std::exchange(projection.trained_rows, vectors.size() / dim);
  if (encoding.quantizer.row_bytes == cache_line_bytes) return encoding;
  const std::size_t used = std::min(
      {typical_rows, basis_rows_max, covariance_products_max / (projection.augmented_dim * projection.augmented_dim)});
  const std::size_t components = std::min({projection.augmented_dim, components_max, used / rows_per_component});
  if (components < projection.augmented_dim && components < components_max) return encoding;
  const std::span<const float> sample = std::span(rows).first(used * projection.augmented_dim);
  choose_code_size(executor, sample, pca_basis(executor, sample, projection.augmented_dim, components), encoding);
  return encoding;
}

void encode_projected(const Quantizer& quantizer, const float* coordinates, std::byte* row) noexcept {
  const auto code_max = static_cast<float>((1U << quantizer.bits) - 1);
  const auto [smallest, largest] = range_of(coordinates, quantizer.dim);
  const std::uint32_t min_part = min_bits(smallest);
  const float min = from_bfloat16(min_part);
  const std::uint32_t scale_part = scale_bits(invertible_scale((largest - min) / code_max));
  const float scale = from_bfloat16(scale_part);
  const float inverse = scale > 0 ? 1 / scale : 0;
  const auto square = static_cast<float>(squared_norm(coordinates, quantizer.dim));
  std::memset(row, 0, quantizer.row_bytes);
  const std::uint32_t packed = scale_part | (min_part << 16U);
  std::memcpy(row, &packed, sizeof packed);
  std::memcpy(row + sizeof packed, &square, sizeof square);
  auto* const codes = reinterpret_cast<std::uint8_t*>(row) + code_header_bytes;
  const auto code_of = [=](float coordinate) {
    const float rounded = ((coordinate - min) * inverse + rounding_constant) - rounding_constant;
    return static_cast<std::uint8_t>(static_cast<int>(std::clamp(rounded, 0.0F, code_max)));
  };
  const std::size_t dim = quantizer.dim;
  const std::size_t low_codes = quantizer.bits == 8 ? dim : std::min(dim, code_bytes(quantizer));
  for (std::size_t i = 0; i < low_codes; ++i) codes[i] = code_of(coordinates[i]);
  for (std::size_t i = low_codes; i < dim; ++i) {
    codes[i - low_codes] |= static_cast<std::uint8_t>(code_of(coordinates[i]) << 4);
  }
}

void encode_row(const Encoding& encoding, const float* vector, std::byte* row) {
  thread_local std::vector<float> coordinates;
  coordinates.resize(encoding.quantizer.dim);
  project_row(encoding.projection, vector, coordinates.data());
  encode_projected(encoding.quantizer, coordinates.data(), row);
  if (encoding.projection.metric == Metric::cosine && squared_norm(vector, encoding.projection.dim) == 0) {
    const float square = code_header(row).squared_norm + 1;
    std::memcpy(row + sizeof(std::uint32_t), &square, sizeof square);
  }
}

CodeHeader code_header(const std::byte* row) noexcept {
  std::uint32_t packed = 0;
  CodeHeader header;
  std::memcpy(&packed, row, sizeof packed);
  std::memcpy(&header.squared_norm, row + sizeof packed, sizeof header.squared_norm);
  header.scale = from_bfloat16(packed & 0xFFFFU);
  header.min = from_bfloat16(packed >> 16U);
  return header;
}

QuantizedQuery::QuantizedQuery(const Quantizer& quantizer)
    : row_bytes_(quantizer.row_bytes),
      memory_(2 * row_bytes_ + cache_line_bytes),
      codes_(memory_.data() + (cache_line_bytes - reinterpret_cast<std::uintptr_t>(memory_.data()) % cache_line_bytes)),
      coordinates_(quantizer.dim) {}

void QuantizedQuery::set_vector(const Encoding& encoding, const float* vector) {
  project_query(encoding.projection, vector, coordinates_.data());
  set_projected(encoding, vector, coordinates_.data());
}

void QuantizedQuery::set_projected(const Encoding& encoding, const float* vector, const float* coordinates) {
  set_coordinates(encoding.quantizer, coordinates);
  if (encoding.projection.metric != Metric::inner_product) return;
  norm_weight_ = 0;
  squared_norm_ = inner_product_offset(encoding.projection, vector);
}

void QuantizedQuery::set_coordinates(const Quantizer& quantizer, const float* coordinates) {
  float largest = 0;
  for (std::size_t i = 0; i < quantizer.dim; ++i) largest = std::max(largest, std::abs(coordinates[i]));
  scale_ = invertible_scale(largest / query_code_max);
  shift_ = 0;
  norm_weight_ = 1;
  const float inverse = scale_ > 0 ? 1 / scale_ : 0;
  const std::size_t low_codes = code_bytes(quantizer);
  std::memset(codes_, 0, 2 * row_bytes_);  // set_row may have left codes in the padding
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < quantizer.dim; ++i) {
    const auto code = static_cast<std::int8_t>((coordinates[i] * inverse + rounding_constant) - rounding_constant);
    codes_[code_header_bytes + (i < low_codes ? i : i - low_codes + row_bytes_)] = code;
    sum += code;
  }
  sum_ = scale_ * static_cast<float>(sum);
  squared_norm_ = static_cast<float>(graph::squared_norm(coordinates, quantizer.dim));
  coordinates_norm_ = squared_norm_;
}

void QuantizedQuery::set_row(const Quantizer& quantizer, const std::byte* row) {
  const CodeHeader header = code_header(row);
  // Copies of the members, which the compiler would read again after every stored code.
  const std::size_t bytes = row_bytes_ - code_header_bytes;
  std::int8_t* const codes = codes_ + code_header_bytes;
  std::int8_t* const upper_codes = codes + row_bytes_;
  const auto* const row_codes = reinterpret_cast<const std::uint8_t*>(row) + code_header_bytes;
  const int middle = 1 << (quantizer.bits - 1);
  std::int32_t sum = -middle * static_cast<std::int32_t>(quantizer.dim);
  if (quantizer.bits == 8) {
    for (std::size_t i = 0; i < bytes; ++i) {
      codes[i] = static_cast<std::int8_t>(row_codes[i] - 128);
      sum += row_codes[i];
    }
  } else {
    for (std::size_t i = 0; i < bytes; ++i) {
      codes[i] = static_cast<std::int8_t>((row_codes[i] & 15) - 8);
      upper_codes[i] = static_cast<std::int8_t>((row_codes[i] >> 4) - 8);
      sum += (row_codes[i] & 15) + (row_codes[i] >> 4);
    }
  }
  norm_weight_ = 1;
  scale_ = header.scale;
  shift_ = header.min + static_cast<float>(middle) * header.scale;
  sum_ = scale_ * static_cast<float>(sum) + shift_ * static_cast<float>(quantizer.dim);
  squared_norm_ = header.squared_norm;
  coordinates_norm_ = squared_norm_;
}

float QuantizedQuery::score_deviation(const CodeHeader& header) const noexcept {
  // A coordinate of the row is off by up to scale / 2, one of the query likewise; scores contain twice their product.
  const float row_part = header.scale * header.scale * coordinates_norm_;
  const float query_part = scale_ * scale_ * header.squared_norm;
  return std::sqrt((row_part + query_part) / 3);
}

void score_rows_scalar(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                       std::size_t count, float* scores) {
  for (std::size_t i = 0; i < count; ++i) {
    const CodeSums sums = sum_codes(quantizer, rows[i], query);
    const CodeHeader header = code_header(rows[i]);
    const float product = header.scale * (query.scale() * static_cast<float>(sums.product) +
                                          query.shift() * static_cast<float>(sums.sum)) +
                          header.min * query.sum();
    scores[i] = query.norm_weight() * header.squared_norm - 2 * product;
  }
}

ScoreRows best_score_rows() noexcept {
#if defined(__x86_64__)
  if (cpu_info().avx512 && cpu_info().avx512_vnni) return score_rows_vnni;
#endif
  return score_rows_scalar;
}

}  // namespace vectis::inline v0_1::graph
