// The space in which vectors are compared while a graph is walked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vectis/base/executor.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::graph {

// Distances between rows are squared Euclidean ones, which order as the true ones do: under cosine a vector is divided
// by its norm; under inner product it gets one more coordinate, which brings all to one norm. Then the centre is taken
// away, and of the directions in which vectors differ most the first few are kept, as codes of 8 or 4 bits. Immutable.
struct Frame {
  Metric distance = Metric::l2;
  std::size_t dim = 0;        // of the user's vectors
  std::size_t full_dim = 0;   // one more under inner product
  int exponent = 0;           // vectors are multiplied by 2^-exponent first, so that squares are no infinities
  float norm = 0;             // inner product: the one all vectors are brought to; longer ones stay longer
  std::vector<float> centre;  // full_dim numbers

  std::size_t coded_dim = 0;  // coordinates that are kept
  // full_dim rows of directions_length() numbers: what each of the full coordinates adds to each of the coded ones,
  // then zeros. Empty: the full coordinates are coded themselves.
  std::vector<float> directions;
  std::size_t bits = 8;       // of a code: 8, or 4
  std::size_t row_bytes = 0;  // whole cache lines
  std::size_t sampled = 0;    // vectors it was made from
  // By what part squared distances of coded rows that are not near are wrong: the root of the mean square.
  float far_error = 0.01F;

  [[nodiscard]] std::size_t directions_length() const noexcept { return (coded_dim + 15) / 16 * 16; }
};

inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t terms_bytes = 8;  // before the codes of a row

// All that follows from distance and dimension; the codes are 8 bits of every coordinate.
[[nodiscard]] Frame empty_frame(Metric distance, std::size_t dim);
// The frame whose rows keep this many coordinates in this many bits.
void set_codes(Frame& frame, std::size_t coded_dim, std::size_t bits);

// From these vectors, at least one: centre and norm, and the shortest rows with which those nearest by code still
// contain nearly all of the truly nearest.
[[nodiscard]] Frame make_frame(Executor& executor, Metric distance, std::size_t dim, std::span<const float> vectors);

// The coordinates that are coded, of a row or of a query. Writes frame.coded_dim numbers.
void place_row(const Frame& frame, const float* vector, float* coordinates);
void place_query(const Frame& frame, const float* vector, float* coordinates);
// The same of several queries, one behind the other, which is quicker and gives the same numbers.
void place_queries(const Frame& frame, std::span<const float> vectors, float* coordinates);
// A query as a point among the rows, whose squared distances from it order as the true ones: under inner product it is
// brought to the norm of the rows.
void place_query_among_rows(const Frame& frame, const float* vector, float* coordinates);
// Under inner product: what makes twice the negative products of a query with coded rows squared distances from it,
// when it is brought to the norm of the rows, but for a factor.
[[nodiscard]] float product_offset(const Frame& frame, const float* vector);

}  // namespace vectis::inline v0_1::graph
