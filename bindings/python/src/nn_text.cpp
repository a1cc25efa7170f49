// Tokenizers, BERT and text encoders.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "calls.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "nn_layers.hpp"
#include "nn_names.hpp"
#include "options.hpp"
#include "text.hpp"
#include "vectis/nn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

using array::Generator;
using nn::BertOptions;
using nn::TextEncoder;
using nn::TextPooling;
using nn::WordPieceTokenizer;

constexpr std::string_view encode_op = "encode";

// Its weights are released without the GIL.
struct PyTextEncoder {
  std::unique_ptr<const TextEncoder, DestroyWithoutGil> encoder;
};

constexpr std::array<std::pair<std::string_view, TextPooling>, 3> pooling_names = {{
    {"mean", TextPooling::mean},
    {"cls", TextPooling::cls},
    {"max", TextPooling::max},
}};

TextPooling pooling_named(std::string_view name) {
  for (const auto& [known, pooling] : pooling_names) {
    if (known == name) return pooling;
  }
  throw_invalid_input("text_encoder", fmt::format("pooling is '{}'; give 'mean', 'cls' or 'max'", name));
}

std::string_view name_of(TextPooling pooling) { return pooling_names.at(static_cast<std::size_t>(pooling)).first; }

std::string text_in(nb::handle object, std::string_view what) {
  if (PyUnicode_Check(object.ptr())) return as_utf8(object, encode_op, what);
  throw_invalid_input(encode_op, fmt::format("{} is of type {}; give a str", what, class_name(object)));
}

std::vector<std::string> texts_in(nb::handle objects) {
  std::vector<std::string> texts;
  for (const nb::handle object : nb::borrow(objects)) {
    texts.push_back(text_in(object, fmt::format("text {}", texts.size())));
  }
  return texts;
}

// The bytes of texts stand for the work of a call.
std::size_t bytes_of(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

Tensor encode(const TextEncoder& encoder, nb::handle given, std::int64_t batch_size, nb::handle progress,
              const std::optional<double>& timeout, const CancelSource* cancel) {
  const bool is_single = PyUnicode_Check(given.ptr()) != 0;
  const std::vector<std::string> texts = is_single ? std::vector{text_in(given, "the text")} : texts_in(given);
  const Call call({.timeout = timeout,
                   .cancel = cancel,
                   .progress = progress,
                   .elements = bytes_of(texts) * static_cast<std::size_t>(encoder.dim()),
                   .only_reads = true});
  return call.run([&](const Context& context) {
    const Tensor vectors = encoder.encode(texts, batch_size, context);
    return is_single ? vectors.reshape({encoder.dim()}) : vectors;
  });
}

void bind_tokenizer(nb::module_& module) {
  nb::class_<WordPieceTokenizer>(module, "WordPieceTokenizer",
                                 "Splits text into the tokens of a vocabulary, as BERT and the models made from it do."
                                 "\n\nReturns the numbers that the package `tokenizers` returns for the same file "
                                 "without its truncation and padding. Immutable; threads may share it.")
      .def_static(
          "load",
          [](nb::handle folder) {
            const std::string path = file_path(folder);
            return without_gil([&] { return WordPieceTokenizer::load(path); });
          },
          "folder"_a, nb::sig("def load(folder: str | os.PathLike[str]) -> WordPieceTokenizer"),
          "Read tokenizer.json in a folder, or where there is none vocab.txt with tokenizer_config.json.\n\nRaises "
          "UnsupportedError for a tokenizer that is not one of a BERT-like model.")
      .def_static(
          "from_json",
          [](const std::string& text) { return without_gil([&] { return WordPieceTokenizer::from_json(text); }); },
          "text"_a, "Read the text of a tokenizer.json.")
      .def(
          "encode",
          [](const WordPieceTokenizer& self, nb::handle text, const std::optional<std::int64_t>& max_length) {
            const std::string bytes = text_in(text, "the text");
            return without_gil([&] { return self.encode(bytes, max_length); });
          },
          "text"_a, "max_length"_a = nb::none(),
          nb::sig("def encode(self, text: str, max_length: int | None = None) -> list[int]"),
          "Return the numbers of the tokens of a text, at most `max_length`.\n\nThose that belong before and behind a "
          "text are among them.")
      .def("id", &WordPieceTokenizer::id, "token"_a,
           "Return the number of a token; None when it is not in the vocabulary.")
      .def_prop_ro("id_max", &WordPieceTokenizer::id_max, "The largest number of a token.")
      .def_prop_ro("added_count", &WordPieceTokenizer::added_count,
                   "The number of tokens that stand before and behind each text.")
      .def_prop_ro("is_lowercase", &WordPieceTokenizer::is_lowercase, "Whether text is converted to lowercase.");
}

void bind_bert(nb::module_& module) {
  using NativeBert = Native<nn::Bert>;
  bind_layer<nn::Bert>(module, "Bert", "BERT without a pooler.")
      .def(
          "__init__",
          [](NativeBert* self, std::int64_t vocab_size, std::int64_t hidden_size, std::int64_t num_hidden_layers,
             std::int64_t num_attention_heads, std::int64_t intermediate_size, std::int64_t max_position_embeddings,
             std::int64_t type_vocab_size, const std::string& hidden_act, double layer_norm_eps,
             double hidden_dropout_prob, double attention_probs_dropout_prob, Generator& random) {
            const BertOptions options{vocab_size,
                                      hidden_size,
                                      num_hidden_layers,
                                      num_attention_heads,
                                      intermediate_size,
                                      max_position_embeddings,
                                      type_vocab_size,
                                      activation_named(hidden_act),
                                      layer_norm_eps,
                                      hidden_dropout_prob,
                                      attention_probs_dropout_prob};
            new (self) NativeBert(nn::Bert(options, random));
          },
          "vocab_size"_a, "hidden_size"_a, "num_hidden_layers"_a, "num_attention_heads"_a, "intermediate_size"_a,
          "max_position_embeddings"_a, "type_vocab_size"_a, "hidden_act"_a, "layer_norm_eps"_a, "hidden_dropout_prob"_a,
          "attention_probs_dropout_prob"_a, "random"_a)
      .def(
          "encode",
          [](NativeBert& self, const Tensor& ids, const std::optional<Tensor>& padding,
             const std::optional<Tensor>& token_types, Generator* random) {
            return self.computing("bert", random)
                .forward(ids, {padding.value_or(Tensor()), token_types.value_or(Tensor())}, mode_of(random));
          },
          "ids"_a, "padding"_a.none(), "token_types"_a.none(), "random"_a.none(), "Encode numbers of tokens.")
      .def_prop_ro(
          "options",
          [](NativeBert& self) {
            const BertOptions& options = self.module().options();
            return nb::make_tuple(options.vocab_size, options.hidden_size, options.num_hidden_layers,
                                  options.num_attention_heads, options.intermediate_size,
                                  options.max_position_embeddings, options.type_vocab_size,
                                  std::string(nn::name(options.hidden_act)), options.layer_norm_eps,
                                  options.hidden_dropout_prob, options.attention_probs_dropout_prob);
          },
          nb::sig("def options(self) -> tuple[typing.Any, ...]"), "What the constructor takes.");
  module.def(
      "load_bert",
      [](nb::handle folder, const std::optional<DeviceArgument>& device, const DTypeArgument& dtype) {
        const std::string path = file_path(folder);
        const TensorOptions where = tensor_options(device);
        const DType type = dtype.type.value_or(DType::float32);
        return std::make_unique<NativeBert>(without_gil([&] { return nn::load_bert(path, where, type); }));
      },
      "folder"_a, "device"_a.none(), "dtype"_a.none(),
      nb::sig("def load_bert(folder: str | os.PathLike[str], device: vectis._vectis.Device | int | str | None, dtype: "
              "vectis._types.ArrayDType | None) -> Bert"),
      "Read config.json and model.safetensors in a folder.");
}

void bind_text_encoder(nb::module_& module) {
  nb::class_<PyTextEncoder>(module, "TextEncoder",
                            "Computes vectors of texts by a model of sentence-transformers, such as "
                            "all-MiniLM-L6-v2.\n\nTexts of like meaning have vectors of a small distance. Immutable; "
                            "threads may share it.")
      .def_static(
          "load",
          [](nb::handle folder, const std::optional<DeviceArgument>& device, const DTypeArgument& dtype,
             const std::optional<std::int64_t>& max_length, const std::optional<std::string>& pooling,
             const std::optional<bool>& normalize) {
            const std::string path = file_path(folder);
            nn::TextEncoderOptions options{.where = tensor_options(device),
                                           .dtype = dtype.type.value_or(DType::float32),
                                           .max_length = max_length,
                                           .normalize = normalize};
            if (pooling) options.pooling = pooling_named(*pooling);
            return PyTextEncoder{without_gil([&] {
              return std::unique_ptr<const TextEncoder, DestroyWithoutGil>(
                  new TextEncoder(TextEncoder::load(path, options)));
            })};
          },
          "folder"_a, nb::kw_only(), "device"_a = nb::none(), "dtype"_a = nb::none(), "max_length"_a = nb::none(),
          "pooling"_a = nb::none(), "normalize"_a = nb::none(),
          nb::sig("def load(folder: str | os.PathLike[str], *, device: vectis._vectis.Device | int | str | None = "
                  "None, dtype: vectis._types.ArrayDType | None = None, max_length: int | None = None, pooling: "
                  "typing.Literal['mean', 'cls', 'max'] | None = None, normalize: bool | None = None) -> TextEncoder"),
          "Read the model in a folder: configurations, model.safetensors and the tokenizer.\n\nComputes on `device`, "
          "by "
          "default the CPU, with weights of `dtype`, float32 or bfloat16. What else is None is as the folder says: how "
          "many tokens of a text are read, how their vectors become one, and whether it gets length 1.")
      .def(
          "encode",
          [](const PyTextEncoder& self, nb::handle texts, std::int64_t batch_size, nb::handle progress,
             const std::optional<double>& timeout, const CancelSource* cancel) {
            return to_array(encode(*self.encoder, texts, batch_size, progress, timeout, cancel));
          },
          "texts"_a, "batch_size"_a = TextEncoder::default_batch_size, nb::kw_only(), "progress"_a = nb::none(),
          "timeout"_a = nb::none(), "cancel"_a = nb::none(),
          nb::sig("def encode(self, texts: str | collections.abc.Iterable[str], batch_size: int = 32, *, progress: "
                  "typing.Any = None, timeout: float | None = None, cancel: vectis._vectis.CancelSource | None = None) "
                  "-> Array"),
          "Return the vectors of texts, float32 of shape (texts, dim) on the CPU, or of one text of shape (dim,).\n\n"
          "`batch_size` texts of like length are computed together. `progress`, `timeout` and `cancel` are those of "
          "other long calls.")
      .def_prop_ro(
          "dim", [](const PyTextEncoder& self) { return self.encoder->dim(); }, "The number of elements of a vector.")
      .def_prop_ro(
          "max_length", [](const PyTextEncoder& self) { return self.encoder->max_length(); },
          "The largest number of tokens of a text that is read.")
      .def_prop_ro(
          "pooling", [](const PyTextEncoder& self) { return std::string(name_of(self.encoder->pooling())); },
          "How the vectors of tokens become one: 'mean', 'cls' or 'max'.")
      .def_prop_ro(
          "normalizes", [](const PyTextEncoder& self) { return self.encoder->normalizes(); },
          "Whether vectors get length 1.")
      .def_prop_ro(
          "tokenizer", [](const PyTextEncoder& self) { return self.encoder->tokenizer(); },
          "The tokenizer of the model.")
      .def("__repr__", [](const PyTextEncoder& self) {
        const TextEncoder& encoder = *self.encoder;
        return fmt::format("<TextEncoder: {} dimensions, {} tokens, {} pooling{}>", encoder.dim(), encoder.max_length(),
                           name_of(encoder.pooling()), encoder.normalizes() ? ", normalized" : "");
      });
}

}  // namespace

void bind_nn_text(nb::module_& module) {
  bind_tokenizer(module);
  bind_bert(module);
  bind_text_encoder(module);
}

}  // namespace vectis::python
