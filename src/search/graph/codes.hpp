// Vectors as codes of a few bits, each in steps of its own, and queries against them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/graph/frame.hpp"

namespace vectis::inline v0_1::graph {

// A coordinate is low + step * code. A row begins with these terms (step and low as bfloat16), then come its codes: of
// 8 bits one behind the other; of 4 bits the first half of the coordinates in the lower halves of the bytes, the others
// in the upper ones. What is left of the row is zero.
struct RowTerms {
  float step = 0;
  float low = 0;
  float square = 0;  // of the norm before it was coded; one more for a zero under cosine, which is as far as all others
};

// Writes a row of frame.row_bytes.
void encode_row(const Frame& frame, const float* vector, std::byte* row);
// The same for coordinates that were placed already.
void encode_coordinates(const Frame& frame, const float* coordinates, std::byte* row) noexcept;
[[nodiscard]] RowTerms terms_of(const std::byte* row) noexcept;

// A query, or a row in the place of one: a coordinate is shift + scale * code. The score of a row is its squared
// distance less what all rows have in common; for queries under inner product, twice the negative product. One thread
// at a time.
class CodedQuery {
 public:
  explicit CodedQuery(const Frame& frame);
  // Whether it was made for rows of this form.
  [[nodiscard]] bool fits(const Frame& frame) const noexcept {
    return row_bytes_ == frame.row_bytes && coordinates_.size() == frame.coded_dim;
  }

  void set_vector(const Frame& frame, const float* vector);
  // The same where place_query has been.
  void set_placed(const Frame& frame, const float* vector, const float* coordinates);
  void set_coordinates(const Frame& frame, const float* coordinates);
  void set_row(const Frame& frame, const std::byte* row);

  // As long as a row and laid out like one, with zeros where a row has its terms; the second for the upper halves of
  // bytes with two codes. Where a row has zeros behind its codes, anything.
  [[nodiscard]] const std::int8_t* codes() const noexcept { return codes_; }
  [[nodiscard]] const std::int8_t* upper_codes() const noexcept { return codes_ + row_bytes_; }
  [[nodiscard]] float scale() const noexcept { return scale_; }
  [[nodiscard]] float shift() const noexcept { return shift_; }
  [[nodiscard]] float sum() const noexcept { return sum_; }  // of all coordinates
  // score + square is the squared distance; under inner product, for queries, in proportion to it.
  [[nodiscard]] float square() const noexcept { return square_; }
  // What the squares of rows are multiplied with in scores.
  [[nodiscard]] float weight() const noexcept { return weight_; }

 private:
  std::size_t row_bytes_;
  std::vector<std::int8_t> memory_;
  std::int8_t* codes_;  // aligned to a line
  std::vector<float> coordinates_;
  float scale_ = 0;
  float shift_ = 0;
  float sum_ = 0;
  float square_ = 0;
  float weight_ = 1;
};

}  // namespace vectis::inline v0_1::graph
