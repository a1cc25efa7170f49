#include "vectis/nn/embedding.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "nn/check.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/dropout.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::int64_t table_elements_max = std::int64_t{1} << 30;  // 4 GiB

// Throws InvalidInput unless a table of `count` positions has a row for each element of a sequence from `first` on.
void check_positions(std::string_view op, const Tensor& x, std::int64_t features, std::int64_t count,
                     std::int64_t first) {
  check_rank(op, x, 3, "(batch, sequence, features)");
  check_extent(op, x, -1, features, "features");
  const std::int64_t length = x.extent(1);
  if (first >= 0 && length <= count && first <= count - length) return;
  throw_invalid(op, fmt::format("{} positions from {} on, of a table of {}; count from 0, or make a larger one", length,
                                first, count));
}

}  // namespace

Embedding::Embedding(std::int64_t rows, std::int64_t features, Generator& random, const EmbeddingOptions& given)
    : options(given) {
  check_min("embedding", "the number of rows", rows);
  check_min("embedding", "the number of features", features);
  weight = random.normal({rows, features});
  if (!options.padding_index) return;
  const std::int64_t padding = *options.padding_index;
  if (padding < 0 || padding >= rows) {
    throw_invalid("embedding", fmt::format("padding index {} of {} rows; give one of them", padding, rows));
  }
  const Tensor positions =
      array::arange(0, static_cast<double>(rows), 1, DType::int32, {.device = weight.device()}).reshape({rows, 1});
  weight = where(equal(positions, padding), 0, weight);
}

Tensor Embedding::forward(const Tensor& x, const Mode& /*mode*/) const {
  if (is_real(x.dtype()) || x.dtype() == DType::boolean) {
    throw_invalid("embedding", fmt::format("expected integers, received {}; convert by astype(DType::int32)",
                                           vectis::name(x.dtype())));
  }
  Tensor rows = take(weight, x, 0, array::NegativeIndices::refused);
  if (!options.padding_index) return rows;
  return where(expand_dims(equal(x, *options.padding_index), -1), array::stop_gradient(rows), rows);
}

void Embedding::visit(Visitor& visitor) { visitor.parameter("weight", weight); }

PositionalEncoding::PositionalEncoding(std::int64_t features, std::int64_t positions_max, double probability)
    : dropout_probability(probability), features_(features) {
  check_min("positional_encoding", "the number of features", features);
  check_min("positional_encoding", "the number of positions", positions_max);
  if (features % 2 != 0) {
    throw_invalid("positional_encoding",
                  fmt::format("{} features are no pairs of sine and cosine; give an even number", features));
  }
  if (positions_max > table_elements_max / features) {
    throw_invalid(
        "positional_encoding",
        fmt::format("a table of {} positions with {} features has more than {} elements; give fewer positions",
                    positions_max, features, table_elements_max));
  }
  check_dropout("positional_encoding", dropout_probability);
  table_.reserve(static_cast<std::size_t>(positions_max * features));
  for (std::int64_t position = 0; position < positions_max; ++position) {
    for (std::int64_t i = 0; i < features; i += 2) {
      const double angle =
          static_cast<double>(position) / std::pow(10000.0, static_cast<double>(i) / static_cast<double>(features));
      table_.push_back(static_cast<float>(std::sin(angle)));
      table_.push_back(static_cast<float>(std::cos(angle)));
    }
  }
}

Tensor PositionalEncoding::forward(const Tensor& x, const Mode& mode, std::int64_t first) const {
  check_positions("positional_encoding", x, features_, static_cast<std::int64_t>(table_.size()) / features_, first);
  const std::span<const float> values = std::span(table_).subspan(static_cast<std::size_t>(first * features_),
                                                                  static_cast<std::size_t>(x.extent(1) * features_));
  const Tensor rows = Tensor::from_cpu(values, {x.extent(1), features_}, {.device = x.device()}).astype(x.dtype());
  return dropout(x + rows, dropout_probability, mode);
}

PositionalEmbedding::PositionalEmbedding(std::int64_t features, std::int64_t positions_max, Generator& random) {
  check_min("positional_embedding", "the number of features", features);
  check_min("positional_embedding", "the number of positions", positions_max);
  weight = random.normal({positions_max, features}, 0, 0.02);
}

Tensor PositionalEmbedding::forward(const Tensor& x, const Mode& /*mode*/, std::int64_t first) const {
  check_positions("positional_embedding", x, weight.extent(1), weight.extent(0), first);
  return x + slice(weight, 0, {first, first + x.extent(1)});
}

void PositionalEmbedding::visit(Visitor& visitor) { visitor.parameter("weight", weight); }

}  // namespace vectis::inline v0_1::nn
