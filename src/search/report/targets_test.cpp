#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "search/report/measure.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;

// A GPU that meets every target by a factor of two.
DeviceReport good_report() {
  DeviceReport report;
  report.device = "cuda:0";
  report.gpu = true;
  report.rows = detail::target_rows;
  report.dim = 128;
  report.index.searches = {{Precision::fp32, 0.004, 0.02, 0, 0, 0}, {Precision::int8, 0.001, 0.0025, 0, 0, 0}};
  report.host.searches = {{Precision::int8, 0.020, 2, 0, 0, 0}};
  report.index.insert_seconds = 0.025;
  report.host.insert_seconds = 5;
  report.index.build_seconds = 15;
  report.index.graph_seconds = 15;
  report.host.graph_seconds = 600;
  report.index.memory_overhead = 0.07;
  for (const auto& [name, milliseconds] : {std::pair{"l2_distance fp32", 7.5},
                                           {"l2_distance fp16", 4.5},
                                           {"l2_distance int8", 3.0},
                                           {"matmul 512", 0.4},
                                           {"matmul 1024", 1.0},
                                           {"matmul 2048", 4.4},
                                           {"matmul 4096", 21.0}}) {
    report.operations.push_back({name, milliseconds / 1000, 0.5, {}, {}});
  }
  report.conformance.lines.emplace_back().cases = 1;
  return report;
}

DeviceReport evaluated(DeviceReport report) {
  report.targets = detail::evaluate_targets(report);
  return report;
}

std::size_t targets_that_are(const DeviceReport& report, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(report.targets, verdict, &TargetResult::verdict));
}

TEST(ReportTargets, AreMetByAFastGpu) {
  const DeviceReport report = evaluated(good_report());
  EXPECT_EQ(report.targets.size(), 16U);
  EXPECT_EQ(targets_that_are(report, Verdict::met), 16U);
  EXPECT_TRUE(report.passed());
}

// With one measurement three times as slow, exactly the targets that depend on it are missed.
TEST(ReportTargets, AreMissedOneByOne) {
  const std::map<std::string, std::pair<std::function<void(DeviceReport&)>, std::size_t>> slowed = {
      {"single", {[](DeviceReport& r) { r.index.searches[1].single_seconds = 0.003; }, 2}},
      {"batch", {[](DeviceReport& r) { r.index.searches[1].batch_seconds = 0.0075; }, 2}},
      {"fast CPU", {[](DeviceReport& r) { r.host.searches[0] = {Precision::fp32, 0.009, 0.9, 0, 0, 0}; }, 2}},
      {"insert", {[](DeviceReport& r) { r.index.insert_seconds = 0.075; }, 2}},
      {"fast insert on the CPU", {[](DeviceReport& r) { r.host.insert_seconds = 2.4; }, 1}},
      {"graph", {[](DeviceReport& r) { r.index.graph_seconds = 45; }, 2}},
      {"fast graph on the CPU", {[](DeviceReport& r) { r.host.graph_seconds = 290; }, 1}},
      {"memory", {[](DeviceReport& r) { r.index.memory_overhead = 0.21; }, 1}},
  };
  for (const auto& [name, change] : slowed) {
    DeviceReport report = good_report();
    change.first(report);
    report = evaluated(report);
    EXPECT_EQ(targets_that_are(report, Verdict::missed), change.second) << name;
    EXPECT_FALSE(report.passed()) << name;
  }
  for (std::size_t i = 0; i < good_report().operations.size(); ++i) {
    DeviceReport report = good_report();
    report.operations[i].seconds *= 3;
    report = evaluated(report);
    EXPECT_EQ(targets_that_are(report, Verdict::missed), 1U) << report.operations[i].name;
  }
}

TEST(ReportTargets, DoNotApplyToCpus) {
  DeviceReport report = good_report();
  report.gpu = false;
  report = evaluated(report);
  EXPECT_EQ(targets_that_are(report, Verdict::not_applicable), 16U);
  EXPECT_THAT(report.targets[0].reason, HasSubstr("the CPU that GPUs are compared with"));
  EXPECT_TRUE(report.targets[0].measured.has_value())
      << "the measured value is reported although the target does not apply";
  EXPECT_TRUE(report.passed());
  report.info.software = true;
  report = evaluated(report);
  EXPECT_THAT(report.targets[0].reason, HasSubstr("this software driver computes on the CPU"));
}

TEST(ReportTargets, ForAMillionVectorsDoNotApplyToFewer) {
  DeviceReport report = good_report();
  report.rows = 1000;
  report = evaluated(report);
  EXPECT_EQ(targets_that_are(report, Verdict::met), 4U) << "matrix products";
  EXPECT_THAT(report.targets[0].reason, HasSubstr("stated for 1000000 vectors of 128 dimensions, but 1000 of 128"));
}

TEST(ReportTargets, DependOnTheBackend) {
  DeviceReport report = good_report();
  report.device = "opencl:1";
  report.operations[6].seconds = 0.060;  // more than CUDA's 42.3 ms, less than the 67.8 ms of other backends
  report.index.searches[1].single_seconds = 0.0019;
  report = evaluated(report);
  EXPECT_EQ(targets_that_are(report, Verdict::missed), 0U);
  EXPECT_EQ(targets_that_are(report, Verdict::not_applicable), 0U);
}

TEST(ReportTargets, OfMemoryOverheadAreStatedForEveryBackend) {
  const auto limit = [](const std::string& device, const std::string& driver) {
    DeviceReport report = good_report();
    report.device = device;
    report.info.driver = driver;
    report = evaluated(report);
    const auto found = std::ranges::find(report.targets, "device memory overhead", &TargetResult::name);
    EXPECT_EQ(found->verdict, Verdict::met) << device;
    return found->limit;
  };
  EXPECT_EQ(limit("cuda:0", "12.4"), 15);
  EXPECT_EQ(limit("hip:0", "6.1"), 15);
  EXPECT_EQ(limit("webgpu:0", "Vulkan"), 10);
  EXPECT_EQ(limit("webgpu:0", "Metal"), 20);
  EXPECT_EQ(limit("opencl:0", "3.1"), 20);
}

TEST(ReportTargets, AreNotMetWithoutAMeasurement) {
  DeviceReport report = good_report();
  report.operations[0] = {"l2_distance fp32", 0, 0, "no memory for it", {}};
  report.operations.pop_back();
  report.index.memory_overhead.reset();
  report.host.graph_seconds.reset();
  report.index.insert_seconds = 0;  // and with it the ratio
  report = evaluated(report);
  EXPECT_EQ(targets_that_are(report, Verdict::not_applicable), 6U);
  EXPECT_EQ(std::ranges::find(report.targets, "l2_distance fp32", &TargetResult::name)->reason, "no memory for it");
}

TEST(ReportTargets, AreMissedWhenTheEstimateIsTooLong) {
  DeviceReport report = good_report();
  report.operations[6] = {"matmul 4096", 111, 0, "skipped, the estimate is 111 s", {}};
  report = evaluated(report);
  EXPECT_EQ(targets_that_are(report, Verdict::missed), 1U);
  EXPECT_EQ(report.targets.back().measured, 111'000);
}

TEST(ReportTargets, DoNotHideWrongResults) {
  DeviceReport wrong_answer = evaluated(good_report());
  wrong_answer.index.searches[0].wrong = 1;
  EXPECT_FALSE(wrong_answer.passed());
  DeviceReport wrong_operation = evaluated(good_report());
  wrong_operation.conformance.lines[0].failures = 1;
  EXPECT_FALSE(wrong_operation.passed());
  DeviceReport ended = evaluated(good_report());
  ended.failures.emplace_back("search on the device: [search] device lost");
  EXPECT_FALSE(ended.passed());
  DeviceReport wrong_speed = evaluated(good_report());
  wrong_speed.speeds.speeds.emplace_back().failure = "element 3 differs";
  EXPECT_FALSE(wrong_speed.passed());
}

}  // namespace
}  // namespace vectis
