#include "replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/expect_error.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::app {
namespace {

using testing::HasSubstr;

class ReplayTest : public testing::Test {
 protected:
  ReplayReport run(const std::string& lines, std::size_t rounds = 1) {
    std::istringstream in("vectis-allocation-log 1\n" + lines);
    return replay(runtime, runtime.service<DeviceRegistry>().find("cpu").value(), read_allocation_log(in), rounds);
  }
  Runtime runtime;
};

TEST_F(ReplayTest, AnEmptyLogGivesZeroes) {
  const ReplayReport report = run("");
  EXPECT_THAT(report.device, HasSubstr("cpu:0"));
  EXPECT_EQ(report.events, 0U);
  ASSERT_EQ(report.results.size(), 3U);
  for (const ReplayResult& result : report.results) {
    EXPECT_EQ(result.peak_bytes, 0U) << result.allocator;
    EXPECT_EQ(result.device_allocations, 0U) << result.allocator;
    EXPECT_EQ(result.waste.max, 0.0) << result.allocator;
  }
}

TEST_F(ReplayTest, ReportsASmallLog) {
  const ReplayReport report = run("a 1 1000 fp32 0 x\na 2 3000 fp16 0 y\nf 1\na 3 500 fp32 0 x\nf 2\nf 3\n", 3);
  EXPECT_EQ(report.events, 6U);
  EXPECT_EQ(report.allocations, 3U);
  EXPECT_EQ(report.rounds, 3U);
  EXPECT_EQ(report.peak_requested_bytes, 4000U);

  const ReplayResult& pool = report.results[0];  // blocks of 1024, 3072 and 512 bytes in one segment
  EXPECT_EQ(pool.allocator, "pool");
  EXPECT_EQ(pool.device_allocations, 1U);
  EXPECT_EQ(pool.device_allocations_last, 0U) << "all is cached";
  EXPECT_GE(pool.peak_bytes, 4096U);
  EXPECT_NEAR(pool.waste.at_peak, 96.0 / 4000, 1e-12);
  EXPECT_NEAR(pool.waste.max, 24.0 / 1000, 1e-12);
  // Live after each event, allocated and requested: (1024, 1000) (4096, 4000) (3072, 3000) (3584, 3500) (512, 500).
  EXPECT_NEAR(pool.waste.mean, (24 + 96 + 72 + 84 + 12) / 12000.0, 1e-12);

  const ReplayResult& device = report.results[1];
  EXPECT_EQ(device.allocator, "device");
  EXPECT_EQ(device.device_allocations, 3U);
  EXPECT_EQ(device.device_allocations_last, 3U);
  EXPECT_EQ(device.peak_bytes, 4000U);
  EXPECT_EQ(device.waste.max, 0.0);

  const ReplayResult& ideal = report.results[2];
  EXPECT_EQ(ideal.allocator, "best fit");
  EXPECT_EQ(ideal.device_allocations, 1U);
  EXPECT_GE(ideal.peak_bytes, 4000U);
  EXPECT_LE(ideal.peak_bytes, 4096U);
}

TEST_F(ReplayTest, MaximumWasteNeedsASixteenthOfThePeak) {
  const ReplayReport report = run("a 1 1 int8 0 x\na 2 102400 int8 0 x\nf 2\nf 1\n");
  EXPECT_LT(report.results[0].waste.max, 0.1) << "the moments with one byte live do not count";
}

TEST_F(ReplayTest, UnreleasedBuffersDoNotAccumulateOverRounds) {
  const ReplayReport once = run("a 1 3145728 int8 1 x\na 2 5242880 int8 2 x\n", 1);
  const ReplayReport often = run("a 1 3145728 int8 1 x\na 2 5242880 int8 2 x\n", 20);
  for (std::size_t i = 0; i < once.results.size(); ++i) {
    EXPECT_EQ(often.results[i].peak_bytes, once.results[i].peak_bytes) << i;
    EXPECT_EQ(often.results[i].device_allocations, once.results[i].device_allocations) << i;
  }
}

TEST_F(ReplayTest, ABufferBeyondTheDeviceThrows) {
  EXPECT_ERROR(run("a 1 8 int8 0 x\na 2 4611686018427387000 int8 0 x\n"), ErrorCode::invalid_input,
               "4611686018427387000 bytes requested");
  EXPECT_ERROR(run("", 0), ErrorCode::invalid_input, "0 rounds");
}

TEST_F(ReplayTest, AHandMadeLogIsValidated) {
  const Device cpu = runtime.service<DeviceRegistry>().find("cpu").value();
  AllocationEvent allocated;
  allocated.id = 1;
  allocated.bytes = 4096;
  AllocationEvent released;
  released.kind = AllocationEvent::Kind::release;
  released.id = 1;
  const auto run_events = [&](std::vector<AllocationEvent> events) { replay(runtime, cpu, {std::move(events)}, 1); };
  run_events({allocated, released});
  EXPECT_ERROR(run_events({released}), ErrorCode::invalid_input, "event 0: id 1 is released but was never allocated");
  EXPECT_ERROR(run_events({allocated, released, released}), ErrorCode::invalid_input,
               "event 2: id 1 is released a second time");
  EXPECT_ERROR(run_events({allocated, allocated}), ErrorCode::invalid_input, "event 1: id 1 was allocated before");
}

TEST_F(ReplayTest, PrintsATableAndJson) {
  ReplayReport report{"cpu:0 (test)", 6, 3, 2 << 20, 5, {}};
  report.results.push_back({"pool", Duration(70), 3 << 20, {0.01, 0.02, 0.03}, 4, 0});
  report.results.push_back({"best fit", Duration(200), 2 << 20, {}, 1, 0});
  std::ostringstream table;
  print(table, report);
  EXPECT_THAT(table.str(), HasSubstr("6 events, 3 allocations, at most 2.0 MiB requested at once, on cpu:0 (test)\n"));
  EXPECT_THAT(table.str(), HasSubstr("\npool           70 ns  3.0 MiB        1.500          1.0 %  2.0 %  3.0 %"));
  std::ostringstream text;
  write_json(text, report);
  const auto page = nlohmann::json::parse(text.str());
  EXPECT_EQ(page.at("events"), 6);
  EXPECT_EQ(page.at("results").size(), 2U);
  EXPECT_EQ(page.at("results")[0].at("peak_of_best_fit"), 1.5);
  EXPECT_EQ(page.at("results")[0].at("ns_per_event"), 70);
  EXPECT_EQ(page.at("results")[0].at("waste_max"), 0.03);
}

}  // namespace
}  // namespace vectis::app
