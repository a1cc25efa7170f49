// The folder of a small text encoder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/nn/safetensors.hpp"
#include "vectis/nn/text_encoder.hpp"

namespace vectis::test {

// A text encoder of random weights in a folder, whose words are "a" to "j".
class RandomTextModel {
 public:
  static constexpr nn::BertOptions sizes{.vocab_size = 14,
                                         .hidden_size = 12,
                                         .num_hidden_layers = 2,
                                         .num_attention_heads = 3,
                                         .intermediate_size = 20,
                                         .max_position_embeddings = 9,
                                         .type_vocab_size = 2};

  RandomTextModel() {
    write("config.json",
          R"({"model_type":"bert","vocab_size":14,"hidden_size":12,"num_hidden_layers":2,"num_attention_heads":3,)"
          R"("intermediate_size":20,"max_position_embeddings":9,"type_vocab_size":2,"hidden_act":"gelu"})");
    write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
    write("modules.json", R"([{"type":"sentence_transformers.models.Transformer","path":""},)"
                          R"({"type":"sentence_transformers.models.Pooling","path":"1_Pooling"},)"
                          R"({"type":"sentence_transformers.models.Normalize","path":"2_Normalize"}])");
    write_pooling(R"("pooling_mode_mean_tokens":true)");
    nn::Generator random(seed());
    nn::Bert model(sizes, random);
    for (nn::Tensor* parameter : nn::parameters(model)) *parameter = random.normal(parameter->shape(), 0, 0.4);
    state_ = nn::state_dict(model);
    nn::save_safetensors(folder_.path("model.safetensors"), state_);
  }

  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.path(name)).parent_path());
    std::ofstream(folder_.path(name)) << text;
  }
  void write_pooling(const std::string& members) const { write("1_Pooling/config.json", "{" + members + "}"); }
  void remove(const std::string& name) const { std::filesystem::remove_all(folder_.path(name)); }

  [[nodiscard]] nn::TextEncoder load(const nn::TextEncoderOptions& options = {}) const {
    return nn::TextEncoder::load(folder_.folder().string(), options);
  }
  [[nodiscard]] const nn::StateDict& state() const noexcept { return state_; }

 private:
  TemporaryFolder folder_;
  nn::StateDict state_;
};

}  // namespace vectis::test
