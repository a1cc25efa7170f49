// What needs processes of its own: several that share one cache folder, and one under Oclgrind, which takes the place
// of the OpenCL driver and checks every access of a kernel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "vectis/base/os.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;
using testing::Not;

class Processes : public testing::Test {
 protected:
  // Runs a program with these variables on top of the test's own.
  static ProcessResult run(const std::vector<std::string>& variables, const std::vector<std::string>& program) {
    std::vector<std::string> command{"/usr/bin/env", "ASAN_OPTIONS=detect_leaks=0"};  // drivers and compilers leak
    command.insert(command.end(), variables.begin(), variables.end());
    command.insert(command.end(), program.begin(), program.end());
    return real_os().run(command, std::chrono::minutes(4));
  }
  [[nodiscard]] ProcessResult use_cache(int first, int count) const {
    return run({"VECTIS_CACHE_PATH=" + folder.string()},
               {VECTIS_CACHE_SAMPLE, std::to_string(first), std::to_string(count)});
  }
  [[nodiscard]] std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "kernels")) found.push_back(entry.path());
    return found;
  }

  test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.folder();
};

TEST_F(Processes, TwoProcessesWriteOneCacheFolderConcurrently) {
  constexpr int count = 4;
  std::vector<ProcessResult> results(2);
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] { results[static_cast<std::size_t>(writer)] = use_cache(writer * 2, count); });
  }
  for (std::thread& writer : writers) writer.join();
  for (const ProcessResult& result : results) {
    EXPECT_EQ(result.end, ProcessResult::End::exited);
    EXPECT_EQ(result.code, 0) << result.error;
    EXPECT_THAT(result.output, HasSubstr("rebuilt 0"));
  }
  EXPECT_EQ(entries().size(), static_cast<std::size_t>(count));  // and no temporary file
  EXPECT_EQ(use_cache(0, count).output, "compiled 0 disk 4 rebuilt 0\n");
}

TEST_F(Processes, CorruptEntriesAreRebuilt) {
  EXPECT_EQ(use_cache(0, 2).output, "compiled 2 disk 0 rebuilt 0\n");
  const auto files = entries();
  ASSERT_EQ(files.size(), 2U);
  std::filesystem::resize_file(files[0], std::filesystem::file_size(files[0]) / 2);
  std::ofstream(files[1], std::ios::binary) << "something else";
  EXPECT_EQ(use_cache(0, 2).output, "compiled 2 disk 0 rebuilt 2\n");
  EXPECT_EQ(use_cache(0, 2).output, "compiled 0 disk 2 rebuilt 0\n");
}

// Oclgrind's own exit status says nothing: its words do.
class UnderOclgrind : public Processes {
 protected:
  static ProcessResult run_kernel(const std::string& which) {
    return run({"OCL_ICD_VENDORS=" VECTIS_OCLGRIND, "OCLGRIND_DATA_RACES=1", "OCLGRIND_UNINITIALIZED=1"},
               {VECTIS_OCLGRIND_SAMPLE, which});
  }
};

TEST_F(UnderOclgrind, ReportsNothingForACorrectKernel) {
  const ProcessResult result = run_kernel("right");
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("Oclgrind Simulator"));
  EXPECT_EQ(result.error, "");
}

TEST_F(UnderOclgrind, ReportsAnOutOfBoundsWriteWithItsLine) {
  const ProcessResult result = run_kernel("beyond");
  EXPECT_THAT(result.output, HasSubstr("Oclgrind Simulator"));
  EXPECT_THAT(result.error, HasSubstr("Invalid write of size 4 at global memory address"));
  EXPECT_THAT(result.error, HasSubstr("Kernel: vt_shift"));
  EXPECT_THAT(result.error, HasSubstr("At line 3"));
}

TEST_F(UnderOclgrind, ReportsADataRace) {
  const ProcessResult result = run_kernel("race");
  EXPECT_THAT(result.error, HasSubstr("data race"));
  EXPECT_THAT(result.error, Not(HasSubstr("Invalid")));
}

}  // namespace
}  // namespace vectis
