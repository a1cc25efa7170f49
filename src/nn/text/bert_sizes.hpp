// The sizes of a BERT and their limits, which keep products of sizes below 2^63.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "vectis/nn/bert.hpp"

namespace vectis::inline v0_1::nn {

struct BertSize {
  std::string_view name;  // in config.json
  std::int64_t BertOptions::* field;
  std::int64_t max;
};
inline constexpr std::array<BertSize, 7> bert_sizes = {{
    {"vocab_size", &BertOptions::vocab_size, std::int64_t{1} << 24},
    {"hidden_size", &BertOptions::hidden_size, std::int64_t{1} << 16},
    {"num_hidden_layers", &BertOptions::num_hidden_layers, 1024},
    {"num_attention_heads", &BertOptions::num_attention_heads, 1024},
    {"intermediate_size", &BertOptions::intermediate_size, std::int64_t{1} << 20},
    {"max_position_embeddings", &BertOptions::max_position_embeddings, std::int64_t{1} << 20},
    {"type_vocab_size", &BertOptions::type_vocab_size, std::int64_t{1} << 16},
}};

}  // namespace vectis::inline v0_1::nn
