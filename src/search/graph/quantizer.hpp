// Scalar quantization with a scale and minimum per row (LVQ: Aguerrebere et al., "Similarity search in the blink of
// an eye with compressed indices", 2023), and scores of quantized rows against a quantized query. Where 8 bits are too
// coarse, rows hold floats instead.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "search/graph/projection.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t quarter_line_bytes = cache_line_bytes / 4;
inline constexpr std::size_t code_header_bytes = 8;  // scale, min and squared norm at the start of a row

// The size of quantized rows. Plain data; Encoding::set_code_size keeps the fields consistent.
struct Quantizer {
  std::size_t dim = 0;        // coordinates per row
  std::size_t bits = 8;       // per coordinate: 8 or 4, or 32 for floats
  std::size_t row_bytes = 0;  // whole cache lines, or with a quarter of one at the end

  [[nodiscard]] bool floats() const noexcept { return bits == 32; }
  // Returns row_bytes in whole cache lines. Does not throw.
  [[nodiscard]] std::size_t padded_bytes() const noexcept {
    return (row_bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  }
};

// How vectors become rows of codes: a projection, then scalar quantization of its outputs.
struct Encoding {
  Projection projection;
  Quantizer quantizer;

  // Sets the code size: rows store the first `output_dim` projected coordinates in `bits` bits each. `bits` must be
  // 8, 4 or 32, not checked. Does not change projection.basis.
  void set_code_size(std::size_t output_dim, std::size_t bits);
};

// Returns an untrained encoding for vectors of `dim` floats: 8 bits of every coordinate, mean 0, no basis. The metric
// must be l2, l2_squared, cosine or inner_product, not checked. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] Encoding make_encoding(Metric metric, std::size_t dim);

// Trains projection and code size on `vectors`, at least one row of dim floats (not checked): chooses the shortest
// codes whose 32 best rows still contain 99.5 % of the 10 nearest. Keeps all coordinates when the sample is too small
// for PCA or the codes fit one cache line: as floats when they are few, or when bytes are so coarse that many of the
// nearest would be missed. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] Encoding train_encoding(Executor& executor, Metric metric, std::size_t dim,
                                      std::span<const float> vectors);

// Does the same in steps of about `step_work`, and leaves the result in `encoding`. What the arguments point to must
// outlive the steps.
Steps train_encoding_in_steps(Executor* executor, Metric metric, std::size_t dim, std::span<const float> vectors,
                              Work step_work, Encoding* encoding);

// Returns at most `rows_max` of the rows of `dim` floats, evenly spaced, to train with. Throws std::bad_alloc.
[[nodiscard]] std::vector<float> sample_rows(std::span<const float> vectors, std::size_t dim, std::size_t rows_max);

// The header of a row of codes; a coordinate is min + scale * code. A row stores scale and min as bfloat16 and the
// squared norm as float, then codes: 8-bit codes one after the other; 4-bit codes with the first half of the
// coordinates in the low nibbles; or floats, with a scale of 1 for a zero vector under cosine, else 0. The rest of the
// row is zero.
struct CodeHeader {
  float scale = 0;
  float min = 0;
  // The squared norm of the coordinates before quantization. A zero vector under cosine has 1 added, which moves it
  // away from every query. A vector that the projection shortened has at least shortened_square_min.
  float squared_norm = 0;
};

// The squared norm of a shortened vector before coordinates are dropped is larger, that of others is almost always
// less.
inline constexpr float shortened_square_min = 0x1p38F;

// Projects and quantizes a vector of encoding.projection.dim finite floats, and writes encoding.quantizer.row_bytes
// bytes to `row`. Any number of threads may call it. Throws std::bad_alloc when memory is exhausted.
void encode_row(const Encoding& encoding, const float* vector, std::byte* row);
// Quantizes quantizer.dim coordinates that are projected already, and writes quantizer.row_bytes bytes to `row`. The
// coordinates must be finite, not checked. Does not throw.
void encode_projected(const Quantizer& quantizer, const float* coordinates, std::byte* row) noexcept;
// Returns the header of a row that encode_row or encode_projected wrote. Does not check the bytes; does not throw.
// Inline: scoring reads one for each row.
[[nodiscard]] inline CodeHeader code_header(const std::byte* row) noexcept {
  std::uint32_t packed = 0;  // scale and min, as bfloat16
  CodeHeader header;
  std::memcpy(&packed, row, sizeof packed);
  std::memcpy(&header.squared_norm, row + sizeof packed, sizeof header.squared_norm);
  header.scale = std::bit_cast<float>(packed << 16U);
  header.min = std::bit_cast<float>(packed & 0xFFFF0000U);
  return header;
}

// A query, or a row in the role of a query, quantized to signed bytes: a coordinate is shift + scale * code. The
// score of a row is its squared distance to the query minus query.squared_norm(); under inner product it is minus
// twice the inner product. For rows of floats the coordinates stay as they are, and squared_norm() is 0 unless under
// inner product: the difference of two large numbers would be less exact. Set the query before scoring with it. Not
// thread-safe.
class QuantizedQuery {
 public:
  // Allocates a query for rows of `quantizer`, with all codes 0. Throws std::bad_alloc when memory is exhausted.
  explicit QuantizedQuery(const Quantizer& quantizer);
  QuantizedQuery(const QuantizedQuery&) = delete;  // codes_ points into memory_
  QuantizedQuery& operator=(const QuantizedQuery&) = delete;
  QuantizedQuery(QuantizedQuery&&) noexcept = default;
  QuantizedQuery& operator=(QuantizedQuery&&) noexcept = default;
  ~QuantizedQuery() = default;
  // Returns whether the query has the size of rows of this quantizer, so that they can be compared. Does not throw.
  [[nodiscard]] bool fits(const Quantizer& quantizer) const noexcept {
    return row_bytes_ == quantizer.row_bytes && coordinates_.size() == quantizer.dim;
  }

  // Sets the query to a vector of encoding.projection.dim finite floats, which it projects and quantizes.
  // Precondition, not checked: fits(encoding.quantizer). Throws std::bad_alloc when memory is exhausted.
  void set_vector(const Encoding& encoding, const float* vector);
  // Sets the query to `vector`, whose projection by project_query is `coordinates`. Precondition, not checked:
  // fits(encoding.quantizer). Throws std::bad_alloc when memory is exhausted.
  void set_projected(const Encoding& encoding, const float* vector, const float* coordinates);
  // Sets the query to quantizer.dim projected coordinates, for scores of squared distances. Precondition, not
  // checked: fits(quantizer). Does not throw.
  void set_coordinates(const Quantizer& quantizer, const float* coordinates);
  // Sets the query to the values of a quantized row, for scores of squared distances. Precondition, not checked:
  // fits(quantizer), and `row` was encoded with it. Does not throw.
  void set_row(const Quantizer& quantizer, const std::byte* row);

  // Returns the query's codes, padded_bytes() of the quantizer, laid out like a row with zeros in place of the header.
  // For 4-bit rows these belong to the low nibbles; for rows of floats they are floats. Bytes where rows are padded
  // with zeros have any value after set_row, else they are zero as those after the row. Valid as long as the query.
  [[nodiscard]] const std::int8_t* codes() const noexcept { return codes_; }
  // Returns the query's codes for the high nibbles of 4-bit rows; unused for 8-bit rows. Valid as long as the query.
  [[nodiscard]] const std::int8_t* upper_codes() const noexcept { return codes_ + padded_bytes_; }
  [[nodiscard]] float scale() const noexcept { return scale_; }
  [[nodiscard]] float shift() const noexcept { return shift_; }
  [[nodiscard]] float sum() const noexcept { return sum_; }  // of all coordinates
  // Returns the value that turns a score into a squared distance: score + squared_norm() is the squared distance, or
  // under inner product a value proportional to it. Precondition: the query was set.
  [[nodiscard]] float squared_norm() const noexcept { return squared_norm_; }
  // Returns the sum of the magnitudes of the coordinates before quantization. Precondition: set_vector or
  // set_coordinates set the query. Does not throw.
  [[nodiscard]] float coordinates_sum() const noexcept;
  // Returns the norm of the coordinates before quantization. Precondition: the query was set. Does not throw.
  [[nodiscard]] float coordinates_norm() const noexcept;
  // Returns the norm of the difference between the coordinates and their codes. Precondition: set_vector set the query.
  // Does not throw.
  [[nodiscard]] float error() const noexcept;
  // Returns the factor of the rows' squared norms in scores: 1, or 0 under inner product.
  [[nodiscard]] float norm_weight() const noexcept { return norm_weight_; }

 private:
  std::size_t row_bytes_;
  std::size_t padded_bytes_;
  std::vector<std::int8_t> memory_;
  std::int8_t* codes_;  // inside memory_, aligned to a cache line
  std::vector<float> coordinates_;
  float scale_ = 0;
  float shift_ = 0;
  float sum_ = 0;
  float squared_norm_ = 0;
  float coordinates_norm_ = 0;  // squared, without the offset of inner product
  float norm_weight_ = 1;
};

// A kernel that writes the scores of `count` rows for the query to `scores`; the innermost loop of building and
// searching. Preconditions, not checked: the query is set and fits the quantizer, and the rows were encoded with it.
// A row may occur more than once. Does not throw.
using ScoreRows = void (*)(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                           std::size_t count, float* scores);

// Writes the scores of `count` rows for the query to `scores`, on every CPU. The query must be set and fit the
// quantizer, not checked. Does not throw.
void score_rows_scalar(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                       std::size_t count, float* scores);
#if defined(__x86_64__)
// Writes the scores of `count` rows for the query to `scores` with AVX-512 VNNI, which the CPU must have (not
// checked). The query must be set and fit the quantizer. Does not throw.
void score_rows_vnni(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                     std::size_t count, float* scores);
// Writes the scores of `count` rows for the query to `scores` with AVX2, which the CPU must have (not checked). The
// query must be set and fit the quantizer. Does not throw.
void score_rows_avx2(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                     std::size_t count, float* scores);
#endif

// Writes the scores of `count` rows of floats for the query to `scores`, on every CPU. The query must be set and fit
// the quantizer, not checked. Does not throw.
void score_float_rows(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                      std::size_t count, float* scores);

// Returns the fastest score kernel for rows of the quantizer that the host CPU supports: for codes score_rows_vnni with
// AVX-512 VNNI, score_rows_avx2 with AVX2, else score_rows_scalar. Does not throw.
[[nodiscard]] ScoreRows best_score_rows(const Quantizer& quantizer) noexcept;

// Prefetches the cache lines of a row of quantizer.row_bytes bytes. Does not throw.
inline void prefetch_codes(const Quantizer& quantizer, const std::byte* row) noexcept {
  for (std::size_t byte = 0; byte < quantizer.row_bytes; byte += cache_line_bytes) __builtin_prefetch(row + byte);
}

}  // namespace vectis::inline v0_1::graph
