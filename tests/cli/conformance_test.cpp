// `vectis conformance` as somebody runs it who brought a backend of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/cli/run.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;

const std::string test_backends = std::string("VECTIS_BACKEND_PATH=") + VECTIS_TEST_BACKENDS;

TEST(ConformanceCommand, PassesOnTheCpu) {
  const std::string csv = testing::TempDir() + "conformance.csv";
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

TEST(ConformanceCommand, FailsOnABackendThatComputesNothingAndSaysHowToRepeatIt) {
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
  EXPECT_THAT(test::run_vectis({"conformance", "--mode", "support", "--backend", "cpu", "--test-driver", "cpu",
                                "--slice", "--op", "copy"})
                  .output,
              HasSubstr("| copy | float16 | exact | runs on a test driver |"));
}

TEST(ConformanceCommand, ListsNamesAndRefusesNonsense) {
  EXPECT_THAT(test::run_vectis({"conformance", "--list", "--op", "sum.*"}).output, testing::Eq("sum\nsum_rows\n"));
  EXPECT_THAT(test::run_vectis({"conformance"}).error, HasSubstr("no backend was named"));
  EXPECT_THAT(test::run_vectis({"conformance", "--backend", "cpu", "--op", "("}).error,
              HasSubstr("no regular expression"));
  EXPECT_THAT(test::run_vectis({"conformance", "--backend", "cpu", "--op", "copy", "--csv", "/proc/none/x"}).error,
              HasSubstr("cannot be written"));
  EXPECT_THAT(test::run_vectis({"conformance", "--backend", "nobody"}).error, HasSubstr("nobody"));
}

}  // namespace
}  // namespace vectis
