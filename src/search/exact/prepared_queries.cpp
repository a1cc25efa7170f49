#include "search/exact/prepared_queries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "search/exact/quantizer.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t query_block = 16;
constexpr double whole_rounding = 0x1.8p52;  // adding and subtracting this rounds to an integer
constexpr double infinite = std::numeric_limits<double>::infinity();

// A sum in four independent parts, so that additions do not wait for each other.
class PartialSums {
 public:
  void add(std::size_t place, double value) noexcept { parts_[place % 4] += value; }
  [[nodiscard]] double total() const noexcept { return (parts_[0] + parts_[1]) + (parts_[2] + parts_[3]); }

 private:
  std::array<double, 4> parts_{};
};

double norm_of(const std::vector<double>& vector) noexcept {
  PartialSums sum;
  for (std::size_t i = 0; i < vector.size(); ++i) sum.add(i, vector[i] * vector[i]);
  return std::sqrt(sum.total());
}

// Bound of the relative error of a sum of dim terms in double precision, and of its root.
double double_rounding(std::size_t dim) noexcept { return static_cast<double>(dim + 16) * 0x1p-50; }

// Bound of the error of the dot product of codes, relative to the product of the norms.
double accumulation(QueryForm form, std::size_t dim) noexcept {
  switch (form) {
    case QueryForm::int8:
      return 0;
    case QueryForm::bf16:
      return static_cast<double>(dim + 16) * 0x1p-23;  // one sum in any order
    case QueryForm::f32:
      return double{loosening(dim)};  // sixteen partial sums
  }
  return 0;
}

// A query in the units of the quantizer, and the transformation of its keys to ranks.
struct QuantizerQuery {
  std::vector<double> values;
  double norm = 0;
  double unit = 1;
  double shift = 0;
  double rank_error = 0;
};

void transform_euclidean(const Quantizer& quantizer, const float* query, QuantizerQuery& transformed) {
  const double scale = std::ldexp(1.0, -quantizer.exponent);
  for (std::size_t i = 0; i < quantizer.dim; ++i) {
    transformed.values[i] = (double{query[i]} - double{quantizer.center[i]}) * scale;
  }
  transformed.norm = norm_of(transformed.values);
  transformed.unit = std::ldexp(1.0, 2 * quantizer.exponent);
  transformed.shift = transformed.norm * transformed.norm * transformed.unit;
  transformed.rank_error = transformed.shift * double_rounding(quantizer.dim);
}

// Under inner product the query is scaled to a norm near 1 by a power of two, under cosine it is normalized.
void transform_product(const Quantizer& quantizer, const float* query, QuantizerQuery& transformed) {
  double squares = 0;
  double shift = 0;
  double center_squares = 0;
  for (std::size_t i = 0; i < quantizer.dim; ++i) {
    squares += double{query[i]} * double{query[i]};
    shift += double{query[i]} * double{quantizer.center[i]};
    center_squares += double{quantizer.center[i]} * double{quantizer.center[i]};
  }
  const double norm = std::sqrt(squares);
  const double center_norm = std::sqrt(center_squares);
  const bool cosine = quantizer.metric == Metric::cosine;
  const double divisor = norm == 0 ? 1.0 : (cosine ? norm : std::ldexp(1.0, std::ilogb(norm) + 1));
  for (std::size_t i = 0; i < quantizer.dim; ++i) transformed.values[i] = double{query[i]} / divisor;
  transformed.norm = norm_of(transformed.values);
  transformed.unit = std::ldexp(cosine ? 1.0 : divisor, quantizer.exponent);
  transformed.shift = cosine ? -shift / divisor : -shift;
  transformed.rank_error = double_rounding(quantizer.dim) * (cosine ? 1.0 + center_norm : norm * center_norm);
}

// Norms of the values that codes stand for and of the quantization error.
struct CodedNorms {
  double step = 1;
  double kept = 0;
  double lost = 0;
};

// `code(i, value)` writes a code and returns the value that the code stands for.
template <class Code>
CodedNorms coded(const std::vector<double>& values, double step, Code code) {
  PartialSums kept;
  PartialSums lost;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double stands_for = code(i, values[i]);
    const double rest = values[i] - stands_for;
    kept.add(i, stands_for * stands_for);
    lost.add(i, rest * rest);
  }
  return {step, std::sqrt(kept.total()), std::sqrt(lost.total())};
}

CodedNorms encode_int8(const std::vector<double>& values, std::byte* codes) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const auto step = double{static_cast<float>(largest / 127)};
  const double inverse = step == 0 ? 0.0 : 1 / step;
  return coded(values, step, [&](std::size_t i, double number) {
    const double whole = std::clamp((number * inverse + whole_rounding) - whole_rounding, -127.0, 127.0);
    codes[i] = static_cast<std::byte>(static_cast<std::int8_t>(whole));
    return whole * step;
  });
}

CodedNorms encode_query(QueryForm form, const std::vector<double>& values, std::byte* codes) {
  if (form == QueryForm::int8) return encode_int8(values, codes);
  if (form == QueryForm::bf16) {
    return coded(values, 1.0, [&](std::size_t i, double number) {
      const auto value = static_cast<float>(number);
      const Bfloat16 code = std::abs(value) < std::numeric_limits<float>::min() ? Bfloat16{} : to_bfloat16(value);
      std::memcpy(codes + i * 2, &code.bits, 2);
      return double{to_float(code)};
    });
  }
  return coded(values, 1.0, [&](std::size_t i, double number) {
    const auto value = static_cast<float>(number);
    std::memcpy(codes + i * 4, &value, 4);
    return double{value};
  });
}

std::size_t code_size(QueryForm form) noexcept {
  return form == QueryForm::int8 ? 1 : (form == QueryForm::bf16 ? 2 : 4);
}

// Whether fp32 rows are scanned by sums of differences: then key and rank are equal.
bool sums_differences(const Quantizer& quantizer) noexcept {
  return quantizer.precision == Precision::fp32 && quantizer.metric != Metric::cosine &&
         quantizer.metric != Metric::inner_product;
}

void prepare_difference(const Quantizer& quantizer, const float* query, std::size_t index, PreparedQueries& prepared) {
  std::memcpy(prepared.codes.data() + index * prepared.row_bytes, query, quantizer.dim * sizeof(float));
  prepared.a[index] = loosening(quantizer.dim);  // relative to the key
  prepared.unit[index] = 1;
  prepared.rank_error[index] = static_cast<double>(quantizer.dim) * 0x1p-140;
}

void prepare_product(const Quantizer& quantizer, QueryForm form, const float* query, std::size_t index,
                     QuantizerQuery& transformed, PreparedQueries& prepared) {
  const bool euclidean = is_euclidean(quantizer.metric);
  euclidean ? transform_euclidean(quantizer, query, transformed) : transform_product(quantizer, query, transformed);
  prepared.unit[index] = transformed.unit;
  prepared.shift[index] = transformed.shift;
  prepared.rank_error[index] = transformed.rank_error;
  if (!(transformed.norm <= double{norm_coded_max})) {
    prepared.unknown[index] = 1;
    prepared.a[index] = prepared.b[index] = std::numeric_limits<float>::infinity();
    return;
  }
  const CodedNorms norms = encode_query(form, transformed.values, prepared.codes.data() + index * prepared.row_bytes);
  const double times = euclidean ? 2 : 1;
  const double room = 1 + 0x1p-18;  // for evaluating the bound itself in single precision
  prepared.gamma[index] = static_cast<float>(-times * norms.step);
  prepared.a[index] = rounded_up(times * norms.kept * room + underflow_room);
  prepared.b[index] = rounded_up(
      times * (norms.lost + transformed.norm * (0x1p-21 + accumulation(form, quantizer.dim))) * room + underflow_room);
}

}  // namespace

float rounded_up(double value) noexcept {
  const auto rounded = static_cast<float>(value);
  return double{rounded} < value ? std::nextafter(rounded, std::numeric_limits<float>::infinity()) : rounded;
}

void PreparedQueries::set_limit(std::size_t query, double rank_limit) noexcept {
  if (unknown[query] != 0) {
    limit[query] = std::numeric_limits<float>::infinity();
    return;
  }
  const double key = (rank_limit + std::abs(rank_limit) * rounding + rank_error[query] - shift[query]) / unit[query];
  limit[query] = rounded_up(key + underflow_room);
}

PreparedQueries prepare_queries(const Quantizer& quantizer, QueryForm form, std::span<const float> queries,
                                Executor* executor) {
  PreparedQueries prepared;
  prepared.count = queries.size() / quantizer.dim;
  prepared.padded = (prepared.count + query_block - 1) / query_block * query_block;
  prepared.row_bytes = (quantizer.dim * code_size(form) + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
  prepared.rounding = double_rounding(quantizer.dim);
  // Kernels read as many floats of a query as a chunk of a row has 16-bit codes: up to one chunk behind the last query.
  prepared.codes = Pages(prepared.padded * prepared.row_bytes + chunk_bytes);
  for (auto* const terms : {&prepared.gamma, &prepared.a, &prepared.b}) terms->resize(prepared.padded, 0.0F);
  prepared.limit.resize(prepared.padded, -std::numeric_limits<float>::infinity());
  for (auto* const terms : {&prepared.unit, &prepared.shift, &prepared.rank_error}) terms->resize(prepared.count);
  prepared.unknown.resize(prepared.count);
  const auto prepare = [&](std::size_t begin, std::size_t end) {
    QuantizerQuery transformed{.values = std::vector<double>(quantizer.dim)};
    for (std::size_t i = begin; i < end; ++i) {
      const float* const query = queries.data() + i * quantizer.dim;
      sums_differences(quantizer) ? prepare_difference(quantizer, query, i, prepared)
                                  : prepare_product(quantizer, form, query, i, transformed, prepared);
      prepared.set_limit(i, infinite);
    }
  };
  executor == nullptr ? prepare(0, prepared.count) : executor->parallel_for(prepared.count, query_block, prepare);
  return prepared;
}

void pack_tiles(PreparedQueries& queries) {
  queries.tiles = Pages(queries.padded * queries.row_bytes);
  auto* to = queries.tiles.as<std::uint32_t>();
  for (std::size_t block = 0; block < queries.padded; block += query_block) {
    for (std::size_t byte = 0; byte < queries.row_bytes; byte += sizeof(std::uint32_t)) {
      for (std::size_t query = block; query < block + query_block; ++query) {
        std::memcpy(to++, queries.codes.data() + query * queries.row_bytes + byte, sizeof(std::uint32_t));
      }
    }
  }
}

double rank_of_distance(Metric metric, double value) noexcept {
  switch (metric) {
    case Metric::l2:
      return value < 0 ? -1.0 : value * value * (1 + 0x1p-45);
    case Metric::l2_squared:
      return value < 0 ? -1.0 : value * (1 + 0x1p-45);
    case Metric::cosine:
      return value - 1 + 0x1p-40;
    default:
      return value;
  }
}

}  // namespace vectis::inline v0_1::exact
