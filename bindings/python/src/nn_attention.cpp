// Attention and the blocks of the transformer.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "nn_layers.hpp"
#include "nn_names.hpp"
#include "text.hpp"
#include "vectis/nn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

using array::Generator;

// The caches of the layers of a transformer; of attention, of one layer.
struct Caches {
  std::vector<nn::KeyValueCache> layers;
};

nn::AttentionMask mask_of(const std::optional<Tensor>& scores, const std::optional<Tensor>& key_padding,
                          bool is_causal) {
  return {scores.value_or(Tensor()), key_padding.value_or(Tensor()), is_causal};
}

nn::KeyValueCache* only_cache(Caches* caches) {
  if (caches == nullptr) return nullptr;
  if (caches->layers.empty()) caches->layers.emplace_back();
  if (caches->layers.size() != 1) {
    throw_invalid_input("attention", fmt::format("the cache has {} layers; give one that only this layer has used",
                                                 caches->layers.size()));
  }
  return caches->layers.data();
}

nn::TransformerOptions transformer_options(std::int64_t feed_forward, double dropout, const std::string& activation,
                                           bool norm_first, double epsilon) {
  return {feed_forward, dropout, activation_named(activation), norm_first, epsilon};
}

void bind_cache(nb::module_& module) {
  nb::class_<Caches>(
      module, "KeyValueCache",
      "Keys and values of the positions before, for generation one position at a time.\n\nEach call that "
      "is given the cache appends its own. One cache serves one layer, or one encoder or decoder.")
      .def(nb::init<>())
      .def_prop_ro(
          "positions",
          [](const Caches& self) -> std::int64_t { return self.layers.empty() ? 0 : self.layers[0].positions(); },
          "The number of positions that the cache holds.");
}

void bind_attention(nb::module_& module) {
  module.def(
      "scaled_dot_product_attention",
      [](const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask, bool is_causal,
         double dropout, Generator* random) {
        return nn::scaled_dot_product_attention(query, key, value, mask_of(mask, std::nullopt, is_causal), dropout,
                                                mode_of(random));
      },
      "query"_a, "key"_a, "value"_a, nb::kw_only(), "mask"_a = nb::none(), "is_causal"_a = false, "dropout"_a = 0.0,
      "random"_a.none() = nb::none(),
      "Return softmax(query @ key.T / sqrt(features) + mask) @ value.\n\nArrays have shape (batch, heads, positions, "
      "features). A mask of bool is true where there is no attention; others are added. Dropout needs a generator.");
  bind_layer<nn::MultiHeadAttention>(module, "MultiHeadAttention", "Attention in several heads.")
      .def(
          "__init__",
          [](Native<nn::MultiHeadAttention>* self, std::int64_t features, std::int64_t heads, double dropout, bool bias,
             Generator& random) {
            new (self) Native<nn::MultiHeadAttention>(nn::MultiHeadAttention(features, heads, random, {dropout, bias}));
          },
          "features"_a, "heads"_a, "dropout"_a, "bias"_a, "random"_a)
      .def(
          "attend",
          [](Native<nn::MultiHeadAttention>& self, const Tensor& query, const Tensor& key, const Tensor& value,
             const std::optional<Tensor>& mask, const std::optional<Tensor>& key_padding, bool is_causal, Caches* cache,
             Generator* random) {
            return self.computing("attention", random)
                .attend(query, key, value, mask_of(mask, key_padding, is_causal), mode_of(random), only_cache(cache));
          },
          "query"_a, "key"_a, "value"_a, "mask"_a.none(), "key_padding"_a.none(), "is_causal"_a, "cache"_a.none(),
          "random"_a.none(), "Return the attention of queries to keys and values.");
}

void bind_encoder(nb::module_& module) {
  bind_layer<nn::TransformerEncoderLayer>(module, "TransformerEncoderLayer", "A layer of an encoder.")
      .def(
          "__init__",
          [](Native<nn::TransformerEncoderLayer>* self, std::int64_t features, std::int64_t heads,
             std::int64_t feed_forward, double dropout, const std::string& activation, bool norm_first, double epsilon,
             Generator& random) {
            const nn::TransformerOptions options =
                transformer_options(feed_forward, dropout, activation, norm_first, epsilon);
            new (self)
                Native<nn::TransformerEncoderLayer>(nn::TransformerEncoderLayer(features, heads, random, options));
          },
          "features"_a, "heads"_a, "feed_forward"_a, "dropout"_a, "activation"_a, "norm_first"_a, "epsilon"_a,
          "random"_a)
      .def(
          "encode",
          [](Native<nn::TransformerEncoderLayer>& self, const Tensor& x, const std::optional<Tensor>& mask,
             const std::optional<Tensor>& key_padding, bool is_causal, Caches* cache, Generator* random) {
            return self.computing("encode", random)
                .forward(x, mask_of(mask, key_padding, is_causal), mode_of(random), only_cache(cache));
          },
          "x"_a, "mask"_a.none(), "key_padding"_a.none(), "is_causal"_a, "cache"_a.none(), "random"_a.none(),
          "Apply the layer with masks.");
  bind_layer<nn::TransformerEncoder>(module, "TransformerEncoder", "Encoder layers.")
      .def(
          "__init__",
          [](Native<nn::TransformerEncoder>* self, std::int64_t layers, std::int64_t features, std::int64_t heads,
             std::int64_t feed_forward, double dropout, const std::string& activation, bool norm_first, double epsilon,
             Generator& random) {
            const nn::TransformerOptions options =
                transformer_options(feed_forward, dropout, activation, norm_first, epsilon);
            new (self) Native<nn::TransformerEncoder>(nn::TransformerEncoder(layers, features, heads, random, options));
          },
          "layers"_a, "features"_a, "heads"_a, "feed_forward"_a, "dropout"_a, "activation"_a, "norm_first"_a,
          "epsilon"_a, "random"_a)
      .def(
          "encode",
          [](Native<nn::TransformerEncoder>& self, const Tensor& x, const std::optional<Tensor>& mask,
             const std::optional<Tensor>& key_padding, bool is_causal, Caches* cache, Generator* random) {
            return self.computing("encode", random)
                .forward(x, mask_of(mask, key_padding, is_causal), mode_of(random),
                         cache == nullptr ? nullptr : &cache->layers);
          },
          "x"_a, "mask"_a.none(), "key_padding"_a.none(), "is_causal"_a, "cache"_a.none(), "random"_a.none(),
          "Apply the layers with masks.");
}

// Layers of a decoder take a second sequence, so they are not called as others are.
template <class M>
nn::KeyValueCache* cache_for(Caches* cache)
  requires std::same_as<M, nn::TransformerDecoderLayer>
{
  return only_cache(cache);
}
template <class M>
std::vector<nn::KeyValueCache>* cache_for(Caches* cache)
  requires std::same_as<M, nn::TransformerDecoder>
{
  return cache == nullptr ? nullptr : &cache->layers;
}

template <class M>
nb::class_<Native<M>, NativeModule> bind_decoding(nb::module_& module, const char* name, const char* doc) {
  nb::class_<Native<M>, NativeModule> bound(module, name, doc);
  bound.def(
      "decode",
      [](Native<M>& self, const Tensor& x, const Tensor& memory, const std::optional<Tensor>& mask,
         const std::optional<Tensor>& key_padding, bool is_causal, const std::optional<Tensor>& memory_mask,
         const std::optional<Tensor>& memory_key_padding, Caches* cache, Generator* random) {
        return self.computing("decode", random)
            .forward(x, memory,
                     {mask_of(mask, key_padding, is_causal), mask_of(memory_mask, memory_key_padding, false)},
                     mode_of(random), cache_for<M>(cache));
      },
      "x"_a, "memory"_a, "mask"_a.none(), "key_padding"_a.none(), "is_causal"_a, "memory_mask"_a.none(),
      "memory_key_padding"_a.none(), "cache"_a.none(), "random"_a.none(), "Apply the decoder with masks.");
  return bound;
}

void bind_decoder(nb::module_& module) {
  bind_decoding<nn::TransformerDecoderLayer>(module, "TransformerDecoderLayer", "A layer of a decoder.")
      .def(
          "__init__",
          [](Native<nn::TransformerDecoderLayer>* self, std::int64_t features, std::int64_t heads,
             std::int64_t feed_forward, double dropout, const std::string& activation, bool norm_first, double epsilon,
             Generator& random) {
            const nn::TransformerOptions options =
                transformer_options(feed_forward, dropout, activation, norm_first, epsilon);
            new (self)
                Native<nn::TransformerDecoderLayer>(nn::TransformerDecoderLayer(features, heads, random, options));
          },
          "features"_a, "heads"_a, "feed_forward"_a, "dropout"_a, "activation"_a, "norm_first"_a, "epsilon"_a,
          "random"_a);
  bind_decoding<nn::TransformerDecoder>(module, "TransformerDecoder", "Decoder layers.")
      .def(
          "__init__",
          [](Native<nn::TransformerDecoder>* self, std::int64_t layers, std::int64_t features, std::int64_t heads,
             std::int64_t feed_forward, double dropout, const std::string& activation, bool norm_first, double epsilon,
             Generator& random) {
            const nn::TransformerOptions options =
                transformer_options(feed_forward, dropout, activation, norm_first, epsilon);
            new (self) Native<nn::TransformerDecoder>(nn::TransformerDecoder(layers, features, heads, random, options));
          },
          "layers"_a, "features"_a, "heads"_a, "feed_forward"_a, "dropout"_a, "activation"_a, "norm_first"_a,
          "epsilon"_a, "random"_a);
}

}  // namespace

void bind_nn_attention(nb::module_& module) {
  bind_cache(module);
  bind_attention(module);
  bind_encoder(module);
  bind_decoder(module);
}

}  // namespace vectis::python
