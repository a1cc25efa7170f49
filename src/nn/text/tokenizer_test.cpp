#include "vectis/nn/tokenizer.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "tests/support/expect_error.hpp"
#include "tests/support/model.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/base/random.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;

const std::vector<std::string> small_vocabulary = {"[PAD]", "[UNK]",  "[CLS]", "[SEP]", "[MASK]", "un",
                                                   "##aff", "##able", "!",     "a",     "é"};

constexpr std::string_view small_model =
    R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":12,)"
    R"("vocab":{"[UNK]":1,"[CLS]":2,"[SEP]":3,"un":5,"##aff":6,"##able":7,"!":8,"a":9,"é":10}})";
constexpr std::string_view small_template =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},)"
    R"({"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],)"
    R"("special_tokens":{"[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},"[SEP]":{"ids":[3]}}})";

// The parts of a tokenizer.json, to be replaced by others.
struct JsonParts {
  std::string added = "[]";
  std::string normalizer = R"({"type":"BertNormalizer"})";
  std::string pre_tokenizer = R"({"type":"BertPreTokenizer"})";
  std::string post_processor = std::string(small_template);
  std::string model = std::string(small_model);

  [[nodiscard]] std::string text() const {
    return fmt::format(
        R"({{"version":"1.0","truncation":null,"added_tokens":{},"normalizer":{},"pre_tokenizer":{},"post_processor":{},)"
        R"("decoder":null,"model":{}}})",
        added, normalizer, pre_tokenizer, post_processor, model);
  }
  [[nodiscard]] WordPieceTokenizer tokenizer() const { return WordPieceTokenizer::from_json(text()); }
};

TEST(TokenizerTest, TakesTheLongestPieces) {
  const WordPieceTokenizer tokenizer = JsonParts().tokenizer();
  EXPECT_THAT(tokenizer.encode("unaffable!"), ElementsAre(2, 5, 6, 7, 8, 3));
  EXPECT_THAT(tokenizer.encode("Unable un"), ElementsAre(2, 5, 7, 5, 3));
  EXPECT_THAT(tokenizer.encode("una"), ElementsAre(2, 1, 3)) << "no piece is ##a";
  EXPECT_THAT(tokenizer.encode(""), ElementsAre(2, 3));
  EXPECT_THAT(tokenizer.encode("unaffableable"), ElementsAre(2, 1, 3)) << "more than 12 characters";
  EXPECT_EQ(tokenizer.id("##able"), 7);
  EXPECT_EQ(tokenizer.id("able"), std::nullopt);
  EXPECT_EQ(tokenizer.id_max(), 10);
  EXPECT_EQ(tokenizer.added_count(), 2);
  EXPECT_TRUE(tokenizer.is_lowercase());
}

TEST(TokenizerTest, TruncatesBeforeTheLastToken) {
  const WordPieceTokenizer tokenizer = JsonParts().tokenizer();
  EXPECT_THAT(tokenizer.encode("unaffable!", 4), ElementsAre(2, 5, 6, 3));
  EXPECT_THAT(tokenizer.encode("unaffable!", 3), ElementsAre(2, 5, 3));
  EXPECT_THAT(tokenizer.encode("un", 512), ElementsAre(2, 5, 3));
  for (const std::int64_t length : {std::int64_t{2}, std::int64_t{0}, std::int64_t{-1}}) {
    EXPECT_ERROR(static_cast<void>(tokenizer.encode("un", length)), ErrorCode::invalid_input, "give at least 3");
  }
}

TEST(TokenizerTest, FindsAddedTokensAsTheyAreWritten) {
  JsonParts parts;
  parts.added =
      R"([{"id":3,"content":"[SEP]","normalized":false},{"id":20,"content":"[SEP]]","normalized":false},)"
      R"({"id":21,"content":"UN","normalized":true},{"id":22,"content":"<s>","single_word":true,"normalized":false},)"
      R"({"id":23,"content":"<m>","lstrip":true,"rstrip":true,"normalized":false}])";
  const WordPieceTokenizer tokenizer = parts.tokenizer();
  EXPECT_THAT(tokenizer.encode("a[SEP]a"), ElementsAre(2, 9, 3, 9, 3));
  EXPECT_THAT(tokenizer.encode("[SEP]]"), ElementsAre(2, 20, 3)) << "the longest";
  EXPECT_THAT(tokenizer.encode("aUna"), ElementsAre(2, 9, 21, 9, 3)) << "normalized as the text is";
  EXPECT_THAT(tokenizer.encode("a <s>!"), ElementsAre(2, 9, 22, 8, 3));
  EXPECT_THAT(tokenizer.encode("<s>"), ElementsAre(2, 22, 3));
  EXPECT_THAT(tokenizer.encode("a<s>"), ElementsAre(2, 9, 1, 1, 1, 3)) << "not a word of its own";
  EXPECT_THAT(tokenizer.encode("a \t<m> \n<m>  a"), ElementsAre(2, 9, 23, 23, 9, 3));
  EXPECT_EQ(tokenizer.id_max(), 23);
}

TEST(TokenizerTest, ReadsOtherForms) {
  JsonParts parts;
  parts.normalizer = "null";
  EXPECT_THAT(parts.tokenizer().encode("a É é"), ElementsAre(2, 9, 1, 10, 3)) << "as it is written";
  EXPECT_FALSE(parts.tokenizer().is_lowercase());
  parts.normalizer = R"({"type":"BertNormalizer","strip_accents":false,"lowercase":true})";
  EXPECT_THAT(parts.tokenizer().encode("a É"), ElementsAre(2, 9, 10, 3));
  parts.post_processor = "null";
  EXPECT_THAT(parts.tokenizer().encode("a"), ElementsAre(9));
  EXPECT_THAT(parts.tokenizer().encode(""), ElementsAre());
  parts.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]})";
  EXPECT_THAT(parts.tokenizer().encode("a"), ElementsAre(2, 9, 3));
  parts.model.erase(1, std::string_view(R"("type":"WordPiece",)").size());
  EXPECT_THAT(parts.tokenizer().encode("a"), ElementsAre(2, 9, 3)) << "of the first versions";
}

TEST(TokenizerTest, RejectsWhatIsNotSupported) {
  const auto expect_unsupported = [](std::string JsonParts::* replaced, const std::string& text,
                                     const std::string& message) {
    JsonParts parts;
    parts.*replaced = text;
    EXPECT_ERROR(static_cast<void>(parts.tokenizer()), ErrorCode::unsupported, message);
  };
  expect_unsupported(&JsonParts::model, R"({"type":"BPE","vocab":{},"merges":[]})", "'BPE'");
  expect_unsupported(&JsonParts::model, R"({"vocab":{},"merges":[],"max_input_chars_per_word":1})", "model");
  expect_unsupported(&JsonParts::normalizer, R"({"type":"NFKC"})", "'NFKC'");
  expect_unsupported(&JsonParts::pre_tokenizer, R"({"type":"ByteLevel"})", "'ByteLevel'");
  expect_unsupported(&JsonParts::pre_tokenizer, "null", "pre-tokenizer");
  expect_unsupported(&JsonParts::post_processor, R"({"type":"RobertaProcessing"})", "'RobertaProcessing'");
  expect_unsupported(&JsonParts::post_processor,
                     R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x","type_id":1}}]})", "type");
}

TEST(TokenizerTest, RejectsCorruptFiles) {
  const auto expect_corrupt = [](std::string JsonParts::* replaced, const std::string& text,
                                 const std::string& message) {
    JsonParts parts;
    parts.*replaced = text;
    EXPECT_ERROR(static_cast<void>(parts.tokenizer()), ErrorCode::corrupt_data, message);
  };
  EXPECT_ERROR(WordPieceTokenizer::from_json("["), ErrorCode::corrupt_data, "byte");
  EXPECT_ERROR(WordPieceTokenizer::from_json("[]"), ErrorCode::corrupt_data, "not an object");
  EXPECT_ERROR(WordPieceTokenizer::from_json("{}"), ErrorCode::corrupt_data, "no model");
  expect_corrupt(&JsonParts::model, R"({"type":"WordPiece","vocab":{"a":0}})", "no token '[UNK]'");
  expect_corrupt(&JsonParts::model, R"({"type":"WordPiece","vocab":{"[UNK]":-1}})", "is -1");
  expect_corrupt(&JsonParts::model, R"({"type":"WordPiece","vocab":{"[UNK]":2147483648}})", "2147483648");
  expect_corrupt(&JsonParts::model, R"({"type":"WordPiece","vocab":[]})", "an array");
  expect_corrupt(&JsonParts::model, R"({"type":"WordPiece","max_input_chars_per_word":-5,"vocab":{"[UNK]":0}})", "-5");
  expect_corrupt(&JsonParts::added, R"([{"id":4,"content":"un"}])", "has number 4, but 5");
  expect_corrupt(&JsonParts::added, R"([{"id":4}])", "no content");
  expect_corrupt(&JsonParts::post_processor, R"({"type":"BertProcessing","sep":["[SEP]"],"cls":["[CLS]",2]})",
                 "sep of");
  expect_corrupt(&JsonParts::post_processor, R"({"type":"TemplateProcessing","single":[]})", "text");
  expect_corrupt(&JsonParts::post_processor,
                 R"({"type":"TemplateProcessing","single":[{"Sequence":{}},{"Sequence":{}}]})", "once");
}

TEST(TokenizerTest, ReadsVocabularyFilesWithTheirConfiguration) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(WordPieceTokenizer::load(folder.folder().string()), ErrorCode::io, "tokenizer.json", "vocab.txt");
  std::ofstream vocabulary(folder.path("vocab.txt"));
  for (const std::string& token : small_vocabulary) vocabulary << token << "\r\n";
  vocabulary.close();
  const WordPieceTokenizer plain = WordPieceTokenizer::load(folder.folder().string());
  EXPECT_THAT(plain.encode("UNAFFABLE [MASK]é"), ElementsAre(2, 5, 6, 7, 4, 1, 3)) << "é becomes e, which is unknown";
  std::ofstream(folder.path("tokenizer_config.json"))
      << R"({"do_lower_case":true,"strip_accents":false,"mask_token":{"content":"un"},"cls_token":"a"})";
  const WordPieceTokenizer configured = WordPieceTokenizer::load(folder.folder().string());
  EXPECT_THAT(configured.encode("É unable"), ElementsAre(9, 10, 5, 9, 1, 3)) << "un and a are special";
  std::ofstream(folder.path("tokenizer_config.json")) << R"({"do_basic_tokenize":false})";
  EXPECT_ERROR(WordPieceTokenizer::load(folder.folder().string()), ErrorCode::unsupported, "do_basic_tokenize",
               "tokenizer_config.json");
  std::ofstream(folder.path("tokenizer_config.json")) << R"({"sep_token":"</s>"})";
  EXPECT_ERROR(WordPieceTokenizer::load(folder.folder().string()), ErrorCode::corrupt_data, "'</s>'", "vocab.txt");
}

TEST(TokenizerTest, RejectsTextThatIsNotUtf8) {
  EXPECT_ERROR(static_cast<void>(JsonParts().tokenizer().encode("un\xff")), ErrorCode::invalid_input, "byte 2 of 3");
}

// What PyPI's tokenizers 0.23.3 returns for the model's tokenizer.json, without truncation and padding.
const std::vector<std::pair<std::string, std::vector<std::int32_t>>> minilm_ids = {
    {"", {101, 102}},
    {"Hello, World!", {101, 7592, 1010, 2088, 999, 102}},
    {"semantic search", {101, 21641, 3945, 102}},
    {"a[SEP]b[MASK]", {101, 1037, 102, 1038, 103, 102}},
    {"[mask]", {101, 1031, 7308, 1033, 102}},
    {"caf\303\251 na\303\257ve \303\205ngstr\303\266m", {101, 7668, 15743, 17076, 15687, 102}},
    {"\304\260stanbul \316\237\316\224\316\237\316\243", {101, 9960, 1169, 29722, 29730, 29733, 102}},
    {"\345\214\227\344\272\254\346\230\257\351\246\226\351\203\275", {101, 1781, 1755, 100, 100, 1961, 102}},
    {"tab\011line\015\012space\302\240\343\200\200\342\200\213end", {101, 21628, 2240, 2686, 2203, 102}},
    {"soft\302\255hyphen \357\277\275\001", {101, 3730, 10536, 8458, 2368, 102}},
    {"don't stop-believing...", {101, 2123, 1005, 1056, 2644, 1011, 8929, 1012, 1012, 1012, 102}},
    {"$100 ^_^ ~", {101, 1002, 2531, 1034, 1035, 1034, 1066, 102}},
    {"\354\225\210\353\205\225", {101, 1463, 30006, 30021, 29992, 30010, 30025, 102}},
    {"\360\237\230\200 ok", {101, 100, 7929, 102}},
    {"e\314\243\314\201\314\201", {101, 1041, 102}},
    {std::string(101, 'x'), {101, 100, 102}},
    {"##ing unaffable", {101, 1001, 1001, 13749, 14477, 20961, 3468, 102}},
    {"\341\231\255 \341\234\264a \302\275", {101, 100, 1037, 1092, 102}},
};

TEST(MiniLmTokenizerTest, ReturnsTheNumbersOfTokenizers) {
  const test::TemporaryFolder folder;
  for (const std::string name : {"vocab.txt", "tokenizer_config.json"}) {
    std::filesystem::copy_file(test::model_folder() + "/" + name, folder.path(name));
  }
  const WordPieceTokenizer of_json = WordPieceTokenizer::load(test::model_folder());
  const WordPieceTokenizer of_vocabulary = WordPieceTokenizer::load(folder.folder().string());
  for (const auto& [text, ids] : minilm_ids) {
    EXPECT_EQ(of_json.encode(text), ids) << text;
    EXPECT_EQ(of_vocabulary.encode(text), ids) << text;
  }
  EXPECT_EQ(of_json.id_max(), 30'521);
}

TEST(MiniLmTokenizerTest, SplitsLongWordsInTime) {
  const WordPieceTokenizer tokenizer = WordPieceTokenizer::load(test::model_folder());
  Random random(test::seed());
  std::string words;
  for (int i = 0; i < 100'000; ++i) words += i % 101 == 100 ? ' ' : static_cast<char>('a' + random.below(26));
  EXPECT_GT(tokenizer.encode(words).size(), 20'000U) << "words of 100 letters";
  EXPECT_EQ(tokenizer.encode(std::string(100'000, 'a')).size(), 3U);
}

}  // namespace
}  // namespace vectis::nn
