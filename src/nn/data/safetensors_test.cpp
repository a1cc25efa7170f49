#include "vectis/nn/safetensors.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/base/random.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::string_view metadata_and_two =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
    R"("a":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}})";

// A file of a header and `data_bytes` elements of one byte, which are all 1.
std::vector<std::byte> safetensors_file(std::string_view header, std::size_t data_bytes = 0) {
  MemoryWriter writer;
  writer.put(std::uint64_t{header.size()});
  writer.write(std::as_bytes(std::span(header)));
  writer.write(std::vector<std::byte>(data_bytes, std::byte{1}));
  return {writer.bytes().begin(), writer.bytes().end()};
}

// A header with one tensor, "a".
std::string header_with(std::string_view value) { return fmt::format(R"({{"a":{}}})", value); }
std::string header_with(std::string_view type, std::string_view shape, std::string_view offsets) {
  return header_with(fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", type, shape, offsets));
}

std::vector<std::byte> saved_safetensors(const StateDict& state, const SafeTensorsMetadata& metadata = {}) {
  MemoryWriter writer;
  save_safetensors(writer, state, metadata);
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::vector<std::string> names_in(const StateDict& state) {
  std::vector<std::string> names;
  for (const auto& [name, value] : state) names.push_back(name);
  return names;
}

StateDict state_of_every_type() {
  StateDict state;
  state.add("weight", Tensor::from_cpu(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}));
  state.add("bias", Tensor::from_cpu(std::vector<float>{0.5F, -1}, {2}));
  state.add("half", Tensor::from_cpu(std::vector<float>{1, 2}, {2}).astype(DType::float16));
  state.add("steps", array::full({}, 7, DType::int64));
  state.add("mask", Tensor::from_cpu(std::vector<float>{1, 0, 1}, {3}).astype(DType::boolean));
  state.add("ä\n\x01\"\\/\x7f", array::full({1}, -1, DType::int8));
  state.add("bytes", array::full({1}, 255, DType::uint8));
  state.add("none", array::zeros({0, 4}, DType::int32));
  state.add("index", array::full({1}, -2, DType::int32));
  state.add("double", array::full({1}, 0.25, DType::float64));
  state.add("brain", array::ones({1}, DType::bfloat16));
  return state;
}

// What safetensors 0.8.0 of PyPI writes for state_of_every_type().
const std::string golden_header =
    R"({"__metadata__":{"format":"pt"},"steps":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
    R"("double":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
    R"("bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]},)"
    R"("weight":{"dtype":"F32","shape":[2,3],"data_offsets":[24,48]},)"
    R"("index":{"dtype":"I32","shape":[1],"data_offsets":[48,52]},)"
    R"("none":{"dtype":"I32","shape":[0,4],"data_offsets":[52,52]},)"
    R"("brain":{"dtype":"BF16","shape":[1],"data_offsets":[52,54]},)"
    R"("half":{"dtype":"F16","shape":[2],"data_offsets":[54,58]},)"
    "\"ä\\n\\u0001\\\"\\\\/\x7f\":"
    R"({"dtype":"I8","shape":[1],"data_offsets":[58,59]},)"
    R"("bytes":{"dtype":"U8","shape":[1],"data_offsets":[59,60]},)"
    R"("mask":{"dtype":"BOOL","shape":[3],"data_offsets":[60,63]}}      )";
constexpr std::array<unsigned, 63> golden_elements = {
    0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd0, 0x3f,
    0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x80, 0xbf, 0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x40,
    0x00, 0x00, 0x40, 0x40, 0x00, 0x00, 0x80, 0x40, 0x00, 0x00, 0xa0, 0x40, 0x00, 0x00, 0xc0, 0x40,
    0xfe, 0xff, 0xff, 0xff, 0x80, 0x3f, 0x00, 0x3c, 0x00, 0x40, 0xff, 0xff, 0x01, 0x00, 0x01};

std::vector<std::byte> golden_file() {
  std::vector<std::byte> file = safetensors_file(golden_header);
  for (const unsigned byte : golden_elements) file.push_back(static_cast<std::byte>(byte));
  return file;
}

TEST(SafeTensorsTest, WritesTheBytesOfHuggingFace) {
  EXPECT_EQ(saved_safetensors(state_of_every_type(), {{"format", "pt"}}), golden_file());
  EXPECT_EQ(saved_safetensors({}), safetensors_file("{}      "));
}

TEST(SafeTensorsTest, ReadsEveryType) {
  const SafeTensors content = parse_safetensors(golden_file());
  EXPECT_THAT(content.metadata, ElementsAre(Pair("format", "pt")));
  EXPECT_THAT(names_in(content.tensors), ElementsAre("steps", "double", "bias", "weight", "index", "none", "brain",
                                                     "half", "ä\n\x01\"\\/\x7f", "bytes", "mask"));
  for (const auto& [name, expected] : state_of_every_type()) {
    SCOPED_TRACE(name);
    const Tensor& found = content.tensors.at(name);
    EXPECT_EQ(found.dtype(), expected.dtype());
    EXPECT_EQ(found.shape(), expected.shape());
    EXPECT_EQ(found.astype(DType::float64).to_cpu<double>(), expected.astype(DType::float64).to_cpu<double>());
  }
}

TEST(SafeTensorsTest, SavesViewsInRowMajorOrder) {
  StateDict state;
  state.add("x", array::arange(0, 6).reshape({2, 3}).transpose());
  EXPECT_THAT(parse_safetensors(saved_safetensors(state)).tensors.at("x").astype(DType::float32).to_cpu<float>(),
              ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(SafeTensorsTest, KeepsMetadata) {
  const SafeTensorsMetadata metadata = {{"", ""}, {"\xc3\xa4 \"", "line\nline"}, {"format", "pt"}};
  EXPECT_EQ(parse_safetensors(saved_safetensors({}, metadata)).metadata, metadata);
  EXPECT_TRUE(parse_safetensors(safetensors_file(R"({"__metadata__":{}})")).metadata.empty());
}

TEST(SafeTensorsTest, ReadsTensorsInTheOrderOfTheirElements) {
  const SafeTensors content = parse_safetensors(safetensors_file(metadata_and_two, 3));
  EXPECT_THAT(names_in(content.tensors), ElementsAre("a", "b"));
  const std::string_view without_elements =
      R"({"y":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  EXPECT_THAT(names_in(parse_safetensors(safetensors_file(without_elements)).tensors), ElementsAre("x", "y"));
}

// Other programs write headers that ours does not.
TEST(SafeTensorsTest, ReadsOtherSpellings) {
  for (const std::string_view header :
       {"{\n \"\\u0061\" : { \"shape\" : [ 1 , 1 ] , \"data_offsets\" : [ 0 , 1 ] , \"dtype\" : \"U8\" } } \t\r\n",
        R"({"a":{"dtype":"\u00558","shape":[],"data_offsets":[0,1]}})",
        R"({"none":{"dtype":"I64","shape":[1000000000000,0],"data_offsets":[1,1]},)"
        R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})"}) {
    SCOPED_TRACE(header);
    EXPECT_EQ(parse_safetensors(safetensors_file(header, 1)).tensors.at("a").item<std::uint8_t>(), 1);
  }
}

TEST(SafeTensorsTest, RejectsCorruptFiles) {
  struct Case {
    std::string header;
    std::size_t data_bytes;
    const char* message;
  };
  const std::vector<Case> cases = {
      // Not JSON, or of another form.
      {"", 0, "does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"\xef\xbb\xbf{}", 0, "does not begin with '{'"},
      {"[]", 0, "does not begin with '{'"},
      {"null", 0, "does not begin with '{'"},
      {"{", 0, "stops being JSON in UTF-8 at byte 2"},
      {"{}}", 0, "stops being JSON in UTF-8 at byte 3"},
      {"{} {}", 0, "stops being JSON"},
      {"{'a':1}", 0, "stops being JSON"},
      {"{,}", 0, "stops being JSON"},
      {"{\"a\xff\":1}", 0, "stops being JSON in UTF-8 at byte 4"},
      {"{\"\xc0\xaf\":1}", 0, "stops being JSON"},
      {R"({"\ud800":1})", 0, "stops being JSON"},
      {std::string("{}\0", 3), 0, "byte 3 of the JSON is NUL"},
      {std::string("{\"\0\":1}", 7), 0, "byte 3 of the JSON is NUL"},
      {header_with("U8", "[1e999]", "[0,1]"), 1, "stops being JSON"},
      {header_with("U8", "[01]", "[0,1]"), 1, "stops being JSON"},
      {header_with("U8", "[NaN]", "[0,1]"), 1, "stops being JSON"},
      {header_with("U8", "[1,]", "[0,1]"), 1, "stops being JSON"},
      {header_with("U8", "[[1]]", "[0,1]"), 1, "more than 3 objects and arrays in each other"},
      {"{\"a\":" + std::string(100'000, '['), 0, "more than 3 objects and arrays in each other"},
      {header_with("U8", fmt::format("[{}]", fmt::join(std::vector<int>(65, 1), ",")), "[0,1]"), 1,
       "more than 64 elements"},
      {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
       0, "two members 'a'"},
      {header_with(R"({"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]})"), 0, "two members 'dtype'"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "two members '__metadata__'"},
      {R"({"__metadata__":{"x":"1","x":"2"}})", 0, "two members 'x'"},
      // Metadata.
      {R"({"__metadata__":null})", 0, "__metadata__ is null, not an object"},
      {R"({"__metadata__":["x"]})", 0, "__metadata__ is an array, not an object"},
      {R"({"__metadata__":{"x":1}})", 0, "'x' in __metadata__ is an integer, not a string"},
      {R"({"__metadata__":{"x":null}})", 0, "'x' in __metadata__ is null, not a string"},
      {R"({"__metadata__":{"x":{}}})", 0, "'x' in __metadata__ is an object, not a string"},
      {R"({"__metadata__":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0, "'shape' in __metadata__ is an array"},
      // Members of a tensor.
      {R"({"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0, "the name of a tensor is empty"},
      {header_with("null"), 0, "the tensor 'a' is null, not an object"},
      {header_with("[]"), 0, "the tensor 'a' is an array, not an object"},
      {header_with("1"), 0, "the tensor 'a' is an integer, not an object"},
      {header_with("{}"), 0, "the tensor 'a' has no data_offsets"},
      {header_with(R"({"dtype":"U8","data_offsets":[0,0]})"), 0, "the tensor 'a' has no shape"},
      {header_with(R"({"shape":[0],"data_offsets":[0,0]})"), 0, "the tensor 'a' has no dtype"},
      {header_with(R"({"dtype":"U8","shape":[0],"data_offsets":[0,0],"order":"C"})"), 0, "unknown member 'order'"},
      {header_with(R"({"Dtype":"U8","shape":[0],"data_offsets":[0,0]})"), 0, "unknown member 'Dtype'"},
      {header_with(R"({"dtype":1,"shape":[0],"data_offsets":[0,0]})"), 0, "a dtype that is an integer, not a string"},
      {header_with(R"({"dtype":null,"shape":[0],"data_offsets":[0,0]})"), 0, "a dtype that is null, not a string"},
      {header_with("U8", "{}", "[0,0]"), 0, "a shape that is an object, not an array"},
      {header_with("U8", "1", "[0,1]"), 1, "a shape that is an integer, not an array"},
      {header_with("U8", "null", "[0,1]"), 1, "a shape that is null, not an array"},
      {header_with("U8", "[0]", "0"), 0, "a data_offsets that is an integer, not an array"},
      {header_with("U8", "[0]", "[]"), 0, "has 0 data_offsets, not 2"},
      {header_with("U8", "[0]", "[0]"), 0, "has 1 data_offsets, not 2"},
      {header_with("U8", "[0]", "[0,0,0]"), 0, "has 3 data_offsets, not 2"},
      // Numbers.
      {header_with("U8", "[-1]", "[0,1]"), 1, "an extent that is -1, not an integer from 0 to 9223372036854775807"},
      {header_with("U8", "[-0]", "[0,0]"), 0, "an extent that is a number"},
      {header_with("U8", "[1.0]", "[0,1]"), 1, "an extent that is a number"},
      {header_with("U8", "[1e0]", "[0,1]"), 1, "an extent that is a number"},
      {header_with("U8", "[18446744073709551616]", "[0,0]"), 0, "an extent that is a number"},
      {header_with("U8", "[9223372036854775808,0]", "[0,0]"), 0, "an extent that is a number"},
      {header_with("U8", "[\"1\"]", "[0,1]"), 1, "an extent that is a string"},
      {header_with("U8", "[true]", "[0,1]"), 1, "an extent that is a boolean"},
      {header_with("U8", "[null]", "[0,1]"), 1, "an extent that is null"},
      {header_with("U8", "[1]", "[-1,0]"), 1, "an offset that is -1"},
      {header_with("U8", "[1]", "[0,1.0]"), 1, "an offset that is a number"},
      {header_with("U8", "[1]", "[0,18446744073709551615]"), 1, "an offset that is a number"},
      {header_with("U8", "[1]", R"(["0","1"])"), 1, "an offset that is a string"},
      // Shapes and bytes.
      {header_with("U8", "[4294967296,4294967296]", "[0,1]"), 1, "(4294967296, 4294967296) is not that of an array"},
      {header_with("U8", "[9223372036854775807,2]", "[0,1]"), 1, "is not that of an array"},
      {header_with("F64", "[9223372036854775807]", "[0,1]"), 1, "is not that of an array"},
      {header_with("U8", "[0,9223372036854775807,9223372036854775807]", "[0,0]"), 0, "is not that of an array"},
      {header_with("U8", "[2]", "[0,1]"), 1, "'a' has 1 bytes, but a uint8 array of shape (2,) has 2"},
      {header_with("U8", "[0]", "[0,1]"), 1, "has 1 bytes, but a uint8 array of shape (0,) has 0"},
      {header_with("U8", "[]", "[0,0]"), 0, "has 0 bytes, but a uint8 array of shape () has 1"},
      {header_with("F32", "[2]", "[0,2]"), 2, "has 2 bytes, but a float32 array of shape (2,) has 8"},
      {header_with("BOOL", "[8]", "[0,1]"), 1, "has 1 bytes, but a bool array of shape (8,) has 8"},
      {header_with("U8", "[1000000000000]", "[0,1000000000000]"), 1,
       "ends at offset 1000000000000, which is not from 0 to 1"},
      // The elements are all bytes after the header, each once.
      {header_with("U8", "[1]", "[1,0]"), 1, "begins at offset 1, but the elements before it end at 0"},
      {header_with("U8", "[1]", "[1,2]"), 2, "begins at offset 1, but the elements before it end at 0"},
      {header_with("U8", "[1]", "[0,1]"), 0, "ends at offset 1, which is not from 0 to 0"},
      {header_with("U8", "[1]", "[0,1]"), 2, "1 bytes follow the last tensor"},
      {"{}", 1, "1 bytes follow the last tensor"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "'b' begins at offset 1, but the elements before it end at 2"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "'b' begins at offset 0, but the elements before it end at 1"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
       3, "'b' begins at offset 2, but the elements before it end at 1"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[0],"data_offsets":[1,0]}})",
       1, "'b' ends at offset 0, which is not from 1 to 1"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[0],"data_offsets":[9,9]}})",
       1, "'b' begins at offset 9, but the elements before it end at 1"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.header.substr(0, 200));
    EXPECT_ERROR(parse_safetensors(safetensors_file(one.header, one.data_bytes)), ErrorCode::corrupt_data, one.message,
                 "[load_safetensors] ");
  }
}

TEST(SafeTensorsTest, RejectsLengthsOfHeaders) {
  const auto file_with = [](std::uint64_t length, std::size_t rest) {
    std::vector<std::byte> file = safetensors_file(std::string(rest, ' '));
    std::memcpy(file.data(), &length, sizeof(length));
    return file;
  };
  EXPECT_ERROR(parse_safetensors({}), ErrorCode::corrupt_data, "the file has 0 bytes, fewer than the 8");
  EXPECT_ERROR(parse_safetensors(std::vector<std::byte>(7)), ErrorCode::corrupt_data, "the file has 7 bytes");
  EXPECT_ERROR(parse_safetensors(file_with(3, 2)), ErrorCode::corrupt_data, "a header of 3 bytes is longer than the 2");
  EXPECT_ERROR(parse_safetensors(file_with(100'000'000, 2)), ErrorCode::corrupt_data, "longer than the 2 bytes");
  EXPECT_ERROR(parse_safetensors(file_with(100'000'001, 2)), ErrorCode::corrupt_data,
               "a header of 100000001 bytes is longer than the limit of 100000000");
  EXPECT_ERROR(parse_safetensors(file_with(~std::uint64_t{0}, 2)), ErrorCode::corrupt_data,
               "a header of 18446744073709551615 bytes is longer than the limit");
  EXPECT_ERROR(parse_safetensors(file_with(0, 2)), ErrorCode::corrupt_data, "does not begin with '{'");
}

TEST(SafeTensorsTest, RejectsOtherElementTypes) {
  for (const std::string_view type : {"I16", "U16", "U32", "U64", "F8_E4M3", "F8_E5M2", "C64", "f32", "float32", ""}) {
    EXPECT_ERROR(parse_safetensors(safetensors_file(header_with(type, "[0]", "[0,0]"))), ErrorCode::unsupported,
                 fmt::format("the tensor 'a' has the element type '{}'", type));
  }
}

TEST(SafeTensorsTest, RejectsBooleansThatAreNeither) {
  std::vector<std::byte> file = safetensors_file(header_with("BOOL", "[3]", "[0,3]"), 3);
  EXPECT_NO_THROW(parse_safetensors(file));
  file.back() = std::byte{2};
  EXPECT_ERROR(parse_safetensors(file), ErrorCode::corrupt_data, "'a' has an element of type BOOL that is neither");
}

TEST(SafeTensorsTest, RejectsTruncatedFiles) {
  const std::vector<std::byte> file = golden_file();
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_ERROR(parse_safetensors(std::span(file).first(length)), ErrorCode::corrupt_data, "load_safetensors");
  }
}

TEST(SafeTensorsTest, RejectsOrReadsFilesWithAChangedByte) {
  const std::vector<std::byte> file = golden_file();
  Random random(test::seed());
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::vector<std::byte> changed = file;
    changed[at] = static_cast<std::byte>(random.below(256));
    try {
      static_cast<void>(parse_safetensors(changed));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported) << error.what();
    }
  }
}

TEST(SafeTensorsTest, ReadsManyTensorsQuickly) {
  StateDict state;
  const Tensor value = array::ones({1}, DType::uint8);
  for (int i = 0; i < 50'000; ++i) state.add(fmt::format("layers.{}.weight", i), value);
  EXPECT_EQ(parse_safetensors(saved_safetensors(state)).tensors.size(), state.size());
}

TEST(SafeTensorsTest, RefusesToSaveWhatItWouldNotRead) {
  const auto state_with = [](const std::string& name) {
    StateDict state;
    state.add(name, array::ones({1}));
    return state;
  };
  EXPECT_ERROR(saved_safetensors(state_with("")), ErrorCode::invalid_input, "[save_safetensors] '' cannot be the name");
  EXPECT_ERROR(saved_safetensors(state_with("__metadata__")), ErrorCode::invalid_input, "'__metadata__' cannot be");
  EXPECT_ERROR(saved_safetensors(state_with("a\xff")), ErrorCode::invalid_input,
               "the name \"a\xef\xbf\xbd\" is not UTF-8");
  EXPECT_ERROR(saved_safetensors({}, {{"\xff", "x"}}), ErrorCode::invalid_input, "the name of the text \"");
  EXPECT_ERROR(saved_safetensors({}, {{"x", "\xff"}}), ErrorCode::invalid_input, "the text \"");
  EXPECT_ERROR(saved_safetensors({}, {{"x", std::string(100'000'000, 'x')}}), ErrorCode::invalid_input,
               "the header of 0 tensors and 1 texts has 100000032 bytes, at most 100000000 are allowed");
}

TEST(SafeTensorsTest, ReplacesAFileAndNamesItInErrors) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("model.safetensors");
  save_safetensors(path, state_of_every_type(), {{"format", "pt"}});
  EXPECT_EQ(load_safetensors(path).size(), 11U);
  EXPECT_EQ(read_safetensors(path).metadata.at("format"), "pt");
  StateDict invalid;
  invalid.add("", array::ones({1}));
  EXPECT_ERROR(save_safetensors(path, invalid), ErrorCode::invalid_input, "cannot be the name");
  EXPECT_EQ(load_safetensors(path).size(), 11U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.folder()), {}), 1);
  std::filesystem::resize_file(path, 100);
  EXPECT_ERROR(load_safetensors(path), ErrorCode::corrupt_data,
               "[load_safetensors] " + path + ": a header of 696 bytes");
  std::ofstream(path, std::ios::binary) << "";
  EXPECT_ERROR(load_safetensors(path), ErrorCode::corrupt_data, path + ": the file has 0 bytes");
  EXPECT_ERROR(load_safetensors(folder.path("absent")), ErrorCode::io, "absent");
}

}  // namespace
}  // namespace vectis::nn
