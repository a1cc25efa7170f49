#include "vectis/base/file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

class FileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return temporary.path(name); }

  test::TemporaryFolder temporary;
};

TEST_F(FileTest, WrittenBytesRoundTrip) {
  const std::string big(100000, 'x');
  FileWriter writer(path("a"));
  writer.put(std::uint32_t{7});
  writer.put_string(big);
  writer.write({});
  writer.finish();

  FileReader reader(path("a"));
  EXPECT_EQ(reader.get<std::uint32_t>(), 7U);
  EXPECT_EQ(reader.get_string(big.size()), big);
  EXPECT_ERROR(reader.get<std::uint8_t>(), ErrorCode::corrupt_data, path("a"), "1 bytes too early");
}

TEST_F(FileTest, WritingOverwritesTheFile) {
  FileWriter first(path("a"));
  first.put_string("something long");
  first.finish();
  FileWriter second(path("a"));
  second.put(std::uint8_t{1});
  second.finish();
  EXPECT_EQ(std::filesystem::file_size(path("a")), 1U);
}

TEST_F(FileTest, ATruncatedFileIsCorrupt) {
  FileWriter writer(path("a"));
  writer.put_string("hello");
  writer.finish();
  std::filesystem::resize_file(path("a"), 11);
  FileReader reader(path("a"));
  EXPECT_ERROR(reader.get_string(100), ErrorCode::corrupt_data, path("a"), "2 bytes too early", "3 of 5");
}

TEST_F(FileTest, OpeningAMissingFileIsIo) {
  EXPECT_ERROR(FileReader reader(path("none")), ErrorCode::io, "[open]", path("none"), "No such file");
  EXPECT_ERROR(FileWriter writer(path("none/a")), ErrorCode::io, path("none/a"), "No such file");
}

TEST_F(FileTest, ReadingAFolderIsIo) {
  EXPECT_ERROR(FileReader reader(temporary.folder().string());
               reader.get<std::uint8_t>(), ErrorCode::io, temporary.folder().string(), "Is a directory");
}

TEST_F(FileTest, AFullDeviceIsIo) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  FileWriter small("/dev/full");
  small.put(std::uint8_t{1});  // stays in the buffer
  EXPECT_ERROR(small.finish(), ErrorCode::io, "[finish]", "/dev/full", "No space left");

  FileWriter large("/dev/full");
  EXPECT_ERROR(large.put_string(std::string(1 << 20, 'x')), ErrorCode::io, "[write]", "No space left");
}

TEST_F(FileTest, AnAtomicWriterReplacesTheFileOnCommit) {
  const std::string big(3'000'000, 'x');  // more than its buffer
  const auto first_byte = [&] { return FileReader(path("a")).get<char>(); };
  AtomicFileWriter first(path("a"));
  first.put('1');
  first.commit();
  {
    AtomicFileWriter abandoned(path("a"));
    abandoned.put('2');
    abandoned.put_string(big);
  }
  EXPECT_EQ(first_byte(), '1');
  AtomicFileWriter second(path("a"));
  second.put('3');
  second.put_string(big);
  EXPECT_EQ(first_byte(), '1') << "the old file stays until commit";
  second.commit();
  FileReader reader(path("a"));
  EXPECT_EQ(reader.get<char>(), '3');
  EXPECT_EQ(reader.get_string(big.size()), big);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temporary.folder()), {}), 1);
  EXPECT_ERROR(AtomicFileWriter writer(path("none/a")), ErrorCode::io, path("none/a"), "No such file");
}

}  // namespace
}  // namespace vectis
