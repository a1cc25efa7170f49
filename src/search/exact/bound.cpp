#include "search/exact/bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "search/exact/encode.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t query_block = 16;
constexpr double whole_rounding = 0x1.8p52;  // added and taken away again, it rounds to a whole number
constexpr double infinite = std::numeric_limits<double>::infinity();

// A sum in four parts, which do not wait for each other.
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

// How far a sum of dim terms in double precision, and the root of it, may be off, relatively.
double double_rounding(std::size_t dim) noexcept { return static_cast<double>(dim + 16) * 0x1p-50; }

// How far the dot product of codes may be off, relative to the product of the norms.
double accumulation(QueryForm form, std::size_t dim) noexcept {
  switch (form) {
    case QueryForm::int8:
      return 0;
    case QueryForm::bf16:
      return static_cast<double>(dim + 16) * 0x1p-23;  // one sum, in any order
    case QueryForm::f32:
      return double{loosening(dim)};  // sixteen sums
  }
  return 0;
}

// A query in the units of the frame, and how its keys become ranks.
struct FramedQuery {
  std::vector<double> numbers;
  double norm = 0;
  double unit = 1;
  double shift = 0;
  double slack = 0;
};

void frame_euclidean(const Frame& frame, const float* query, FramedQuery& framed) {
  const double scale = std::ldexp(1.0, -frame.exponent);
  for (std::size_t i = 0; i < frame.dim; ++i) {
    framed.numbers[i] = (double{query[i]} - double{frame.centre[i]}) * scale;
  }
  framed.norm = norm_of(framed.numbers);
  framed.unit = std::ldexp(1.0, 2 * frame.exponent);
  framed.shift = framed.norm * framed.norm * framed.unit;
  framed.slack = framed.shift * double_rounding(frame.dim);
}

// Under inner product the query is brought near 1 by a power of two, under cosine to 1 by its norm.
void frame_product(const Frame& frame, const float* query, FramedQuery& framed) {
  double squares = 0;
  double shift = 0;
  double centre_squares = 0;
  for (std::size_t i = 0; i < frame.dim; ++i) {
    squares += double{query[i]} * double{query[i]};
    shift += double{query[i]} * double{frame.centre[i]};
    centre_squares += double{frame.centre[i]} * double{frame.centre[i]};
  }
  const double norm = std::sqrt(squares);
  const double centre_norm = std::sqrt(centre_squares);
  const bool cosine = frame.distance == Metric::cosine;
  const double divisor = norm == 0 ? 1.0 : (cosine ? norm : std::ldexp(1.0, std::ilogb(norm) + 1));
  for (std::size_t i = 0; i < frame.dim; ++i) framed.numbers[i] = double{query[i]} / divisor;
  framed.norm = norm_of(framed.numbers);
  framed.unit = std::ldexp(cosine ? 1.0 : divisor, frame.exponent);
  framed.shift = cosine ? -shift / divisor : -shift;
  framed.slack = double_rounding(frame.dim) * (cosine ? 1.0 + centre_norm : norm * centre_norm);
}

// What codes stand for, and what they lost, as norms.
struct CodedNorms {
  double step = 1;
  double kept = 0;
  double lost = 0;
};

// `code(i, number)` writes a code and returns what it stands for.
template <class Code>
CodedNorms coded(const std::vector<double>& numbers, double step, Code code) {
  PartialSums kept;
  PartialSums lost;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double stands_for = code(i, numbers[i]);
    const double rest = numbers[i] - stands_for;
    kept.add(i, stands_for * stands_for);
    lost.add(i, rest * rest);
  }
  return {step, std::sqrt(kept.total()), std::sqrt(lost.total())};
}

CodedNorms encode_int8(const std::vector<double>& numbers, std::byte* codes) {
  double largest = 0;
  for (const double value : numbers) largest = std::max(largest, std::abs(value));
  const auto step = double{static_cast<float>(largest / 127)};
  const double inverse = step == 0 ? 0.0 : 1 / step;
  return coded(numbers, step, [&](std::size_t i, double number) {
    const double whole = std::clamp((number * inverse + whole_rounding) - whole_rounding, -127.0, 127.0);
    codes[i] = static_cast<std::byte>(static_cast<std::int8_t>(whole));
    return whole * step;
  });
}

CodedNorms encode_query(QueryForm form, const std::vector<double>& numbers, std::byte* codes) {
  if (form == QueryForm::int8) return encode_int8(numbers, codes);
  if (form == QueryForm::bf16) {
    return coded(numbers, 1.0, [&](std::size_t i, double number) {
      const auto value = static_cast<float>(number);
      const Bfloat16 code = std::abs(value) < std::numeric_limits<float>::min() ? Bfloat16{} : to_bfloat16(value);
      std::memcpy(codes + i * 2, &code.bits, 2);
      return double{to_float(code)};
    });
  }
  return coded(numbers, 1.0, [&](std::size_t i, double number) {
    const auto value = static_cast<float>(number);
    std::memcpy(codes + i * 4, &value, 4);
    return double{value};
  });
}

std::size_t code_size(QueryForm form) noexcept {
  return form == QueryForm::int8 ? 1 : (form == QueryForm::bf16 ? 2 : 4);
}

// Differences are summed from the originals as they are: key and rank are the same number.
bool sums_differences(const Frame& frame) noexcept {
  return frame.precision == Precision::fp32 && frame.distance != Metric::cosine &&
         frame.distance != Metric::inner_product;
}

void prepare_difference(const Frame& frame, const float* query, std::size_t index, PreparedQueries& prepared) {
  std::memcpy(prepared.codes.data() + index * prepared.row_bytes, query, frame.dim * sizeof(float));
  prepared.a[index] = loosening(frame.dim);  // relative to the key
  prepared.unit[index] = 1;
  prepared.slack[index] = static_cast<double>(frame.dim) * 0x1p-140;
}

void prepare_product(const Frame& frame, QueryForm form, const float* query, std::size_t index, FramedQuery& framed,
                     PreparedQueries& prepared) {
  const bool euclidean = frame.distance == Metric::l2;
  euclidean ? frame_euclidean(frame, query, framed) : frame_product(frame, query, framed);
  prepared.unit[index] = framed.unit;
  prepared.shift[index] = framed.shift;
  prepared.slack[index] = framed.slack;
  if (!(framed.norm <= double{norm_coded_max})) {
    prepared.unknown[index] = 1;
    prepared.a[index] = prepared.b[index] = std::numeric_limits<float>::infinity();
    return;
  }
  const CodedNorms norms = encode_query(form, framed.numbers, prepared.codes.data() + index * prepared.row_bytes);
  const double times = euclidean ? 2 : 1;
  const double room = 1 + 0x1p-18;  // for computing the bound itself in float
  prepared.gamma[index] = static_cast<float>(-times * norms.step);
  prepared.a[index] = rounded_up(times * norms.kept * room + underflow_room);
  prepared.b[index] = rounded_up(times * (norms.lost + framed.norm * (0x1p-21 + accumulation(form, frame.dim))) * room +
                                 underflow_room);
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
  const double key = (rank_limit + std::abs(rank_limit) * rounding + slack[query] - shift[query]) / unit[query];
  limit[query] = rounded_up(key + underflow_room);
}

PreparedQueries prepare_queries(const Frame& frame, QueryForm form, std::span<const float> queries) {
  PreparedQueries prepared;
  prepared.count = queries.size() / frame.dim;
  prepared.padded = (prepared.count + query_block - 1) / query_block * query_block;
  prepared.row_bytes = (frame.dim * code_size(form) + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
  prepared.rounding = double_rounding(frame.dim);
  prepared.codes = Pages(prepared.padded * prepared.row_bytes);
  for (auto* const terms : {&prepared.gamma, &prepared.a, &prepared.b}) terms->resize(prepared.padded, 0.0F);
  prepared.limit.resize(prepared.padded, -std::numeric_limits<float>::infinity());
  for (auto* const terms : {&prepared.unit, &prepared.shift, &prepared.slack}) terms->resize(prepared.count);
  prepared.unknown.resize(prepared.count);
  FramedQuery framed{.numbers = std::vector<double>(frame.dim)};
  for (std::size_t i = 0; i < prepared.count; ++i) {
    const float* const query = queries.data() + i * frame.dim;
    sums_differences(frame) ? prepare_difference(frame, query, i, prepared)
                            : prepare_product(frame, form, query, i, framed, prepared);
    prepared.set_limit(i, infinite);
  }
  return prepared;
}

double rank_of_distance(Metric distance, double value) noexcept {
  switch (distance) {
    case Metric::l2:
      return value < 0 ? -1.0 : value * value * (1 + 0x1p-45);
    case Metric::cosine:
      return value - 1 + 0x1p-40;
    default:
      return value;
  }
}

}  // namespace vectis::inline v0_1::exact
