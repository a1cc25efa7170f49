#include "vectis/nn/attention.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "nn/check.hpp"
#include "nn/heads.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/dense.hpp"
#include "vectis/nn/dropout.hpp"
#include "vectis/nn/initialization.hpp"

namespace vectis::inline v0_1::nn {

namespace {

Tensor apply_mask(const Tensor& scores, const Tensor& mask) {
  if (is_real(mask.dtype())) return scores + mask.astype(scores.dtype());
  if (mask.dtype() != DType::boolean) {
    throw_invalid("attention",
                  fmt::format("a mask has type {}; convert it to bool, true where there is no attention, or "
                              "give floating-point numbers, which are added to the scores",
                              vectis::name(mask.dtype())));
  }
  return where(mask, -std::numeric_limits<double>::infinity(), scores);
}

// True where the key is later than the query, of shape (queries, keys).
Tensor later_keys(const Tensor& scores) {
  const std::int64_t queries = scores.extent(-2);
  const std::int64_t keys = scores.extent(-1);
  const array::TensorOptions here{.device = scores.device()};
  const Tensor query_at =
      array::arange(static_cast<double>(keys - queries), static_cast<double>(keys), 1, DType::int32, here);
  const Tensor key_at = array::arange(0, static_cast<double>(keys), 1, DType::int32, here);
  return array::less(query_at.reshape({queries, 1}), key_at);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionMask& mask, double dropout_probability, const Mode& mode) {
  constexpr std::string_view op = "attention";
  check_rank(op, query, 4, "(batch, heads, queries, features)");
  check_extent(op, key, -1, query.extent(-1), "features of keys");
  check_extent(op, value, -2, key.extent(-2), "values");
  const double scale = 1 / std::sqrt(static_cast<double>(query.extent(-1)));
  Tensor scores = matmul(query * scale, matrix_transpose(key));
  if (mask.is_causal) scores = apply_mask(scores, later_keys(scores));
  if (!mask.scores.is_empty()) scores = apply_mask(scores, mask.scores);
  if (!mask.key_padding.is_empty()) {
    check_rank(op, mask.key_padding, 2, "(batch, keys) as mask of padding");
    check_extent(op, mask.key_padding, 0, query.extent(0), "batches in the mask of padding");
    check_extent(op, mask.key_padding, 1, key.extent(-2), "keys in the mask of padding");
    scores = apply_mask(scores, mask.key_padding.reshape({query.extent(0), 1, 1, key.extent(-2)}));
  }
  return matmul(dropout(softmax(scores), dropout_probability, mode), value);
}

MultiHeadAttention::MultiHeadAttention(std::int64_t features, std::int64_t head_count, Generator& random,
                                       const AttentionOptions& given)
    : heads(head_count), options(given) {
  check_min("attention", "the number of features", features);
  check_min("attention", "the number of heads", heads);
  check_dropout("attention", options.dropout);
  if (features % heads != 0) {
    throw_invalid("attention",
                  fmt::format("{} features do not divide into {} heads; change one of them", features, heads));
  }
  in_proj_weight = xavier_uniform({3 * features, features}, random);
  out_proj_weight = fan_uniform({features, features}, features, random);
  if (!options.bias) return;
  const array::TensorOptions here{.device = in_proj_weight.device()};
  in_proj_bias = array::zeros({3 * features}, DType::float32, here);
  out_proj_bias = array::zeros({features}, DType::float32, here);
}

Tensor MultiHeadAttention::attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const AttentionMask& mask, const Mode& mode_of_call, KeyValueCache* cache) const {
  constexpr std::string_view op = "attention";
  const std::int64_t features = out_proj_weight.extent(0);
  for (const Tensor* x : {&query, &key, &value}) {
    check_rank(op, *x, 3, "(batch, sequence, features)");
    check_extent(op, *x, 2, features, "features");
  }
  // Three products, also of one array: the gradient of parts of a joined one would be written with zeros around it.
  const auto projected = [&](const Tensor& x, std::int64_t index) {
    const array::Range rows{index * features, (index + 1) * features};
    const Tensor bias = in_proj_bias.is_empty() ? in_proj_bias : slice(in_proj_bias, 0, rows);
    return by_heads(linear(x, slice(in_proj_weight, 0, rows), bias), heads);
  };
  const Tensor queries = projected(query, 0);
  Tensor keys = projected(key, 1);
  Tensor values = projected(value, 2);
  if (cache != nullptr) {
    if (cache->positions() > 0) {
      keys = array::concat(std::array{cache->keys, keys}, 2);
      values = array::concat(std::array{cache->values, values}, 2);
    }
  }
  const Tensor attended = scaled_dot_product_attention(queries, keys, values, mask, options.dropout, mode_of_call);
  const Tensor result = linear(joined_heads(attended), out_proj_weight, out_proj_bias);
  if (cache != nullptr) *cache = {keys, values};
  return result;
}

void MultiHeadAttention::visit(Visitor& visitor) {
  visitor.parameter("in_proj_weight", in_proj_weight);
  visitor.parameter("in_proj_bias", in_proj_bias);
  visitor.parameter("out_proj.weight", out_proj_weight);
  visitor.parameter("out_proj.bias", out_proj_bias);
}

}  // namespace vectis::inline v0_1::nn
