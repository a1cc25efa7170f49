// Scalar quantization with a scale and minimum per row (LVQ: Aguerrebere et al., "Similarity search in the blink of an
// eye with compressed indices", 2023), and scores of quantized rows against a quantized query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/projection.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t cache_line_bytes = 64;
inline constexpr std::size_t code_header_bytes = 8;  // scale, min and squared norm at the start of a row

struct Quantizer {
  std::size_t dim = 0;        // coordinates per row
  std::size_t bits = 8;       // per coordinate: 8 or 4
  std::size_t row_bytes = 0;  // whole cache lines
  // Relative RMS quantization error of squared distances between rows that are not near each other.
  float relative_error = 0.01F;
};

// How vectors become rows of codes.
struct Encoding {
  Projection projection;
  Quantizer quantizer;

  // Keeps the first `output_dim` coordinates in `bits` bits each.
  void set_code_size(std::size_t output_dim, std::size_t bits);
};

// Untrained: 8 bits of every coordinate.
[[nodiscard]] Encoding make_encoding(Metric metric, std::size_t dim);

// Trains projection and code size on `vectors`, at least one row of dim floats: chooses the shortest rows whose 32 best
// by code still contain 99.5 % of the 10 nearest. A sample that is too small for PCA, and vectors that fit one cache
// line, keep all coordinates.
[[nodiscard]] Encoding train_encoding(Executor& executor, Metric metric, std::size_t dim,
                                      std::span<const float> vectors);

// A coordinate is min + scale * code. A row stores scale and min as bfloat16 and the squared norm as float, then codes:
// 8-bit codes one after the other; 4-bit codes with the first half of the coordinates in the low nibbles. The rest of
// the row is zero.
struct CodeHeader {
  float scale = 0;
  float min = 0;
  // Before quantization. A zero vector under cosine has 1 added, so that it is as far as the farthest.
  float squared_norm = 0;
};

// Writes quantizer.row_bytes bytes.
void encode_row(const Encoding& encoding, const float* vector, std::byte* row);
// The same for output_dim coordinates that are projected already.
void encode_projected(const Quantizer& quantizer, const float* coordinates, std::byte* row) noexcept;
[[nodiscard]] CodeHeader code_header(const std::byte* row) noexcept;

// A query, or a row in the role of a query, as signed bytes: a coordinate is shift + scale * code.
//
// The score of a row is its squared distance to the query minus query.squared_norm(); under inner product it is minus
// twice the product. Not thread-safe.
class QuantizedQuery {
 public:
  explicit QuantizedQuery(const Quantizer& quantizer);
  // Whether the query can be compared with rows of this quantizer.
  [[nodiscard]] bool fits(const Quantizer& quantizer) const noexcept {
    return row_bytes_ == quantizer.row_bytes && coordinates_.size() == quantizer.dim;
  }

  void set_vector(const Encoding& encoding, const float* vector);
  // The same for a vector whose projection by project_query is known.
  void set_projected(const Encoding& encoding, const float* vector, const float* coordinates);
  void set_coordinates(const Quantizer& quantizer, const float* coordinates);
  void set_row(const Quantizer& quantizer, const std::byte* row);

  // Laid out like a row, with zeros in place of the header; upper_codes belong to the high nibbles of 4-bit rows. Bytes
  // where rows are padded with zeros have any value.
  [[nodiscard]] const std::int8_t* codes() const noexcept { return codes_; }
  [[nodiscard]] const std::int8_t* upper_codes() const noexcept { return codes_ + row_bytes_; }
  [[nodiscard]] float scale() const noexcept { return scale_; }
  [[nodiscard]] float shift() const noexcept { return shift_; }
  [[nodiscard]] float sum() const noexcept { return sum_; }  // of all coordinates
  // score + squared_norm() is the squared distance; under inner product it is proportional to it.
  [[nodiscard]] float squared_norm() const noexcept { return squared_norm_; }
  // Factor of the rows' squared norms in scores: 1, or 0 under inner product.
  [[nodiscard]] float norm_weight() const noexcept { return norm_weight_; }

 private:
  std::size_t row_bytes_;
  std::vector<std::int8_t> memory_;
  std::int8_t* codes_;  // inside memory_, aligned to a cache line
  std::vector<float> coordinates_;
  float scale_ = 0;
  float shift_ = 0;
  float sum_ = 0;
  float squared_norm_ = 0;
  float norm_weight_ = 1;
};

// Writes the scores of `count` rows, the innermost loop of building and searching. A row may occur more than once.
using ScoreRows = void (*)(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                           std::size_t count, float* scores);

void score_rows_scalar(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                       std::size_t count, float* scores);
#if defined(__x86_64__)
// In quantizer_vnni.cpp. Needs AVX-512 VNNI.
void score_rows_vnni(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                     std::size_t count, float* scores);
#endif

// The fastest kernel that the host CPU supports.
[[nodiscard]] ScoreRows best_score_rows() noexcept;

inline void prefetch_codes(const Quantizer& quantizer, const std::byte* row) noexcept {
  for (std::size_t byte = 0; byte < quantizer.row_bytes; byte += cache_line_bytes) __builtin_prefetch(row + byte);
}

}  // namespace vectis::inline v0_1::graph
