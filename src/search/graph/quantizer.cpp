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

void set_squared_norm(std::byte* row, float square) {
  std::memcpy(row + sizeof(std::uint32_t), &square, sizeof square);
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
// Of 8 bits for every coordinate: below this, rows are floats. Floats of many coordinates take longer to visit and far
// longer to scan, so that those must also fail when as many rows are reranked as a search may.
constexpr double byte_recall_min = 0.98;
constexpr std::size_t byte_reranked = 128;
constexpr std::size_t few_coordinates = 64;
constexpr std::size_t float_dim_max = 6;  // up to this, rows are floats: many vectors are nearer than a step of a byte
// Up to this size codes have 8 bits: the coarser steps of 4 bits choose worse links, miss neighbors where all rows
// together are denser than the sample, and give looser bounds to exact scans. Over many coordinates the errors of a
// distance average out.
constexpr std::size_t row_bytes_of_8_bits = 256;
// Training vectors this many times as long as the median are left out, most of them errors in the data. They would set
// the scale and move the mean so far that all other vectors get the same codes.
constexpr double outlier_factor = 1024;

// A training sample and its ground truth.
struct CodeTrial {
  std::span<const float> rows;  // augmented_dim floats each, centered
  std::size_t row_dim = 0;
  std::size_t count = 0;
  std::size_t queries = 0;     // the first rows
  std::vector<float> squares;  // of the norms
  std::vector<float> limits;   // of each query: the score of its trial_k-th nearest other row

  // The squared distance of a row to a query without the square of the query.
  [[nodiscard]] float score(std::size_t query, std::size_t row) const {
    float product = 0;
    dot_products(rows.data() + query * row_dim, 1, rows.data() + row * row_dim, 1, row_dim, &product);
    return squares[row] - 2 * product;
  }
};

// The coordinates of the rows of a trial, `dim` each.
struct TrialCoordinates {
  const float* first = nullptr;
  std::size_t dim = 0;
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

// Work of choosing the best of so many scored rows.
constexpr Work choose_work(std::size_t rows) { return rows / 8; }

Steps find_ground_truth(Executor* executor, Work step_work, CodeTrial* trial) {
  trial->squares.resize(trial->count);
  for (std::size_t i = 0; i < trial->count; ++i) {
    trial->squares[i] = static_cast<float>(squared_norm(trial->rows.data() + i * trial->row_dim, trial->row_dim));
    if (step_work != all_at_once && i % 512 == 0) co_yield Pause{.done = step_work, .next = step_work};
  }
  trial->limits.resize(trial->queries);
  const Executor::Range body = [trial](std::size_t begin, std::size_t end) {
    std::vector<float> scores(trial->count);
    for (std::size_t query = begin; query < end; ++query) {
      dot_products(trial->rows.data() + query * trial->row_dim, 1, trial->rows.data(), trial->count, trial->row_dim,
                   scores.data());
      for (std::size_t i = 0; i < trial->count; ++i) scores[i] = trial->squares[i] - 2 * scores[i];
      std::vector<Slot> nearest = all_except(*trial, query);
      keep_best(nearest, trial_k, scores);
      if (!nearest.empty()) trial->limits[query] = trial->score(query, nearest.back());
    }
  };
  const Work query_work = products_work(trial->rows.size()) + choose_work(trial->count);
  co_await parallel_steps(executor, trial->queries, step_work == all_at_once ? 4 : 1, query_work, step_work, body);
}

// Leaves in `recall` the share of the nearest trial_k rows among the best `reranked` ones by code, whichever of equally
// near rows they are.
Steps recall_of_codes(Executor* executor, Quantizer quantizer, const CodeTrial* trial, TrialCoordinates coordinates,
                      std::size_t reranked, Work step_work, double* recall) {
  RowBlocks codes(quantizer.row_bytes);
  codes.reserve(trial->count);
  const Executor::Range encode = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      encode_projected(quantizer, coordinates.first + i * coordinates.dim, codes[static_cast<Slot>(i)]);
    }
  };
  co_await parallel_steps(executor, trial->count, step_work == all_at_once ? 256 : 16, 2 + quantizer.dim / 32,
                          step_work, encode);
  std::atomic<std::size_t> found = 0;
  const Executor::Range search = [&](std::size_t begin, std::size_t end) {
    QuantizedQuery query(quantizer);
    std::vector<float> scores(trial->count);
    std::vector<const std::byte*> rows(trial->count);
    for (std::size_t i = 0; i < trial->count; ++i) rows[i] = codes[static_cast<Slot>(i)];
    for (std::size_t i = begin; i < end; ++i) {
      query.set_coordinates(quantizer, coordinates.first + i * coordinates.dim);
      best_score_rows(quantizer)(quantizer, query, rows.data(), rows.size(), scores.data());
      std::vector<Slot> best = all_except(*trial, i);
      keep_best(best, reranked, scores);
      const auto near =
          std::ranges::count_if(best, [&](Slot slot) { return trial->score(i, slot) <= trial->limits[i]; });
      found += std::min(static_cast<std::size_t>(near), trial_k);
    }
  };
  co_await parallel_steps(executor, trial->queries, step_work == all_at_once ? 4 : 1, 2 * choose_work(trial->count),
                          step_work, search);
  const std::size_t wanted = trial->queries * std::min(trial_k, trial->count - 1);
  *recall = wanted == 0 ? 1 : static_cast<double>(found) / static_cast<double>(wanted);
}

// Leaves in `typical` the vectors without those that are outlier_factor times as long as the median; none when there
// are none of these.
Steps leave_outliers_out(std::span<const float> vectors, std::size_t dim, Work step_work, std::vector<float>* typical) {
  const std::size_t count = vectors.size() / dim;
  std::vector<double> squares(count);
  for (std::size_t i = 0; i < count; ++i) {
    squares[i] = squared_norm(vectors.data() + i * dim, dim);
    if (step_work != all_at_once && i % 512 == 0) co_yield Pause{.done = step_work, .next = step_work};
  }
  std::vector<double> sorted = squares;
  std::erase(sorted, 0.0);
  if (sorted.empty()) co_return;
  const auto median = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), median, sorted.end());
  const double limit = *median * outlier_factor * outlier_factor;
  if (std::ranges::none_of(squares, [&](double square) { return square > limit; })) co_return;
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const float> vector = vectors.subspan(i * dim, dim);
    if (squares[i] <= limit) typical->insert(typical->end(), vector.begin(), vector.end());
  }
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

CodeTrial make_trial(std::span<const float> rows, std::size_t row_dim) {
  CodeTrial trial;
  trial.rows = rows;
  trial.row_dim = row_dim;
  trial.count = rows.size() / row_dim;
  trial.queries = std::min(trial_queries_max, trial.count);
  return trial;
}

// Keeps all coordinates: as bytes, or as floats when bytes are too coarse.
Steps keep_coordinates(Executor* executor, const CodeTrial* trial, Work step_work, Encoding* encoding) {
  const std::size_t dim = encoding->projection.augmented_dim;
  encoding->set_code_size(dim, 8);
  const TrialCoordinates coordinates{trial->rows.data(), dim};
  const std::size_t reranked = dim <= few_coordinates ? trial_reranked : byte_reranked;
  double recall = 0;
  co_await recall_of_codes(executor, encoding->quantizer, trial, coordinates, reranked, step_work, &recall);
  if (recall < byte_recall_min) encoding->set_code_size(dim, 32);
}

// The size of a code: bytes of a row, and bits of a coordinate.
struct CodeSize {
  std::size_t bytes = 0;
  std::size_t bits = 8;
};

// The sizes that are tried, of rows of less than `longest` bytes.
std::vector<CodeSize> tried_sizes(std::size_t longest) {
  std::vector<CodeSize> sizes;
  const std::size_t short_end = std::min(longest, row_bytes_of_8_bits + 1);
  for (std::size_t bytes = cache_line_bytes; bytes < short_end; bytes += cache_line_bytes) sizes.push_back({bytes, 8});
  for (std::size_t bytes = cache_line_bytes; longest > row_bytes_of_8_bits && bytes < longest;
       bytes += cache_line_bytes) {
    if (bytes > row_bytes_of_8_bits) sizes.push_back({bytes, 8});
    sizes.push_back({bytes, 4});
  }
  return sizes;
}

// Tries growing row sizes until one reaches trial_recall_min; keeps all coordinates when none does. Rows of the trial
// and `components` have augmented_dim floats each.
Steps choose_code_size(Executor* executor, const CodeTrial* trial, std::span<const float> components, Work step_work,
                       Encoding* encoding) {
  const std::size_t projected_dim = components.size() / trial->row_dim;
  std::vector<float> projected;
  co_await grow_in_steps(&projected, trial->count * projected_dim, step_work);
  const Executor::Range project = [&](std::size_t begin, std::size_t end) {
    dot_products(trial->rows.data() + begin * trial->row_dim, end - begin, components.data(), projected_dim,
                 trial->row_dim, projected.data() + begin * projected_dim);
  };
  co_await parallel_steps(executor, trial->count, step_work == all_at_once ? 64 : 16, products_work(components.size()),
                          step_work, project);
  for (const CodeSize size : tried_sizes(encoding->quantizer.row_bytes)) {
    const std::size_t codes = size.bytes - code_header_bytes;
    encoding->set_code_size(std::min(codes * 8 / size.bits, projected_dim), size.bits);
    const TrialCoordinates coordinates{projected.data(), projected_dim};
    double recall = 0;
    co_await recall_of_codes(executor, encoding->quantizer, trial, coordinates, trial_reranked, step_work, &recall);
    if (recall < trial_recall_min) continue;
    set_basis(components, encoding->projection);
    co_return;
  }
  co_await keep_coordinates(executor, trial, step_work, encoding);
}

}  // namespace

void Encoding::set_code_size(std::size_t output_dim, std::size_t bits) {
  projection.output_dim = output_dim;
  quantizer.dim = output_dim;
  quantizer.bits = bits;
  const std::size_t bytes = code_header_bytes + (output_dim * bits + 7) / 8;
  const std::size_t lines = bytes / cache_line_bytes;
  const std::size_t rest = bytes % cache_line_bytes;
  // Rows that end a quarter into a cache line touch no more lines, wherever they begin: 128 coordinates and their
  // header, for example, take 144 instead of 192 bytes.
  const bool ends_early = bits == 8 && lines > 0 && rest > 0 && rest <= quarter_line_bytes;
  const std::size_t end = rest == 0 ? 0 : ends_early ? quarter_line_bytes : cache_line_bytes;
  quantizer.row_bytes = lines * cache_line_bytes + end;
}

Encoding make_encoding(Metric metric, std::size_t dim) {
  Encoding encoding{make_projection(metric, dim), {}};
  encoding.set_code_size(encoding.projection.augmented_dim, 8);
  return encoding;
}

Steps train_encoding_in_steps(Executor* executor, Metric metric, std::size_t dim, std::span<const float> vectors,
                              Work step_work, Encoding* result) {
  Encoding encoding = make_encoding(metric, dim);
  Projection& projection = encoding.projection;
  std::vector<float> typical;
  if (metric != Metric::cosine) co_await leave_outliers_out(vectors, dim, step_work, &typical);
  std::vector<float> rows;
  const std::span<const float> fitted = typical.empty() ? vectors : typical;
  co_await fit_mean(&projection, fitted, step_work, &rows);
  const std::size_t typical_rows = std::exchange(projection.trained_rows, vectors.size() / dim);
  if (projection.augmented_dim <= float_dim_max) {
    encoding.set_code_size(projection.augmented_dim, 32);
    *result = std::move(encoding);
    co_return;
  }
  const std::size_t used = std::min(
      {typical_rows, basis_rows_max,
       std::max<std::size_t>(1, covariance_products_max / (projection.augmented_dim * projection.augmented_dim))});
  const std::size_t components = std::min({projection.augmented_dim, components_max, used / rows_per_component});
  const std::span<const float> sample = std::span(rows).first(used * projection.augmented_dim);
  CodeTrial trial = make_trial(sample, projection.augmented_dim);
  co_await find_ground_truth(executor, step_work, &trial);
  // What a projection drops has no sign, so that it would bound no inner product.
  if (encoding.quantizer.row_bytes == cache_line_bytes || metric == Metric::inner_product ||
      (components < projection.augmented_dim && components < components_max)) {
    co_await keep_coordinates(executor, &trial, step_work, &encoding);
  } else {
    std::vector<float> basis;
    co_await pca_basis_in_steps(executor, sample, projection.augmented_dim, components, step_work, &basis);
    co_await choose_code_size(executor, &trial, basis, step_work, &encoding);
  }
  *result = std::move(encoding);
}

Encoding train_encoding(Executor& executor, Metric metric, std::size_t dim, std::span<const float> vectors) {
  Encoding encoding;
  run(train_encoding_in_steps(&executor, metric, dim, vectors, all_at_once, &encoding));
  return encoding;
}

std::vector<float> sample_rows(std::span<const float> vectors, std::size_t dim, std::size_t rows_max) {
  const std::size_t rows = vectors.size() / dim;
  if (rows <= rows_max) return {vectors.begin(), vectors.end()};
  std::vector<float> sample(rows_max * dim);
  for (std::size_t i = 0; i < rows_max; ++i) {
    std::memcpy(sample.data() + i * dim, vectors.data() + rows * i / rows_max * dim, dim * sizeof(float));
  }
  return sample;
}

void encode_projected(const Quantizer& quantizer, const float* coordinates, std::byte* row) noexcept {
  if (quantizer.floats()) {
    std::memset(row, 0, quantizer.row_bytes);
    set_squared_norm(row, static_cast<float>(squared_norm(coordinates, quantizer.dim)));
    std::memcpy(row + code_header_bytes, coordinates, quantizer.dim * sizeof(float));
    return;
  }
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
  set_squared_norm(row, square);
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
  const float square = code_header(row).squared_norm;
  if (encoding.projection.metric == Metric::cosine && squared_norm(vector, encoding.projection.dim) == 0) {
    set_squared_norm(row, square + 1);
    const std::uint32_t one = scale_bits(1);
    if (encoding.quantizer.floats()) std::memcpy(row, &one, sizeof one);
  } else if (shortens_row(encoding.projection, vector)) {
    set_squared_norm(row, std::max(square, shortened_square_min));
  }
}

QuantizedQuery::QuantizedQuery(const Quantizer& quantizer)
    : row_bytes_(quantizer.row_bytes),
      padded_bytes_(quantizer.padded_bytes()),
      memory_(2 * padded_bytes_ + cache_line_bytes),
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
  if (quantizer.floats()) {
    std::memset(codes_, 0, row_bytes_);
    std::memcpy(codes_ + code_header_bytes, coordinates, quantizer.dim * sizeof(float));
    coordinates_norm_ = static_cast<float>(graph::squared_norm(coordinates, quantizer.dim));
    norm_weight_ = 1;
    squared_norm_ = 0;
    return;
  }
  float largest = 0;
  for (std::size_t i = 0; i < quantizer.dim; ++i) largest = std::max(largest, std::abs(coordinates[i]));
  scale_ = invertible_scale(largest / query_code_max);
  shift_ = 0;
  norm_weight_ = 1;
  const float inverse = scale_ > 0 ? 1 / scale_ : 0;
  const std::size_t low_codes = code_bytes(quantizer);
  std::memset(codes_, 0, 2 * padded_bytes_);  // set_row may have left codes in the padding
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < quantizer.dim; ++i) {
    const auto code = static_cast<std::int8_t>((coordinates[i] * inverse + rounding_constant) - rounding_constant);
    codes_[code_header_bytes + (i < low_codes ? i : i - low_codes + padded_bytes_)] = code;
    sum += code;
  }
  sum_ = scale_ * static_cast<float>(sum);
  squared_norm_ = static_cast<float>(graph::squared_norm(coordinates, quantizer.dim));
  coordinates_norm_ = squared_norm_;
}

void QuantizedQuery::set_row(const Quantizer& quantizer, const std::byte* row) {
  const CodeHeader header = code_header(row);
  if (quantizer.floats()) {
    std::memcpy(codes_, row, row_bytes_);
    std::memset(codes_, 0, code_header_bytes);
    coordinates_norm_ = header.squared_norm;
    norm_weight_ = 1;
    squared_norm_ = 0;
    return;
  }
  // Copies of the members, which the compiler would read again after every stored code.
  const std::size_t bytes = row_bytes_ - code_header_bytes;
  std::int8_t* const codes = codes_ + code_header_bytes;
  std::int8_t* const upper_codes = codes + padded_bytes_;
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

float QuantizedQuery::coordinates_sum() const noexcept {
  double sum = 0;
  for (const float coordinate : coordinates_) sum += std::abs(double{coordinate});
  return static_cast<float>(sum);
}

float QuantizedQuery::coordinates_norm() const noexcept { return std::sqrt(coordinates_norm_); }

float QuantizedQuery::error() const noexcept {
  const std::size_t low_codes = row_bytes_ - code_header_bytes;
  double sum = 0;
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    const std::int8_t code = codes_[code_header_bytes + (i < low_codes ? i : i - low_codes + padded_bytes_)];
    const double difference = double{coordinates_[i]} - double{scale_} * static_cast<double>(code);
    sum += difference * difference;
  }
  return static_cast<float>(std::sqrt(sum));
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

ScoreRows best_score_rows(const Quantizer& quantizer) noexcept {
  if (quantizer.floats()) return score_float_rows;
#if defined(__x86_64__)
  if (cpu_info().avx512 && cpu_info().avx512_vnni) return score_rows_vnni;
  if (cpu_info().avx2) return score_rows_avx2;
#endif
  return score_rows_scalar;
}

}  // namespace vectis::inline v0_1::graph
