#include "search/report/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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
  report.host.searches = {{Precision::int8, 0.020, 0.5, 0, 0, 0}};
  report.index.insert_seconds = 0.025;
  report.index.build_seconds = 15;
  report.index.memory_overhead = 0.07;
  for (const auto& [name, milliseconds] : {std::pair{"l2_distance fp32", 7.5},
                                           {"l2_distance fp16", 4.5},
                                           {"l2_distance int8", 3.0},
                                           {"matmul 512", 0.4},
                                           {"matmul 1024", 1.0},
                                           {"matmul 2048", 4.4},
                                           {"matmul 4096", 21.0}}) {
    report.operations.push_back({name, milliseconds / 1000, 0.5, {}});
  }
  report.conformance.lines.emplace_back().cases = 1;
  return report;
}

DeviceReport judged(DeviceReport report) {
  report.targets = detail::judge_targets(report);
  return report;
}

std::size_t targets_that_are(const DeviceReport& report, Judgement judgement) {
  return static_cast<std::size_t>(std::ranges::count(report.targets, judgement, &JudgedTarget::judgement));
}

TEST(ReportTargets, AreAllMetByAGpuThatMeetsThem) {
  const DeviceReport report = judged(good_report());
  EXPECT_EQ(report.targets.size(), 14U);
  EXPECT_EQ(targets_that_are(report, Judgement::met), 14U);
  EXPECT_TRUE(report.passed());
}

// Each measurement three times as bad, one after the other: exactly the targets that depend on it are missed.
TEST(ReportTargets, AreMissedOneByOne) {
  const std::map<std::string, std::pair<std::function<void(DeviceReport&)>, std::size_t>> spoilt = {
      {"single", {[](DeviceReport& r) { r.index.searches[1].single_seconds = 0.003; }, 2}},
      {"batch", {[](DeviceReport& r) { r.index.searches[1].batch_seconds = 0.0075; }, 2}},
      {"quick processor", {[](DeviceReport& r) { r.host.searches[0] = {Precision::fp32, 0.009, 0.2, 0, 0, 0}; }, 2}},
      {"insert", {[](DeviceReport& r) { r.index.insert_seconds = 0.075; }, 1}},
      {"build", {[](DeviceReport& r) { r.index.build_seconds = 45; }, 1}},
      {"memory", {[](DeviceReport& r) { r.index.memory_overhead = 0.21; }, 1}},
  };
  for (const auto& [name, change] : spoilt) {
    DeviceReport report = good_report();
    change.first(report);
    report = judged(report);
    EXPECT_EQ(targets_that_are(report, Judgement::missed), change.second) << name;
    EXPECT_FALSE(report.passed()) << name;
  }
  for (std::size_t i = 0; i < good_report().operations.size(); ++i) {
    DeviceReport report = good_report();
    report.operations[i].seconds *= 3;
    report = judged(report);
    EXPECT_EQ(targets_that_are(report, Judgement::missed), 1U) << report.operations[i].name;
  }
}

TEST(ReportTargets, DoNotApplyToProcessorsAndSaySo) {
  DeviceReport report = good_report();
  report.gpu = false;
  report = judged(report);
  EXPECT_EQ(targets_that_are(report, Judgement::not_applicable), 14U);
  EXPECT_THAT(report.targets[0].reason, HasSubstr("the processor that GPUs are compared with"));
  EXPECT_TRUE(report.targets[0].measured.has_value()) << "what was measured is told all the same";
  EXPECT_TRUE(report.passed());
  report.info.software = true;
  report = judged(report);
  EXPECT_THAT(report.targets[0].reason, HasSubstr("a processor computes behind this driver"));
}

TEST(ReportTargets, OfAMillionVectorsSayNothingOfFewer) {
  DeviceReport report = good_report();
  report.rows = 1000;
  report = judged(report);
  EXPECT_EQ(targets_that_are(report, Judgement::met), 4U) << "products of matrices";
  EXPECT_THAT(report.targets[0].reason, HasSubstr("stated for 1000000 vectors of 128 numbers, and 1000 of 128"));
}

TEST(ReportTargets, DependOnTheBackend) {
  DeviceReport report = good_report();
  report.device = "opencl:1";
  report.operations[6].seconds = 0.060;  // more than CUDA's 42.3 ms, less than the 67.8 of AMD's
  report.index.searches[1].single_seconds = 0.0019;
  report = judged(report);
  EXPECT_EQ(targets_that_are(report, Judgement::missed), 0U);
  EXPECT_EQ(targets_that_are(report, Judgement::not_applicable), 1U) << "memory, which is stated for CUDA";
}

TEST(ReportTargets, ThatWereNotMeasuredAreNotMet) {
  DeviceReport report = good_report();
  report.operations[0] = {"l2_distance fp32", 0, 0, "no memory for it"};
  report.operations.pop_back();
  report.index.memory_overhead.reset();
  report = judged(report);
  EXPECT_EQ(targets_that_are(report, Judgement::not_applicable), 3U);
  EXPECT_EQ(std::ranges::find(report.targets, "l2_distance fp32", &JudgedTarget::name)->reason, "no memory for it");
}

TEST(ReportTargets, ThatWereForeseenToTakeTooLongAreMissed) {
  DeviceReport report = good_report();
  report.operations[6] = {"matmul 4096", 111, 0, "it would take about 111 s"};
  report = judged(report);
  EXPECT_EQ(targets_that_are(report, Judgement::missed), 1U);
  EXPECT_EQ(report.targets.back().measured, 111'000);
}

TEST(ReportTargets, DoNotOutweighWrongAnswers) {
  DeviceReport wrong_answer = judged(good_report());
  wrong_answer.index.searches[0].wrong = 1;
  EXPECT_FALSE(wrong_answer.passed());
  DeviceReport wrong_operation = judged(good_report());
  wrong_operation.conformance.lines[0].failures = 1;
  EXPECT_FALSE(wrong_operation.passed());
  DeviceReport ended = judged(good_report());
  ended.failures.emplace_back("searches on the device: [search] device lost");
  EXPECT_FALSE(ended.passed());
  DeviceReport wrong_speed = judged(good_report());
  wrong_speed.speeds.speeds.emplace_back().failure = "element 3 differs";
  EXPECT_FALSE(wrong_speed.passed());
}

}  // namespace
}  // namespace vectis
