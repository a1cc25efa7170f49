// `vectis conformance` on the CPU and on test backends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;

const std::string test_backends = std::string("VECTIS_BACKEND_PATH=") + VECTIS_TEST_BACKENDS;

TEST(ConformanceCommand, PassesOnTheCpu) {
  const test::TemporaryFolder folder;
  const std::string csv = folder.path("conformance.csv");
  const ProcessResult result = test::run_vectis(
      {"conformance", "--backend", "cpu", "--slice", "--op", "fill|transpose", "--csv", csv, "--seed", "3"});
  EXPECT_EQ(result.code, 0) << result.output << result.error;
  EXPECT_THAT(result.output, HasSubstr("transpose"));
  EXPECT_THAT(result.output, HasSubstr("0 failures, seed 3"));
  std::ifstream file(csv);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("cpu:0,transpose,int8,"));
}

TEST(ConformanceCommand, FailsOnTheNullBackendAndPrintsHowToRepeat) {
  const ProcessResult result =
      test::run_vectis({"conformance", "--backend", "null", "--slice", "--op", "copy"}, {test_backends});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, HasSubstr("FAILED"));
  const std::string wanted = "vectis conformance --backend null:0 --op copy --case 'float32:";
  ASSERT_THAT(result.output, HasSubstr(wanted));
  const std::size_t begin = result.output.find(wanted) + wanted.size() - std::string("float32:").size();
  const std::string name = result.output.substr(begin, result.output.find('\'', begin) - begin);
  const ProcessResult again =
      test::run_vectis({"conformance", "--backend", "null", "--op", "copy", "--case", name}, {test_backends});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.output, HasSubstr("1 cases, 1 failures"));
}

TEST(ConformanceCommand, RejectsACaseThatDoesNotExist) {
  const ProcessResult result = test::run_vectis({"conformance", "--backend", "cpu", "--op", "copy", "--case", "foo"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.error, HasSubstr("'foo' is no case of copy"));
}

TEST(ConformanceCommand, RejectsACaseOfNoOperation) {
  const ProcessResult result = test::run_vectis({"conformance", "--backend", "cpu", "--case", "foo"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.error, HasSubstr("'foo' is no case of any of the"));
}

TEST(ConformanceCommand, PassesOnABackendThatWrapsAnother) {
  const ProcessResult result =
      test::run_vectis({"conformance", "--backend", "failing", "--slice", "--op", "sum_rows"}, {test_backends});
  EXPECT_EQ(result.code, 0) << result.output << result.error;
}

TEST(ConformanceCommand, WritesTheSupportTable) {
  const ProcessResult result =
      test::run_vectis({"conformance", "--mode", "support", "--backend", "cpu", "--slice", "--op", "copy"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("| operation | types | limit | cpu | opencl | webgpu | cuda | hip | metal |"));
  EXPECT_THAT(result.output,
              HasSubstr("| copy | float16 | exact | runs | untested | untested | untested | untested | untested |"));
  EXPECT_THAT(result.output, HasSubstr("| transpose | float16 | exact | untested |")) << "it did not run";
  EXPECT_THAT(result.output, HasSubstr("## Matrix units\n")) << "as docs/support.md";
  EXPECT_THAT(test::run_vectis({"conformance", "--mode", "support", "--backend", "cpu", "--test-driver", "cpu",
                                "--slice", "--op", "copy"})
                  .output,
              HasSubstr("| copy | float16 | exact | runs on a test driver |"));
}

TEST(ConformanceCommand, ReportsEveryDeviceByDefault) {
  EXPECT_THAT(test::run_vectis({"conformance", "--mode", "support", "--slice", "--op", "copy"},
                               {"VECTIS_BACKEND_PATH=/nonexistent"})
                  .output,
              HasSubstr("| copy | float16 | exact | runs |"));
}

TEST(ConformanceCommand, MeasuresSpeeds) {
  const test::TemporaryFolder folder;
  const ProcessResult result = test::run_vectis(
      {"conformance", "--mode", "perf", "--backend", "cpu", "--op", "copy", "--csv", folder.path("speeds.csv")});
  EXPECT_EQ(result.code, 0) << result.output << result.error;
  EXPECT_THAT(result.output,
              testing::AllOf(HasSubstr("% of roofline"), HasSubstr("copy"), HasSubstr("cpu:0: roofline")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("speeds.csv")));
  const ProcessResult wrong =
      test::run_vectis({"conformance", "--mode", "perf", "--backend", "null", "--op", "copy"}, {test_backends});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.output, HasSubstr("FAILED")) << "a speed without a right answer is none";
}

TEST(ConformanceCommand, FuzzesForASecond) {
  const ProcessResult result =
      test::run_vectis({"conformance", "--mode", "fuzz", "--seconds", "1", "--backend", "cpu", "--op", "copy"});
  EXPECT_EQ(result.code, 0) << result.output << result.error;
  EXPECT_THAT(result.output, HasSubstr(" 0 failures"));
}

TEST(ConformanceCommand, ReadsTranslatedKernelsFromAFile) {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path("texts")) << "1f\n2e\n";
  const auto support = [](const std::string& translated) {
    return test::run_vectis({"conformance", "--mode", "support", "--backend", "cpu", "--slice", "--op", "copy",
                             "--translated", translated});
  };
  EXPECT_EQ(support("metal=" + folder.path("texts")).code, 0);
  for (const std::string& nonsense : {std::string("metal"), "metal=" + folder.path("nothing")}) {
    EXPECT_THAT(support(nonsense).error, HasSubstr("names no backend and readable file; write it as metal=FILE"));
  }
}

TEST(ConformanceCommand, ListsNamesAndRejectsUnknownOnes) {
  EXPECT_THAT(test::run_vectis({"conformance", "--list", "--op", "sum.*"}).output, testing::Eq("sum\nsum_rows\n"));
  EXPECT_THAT(test::run_vectis({"conformance"}).error, HasSubstr("no backend was named"));
  EXPECT_THAT(test::run_vectis({"conformance", "--backend", "cpu", "--op", "("}).error,
              HasSubstr("not a regular expression"));
  EXPECT_THAT(test::run_vectis({"conformance", "--backend", "cpu", "--op", "copy", "--csv", "/proc/none/x"}).error,
              HasSubstr("cannot be written"));
  EXPECT_THAT(test::run_vectis({"conformance", "--backend", "nobody"}).error, HasSubstr("nobody"));
}

}  // namespace
}  // namespace vectis
