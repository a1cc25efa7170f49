// `vectis bench exact`: its measurements, and the check of its results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run.hpp"

namespace vectis {
namespace {

using test::run_vectis;
using testing::HasSubstr;

class BenchExact : public testing::TestWithParam<const char*> {};

TEST_P(BenchExact, MeasuresAndChecksItsResults) {
  const ProcessResult result =
      run_vectis({"bench", "exact", "--device", "cpu", "--precision", GetParam(), "--rows", "3001", "--dim", "19",
                  "--queries", "33", "--k", "7", "--threads", "1", "--json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const nlohmann::json page = nlohmann::json::parse(result.output);
  EXPECT_EQ(page.at("device"), "cpu");
  EXPECT_EQ(page.at("precision"), GetParam());
  EXPECT_EQ(page.at("threads"), 1);
  EXPECT_EQ(page.at("wrong_answers"), 0);
  EXPECT_EQ(page.at("checked_queries"), 3);
  EXPECT_GE(page.at("reranked_per_query"), 7);
  EXPECT_LT(page.at("reranked_per_query"), 3001);
  for (const char* positive : {"add_ms", "first_query_ms", "single_query_ms", "batch_ms", "queries_per_second"}) {
    EXPECT_GT(page.at(positive), 0) << positive;
  }
  EXPECT_GE(page.at("bytes_per_vector"), page.at("scanned_bytes_per_vector").get<double>());
}

INSTANTIATE_TEST_SUITE_P(All, BenchExact, testing::Values("fp32", "fp16", "bf16", "int8"));

#if defined(VECTIS_OPENCL_LAYER)
TEST(BenchExactDevice, NamedComputes) {
  const ProcessResult result = run_vectis({"bench", "exact", "--device", "opencl:0", "--rows", "700", "--dim", "9",
                                           "--queries", "5", "--k", "3", "--json"});
  ASSERT_EQ(result.code, 0) << result.error;
  const nlohmann::json page = nlohmann::json::parse(result.output);
  EXPECT_EQ(page.at("device"), "opencl:0");
  EXPECT_EQ(page.at("wrong_answers"), 0);
}
#endif

TEST(BenchExactText, IsATableAndReproducible) {
  const std::vector<std::string> arguments = {"bench", "exact", "--rows", "500", "--dim", "8", "--queries", "1"};
  const ProcessResult result = run_vectis(arguments);
  ASSERT_EQ(result.code, 0) << result.error;
  for (const char* part : {"kernel", "queries_per_second", "reranked_per_query", "wrong_answers"}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
  const auto reranked = [](const std::string& text) {
    const std::size_t place = text.find("reranked_per_query");
    return text.substr(place, text.find('\n', place) - place);
  };
  EXPECT_EQ(reranked(result.output), reranked(run_vectis(arguments).output));
}

TEST(BenchExactText, NamesMistakes) {
  EXPECT_NE(run_vectis({"bench", "exact", "--rows", "0"}).code, 0);
  EXPECT_NE(run_vectis({"bench", "exact", "--dim", "65537"}).code, 0);
  const ProcessResult precision = run_vectis({"bench", "exact", "--precision", "fp8"});
  EXPECT_EQ(precision.code, 2);
  EXPECT_THAT(precision.error, HasSubstr("fp8 not in {fp32,fp16,bf16,int8}"));
  const ProcessResult negative = run_vectis({"bench", "exact", "--rows", "-5"});
  EXPECT_EQ(negative.code, 2);
  EXPECT_THAT(negative.error, HasSubstr("--rows: -5 is not an integer of 1 or more"));
  EXPECT_LT(negative.error.size(), 200U);
  const ProcessResult large = run_vectis({"bench", "exact", "--rows", "100000000000"});
  EXPECT_EQ(large.code, 1);
  EXPECT_EQ(large.end, ProcessResult::End::exited);
  EXPECT_THAT(large.error, HasSubstr("100000000000 vectors of 128 floats and the index over them need 95367.4 GiB"));
  const std::string absurd = "18446744073709551615";
  for (const std::vector<std::string>& sizes :
       {std::vector<std::string>{"--rows", absurd},
        {"--queries", absurd},
        {"--rows", "1000000", "--dim", "1", "--queries", "1000000", "--k", absurd}}) {
    std::vector<std::string> arguments = {"bench", "exact"};
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    const ProcessResult result = run_vectis(arguments);
    EXPECT_EQ(result.end, ProcessResult::End::exited) << sizes[0];
    EXPECT_THAT(result.error, HasSubstr("this host has")) << sizes[0];
  }
  const ProcessResult device = run_vectis({"bench", "exact", "--device", "abacus", "--rows", "10"});
  EXPECT_EQ(device.code, 1);
  EXPECT_THAT(device.error, HasSubstr("abacus"));
}

}  // namespace
}  // namespace vectis
