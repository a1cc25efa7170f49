#include "vectis/base/os.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;

class RealOsTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (folder / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  Os& os = real_os();
  test::TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.folder();
};

TEST_F(RealOsTest, ReadsTheEnvironment) {
  ::setenv("VECTIS_TEST_VARIABLE", "value", 1);
  EXPECT_EQ(os.environment("VECTIS_TEST_VARIABLE"), "value");
  ::setenv("VECTIS_TEST_VARIABLE", "", 1);
  EXPECT_EQ(os.environment("VECTIS_TEST_VARIABLE"), "");
  ::unsetenv("VECTIS_TEST_VARIABLE");
  EXPECT_EQ(os.environment("VECTIS_TEST_VARIABLE"), std::nullopt);
}

// Runs itself as a program of another user with set-user-ID. That child ends at once: leak detection does not work in
// privileged processes.
TEST(RealOs, APrivilegedProcessIgnoresTheEnvironment) {
  constexpr const char* child_variable = "VECTIS_TEST_PRIVILEGED_CHILD";
  constexpr int not_privileged = 77;
  if (std::getenv(child_variable) != nullptr) {
    if (getauxval(AT_SECURE) == 0) _exit(not_privileged);
    const bool seen = real_os().environment(child_variable) || !real_os().environment_names().empty();
    _exit(seen ? EXIT_FAILURE : EXIT_SUCCESS);
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a program of another user";
  constexpr uid_t nobody = 65534;
  const test::TemporaryFolder temporary;
  const std::string program = temporary.path("privileged");
  std::filesystem::copy_file("/proc/self/exe", program);
  ASSERT_EQ(chown(program.c_str(), nobody, nobody), 0);
  ASSERT_EQ(chmod(program.c_str(), S_ISUID | 0755), 0);
  const ProcessResult result = real_os().run({"/usr/bin/env", std::string(child_variable) + "=1", program,
                                              "--gtest_filter=RealOs.APrivilegedProcessIgnoresTheEnvironment"},
                                             60s);
  ASSERT_EQ(result.end, ProcessResult::End::exited) << result.error;
  if (result.code == not_privileged) GTEST_SKIP() << "the file system ignores set-user-ID";
  EXPECT_EQ(result.code, EXIT_SUCCESS) << result.output << result.error;
}

TEST_F(RealOsTest, ReadsWholeFiles) {
  const std::string big(100000, 'z');
  EXPECT_EQ(os.read_file(write("big", big)), big);
  EXPECT_EQ(os.read_file(write("empty", "")), "");
  EXPECT_EQ(os.read_file((folder / "none").string()), std::nullopt);
  EXPECT_EQ(os.read_file(folder.string()), std::nullopt);
}

TEST_F(RealOsTest, ReadsOwnFilesOnlyIfNobodyElseCanHaveWrittenThem) {
  const std::string file = write("file", "text");
  const auto read_with_mode = [&](mode_t mode) {
    EXPECT_EQ(chmod(file.c_str(), mode), 0);
    return os.read_own_file(file);
  };
  EXPECT_EQ(read_with_mode(0600), "text");
  EXPECT_EQ(read_with_mode(0644), "text");
  EXPECT_EQ(read_with_mode(0660), std::nullopt);
  EXPECT_EQ(read_with_mode(0606), std::nullopt);
  EXPECT_EQ(read_with_mode(0600), "text");
  std::filesystem::create_symlink(file, folder / "link");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const char* const name : {"link", "fifo", "none", "."}) {
    EXPECT_EQ(os.read_own_file((folder / name).string()), std::nullopt) << name;
  }
  if (geteuid() != 0) return;
  constexpr uid_t nobody = 65534;
  ASSERT_EQ(chown(file.c_str(), nobody, nobody), 0);
  EXPECT_EQ(os.read_own_file(file), std::nullopt);
}

TEST_F(RealOsTest, ListsFoldersSorted) {
  for (const char* const name : {"b", "a", ".c"}) write(name, "");
  EXPECT_THAT(os.list_directory(folder.string()), testing::ElementsAre(".c", "a", "b"));
  EXPECT_THAT(os.list_directory((folder / "none").string()), testing::IsEmpty());
  EXPECT_THAT(os.list_directory((folder / "a").string()), testing::IsEmpty());
}

TEST_F(RealOsTest, ReportsFileAccess) {
  const std::string file = write("a", "");
  EXPECT_EQ(os.access(file), FileAccess::granted);
  EXPECT_EQ(os.access((folder / "none").string()), FileAccess::absent);
  EXPECT_EQ(os.access(file + "/below"), FileAccess::absent);
  // A name that is too long gives an error other than "absent", also for root.
  EXPECT_EQ(os.access(std::string(100000, 'x')), FileAccess::denied);
}

TEST_F(RealOsTest, KnowsCharacterDevices) {
  EXPECT_TRUE(os.is_character_device("/dev/null"));
  EXPECT_FALSE(os.is_character_device("/dev"));
  EXPECT_FALSE(os.is_character_device(write("a", "")));
  EXPECT_FALSE(os.is_character_device((folder / "none").string()));
  EXPECT_FALSE(os.is_character_device(std::string("/dev/null\0x", 11)));
}

TEST_F(RealOsTest, RunsProgramsAndOpensLibraries) {
  EXPECT_EQ(os.run({"printf", "hello"}, 60s).output, "hello");
  const OpenedLibrary library = os.open_library("libm.so.6");
  ASSERT_NE(library.handle, nullptr);
  EXPECT_NE(os.symbol(library.handle, "cos"), nullptr);
  EXPECT_EQ(os.module_directory(), std::filesystem::canonical("/proc/self/exe").parent_path());
}

TEST_F(RealOsTest, ReportsMemory) {
  EXPECT_GT(os.memory_total_bytes(), 64ULL << 20);
  EXPECT_GT(os.memory_free_bytes(), 0U);
  EXPECT_LT(os.memory_free_bytes(), os.memory_total_bytes());
}

TEST_F(RealOsTest, MeasuresCpuUtilization) {
  static_cast<void>(os.cpu_utilization());
  std::optional<double> share;
  for (int i = 0; i < 200 && !share; ++i) {  // the counters move in steps of 10 ms
    std::this_thread::sleep_for(20ms);
    share = os.cpu_utilization();
  }
  ASSERT_TRUE(share);
  EXPECT_GE(*share, 0);
  EXPECT_LE(*share, 1);
}

TEST_F(RealOsTest, ReadsTheWallClockAndRecognizesAPipe) {
  constexpr std::int64_t year_2025 = 1'735'689'600;
  EXPECT_GT(os.unix_seconds(), year_2025);
  // A child's standard output is a pipe; `test -t 1` checks the same.
  EXPECT_EQ(os.run({"sh", "-c", "test -t 1"}, 60s).code, 1);
}

TEST(RealOsConcurrent, IsSharedByThreads) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 20; ++i) {
        static_cast<void>(real_os().cpu_utilization());
        EXPECT_GT(real_os().memory_total_bytes(), 0U);
        EXPECT_EQ(real_os().run({"printf", "x"}, 60s).output, "x");
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST_F(RealOsTest, ReplacesAFileAndCreatesFoldersForThisUser) {
  const std::string path = (folder / "a" / "b" / "file").string();
  os.replace_file(path, bytes_of("first"));
  os.replace_file(path, bytes_of("second"));
  EXPECT_EQ(os.read_file(path), "second");
  os.replace_file(path, {});
  EXPECT_EQ(os.read_file(path), "");
  EXPECT_THAT(os.list_directory((folder / "a" / "b").string()), testing::ElementsAre("file"));
  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  EXPECT_EQ(std::filesystem::status(folder / "a").permissions() & others, std::filesystem::perms::none);
}

TEST_F(RealOsTest, AFailedReplaceLeavesTheFileAndNoTemporary) {
  const std::string in_the_way = write("plain", "x");
  EXPECT_ERROR(os.replace_file(in_the_way + "/file", bytes_of("y")), ErrorCode::io, in_the_way, "Not a directory");
  std::filesystem::create_directories(folder / "full" / "inner");
  const std::string occupied = (folder / "full").string();
  EXPECT_ERROR(os.replace_file(occupied, bytes_of("y")), ErrorCode::io, occupied, "directory");
  EXPECT_THAT(os.list_directory(folder.string()), testing::ElementsAre("full", "plain"));
  EXPECT_EQ(os.read_file(in_the_way), "x");
}

TEST_F(RealOsTest, RemovesAFile) {
  const std::string path = write("file", "x");
  EXPECT_TRUE(os.remove_file(path));
  EXPECT_FALSE(os.remove_file(path));
}

class RealOsFilesConcurrent : public RealOsTest {};

TEST_F(RealOsFilesConcurrent, WritersOfOneFileNeverMix) {
  const std::string path = (folder / "shared").string();
  const std::vector<std::string> texts{std::string(100'000, 'a'), std::string(70'000, 'b'), std::string(30'000, 'c')};
  std::vector<std::thread> writers;
  writers.reserve(texts.size());
  for (const std::string& text : texts) {
    writers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) os.replace_file(path, bytes_of(text));
    });
  }
  for (int round = 0; round < 100; ++round) {
    const auto found = os.read_file(path);
    EXPECT_TRUE(!found || std::find(texts.begin(), texts.end(), *found) != texts.end());
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(os.list_directory(folder.string()), testing::ElementsAre("shared"));
}

TEST(Library, OpensByNameAndFindsSymbols) {
  const OpenedLibrary library = real_os().open_library("libm.so.6");
  ASSERT_NE(library.handle, nullptr) << library.error;
  EXPECT_EQ(library.error, "");
  auto* const cosine = reinterpret_cast<double (*)(double)>(real_os().symbol(library.handle, "cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(real_os().symbol(library.handle, "no_such_function"), nullptr);
  EXPECT_EQ(real_os().open_library("libm.so.6").handle, library.handle);
}

TEST(Library, AMissingLibraryReportsTheLoadersError) {
  const OpenedLibrary library = real_os().open_library("libvectis_is_not_here.so");
  EXPECT_EQ(library.handle, nullptr);
  EXPECT_THAT(library.error, testing::HasSubstr("libvectis_is_not_here.so"));
  EXPECT_EQ(real_os().open_library("").error, "no library was named");
}

TEST(Library, TheModuleDirectoryIsTheTestsFolder) {
  EXPECT_EQ(real_os().module_directory(), std::filesystem::canonical("/proc/self/exe").parent_path());
}

}  // namespace
}  // namespace vectis
