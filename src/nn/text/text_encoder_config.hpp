// The configuration of a model of sentence-transformers, beside that of its network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vectis/nn/text_encoder.hpp"

namespace vectis::inline v0_1::nn {

inline constexpr std::string_view text_encoder_op = "text_encoder";

struct TextEncoderConfig {
  std::string network_folder;  // where config.json, the weights and the tokenizer are
  TextPooling pooling = TextPooling::mean;
  bool normalizes = false;
  bool lowercases = false;  // texts, before the tokenizer
  std::optional<std::int64_t> max_length = std::nullopt;
};
// Reads modules.json and what it names. Throws CorruptData and Unsupported as TextEncoder::load does.
[[nodiscard]] TextEncoderConfig read_text_encoder_config(const std::string& folder);

}  // namespace vectis::inline v0_1::nn
