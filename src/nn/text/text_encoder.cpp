#include "vectis/nn/text_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "nn/check.hpp"
#include "nn/parsed_file.hpp"
#include "nn/text/text_encoder_config.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

struct TextEncoderParts {
  WordPieceTokenizer tokenizer;
  Bert model;
  TextPooling pooling;
  bool normalizes;
  std::int64_t max_length;
};

namespace {

using TokenIds = std::vector<std::int32_t>;

void check_weights_type(DType type) {
  if (type == DType::float32 || type == DType::bfloat16) return;
  throw_invalid(text_encoder_op, fmt::format("dtype is {}; give float32 or bfloat16", vectis::name(type)));
}

void check_tokenizer(const WordPieceTokenizer& tokenizer, const BertOptions& sizes, const TextEncoderConfig& config) {
  if (tokenizer.id_max() >= sizes.vocab_size) {
    throw_corrupt_file(text_encoder_op, fmt::format("{}: the tokenizer has a token of number {}, but the model has {} "
                                                    "embeddings",
                                                    config.network_folder, tokenizer.id_max(), sizes.vocab_size));
  }
  if (config.lowercases && !tokenizer.is_lowercase()) {
    throw Error(ErrorCode::unsupported, text_encoder_op,
                fmt::format("{}: do_lower_case is true, but the tokenizer keeps capitals; set it to false, and convert "
                            "texts before they are encoded",
                            config.network_folder));
  }
}

// The largest number of tokens of a text: of the options, which must be in the range, or of the files.
std::int64_t length_limit(const std::optional<std::int64_t>& given, const TextEncoderConfig& config,
                          const WordPieceTokenizer& tokenizer, const BertOptions& sizes) {
  const std::int64_t min = tokenizer.added_count() + 1;
  const std::int64_t max = sizes.max_position_embeddings;
  if (given && (*given < min || *given > max)) {
    throw_invalid(text_encoder_op, fmt::format("max_length is {}; give {} to {}", *given, min, max));
  }
  const std::int64_t limit = std::min(given.value_or(config.max_length.value_or(max)), max);
  if (limit >= min) return limit;
  throw_corrupt_file(text_encoder_op, fmt::format("{}: texts may have {} tokens, of which the tokenizer adds {}",
                                                  config.network_folder, limit, tokenizer.added_count()));
}

// Numbers of tokens padded to one length, and where they are padded.
struct PaddedBatch {
  Tensor ids;      // (texts, tokens)
  Tensor padding;  // bool, of the same shape
};

PaddedBatch padded(std::span<const TokenIds> texts, std::span<const std::size_t> chosen, const Tensor& beside) {
  std::size_t length = 0;
  for (const std::size_t text : chosen) length = std::max(length, texts[text].size());
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> padding;
  for (const std::size_t text : chosen) {
    ids.insert(ids.end(), texts[text].begin(), texts[text].end());
    padding.resize(ids.size(), 0);
    ids.resize(ids.size() + length - texts[text].size(), 0);
    padding.resize(ids.size(), 1);
  }
  const Shape shape = {static_cast<std::int64_t>(chosen.size()), static_cast<std::int64_t>(length)};
  const array::TensorOptions here{.device = beside.device()};
  return {Tensor::from_cpu(ids, shape, here),
          Tensor::from_bytes(std::as_bytes(std::span(padding)), DType::boolean, shape, here)};
}

// (texts, tokens, dim) as (texts, dim).
Tensor pool(const Tensor& tokens, const Tensor& padding, TextPooling pooling) {
  if (pooling == TextPooling::cls) return array::select(tokens, 1, 0);
  const Tensor is_padding = expand_dims(padding, -1);
  if (pooling == TextPooling::max) {
    return array::max(where(is_padding, -std::numeric_limits<double>::infinity(), tokens), {1});
  }
  const Tensor counts = sum(logical_not(is_padding).astype(DType::float32), {1});
  return sum(where(is_padding, 0, tokens), {1}) / counts;
}

// Rows of length 1; rows of zeros stay.
Tensor normalized(const Tensor& rows) {
  constexpr double min_length = 1e-12;  // of PyTorch's normalize
  return rows / maximum(norm(rows, {1}, true), min_length);
}

Tensor encode_batch(const TextEncoderParts& parts, const PaddedBatch& batch) {
  const Tensor tokens = parts.model.forward(batch.ids, {.padding = batch.padding}).astype(DType::float32);
  const Tensor rows = pool(tokens, batch.padding, parts.pooling);
  return parts.normalizes ? normalized(rows) : rows;
}

template <class Text>
std::vector<TokenIds> tokenize(const TextEncoderParts& parts, std::span<const Text> texts, const Context& context,
                               const Executor& executor) {
  constexpr std::size_t checked_interval = 256;  // texts, some milliseconds
  std::vector<TokenIds> tokens;
  tokens.reserve(texts.size());
  for (const Text& text : texts) {
    if (tokens.size() % checked_interval == 0) context.check("encode", executor);
    try {
      tokens.push_back(parts.tokenizer.encode(text, parts.max_length));
    } catch (const Error& error) {
      throw error_in_layer(fmt::format("text {}", tokens.size()), error);
    }
  }
  return tokens;
}

// The positions of the texts that have tokens, the longest first: a batch has little padding then, and the first one,
// which takes the most memory, fails at once when memory is short.
std::vector<std::size_t> longest_first(std::span<const TokenIds> tokens) {
  std::vector<std::size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t text) { return tokens[text].empty(); });
  std::ranges::sort(order, {}, [&](std::size_t text) { return std::pair(-std::ssize(tokens[text]), text); });
  return order;
}

// The first texts of those that are left, sorted by length, that are computed together: none is shorter than half of
// the longest, so that less than half of a batch is padding.
std::span<const std::size_t> next_batch(std::span<const TokenIds> tokens, std::span<const std::size_t> left,
                                        std::int64_t batch_size) {
  const std::size_t longest = tokens[left.front()].size();
  std::size_t count = 1;
  while (count < left.size() && std::cmp_less(count, batch_size) && 2 * tokens[left[count]].size() >= longest) ++count;
  return left.first(count);
}

template <class Text>
Tensor encode_texts(const TextEncoderParts& parts, std::span<const Text> texts, std::int64_t batch_size,
                    const Context& context) {
  check_min(text_encoder_op, "batch_size", batch_size);
  const Tensor& weights = parts.model.word_embeddings.weight;
  const Executor& executor = array::runtime_of(weights).executor();
  const std::vector<TokenIds> tokens = tokenize(parts, texts, context, executor);
  const auto dim = static_cast<std::size_t>(parts.model.options().hidden_size);
  std::vector<float> vectors(texts.size() * dim);
  const std::vector<std::size_t> order = longest_first(tokens);
  std::span<const std::size_t> left(order);
  while (!left.empty()) {
    context.check("encode", executor);
    const std::span<const std::size_t> batch = next_batch(tokens, left, batch_size);
    const std::vector<float> rows = encode_batch(parts, padded(tokens, batch, weights)).template to_cpu<float>();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::copy_n(rows.data() + i * dim, dim, vectors.data() + batch[i] * dim);
    }
    left = left.subspan(batch.size());
    context.report_progress("encode", order.size() - left.size(), order.size());
  }
  return Tensor::from_cpu(vectors, {static_cast<std::int64_t>(texts.size()), parts.model.options().hidden_size},
                          {.runtime = &array::runtime_of(weights)});
}

}  // namespace

TextEncoder TextEncoder::load(const std::string& folder, const TextEncoderOptions& options) {
  check_weights_type(options.dtype);
  const TextEncoderConfig config = read_text_encoder_config(folder);
  WordPieceTokenizer tokenizer = WordPieceTokenizer::load(config.network_folder);
  const BertOptions sizes = read_bert_config(config.network_folder + "/config.json");
  check_tokenizer(tokenizer, sizes, config);
  const std::int64_t max_length = length_limit(options.max_length, config, tokenizer, sizes);
  return TextEncoder(std::make_shared<const TextEncoderParts>(TextEncoderParts{
      .tokenizer = std::move(tokenizer),
      .model = load_bert(config.network_folder, options.where, options.dtype),
      .pooling = options.pooling.value_or(config.pooling),
      .normalizes = options.normalize.value_or(config.normalizes),
      .max_length = max_length,
  }));
}

Tensor TextEncoder::encode(std::span<const std::string_view> texts, std::int64_t batch_size,
                           const Context& context) const {
  return encode_texts(*parts_, texts, batch_size, context);
}

Tensor TextEncoder::encode(std::span<const std::string> texts, std::int64_t batch_size, const Context& context) const {
  return encode_texts(*parts_, texts, batch_size, context);
}

Tensor TextEncoder::encode(std::string_view text, const Context& context) const {
  return encode_texts(*parts_, std::span<const std::string_view>(&text, 1), 1, context).reshape({dim()});
}

std::int64_t TextEncoder::dim() const noexcept { return parts_->model.options().hidden_size; }
std::int64_t TextEncoder::max_length() const noexcept { return parts_->max_length; }
TextPooling TextEncoder::pooling() const noexcept { return parts_->pooling; }
bool TextEncoder::normalizes() const noexcept { return parts_->normalizes; }
const WordPieceTokenizer& TextEncoder::tokenizer() const noexcept { return parts_->tokenizer; }
Device TextEncoder::device() const { return parts_->model.word_embeddings.weight.device(); }

}  // namespace vectis::inline v0_1::nn
