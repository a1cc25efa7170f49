#include "vectis/base/file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/pages.hpp"

namespace vectis {
namespace {

class FileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return temporary.path(name); }

  [[nodiscard]] std::vector<std::string> names() const { return real_os().list_directory(temporary.folder().string()); }
  [[nodiscard]] std::string text(const std::string& name) const { return real_os().read_file(path(name)).value_or(""); }
  void write(const std::string& name, const std::string& content) const {
    real_os().replace_file(path(name), std::as_bytes(std::span(content)));
  }
  static void save(const std::string& path) {
    AtomicFileWriter writer(path);
    writer.put('n');
    writer.commit();
  }

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

// A system call would end the path at the NUL byte, and use or destroy the file of that shorter name.
// Part of the bytes of a failed write are in the temporary file: a commit after it would replace the old file by a file
// with some bytes twice.
TEST_F(FileTest, AnAtomicWriterCommitsNothingAfterAFailure) {
  write("a", "old");
  AtomicFileWriter writer(path("a"));
  const std::vector<std::byte> bytes(std::size_t{1} << 20U);  // as many as the writer buffers
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small{bytes.size() / 2, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_ERROR(writer.write(bytes), ErrorCode::io, "File too large");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_ERROR(writer.write(bytes), ErrorCode::io, "File too large");
  EXPECT_ERROR(writer.commit(), ErrorCode::io, "File too large");
  EXPECT_EQ(text("a"), "old");
}

TEST_F(FileTest, PathsWithNulAreInvalidAndTouchNoFile) {
  write("precious", "old");
  const std::string hidden = path("precious") + std::string("\0x", 2);
  EXPECT_ERROR(AtomicFileWriter writer(hidden), ErrorCode::invalid_input, "NUL", path("precious"));
  EXPECT_ERROR(FileWriter writer(hidden), ErrorCode::invalid_input, "NUL", path("precious"));
  EXPECT_ERROR(FileReader reader(hidden), ErrorCode::invalid_input, "NUL", path("precious"));
  EXPECT_ERROR(MappedFile file(hidden), ErrorCode::invalid_input, "NUL", path("precious"));
  EXPECT_ERROR(real_os().replace_file(hidden, {}), ErrorCode::invalid_input, "NUL", path("precious"));
  EXPECT_EQ(real_os().read_file(hidden), std::nullopt);
  EXPECT_FALSE(real_os().remove_file(hidden));
  EXPECT_EQ(real_os().access(hidden), FileAccess::absent);
  EXPECT_TRUE(real_os().list_directory(temporary.folder().string() + std::string("\0x", 2)).empty());
  EXPECT_EQ(real_os().open_library(std::string("libc.so.6\0x", 11)).handle, nullptr);
  EXPECT_EQ(text("precious"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"precious"});
}

// A name of path, process id and counter could be prepared by others as a link to a victim.
TEST_F(FileTest, TemporaryNamesCannotBePrepared) {
  write("victim", "old");
  for (int counter = 0; counter < 50; ++counter) {
    for (const std::string suffix : {".saving", ".tmp"}) {
      const std::string name = "a." + std::to_string(getpid()) + "-" + std::to_string(counter) + suffix;
      std::filesystem::create_symlink(path("victim"), path(name));
    }
  }
  save(path("a"));
  EXPECT_EQ(text("victim"), "old");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path("a"))));
  write("a", "new");
  EXPECT_EQ(text("victim"), "old");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path("a"))));
}

TEST_F(FileTest, TheLongestFileNameCanBeReplaced) {
  const std::string longest(255, 'n');
  save(path(longest));
  save(path(longest));
  write(longest, "x");
  EXPECT_EQ(text(longest), "x");
  EXPECT_EQ(names(), std::vector<std::string>{longest});
  EXPECT_ERROR(save(path(longest + "n")), ErrorCode::io, "too long");
}

TEST_F(FileTest, ReplacingKeepsThePermissions) {
  for (const mode_t mode : {0600U, 0640U, 0666U, 0755U}) {  // the usual umask, 022, would give another mode
    write("a", "old");
    ASSERT_EQ(chmod(path("a").c_str(), mode), 0);
    save(path("a"));
    struct stat status = {};
    ASSERT_EQ(stat(path("a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, mode);
    EXPECT_EQ(text("a"), "n");
  }
}

TEST_F(FileTest, ReplacesTheTargetOfSymbolicLinks) {
  std::filesystem::create_directory(path("data"));
  write("data/file", "old");
  std::filesystem::create_symlink("data/second", path("first"));  // relative to the folder of the link
  std::filesystem::create_symlink("file", path("data/second"));
  save(path("first"));
  EXPECT_EQ(text("data/file"), "n");
  EXPECT_EQ(std::filesystem::read_symlink(path("first")), "data/second");
  EXPECT_EQ(std::filesystem::read_symlink(path("data/second")), "file");
  std::filesystem::create_symlink(path("data/missing"), path("dangling"));
  save(path("dangling"));
  EXPECT_EQ(text("data/missing"), "n");
  std::filesystem::create_symlink("cycle", path("cycle"));
  EXPECT_ERROR(save(path("cycle")), ErrorCode::io, path("cycle"), "symbolic links");
  EXPECT_EQ(names(), (std::vector<std::string>{"cycle", "dangling", "data", "first"}));
}

TEST_F(FileTest, OnlyRegularFilesAreReplaced) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink("/dev/null", path("link"));
  EXPECT_ERROR(save(path("fifo")), ErrorCode::invalid_input, path("fifo"), "a FIFO", "pass the path of a file");
  EXPECT_ERROR(save(path("folder")), ErrorCode::invalid_input, path("folder"), "a folder");
  EXPECT_ERROR(save(path("link")), ErrorCode::invalid_input, "/dev/null", "a device");
  EXPECT_TRUE(std::filesystem::is_fifo(path("fifo")));
  EXPECT_EQ(names(), (std::vector<std::string>{"fifo", "folder", "link"}));
}

}  // namespace
}  // namespace vectis
