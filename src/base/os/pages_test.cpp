#include "vectis/base/pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/base/file.hpp"

namespace vectis {
namespace {

TEST(Pages, AreZeroedAlignedAndWritable) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4097}, std::size_t{32767}, std::size_t{32768}, std::size_t{5} << 20U}) {
    const Pages pages(bytes);
    ASSERT_EQ(pages.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.data()) % 64, 0U);
    EXPECT_TRUE(std::all_of(pages.data(), pages.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    pages.data()[bytes - 1] = std::byte{7};
    EXPECT_EQ(pages.as<std::byte>()[bytes - 1], std::byte{7});
  }
}

TEST(Pages, ZeroBytesAreNull) {
  const Pages none(0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.bytes(), 0U);
}

TEST(Pages, MoveTransfersOwnership) {
  Pages first(8192);
  std::byte* const place = first.data();
  Pages second(std::move(first));
  EXPECT_EQ(second.data(), place);
  Pages third(1);
  third = std::move(second);
  EXPECT_EQ(third.data(), place);
  EXPECT_EQ(third.bytes(), 8192U);
}

TEST(Pages, TooManyBytesAreAnAllocationError) {
  EXPECT_ERROR(Pages(std::size_t{1} << 60U), ErrorCode::allocation, "1152921504606846976");
}

class MappedFileTest : public testing::Test {
 protected:
  // Writes a file with this content and returns its path.
  [[nodiscard]] std::string written(const std::string& text) const {
    FileWriter writer(temporary.path("a"));
    writer.write(std::as_bytes(std::span(text)));
    writer.finish();
    return temporary.path("a");
  }
  static std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  test::TemporaryFolder temporary;
};

TEST_F(MappedFileTest, HasTheFilesBytesPageAligned) {
  for (const std::size_t size : {1U, 4096U, 100'001U}) {
    std::string text(size, 'x');
    text.back() = 'y';
    const MappedFile file(written(text));
    EXPECT_EQ(text_of(file), text);
    EXPECT_EQ(file.path(), temporary.path("a"));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes().data()) % 4096, 0U);
  }
}

TEST_F(MappedFileTest, WritesArePrivate) {
  const MappedFile file(written("hello"));
  file.bytes()[0] = std::byte{'j'};
  EXPECT_EQ(text_of(file), "jello");
  EXPECT_EQ(text_of(MappedFile(temporary.path("a"))), "hello");
}

TEST_F(MappedFileTest, OutlivesRemovalOfTheFile) {
  const MappedFile file(written("hello"));
  std::filesystem::remove(temporary.path("a"));
  EXPECT_EQ(text_of(file), "hello");
}

TEST_F(MappedFileTest, AnEmptyFileMapsToNoBytes) { EXPECT_TRUE(MappedFile(written("")).bytes().empty()); }

TEST_F(MappedFileTest, AFileThatCannotBeMappedIsIo) {
  EXPECT_ERROR(MappedFile file(temporary.path("none")), ErrorCode::io, "[map]", temporary.path("none"), "No such file");
  EXPECT_ERROR(MappedFile file(temporary.folder().string()), ErrorCode::io, "not a regular file");
}

}  // namespace
}  // namespace vectis
