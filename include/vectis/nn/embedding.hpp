// Vectors for numbers, such as the tokens of a text, and for positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_index = std::nullopt;  // starts as zeros and gets no gradient
};
// A row of a table for each integer of the input.
class VECTIS_API Embedding {
 public:
  static constexpr std::string_view kind = "Embedding";

  // Draws normally distributed rows. Throws InvalidInput unless both numbers are positive and the padding index is a
  // row.
  Embedding(std::int64_t rows, std::int64_t features, Generator& random, const EmbeddingOptions& options = {});

  // Takes integers of any shape, returns their shape with one more axis of `features`. Throws InvalidInput for other
  // types, and for a row that does not exist, such as one below 0, when it is computed.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  Tensor weight;  // (rows, features)
  EmbeddingOptions options;
};

// Adds sines and cosines of the position to (batch, sequence, features) (Vaswani et al., 2017). Has no parameters.
class VECTIS_API PositionalEncoding {
 public:
  static constexpr std::string_view kind = "PositionalEncoding";

  // Throws InvalidInput unless both numbers are positive with a product of at most 2^30, `features` is even, and 0 <=
  // dropout_probability < 1.
  PositionalEncoding(std::int64_t features, std::int64_t positions_max, double dropout_probability = 0);

  // The first element of the sequence has position `first`. Throws InvalidInput for other features and for positions
  // beyond the last.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}, std::int64_t first = 0) const;
  void visit(Visitor& /*visitor*/) {}

  double dropout_probability;

 private:
  std::int64_t features_;
  std::vector<float> table_;  // (positions, features)
};

// Adds a learned row for each position to (batch, sequence, features).
class VECTIS_API PositionalEmbedding {
 public:
  static constexpr std::string_view kind = "PositionalEmbedding";

  // Draws normally distributed rows of deviation 0.02. Throws InvalidInput unless both numbers are positive.
  PositionalEmbedding(std::int64_t features, std::int64_t positions_max, Generator& random);

  // As PositionalEncoding::forward().
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}, std::int64_t first = 0) const;
  void visit(Visitor& visitor);

  Tensor weight;  // (positions, features)
};

}  // namespace vectis::inline v0_1::nn
