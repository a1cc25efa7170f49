// Vectors as bytes, each in steps of its own, and queries against them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vectis/search/distance.hpp"

namespace vectis::inline v0_1::graph {

// Distances between rows are squared Euclidean ones between coded vectors, which order as the true ones do: under
// cosine a vector is divided by its norm; under inner product it gets one more coordinate, which brings all to one
// norm. Then the centre is taken away. Immutable.
struct Frame {
  Distance distance = Distance::euclidean;
  std::size_t dim = 0;         // of the user's vectors
  std::size_t coded_dim = 0;   // one more under inner product
  std::size_t code_bytes = 0;  // coded_dim rounded up to a multiple of 4; the row's terms follow
  std::size_t row_bytes = 0;
  int exponent = 0;           // vectors are multiplied by 2^-exponent first, so that squares are no infinities
  float norm = 0;             // inner product: the one all vectors are brought to; longer ones stay longer
  std::vector<float> centre;  // coded_dim numbers
};

// All that follows from distance and dimension.
[[nodiscard]] Frame empty_frame(Distance distance, std::size_t dim);
// Centre and norm come from these vectors, at least one.
[[nodiscard]] Frame make_frame(Distance distance, std::size_t dim, std::span<const float> vectors);

// A coordinate is low + step * code; what stands behind the codes of a row.
struct RowTerms {
  float step = 0;
  float low = 0;
  float square = 0;  // of the norm before it was coded; one more for a zero under cosine, which is as far as all others
};

// Writes a row of frame.row_bytes.
void encode_row(const Frame& frame, const float* vector, std::byte* row);
// What the row stands for in the user's space; under cosine a vector of norm 1. Writes frame.dim numbers.
void decode_row(const Frame& frame, const std::byte* row, float* vector) noexcept;
[[nodiscard]] RowTerms terms_of(const Frame& frame, const std::byte* row) noexcept;

// Rows are read in chunks of this many bytes, past their end too: memory of rows has that much behind its last one.
inline constexpr std::size_t chunk_bytes = 64;

// A query, or a row in the place of one: a coordinate is shift + scale * code. The score of a row is its squared
// distance less what all rows have in common; for queries under inner product, twice the negative product. One thread
// at a time.
class CodedQuery {
 public:
  explicit CodedQuery(const Frame& frame);

  void set_vector(const Frame& frame, const float* vector);
  void set_row(const Frame& frame, const std::byte* row);

  [[nodiscard]] const std::int8_t* codes() const noexcept { return codes_; }
  [[nodiscard]] std::size_t chunks() const noexcept { return chunks_; }
  [[nodiscard]] float scale() const noexcept { return scale_; }
  [[nodiscard]] float shift() const noexcept { return shift_; }
  [[nodiscard]] float sum() const noexcept { return sum_; }        // of all coordinates
  [[nodiscard]] float square() const noexcept { return square_; }  // score + square is the squared distance
  // What the squares of rows are multiplied with in scores.
  [[nodiscard]] float weight() const noexcept { return weight_; }

 private:
  std::size_t chunks_;
  std::vector<std::int8_t> memory_;
  std::int8_t* codes_;  // aligned, zero behind the last coordinate
  std::vector<float> coordinates_;
  float scale_ = 0;
  float shift_ = 0;
  float sum_ = 0;
  float square_ = 0;
  float weight_ = 1;
};

}  // namespace vectis::inline v0_1::graph
