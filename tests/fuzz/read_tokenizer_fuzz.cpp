// Fuzzes the reader of tokenizer.json, and encodes text with every tokenizer it accepts.
#include <utility>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/nn/tokenizer.hpp"

namespace vectis::fuzz {

namespace {

// Numbers of tokens are in the range, and truncation leaves a prefix and what stands behind a text.
void use(const nn::WordPieceTokenizer& tokenizer) noexcept {
  for (const std::string_view text : {"", "unable [CLS]un\t\303\211!", "a<s> \344\270\200\340\245\215 ##able"}) {
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    for (const std::int32_t id : ids) expect(id >= 0 && id <= tokenizer.id_max());
    const std::int64_t shortest = tokenizer.added_count() + 1;
    const std::vector<std::int32_t> truncated = tokenizer.encode(text, shortest);
    expect(std::cmp_less_equal(truncated.size(), shortest) && truncated.size() <= ids.size());
  }
}

void read_and_use(BytesView file) { use(nn::WordPieceTokenizer::from_json(text_of(file))); }

std::vector<Bytes> seeds() {
  return {
      bytes_of(
          R"({"added_tokens":[{"id":2,"content":"[CLS]","normalized":false},{"id":9,"content":"<s>","single_word":true,)"
          R"("lstrip":true,"rstrip":true,"normalized":true}],"normalizer":{"type":"BertNormalizer","clean_text":true,)"
          R"("handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":)"
          R"("BertPreTokenizer"},"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]",)"
          R"("type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[2]}}},)"
          R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
          R"("max_input_chars_per_word":100,"vocab":{"[UNK]":1,"[CLS]":2,"un":3,"##able":4,"!":5}}})"),
      bytes_of(R"({"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing",)"
               R"("sep":["[SEP]",3],"cls":["[CLS]",2]},"model":{"unk_token":"x","max_input_chars_per_word":4,)"
               R"("vocab":{"x":0,"a":7}}})"),
  };
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
