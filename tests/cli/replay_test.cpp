// `vectis bench replay` of the recorded logs, on the null device, which allocates nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/cli/run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vectis {
namespace {

using test::run_vectis;
using testing::HasSubstr;

const std::vector<std::string> with_null = {"VECTIS_BACKEND_PATH=" VECTIS_TEST_BACKENDS};

class RecordedLog : public testing::TestWithParam<std::string> {};

TEST_P(RecordedLog, PoolOverheadIsCloseToBestFit) {
  const ProcessResult result = run_vectis(
      {"bench", "replay", VECTIS_MEMORY_LOGS "/" + GetParam() + ".log", "--device", "null", "--rounds", "1", "--json"},
      with_null);
  ASSERT_EQ(result.code, 0) << result.error;
  const nlohmann::json page = nlohmann::json::parse(result.output);
  EXPECT_THAT(page.at("device").get<std::string>(), HasSubstr("null:0"));
  EXPECT_GT(page.at("events"), 10000);
  const nlohmann::json& pool = page.at("results").at(0);
  EXPECT_EQ(pool.at("allocator"), "pool");
  EXPECT_LE(pool.at("waste_at_peak"), 0.12);
  EXPECT_LE(pool.at("waste_mean"), 0.12);
  EXPECT_LE(pool.at("waste_max"), 0.12);
  EXPECT_LE(pool.at("peak_of_best_fit"), 1.1);
  EXPECT_LT(pool.at("device_allocations"), page.at("results").at(1).at("device_allocations").get<int>() / 20);
  EXPECT_GE(page.at("results").at(2).at("peak_bytes"), page.at("peak_requested_bytes"));
}

std::string as_identifier(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, RecordedLog, testing::Values("training-step", "search-batches", "random"), as_identifier);

TEST(Replay, PrintsATable) {
  const ProcessResult result = run_vectis(
      {"bench", "replay", VECTIS_MEMORY_LOGS "/search-batches.log", "--device", "null", "--rounds", "1"}, with_null);
  EXPECT_EQ(result.code, 0) << result.error;
  for (const char* part : {"null:0", "allocator", "pool", "device", "best fit", "waste at peak"}) {
    EXPECT_THAT(result.output, HasSubstr(part));
  }
}

TEST(Replay, ANameOfADeviceDoesNotControlTheTerminal) {
  const ProcessResult result =
      run_vectis({"bench", "replay", VECTIS_MEMORY_LOGS "/search-batches.log", "--device", "null", "--rounds", "1"},
                 {with_null.front(), "VECTIS_BACKENDS_NULL_NAME=bad\x1B[2J"});
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("null:0 (bad?[2J 0)\n"));
  EXPECT_THAT(result.output, testing::Not(HasSubstr("\x1B")));
}

TEST(Replay, NamesMistakes) {
  EXPECT_NE(run_vectis({"bench"}).code, 0);
  EXPECT_NE(run_vectis({"bench", "replay"}).code, 0);
  EXPECT_NE(run_vectis({"bench", "replay", VECTIS_MEMORY_LOGS "/random.log", "--rounds", "0"}).code, 0);
  const ProcessResult missing = run_vectis({"bench", "replay", "/nonexistent.log"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.error, HasSubstr("Io: [replay] /nonexistent.log cannot be opened"));
  const test::TemporaryFolder folder;
  const std::string path = folder.path("corrupt.log");
  std::ofstream(path) << "vectis-allocation-log 1\na 1 64 fp32 0 x\nf 2\n";
  const ProcessResult corrupt = run_vectis({"bench", "replay", path});
  EXPECT_EQ(corrupt.code, 1);
  EXPECT_THAT(corrupt.error, HasSubstr("CorruptData: [read_allocation_log] line 3: id 2"));
}

}  // namespace
}  // namespace vectis
