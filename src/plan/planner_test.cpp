#include "vectis/plan/planner.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "tests/support/golden.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

DeviceProfile host_profile() {
  DeviceProfile profile;
  profile.device = "host";
  profile.launch_seconds = 1e-6;
  profile.to_device = profile.to_host = {1e-6, 1e10};
  profile.memory_bytes_per_second = 1e10;
  profile.operations_per_second = {.fp32 = 1e11, .int8 = 4e11};
  return profile;
}

DeviceProfile card_profile() {
  DeviceProfile profile;
  profile.device = "card";
  profile.launch_seconds = 2e-5;
  profile.compile_seconds = 0.3;
  profile.to_device = profile.to_host = {1e-5, 1e10};
  profile.memory_bytes_per_second = 5e11;
  profile.operations_per_second = {.fp32 = 1e13, .int8 = 4e13};
  return profile;
}

// Scans `rows` vectors of 128 floats for one query.
Workload scan(double rows) { return {.name = "scan", .operations = {.fp32 = 256 * rows}, .bytes = 512 * rows}; }

Workload copied(Workload work) {
  work.copy_in_bytes = work.bytes;
  return work;
}

class PlannerTest : public testing::Test {
 protected:
  PlannerTest() {
    os.variables["VECTIS_CACHE_PATH"] = "off";
    os.variables["VECTIS_PLAN_EXPLORE_PERCENT"] = "0";
  }
  Planner& plan() {
    if (!runtime_) runtime_.emplace(test::options_on(os));
    return planner(*runtime_);
  }
  Choice choose(const Workload& on_host, const Workload& on_card) {
    return plan().choose(std::array{Placement(host, on_host), Placement(card, on_card)});
  }

  const DeviceProfile host = host_profile();
  const DeviceProfile card = card_profile();
  test::FakeOs os;

  std::optional<Runtime> runtime_;
};

TEST_F(PlannerTest, SmallWorkloadsStayOnTheHostLargeOnesGoToTheCard) {
  EXPECT_EQ(choose(scan(10), scan(10)).index, 0U);
  EXPECT_EQ(choose(scan(1e6), scan(1e6)).index, 1U);
}

TEST_F(PlannerTest, CopiesAndCompilingCount) {
  EXPECT_EQ(choose(scan(1e6), copied(scan(1e6))).index, 0U);
  Workload fresh = scan(1e5);
  fresh.kernels_to_compile = 1;
  EXPECT_EQ(choose(scan(1e5), scan(1e5)).index, 1U);
  EXPECT_EQ(choose(scan(1e5), fresh).index, 0U);
}

TEST_F(PlannerTest, ThePredictionIsTheFormula) {
  Workload work = copied(scan(1e6));
  work.copy_out_bytes = 1e6;
  work.kernels_to_compile = 2;
  work.launches = 3;
  const Prediction predicted = plan().assess(Placement(card, work)).predicted;
  EXPECT_NEAR(predicted.launch, 6e-5, 1e-8);
  EXPECT_NEAR(predicted.compile, 0.6, 1e-9);
  EXPECT_NEAR(predicted.copy, 1e-5 + 0.0512 + 1e-5 + 1e-4, 1e-9);
  EXPECT_NEAR(predicted.compute, 512e6 / 5e11, 1e-9);  // memory, not arithmetic
  EXPECT_DOUBLE_EQ(predicted.correction, 1);
  EXPECT_NEAR(predicted.seconds(), predicted.launch + predicted.compile + predicted.copy + predicted.compute, 1e-12);
  work.operations = {.fp32 = 1e12};
  EXPECT_NEAR(plan().assess(Placement(card, work)).predicted.compute, 0.1, 1e-9);
  work.efficiency = 0.5;
  EXPECT_NEAR(plan().assess(Placement(card, work)).predicted.compute, 0.2, 1e-9);
  work.operations = {.bf16 = 1e12};  // not measured: as in fp32
  EXPECT_NEAR(plan().assess(Placement(card, work)).predicted.compute, 0.2, 1e-9);
}

TEST_F(PlannerTest, TheFirstOfEqualsWins) {
  DeviceProfile twin = host_profile();
  twin.device = "twin";
  EXPECT_EQ(plan().choose(std::array{Placement(host, scan(5)), Placement(twin, scan(5))}).index, 0U);
  EXPECT_EQ(plan().choose(std::array{Placement(twin, scan(5)), Placement(host, scan(5))}).index, 0U);
}

TEST_F(PlannerTest, AProfileWrongByTenIsCorrectedByAFewRecordsOfOtherSizes) {
  for (const double wrong : {10.0, 0.1}) {
    DeviceProfile device = host_profile();
    device.device = fmt::format("wrong by {}", wrong);
    const auto truth = [&](double rows) {
      return plan().assess(Placement(host, scan(rows))).predicted.seconds() * wrong;
    };
    for (const double rows : {1e4, 3e5, 2e6}) plan().record(Placement(device, scan(rows)), truth(rows));
    for (const double rows : {1e5, 1e6, 1e7}) {
      EXPECT_NEAR(plan().assess(Placement(device, scan(rows))).predicted.seconds() / truth(rows), 1, 0.1) << rows;
    }
  }
}

TEST_F(PlannerTest, ANewSizeIsCorrectedInTheWrongPartAlone) {
  // Arithmetic is ten times slower than the profile says, copies are as it says.
  const auto truth = [&](const Workload& work) {
    Prediction predicted = plan().assess(Placement(card, work, "unrecorded")).predicted;
    return predicted.launch + predicted.copy + 10 * predicted.compute;
  };
  DeviceProfile device = card_profile();
  device.device = "slow card";
  for (const double rows : {1e5, 1e6, 3e6}) {
    plan().record(Placement(device, scan(rows)), truth(scan(rows)));
    plan().record(Placement(device, copied(scan(rows))), truth(copied(scan(rows))));
  }
  for (const double rows : {4e5, 8e6}) {
    for (const Workload& work : {scan(rows), copied(scan(rows))}) {
      EXPECT_NEAR(plan().assess(Placement(device, work)).predicted.seconds() / truth(work), 1, 0.15) << rows;
    }
  }
}

TEST_F(PlannerTest, OneSlowRunAmongSeveralHardlyCounts) {
  const double seconds = plan().assess(Placement(host, scan(1e5))).predicted.seconds();
  plan().record(Placement(host, scan(1e5)), 50 * seconds);
  for (int i = 0; i < 2; ++i) plan().record(Placement(host, scan(1e5)), seconds);
  EXPECT_NEAR(plan().assess(Placement(host, scan(1e5))).predicted.seconds() / seconds, 1, 0.15);
}

TEST_F(PlannerTest, HistoryBelongsToADeviceAndAName) {
  const double seconds = plan().assess(Placement(host, scan(1e5))).predicted.seconds();
  for (int i = 0; i < 3; ++i) plan().record(Placement(host, scan(1e5)), 7 * seconds);
  Workload other = scan(1e5);
  other.name = "other";
  EXPECT_DOUBLE_EQ(plan().assess(Placement(host, other)).predicted.correction, 1);
  EXPECT_DOUBLE_EQ(plan().assess(Placement(card, scan(1e5))).predicted.correction, 1);
  const Assessment own = plan().assess(Placement(host, scan(1e5)));
  EXPECT_NEAR(own.predicted.correction, 7, 0.7);
  EXPECT_EQ(own.records, 3U);
  ASSERT_TRUE(own.measured.has_value());
  EXPECT_NEAR(*own.measured, 7 * seconds, 1e-9);
  EXPECT_FALSE(plan().assess(Placement(host, scan(1e6))).measured.has_value());
}

TEST_F(PlannerTest, HistoriesDoNotMix) {
  (void)plan();
  const Device cpu = *runtime_->service<DeviceRegistry>().find("cpu");
  DeviceProfile same_label = host;
  same_label.device = cpu.label();
  plan().record(Placement(same_label, scan(1e5)), 1);
  EXPECT_EQ(plan().assess(Placement(same_label, scan(1e5))).records, 1U);
  EXPECT_EQ(plan().assess(Placement(cpu, scan(1e5))).records, 0U);
  DeviceProfile lines = host;
  lines.device = "a\nb";
  Workload work = scan(1e5);
  work.name = "c";
  plan().record(Placement(lines, work), 1);
  lines.device = "a";
  work.name = "b\nc";
  EXPECT_EQ(plan().assess(Placement(lines, work)).records, 0U);
}

TEST_F(PlannerTest, InvalidProfilesThrow) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto reject = [&](auto change, const char* field) {
    DeviceProfile profile = host;
    change(profile);
    const Placement placement(profile, scan(1));
    EXPECT_ERROR((void)plan().assess(placement), ErrorCode::invalid_input, field, "profile of 'host'");
    EXPECT_ERROR((void)plan().choose(std::array{Placement(card, scan(1)), placement}), ErrorCode::invalid_input, field);
    EXPECT_ERROR(plan().record(placement, 1), ErrorCode::invalid_input, field);
  };
  reject([&](auto& p) { p.launch_seconds = -1; }, "launch_seconds");
  reject([&](auto& p) { p.launch_seconds = infinity; }, "launch_seconds");
  reject([&](auto& p) { p.compile_seconds = nan; }, "compile_seconds");
  reject([&](auto& p) { p.to_device.call_seconds = nan; }, "to_device.call_seconds");
  reject([&](auto& p) { p.to_host.bytes_per_second = -1; }, "to_host.bytes_per_second");
  reject([&](auto& p) { p.memory_bytes_per_second = nan; }, "memory_bytes_per_second");
  reject([&](auto& p) { p.operations_per_second.int8 = -1; }, "operations_per_second in int8");
}

TEST_F(PlannerTest, TimesThatAreNotPositiveAreIgnored) {
  for (const double seconds : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    plan().record(Placement(host, scan(1e5)), seconds);
  }
  EXPECT_EQ(plan().assess(Placement(host, scan(1e5))).records, 0U);
}

TEST_F(PlannerTest, ExtremeRecordsDoNotChangePredictions) {
  const double before = plan().assess(Placement(host, scan(1e5))).predicted.seconds();
  Workload slow = scan(1e5);
  slow.operations.fp32 = 1e30;
  slow.efficiency = 1e-300;
  plan().record(Placement(host, slow), 1e-3);
  Workload huge = copied(scan(1e5));
  huge.bytes = huge.copy_in_bytes = huge.host_seconds = 1e308;
  huge.operations = {.fp32 = 1.7e308, .fp16 = 1.7e308};
  plan().record(Placement(host, huge), 1);
  plan().record(Placement(host, scan(1e5)), std::numeric_limits<double>::denorm_min());
  plan().record(Placement(host, scan(1e5)), std::numeric_limits<double>::max());
  EXPECT_DOUBLE_EQ(plan().assess(Placement(host, scan(1e5))).predicted.seconds(), before);
  for (int i = 0; i < 10; ++i) plan().record(Placement(host, scan(1e5)), 2 * before);
  EXPECT_NEAR(plan().assess(Placement(host, scan(1e5))).predicted.seconds() / (2 * before), 1, 0.1);
  for (const Workload& work : {slow, huge}) {
    const Prediction predicted = plan().assess(Placement(host, work)).predicted;
    EXPECT_TRUE(std::isfinite(predicted.seconds()));
    EXPECT_TRUE(std::isfinite(predicted.deviation));
    EXPECT_EQ(choose(scan(1e5), work).index, 0U);
    EXPECT_EQ(choose(work, scan(1e5)).index, 1U);
  }
}

TEST_F(PlannerTest, InvalidWorkloadsThrow) {
  EXPECT_ERROR((void)plan().choose({}), ErrorCode::invalid_input, "0 candidates");
  Workload work = scan(1);
  work.bytes = -1;
  EXPECT_ERROR((void)choose(scan(1), work), ErrorCode::invalid_input, "bytes of workload 'scan' is -1");
  work = scan(1);
  work.operations.int8 = std::nan("");
  EXPECT_ERROR((void)plan().assess(Placement(host, work)), ErrorCode::invalid_input, "operations in int8");
  work = scan(1);
  work.efficiency = 0;
  EXPECT_ERROR(plan().record(Placement(host, work), 1), ErrorCode::invalid_input, "efficiency");
}

TEST_F(PlannerTest, AnEmptyWorkloadIsPredictedToo) {
  const Choice choice = choose({}, {});
  EXPECT_EQ(choice.index, 0U);
  EXPECT_GT(choice.candidates[0].predicted.seconds(), 0);
}

TEST_F(PlannerTest, UncertainCandidatesAreExploredWithinTheBudget) {
  os.variables["VECTIS_PLAN_EXPLORE_PERCENT"] = "10";
  DeviceProfile rival = host_profile();
  rival.device = "rival";
  rival.memory_bytes_per_second /= 1.2;  // predicted slower, in truth twice as fast
  const Placement known(host, scan(1e5));
  const Placement unknown(rival, scan(1e5));
  const double seconds = plan().assess(known).predicted.seconds();
  int tried = 0;
  for (int i = 0; i < 20; ++i) {
    const Choice choice = plan().choose(std::array{known, unknown});
    const double took = choice.index == 0 ? seconds : seconds / 2;
    if (choice.explored) {
      ++tried;
      EXPECT_THAT(choice.reason, HasSubstr("rival is explored"));
    }
    plan().record(choice.index == 0 ? known : unknown, took);
  }
  EXPECT_GE(tried, 1);
  EXPECT_EQ(plan().choose(std::array{known, unknown}).index, 1U);
}

TEST_F(PlannerTest, SlowCandidatesAreNotExploredAgain) {
  os.variables["VECTIS_PLAN_EXPLORE_PERCENT"] = "10";
  const Placement fast(card, scan(1e6));
  const Placement slow(host, scan(1e6));
  double extra = 0;
  double all = 0;
  for (int i = 0; i < 500; ++i) {
    const Choice choice = plan().choose(std::array{fast, slow});
    const double took = choice.index == 0 ? 1e-3 : 50e-3;
    extra += took - 1e-3;
    all += took;
    plan().record(choice.index == 0 ? fast : slow, took);
  }
  EXPECT_LT(extra / all, 0.2);
}

TEST_F(PlannerTest, ExclusionSettingsApplyWhenSet) {
  EXPECT_EQ(choose(scan(1e3), scan(1e3)).index, 1U);
  os.variables["VECTIS_PLAN_GPU_BYTES_MIN"] = "1000000";
  RuntimeOptions options;
  options.os = &os;
  Runtime ruled(options);
  // Simulated devices are not the CPU: one large and one small candidate show the setting.
  const std::array ways{Placement(card, scan(1e3), "small"), Placement(host, scan(1e4), "large")};
  const Choice choice = planner(ruled).choose(ways);
  EXPECT_EQ(choice.index, 1U);
  EXPECT_THAT(choice.candidates[0].excluded, HasSubstr("fewer than plan.gpu_bytes_min (1000000)"));
  EXPECT_THAT(choice.explain(), HasSubstr("small is excluded: it touches 512000 bytes"));
  // A setting that would exclude every candidate is ignored.
  EXPECT_THAT(planner(ruled).choose(std::array{ways[0]}).candidates[0].excluded, IsEmpty());
}

TEST_F(PlannerTest, TheExplanationShowsEveryCandidate) {
  for (int i = 0; i < 3; ++i) plan().record(Placement(host, scan(1e6)), 0.0768);
  Workload fresh = copied(scan(1e6));
  fresh.kernels_to_compile = 1;
  const std::array ways{Placement(host, scan(1e6)), Placement(card, scan(1e6), "card, resident"),
                        Placement(card, fresh, "card, cold")};
  test::expect_golden("plan/explain.txt", plan().choose(ways).explain());
}

TEST_F(PlannerTest, OneCandidateIsExplainedToo) {
  const Choice choice = plan().choose(std::array{Placement(host, scan(1e6))});
  EXPECT_EQ(choice.reason, "host is the only candidate, predicted 51.2 ms");
}

}  // namespace
}  // namespace vectis
