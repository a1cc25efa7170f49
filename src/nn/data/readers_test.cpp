#include "vectis/nn/readers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/array/random.hpp"
#include "vectis/base/random.hpp"
#include "vectis/nn/dataset.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;

std::vector<std::byte> bytes_of(std::initializer_list<int> numbers) {
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}
std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A .npy file of version 1 as another program may write it.
std::vector<std::byte> npy(std::string_view header, std::size_t payload_bytes, char fill = 0) {
  std::string text = "\x93NUMPY";
  text += std::string{'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8U)};
  text += header;
  text.append(payload_bytes, fill);
  return bytes_of(text);
}

// Every prefix of a valid file, and every file with one byte changed, is read or rejected by an Error of the reader.
template <class Parse>
void expect_errors_only(const std::vector<std::byte>& file, Parse parse) {
  const auto attempt = [&](std::span<const std::byte> bytes) {
    try {
      static_cast<void>(parse(bytes));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported) << error.what();
    }
  };
  for (std::size_t length = 0; length < file.size(); ++length) attempt(std::span(file).first(length));
  Random random(test::seed());
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::vector<std::byte> changed = file;
    changed[at] = static_cast<std::byte>(random.below(256));
    attempt(changed);
  }
}

TEST(IdxTest, ReadsEveryType) {
  const Tensor images = parse_idx(bytes_of({0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 128, 255}));
  EXPECT_EQ(images.shape(), Shape({1, 2, 2}));
  EXPECT_THAT(images.to_cpu<std::uint8_t>(), ElementsAre(0, 1, 128, 255));
  EXPECT_THAT(parse_idx(bytes_of({0, 0, 9, 1, 0, 0, 0, 1, 255})).to_cpu<std::int8_t>(), ElementsAre(-1));
  EXPECT_THAT(parse_idx(bytes_of({0, 0, 11, 1, 0, 0, 0, 2, 255, 254, 1, 2})).to_cpu<std::int32_t>(),
              ElementsAre(-2, 258));
  EXPECT_THAT(parse_idx(bytes_of({0, 0, 12, 1, 0, 0, 0, 1, 1, 2, 3, 4})).to_cpu<std::int32_t>(),
              ElementsAre(0x01020304));
  EXPECT_THAT(parse_idx(bytes_of({0, 0, 13, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0})).to_cpu<float>(), ElementsAre(1.5F));
  EXPECT_THAT(parse_idx(bytes_of({0, 0, 14, 1, 0, 0, 0, 1, 0xc0, 4, 0, 0, 0, 0, 0, 0})).to_cpu<double>(),
              ElementsAre(-2.5));
  EXPECT_EQ(parse_idx(bytes_of({0, 0, 8, 2, 0, 0, 0, 0, 255, 255, 255, 255})).elements(), 0);
}

TEST(IdxTest, RejectsWhatIsNoIdx) {
  EXPECT_ERROR(parse_idx(bytes_of({0x1f, 0x8b, 8, 0})), ErrorCode::corrupt_data, "compressed");
  EXPECT_ERROR(parse_idx(bytes_of({0, 0, 10, 0})), ErrorCode::corrupt_data, "0x0a");
  EXPECT_ERROR(parse_idx(bytes_of({0, 0, 8, 200, 0, 0, 0, 1})), ErrorCode::corrupt_data, "rank 200");
  EXPECT_ERROR(parse_idx(bytes_of({0, 0, 8, 1, 0, 0, 0, 9, 1})), ErrorCode::corrupt_data, "1 bytes follow", "(9,)");
  EXPECT_ERROR(parse_idx(bytes_of({0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0})),
               ErrorCode::corrupt_data, "is not that of an array");
  EXPECT_ERROR(read_idx("/nowhere/idx"), ErrorCode::io, "/nowhere/idx");
  expect_errors_only(bytes_of({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4}), parse_idx);
}

TEST(NpyTest, ReadsOrdersAndVersions) {
  const std::string_view c_order = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }  \n";
  EXPECT_EQ(parse_npy(npy(c_order, 6, 7)).shape(), Shape({2, 3}));
  std::vector<std::byte> fortran = npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3)}", 24);
  for (int i = 0; i < 6; ++i) std::memcpy(fortran.data() + fortran.size() - 24 + 4 * i, &i, 4);
  EXPECT_THAT(parse_npy(fortran).to_cpu<std::int32_t>(), ElementsAre(0, 2, 4, 1, 3, 5));
  std::vector<std::byte> big = npy("{\"shape\": (1,), \"fortran_order\": False, \"descr\": \">f4\"}", 4);
  big[big.size() - 4] = std::byte{0x3f};
  big[big.size() - 3] = std::byte{0x80};
  EXPECT_EQ(parse_npy(big).item<float>(), 1);
  EXPECT_EQ(parse_npy(npy("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8)).rank(), 0U);
  std::vector<std::byte> second = npy(c_order, 6, 7);
  second[6] = std::byte{2};
  second.insert(second.begin() + 10, {std::byte{0}, std::byte{0}});
  EXPECT_EQ(parse_npy(second).elements(), 6);
}

TEST(NpyTest, WritesWhatItReads) {
  const test::TemporaryFolder folder;
  array::Generator random(test::seed());
  const Tensor x = random.normal({3, 5, 2});
  for (const DType type : {DType::float32, DType::float16, DType::float64, DType::int8, DType::uint8, DType::int32,
                           DType::int64, DType::boolean}) {
    const Tensor converted = (x * 100).astype(type);
    write_npy(folder.path("x.npy"), converted.transpose());
    const Tensor read = read_npy(folder.path("x.npy"));
    ASSERT_EQ(read.dtype(), type);
    ASSERT_EQ(read.shape(), Shape({2, 5, 3}));
    EXPECT_TRUE(all(equal(read, converted.transpose())).item<bool>());
  }
  write_npy(folder.path("empty.npy"), array::zeros({0, 4}));
  EXPECT_EQ(read_npy(folder.path("empty.npy")).shape(), Shape({0, 4}));
  EXPECT_ERROR(write_npy(folder.path("b.npy"), x.astype(DType::bfloat16)), ErrorCode::unsupported, "bfloat16");
}

TEST(NpyTest, RejectsHostileHeaders) {
  EXPECT_ERROR(parse_npy(bytes_of("hello, world")), ErrorCode::corrupt_data, ".npy");
  const auto header = [](std::string_view rest) { return npy("{'descr': '<f4', " + std::string(rest), 8); };
  EXPECT_ERROR(parse_npy(header("'fortran_order': False, 'shape': (3,)}")), ErrorCode::corrupt_data, "(3,)");
  EXPECT_ERROR(parse_npy(header("'fortran_order': False, 'shape': (-1,)}")), ErrorCode::corrupt_data, "(-1,)");
  EXPECT_ERROR(parse_npy(header("'fortran_order': False, 'shape': (4611686018427387904, 4)}")), ErrorCode::corrupt_data,
               "is not that of an array");
  EXPECT_ERROR(parse_npy(header("'fortran_order': False, 'shape': (9223372036854775807, 0, 2)}")),
               ErrorCode::corrupt_data, "is not that of an array");
  EXPECT_ERROR(parse_npy(header("'fortran_order': False, 'shape': (0, 36028797018963968)}")), ErrorCode::corrupt_data,
               "is not that of an array");
  EXPECT_ERROR(parse_npy(header("'fortran_order': False, 'shape': (99999999999999999999,)}")), ErrorCode::corrupt_data,
               "dictionary");
  EXPECT_ERROR(parse_npy(header("'fortran_order': 0, 'shape': (2,)}")), ErrorCode::corrupt_data, "dictionary");
  EXPECT_ERROR(parse_npy(header("'shape': (2,)}")), ErrorCode::corrupt_data, "dictionary");
  EXPECT_ERROR(parse_npy(header("'descr': '<f4', 'fortran_order': False, 'shape': (2,)}")), ErrorCode::corrupt_data,
               "dictionary");
  EXPECT_ERROR(parse_npy(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (4,)}", 8)), ErrorCode::unsupported,
               "<u2", "astype");
  EXPECT_ERROR(parse_npy(npy("{'descr': '', 'fortran_order': False, 'shape': (0,)}", 0)), ErrorCode::unsupported,
               "'' is not an element type");
  EXPECT_ERROR(parse_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (8,)}", 8, 2)), ErrorCode::corrupt_data,
               "bool");
  std::vector<std::byte> future = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8);
  future[6] = std::byte{4};
  EXPECT_ERROR(parse_npy(future), ErrorCode::unsupported, "version 4");
  future[6] = std::byte{2};
  EXPECT_ERROR(parse_npy(future), ErrorCode::corrupt_data, "longer than");
  future[6] = std::byte{1};
  expect_errors_only(future, parse_npy);
}

TEST(CsvTest, ReadsNumbers) {
  const CsvTable table = parse_csv("\xef\xbb\xbfwidth,\"height, in m\"\r\n1,2\r\n\r\n-3.5e1 ,\"+4\"\n");
  EXPECT_THAT(table.columns, ElementsAre("width", "height, in m"));
  EXPECT_EQ(table.values.shape(), Shape({2, 2}));
  EXPECT_THAT(table.values.to_cpu<float>(), ElementsAre(1, 2, -35, 4));
  EXPECT_EQ(table.column("height, in m"), 1);
  EXPECT_ERROR(static_cast<void>(table.column("depth")), ErrorCode::invalid_input, "depth", "width");
}

TEST(CsvTest, KnowsHeadersMissingValuesAndDelimiters) {
  EXPECT_TRUE(parse_csv("1;2\n3;4", {.delimiter = ';'}).columns.empty());
  EXPECT_THAT(parse_csv("1\n2", {.header = true}).columns, ElementsAre("1"));
  EXPECT_THAT(parse_csv("1,,\n,2,3\n", {.missing = -1.0F}).values.to_cpu<float>(), ElementsAre(1, -1, -1, -1, 2, 3));
  EXPECT_THAT(parse_csv("1e99,-1e99,1e-999\n").values.to_cpu<float>(),
              ElementsAre(std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 0));
  const std::string zeros(400, '0');
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_THAT(
      parse_csv("0." + zeros + "1,-0." + zeros + "7,." + zeros + "1e3,0." + zeros + "1e999\n").values.to_cpu<float>(),
      ElementsAre(0, 0, 0, infinite));
  EXPECT_THAT(parse_csv("1" + zeros + "e-10,-5" + zeros + ".25,00" + zeros + "1e-999,1e+999\n").values.to_cpu<float>(),
              ElementsAre(infinite, -infinite, 0, infinite));
  EXPECT_THAT(parse_csv("1e" + zeros + "9999999999999999999,1e-9999999999999999999\n").values.to_cpu<float>(),
              ElementsAre(infinite, 0));
  EXPECT_TRUE(std::isnan(parse_csv("nan\n").values.to_cpu<float>()[0]));
  EXPECT_EQ(parse_csv("").values.shape(), Shape({0, 0}));
  EXPECT_EQ(parse_csv("a,b\n").values.shape(), Shape({0, 2}));
  EXPECT_ERROR(parse_csv("1", {.delimiter = '.'}), ErrorCode::invalid_input, "delimiter");
}

TEST(CsvTest, NamesLineAndColumnOfMistakes) {
  EXPECT_ERROR(parse_csv("1,2\n\n3,x\n"), ErrorCode::corrupt_data, "line 3, column 2", "'x'");
  EXPECT_ERROR(parse_csv("1,2\n3,\n"), ErrorCode::corrupt_data, "line 2, column 2", "''");
  EXPECT_ERROR(parse_csv("1,2\n3\n"), ErrorCode::corrupt_data, "line 2 has 1 fields, the first row 2");
  EXPECT_ERROR(parse_csv("1,\"2\n3"), ErrorCode::corrupt_data, "line 1", "not closed");
  EXPECT_ERROR(parse_csv("\"a\"b,c\n"), ErrorCode::corrupt_data, "closing quote");
  EXPECT_ERROR(parse_csv("1\n0x10\n"), ErrorCode::corrupt_data, "0x10");
  const test::TemporaryFolder folder;
  std::ofstream(folder.path("bad.csv")) << "1\n?\n";
  EXPECT_ERROR(read_csv(folder.path("bad.csv")), ErrorCode::corrupt_data, "bad.csv", "line 2");
  EXPECT_ERROR(read_csv(folder.path("none.csv")), ErrorCode::io, "none.csv");
}

TEST(PnmTest, ReadsImages) {
  const Tensor gray = parse_pnm(bytes_of("P5 2 3 255\nabcdef"));
  EXPECT_EQ(gray.shape(), Shape({1, 3, 2}));
  EXPECT_THAT(gray.to_cpu<std::uint8_t>(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  const Tensor color = parse_pnm(bytes_of("P6\n# a comment\n1 2\n# 9\n255 abcdef"));
  EXPECT_EQ(color.shape(), Shape({3, 2, 1}));
  EXPECT_THAT(color.to_cpu<std::uint8_t>(), ElementsAre('a', 'd', 'b', 'e', 'c', 'f'));
  // Samples from 0 to another largest one are scaled.
  EXPECT_THAT(parse_pnm(bytes_of(std::string("P5 3 1 2 ") + '\0' + "\1\2")).to_cpu<std::uint8_t>(),
              ElementsAre(0, 128, 255));
  EXPECT_THAT(parse_pnm(bytes_of("P5 2 1 100 d2")).to_cpu<std::uint8_t>(), ElementsAre(255, 128));
  EXPECT_ERROR(parse_pnm(bytes_of("P5 2 1 99 cd")), ErrorCode::corrupt_data, "a sample is 100", "largest one is 99");
  EXPECT_ERROR(parse_pnm(bytes_of("P2 1 1 255 7")), ErrorCode::corrupt_data, "PGM or PPM");
  EXPECT_ERROR(parse_pnm(bytes_of("P5 1 1 65535 ab")), ErrorCode::unsupported, "65535");
  EXPECT_ERROR(parse_pnm(bytes_of("P5 16777216 16777216 255 ab")), ErrorCode::corrupt_data, "bytes follow the header");
  EXPECT_ERROR(parse_pnm(bytes_of("P5 99999999999999999999 1 255 a")), ErrorCode::corrupt_data, "number");
  EXPECT_ERROR(parse_pnm(bytes_of("P5 -1 1 255 a")), ErrorCode::corrupt_data, "number");
  EXPECT_ERROR(parse_pnm(bytes_of("P5 1 1 255 ab")), ErrorCode::corrupt_data, "2 bytes follow");
  EXPECT_ERROR(parse_pnm(bytes_of("P5#")), ErrorCode::corrupt_data, "number");
  expect_errors_only(bytes_of("P6 1 2 255\nabcdef"), parse_pnm);
}

TEST(ImageFolderTest, HasAClassForEachFolder) {
  const test::TemporaryFolder folder;
  for (const char* const name : {"b", "a", "empty"}) std::filesystem::create_directory(folder.path(name));
  std::ofstream(folder.path("a/2.pgm")) << "P5 1 2 255\n" << std::string{'\0', '\xff'};
  std::ofstream(folder.path("a/10.pgm")) << "P5 1 2 255\n33";
  std::ofstream(folder.path("a/notes.txt")) << "no image";
  std::ofstream(folder.path("b/1.pgm")) << "P5 1 1 255\n3";
  const ImageFolder images(folder.folder().string(), {1, 2, 1});
  EXPECT_THAT(images.classes(), ElementsAre("a", "b"));
  ASSERT_EQ(images.size(), 3);
  const std::vector<Tensor> batch = images.examples(std::vector<std::int64_t>{1, 0});
  EXPECT_EQ(batch[0].shape(), Shape({2, 1, 2, 1}));
  EXPECT_THAT(batch[0].to_cpu<float>(), ElementsAre(0, 1, 0.2F, 0.2F));
  EXPECT_THAT(batch[1].to_cpu<std::int64_t>(), ElementsAre(0, 0));
  EXPECT_EQ(images.examples({})[0].shape(), Shape({0, 1, 2, 1}));
  EXPECT_ERROR(static_cast<void>(images.examples(std::vector<std::int64_t>{2})), ErrorCode::invalid_input, "b/1.pgm",
               "(1, 1, 1)");
  EXPECT_ERROR(static_cast<void>(images.examples(std::vector<std::int64_t>{3})), ErrorCode::invalid_input, "example 3");
  EXPECT_ERROR(ImageFolder(folder.path("b"), {1, 2, 1}), ErrorCode::invalid_input, "no .pgm");
  EXPECT_ERROR(ImageFolder(folder.folder().string(), {2, 1}), ErrorCode::invalid_input, "(2, 1)");
}

}  // namespace
}  // namespace vectis::nn
