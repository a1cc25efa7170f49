#include "vectis/nn/transformer.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/dropout.hpp"

namespace vectis::inline v0_1::nn {

namespace {

LayerNorm norm_of(std::int64_t features, const Dense& beside, const TransformerOptions& options) {
  return LayerNorm({features}, {.epsilon = options.epsilon, .where = {.device = beside.weight.device()}});
}

Tensor feed_forward(const Dense& linear1, const Dense& linear2, const TransformerOptions& options, const Tensor& x,
                    const Mode& mode) {
  const Tensor hidden = in_layer("linear1", [&] { return linear1.forward(x, mode); });
  const Tensor activated = dropout(activate(hidden, options.activation), options.dropout, mode);
  return in_layer("linear2", [&] { return linear2.forward(activated, mode); });
}

// x + part(x), normalized before or after. The result of `part` gets dropout.
template <class Part>
Tensor residual(std::string_view norm_name, const LayerNorm& norm, const TransformerOptions& options, const Tensor& x,
                const Mode& mode, const Part& part) {
  const auto normalized = [&](const Tensor& value) {
    return in_layer(norm_name, [&] { return norm.forward(value, mode); });
  };
  if (options.norm_first) return x + dropout(part(normalized(x)), options.dropout, mode);
  return normalized(x + dropout(part(x), options.dropout, mode));
}

// Calls `forward` with a copy of `given` that it may change, and copies that back unless `forward` throws: a call that
// fails leaves caches as they were.
template <class Caches, class Forward>
Tensor with_cache(Caches* given, const Forward& forward) {
  if (given == nullptr) return forward(given);
  Caches changed = *given;
  Tensor result = forward(&changed);
  *given = std::move(changed);
  return result;
}

// The cache of a layer; makes those of all layers at the first call.
KeyValueCache* cache_of(std::vector<KeyValueCache>* caches, std::size_t layer, std::size_t layers) {
  if (caches == nullptr) return nullptr;
  if (caches->empty()) caches->resize(layers);
  if (caches->size() == layers) return &(*caches)[layer];
  throw_invalid("transformer",
                fmt::format("{} caches for {} layers; give an empty vector at the first call", caches->size(), layers));
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t features, std::int64_t heads, Generator& random,
                                                 const TransformerOptions& given)
    : self_attn(features, heads, random, {.dropout = given.dropout}),
      linear1(features, given.feed_forward, random),
      linear2(given.feed_forward, features, random),
      norm1(norm_of(features, linear1, given)),
      norm2(norm_of(features, linear1, given)),
      options(given) {}

Tensor TransformerEncoderLayer::forward(const Tensor& x, const AttentionMask& mask, const Mode& mode,
                                        KeyValueCache* cache) const {
  return with_cache(cache, [&](KeyValueCache* changed) {
    const Tensor attended = residual("norm1", norm1, options, x, mode, [&](const Tensor& value) {
      return in_layer("self_attn", [&] { return self_attn.attend(value, value, value, mask, mode, changed); });
    });
    return residual("norm2", norm2, options, attended, mode,
                    [&](const Tensor& value) { return feed_forward(linear1, linear2, options, value, mode); });
  });
}

void TransformerEncoderLayer::visit(Visitor& visitor) {
  visitor.child("self_attn", self_attn);
  visitor.child("linear1", linear1);
  visitor.child("linear2", linear2);
  visitor.child("norm1", norm1);
  visitor.child("norm2", norm2);
}

TransformerEncoder::TransformerEncoder(std::int64_t layer_count, std::int64_t features, std::int64_t heads,
                                       Generator& random, const TransformerOptions& options) {
  check_min("transformer", "the number of layers", layer_count);
  for (std::int64_t i = 0; i < layer_count; ++i) layers.emplace_back(features, heads, random, options);
  if (options.norm_first) norm = norm_of(features, layers[0].linear1, options);
}

Tensor TransformerEncoder::forward(const Tensor& x, const AttentionMask& mask, const Mode& mode,
                                   std::vector<KeyValueCache>* caches) const {
  return with_cache(caches, [&](std::vector<KeyValueCache>* changed) {
    Tensor value = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      value = in_layer(fmt::format("layers.{}", i),
                       [&] { return layers[i].forward(value, mask, mode, cache_of(changed, i, layers.size())); });
    }
    return norm ? in_layer("norm", [&] { return norm->forward(value, mode); }) : value;
  });
}

void TransformerEncoder::visit(Visitor& visitor) {
  visitor.children("layers", layers);
  if (norm) visitor.child("norm", *norm);
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t features, std::int64_t heads, Generator& random,
                                                 const TransformerOptions& given)
    : self_attn(features, heads, random, {.dropout = given.dropout}),
      multihead_attn(features, heads, random, {.dropout = given.dropout}),
      linear1(features, given.feed_forward, random),
      linear2(given.feed_forward, features, random),
      norm1(norm_of(features, linear1, given)),
      norm2(norm_of(features, linear1, given)),
      norm3(norm_of(features, linear1, given)),
      options(given) {}

Tensor TransformerDecoderLayer::forward(const Tensor& x, const Tensor& memory, const DecoderMasks& masks,
                                        const Mode& mode, KeyValueCache* cache) const {
  return with_cache(cache, [&](KeyValueCache* changed) {
    const Tensor own = residual("norm1", norm1, options, x, mode, [&](const Tensor& value) {
      return in_layer("self_attn", [&] { return self_attn.attend(value, value, value, masks.self, mode, changed); });
    });
    const Tensor crossed = residual("norm2", norm2, options, own, mode, [&](const Tensor& value) {
      return in_layer("multihead_attn",
                      [&] { return multihead_attn.attend(value, memory, memory, masks.memory, mode); });
    });
    return residual("norm3", norm3, options, crossed, mode,
                    [&](const Tensor& value) { return feed_forward(linear1, linear2, options, value, mode); });
  });
}

void TransformerDecoderLayer::visit(Visitor& visitor) {
  visitor.child("self_attn", self_attn);
  visitor.child("multihead_attn", multihead_attn);
  visitor.child("linear1", linear1);
  visitor.child("linear2", linear2);
  visitor.child("norm1", norm1);
  visitor.child("norm2", norm2);
  visitor.child("norm3", norm3);
}

TransformerDecoder::TransformerDecoder(std::int64_t layer_count, std::int64_t features, std::int64_t heads,
                                       Generator& random, const TransformerOptions& options) {
  check_min("transformer", "the number of layers", layer_count);
  for (std::int64_t i = 0; i < layer_count; ++i) layers.emplace_back(features, heads, random, options);
  if (options.norm_first) norm = norm_of(features, layers[0].linear1, options);
}

Tensor TransformerDecoder::forward(const Tensor& x, const Tensor& memory, const DecoderMasks& masks, const Mode& mode,
                                   std::vector<KeyValueCache>* caches) const {
  return with_cache(caches, [&](std::vector<KeyValueCache>* changed) {
    Tensor value = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      value = in_layer(fmt::format("layers.{}", i), [&] {
        return layers[i].forward(value, memory, masks, mode, cache_of(changed, i, layers.size()));
      });
    }
    return norm ? in_layer("norm", [&] { return norm->forward(value, mode); }) : value;
  });
}

void TransformerDecoder::visit(Visitor& visitor) {
  visitor.children("layers", layers);
  if (norm) visitor.child("norm", *norm);
}

}  // namespace vectis::inline v0_1::nn
