#include "vectis/base/mapped_file.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>

#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/base/file.hpp"

namespace vectis {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  // A file of these bytes.
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

TEST_F(MappedFileTest, HasTheBytesOfTheFileAtAPagesBeginning) {
  for (const std::size_t size : {1U, 4096U, 100'001U}) {
    std::string text(size, 'x');
    text.back() = 'y';
    const MappedFile file(written(text));
    EXPECT_EQ(text_of(file), text);
    EXPECT_EQ(file.path(), temporary.path("a"));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes().data()) % 4096, 0U);
  }
}

TEST_F(MappedFileTest, WhatIsWrittenStaysHere) {
  const MappedFile file(written("hello"));
  file.bytes()[0] = std::byte{'j'};
  EXPECT_EQ(text_of(file), "jello");
  EXPECT_EQ(text_of(MappedFile(temporary.path("a"))), "hello");
}

TEST_F(MappedFileTest, OutlivesTheNameOfTheFile) {
  const MappedFile file(written("hello"));
  std::filesystem::remove(temporary.path("a"));
  EXPECT_EQ(text_of(file), "hello");
}

TEST_F(MappedFileTest, AnEmptyFileIsNoBytes) { EXPECT_TRUE(MappedFile(written("")).bytes().empty()); }

TEST_F(MappedFileTest, WhatCannotBeMappedIsIo) {
  EXPECT_ERROR(MappedFile file(temporary.path("none")), ErrorCode::io, "[map]", temporary.path("none"), "No such file");
  EXPECT_ERROR(MappedFile file(temporary.folder().string()), ErrorCode::io, "it is no file");
}

}  // namespace
}  // namespace vectis
