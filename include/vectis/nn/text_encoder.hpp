// Vectors of texts: a tokenizer, a BERT and pooling, read from the folder of a model of sentence-transformers.
//
//   const nn::TextEncoder encoder = nn::TextEncoder::load("all-MiniLM-L6-v2");
//   const nn::Tensor vectors = encoder.encode(texts);   // (texts, 384)
//
// Texts of like meaning have vectors of a small distance. docs/text-encoders.md is the guide.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vectis/array/tensor.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"
#include "vectis/nn/bert.hpp"
#include "vectis/nn/tokenizer.hpp"

namespace vectis::inline v0_1::nn {

// How the vectors of the tokens of a text become one.
enum class TextPooling : std::uint8_t {
  mean,  // their mean
  cls,   // that of the first token
  max,   // the largest element in each dimension
};

// How a text encoder is loaded. An empty field is as the folder says.
struct TextEncoderOptions {
  array::TensorOptions where = {};                        // where the model computes; by default the CPU
  DType dtype = DType::float32;                           // of weights and layers: float32 or bfloat16
  std::optional<std::int64_t> max_length = std::nullopt;  // tokens of a text; further ones are left out
  std::optional<TextPooling> pooling = std::nullopt;
  std::optional<bool> normalize = std::nullopt;  // whether vectors get length 1
};

struct TextEncoderParts;

// Computes vectors of texts. Immutable and thread-safe; copies share the model. Must not outlive its Runtime.
class VECTIS_API TextEncoder {
 public:
  // Texts that are computed together at most, unless encode() is given another number.
  static constexpr std::int64_t default_batch_size = 32;

  // Reads the model in `folder`: config.json, model.safetensors, and tokenizer.json or vocab.txt; as far as they are
  // there, modules.json with the configuration of the pooling, sentence_bert_config.json and tokenizer_config.json.
  // Without modules.json, vectors are means that are not normalized. Throws Io when a file cannot be read, CorruptData
  // when it is not what its name says or does not go together with the others, Unsupported for a model of another
  // architecture, and InvalidInput for options out of range; and what load_bert_state() throws.
  static TextEncoder load(const std::string& folder, const TextEncoderOptions& options = {});

  // Returns the vectors of texts, in their order: float32 of shape (texts, dim()) on the CPU. A text without tokens,
  // which is possible only where the tokenizer adds none, is a vector of zeros. Texts are computed in batches of like
  // length. Reports the texts that are done as "encode". Throws InvalidInput for text that is not UTF-8, with its
  // number, and a batch size below 1; Cancelled and DeadlineExceeded by `context`, which are checked before each batch;
  // and what Tensor::eval() throws.
  [[nodiscard]] Tensor encode(std::span<const std::string_view> texts, std::int64_t batch_size = default_batch_size,
                              const Context& context = {}) const;
  [[nodiscard]] Tensor encode(std::span<const std::string> texts, std::int64_t batch_size = default_batch_size,
                              const Context& context = {}) const;
  // Returns the vector of one text, of shape (dim(),). Throws as above.
  [[nodiscard]] Tensor encode(std::string_view text, const Context& context = {}) const;

  // The number of elements of a vector.
  [[nodiscard]] std::int64_t dim() const noexcept;
  // The largest number of tokens of a text that is read, with those that the tokenizer adds.
  [[nodiscard]] std::int64_t max_length() const noexcept;
  [[nodiscard]] TextPooling pooling() const noexcept;
  [[nodiscard]] bool normalizes() const noexcept;
  [[nodiscard]] const WordPieceTokenizer& tokenizer() const noexcept;
  [[nodiscard]] Device device() const;

 private:
  explicit TextEncoder(std::shared_ptr<const TextEncoderParts> parts) noexcept : parts_(std::move(parts)) {}

  std::shared_ptr<const TextEncoderParts> parts_;
};

}  // namespace vectis::inline v0_1::nn
