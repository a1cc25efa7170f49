// The documents' rules of thumb, on a CPU and a device that is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "vectis/device.hpp"
#include "vectis/plan.hpp"

#if defined(VECTIS_HAS_OPENCL)

namespace vectis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// What the settings make of work that a profile as wrong as can be would give to the device.
Choice choose_with(const Settings::Values& settings, double bytes, double copied) {
  RuntimeOptions options;
  options.settings = settings;
  Runtime runtime(options);
  const auto& registry = runtime.service<DeviceRegistry>();
  Workload on_cpu{.name = "rules"};
  on_cpu.operations.fp32 = 1e18;
  on_cpu.bytes = bytes;
  Workload on_device = on_cpu;
  on_device.operations.fp32 = 0;
  on_device.copy_in_bytes = copied;
  const std::array ways{Placement(registry.find("cpu").value(), on_cpu),
                        Placement(registry.find("opencl").value(), on_device)};
  return planner(runtime).choose(ways);
}

TEST(PlanRules, AreOffUnlessSet) {
  EXPECT_EQ(choose_with({}, 1, 0).index, 1U);
  EXPECT_EQ(choose_with({}, 1, 1e15).index, 1U);
}

TEST(PlanRules, SmallWorkStaysOnTheCpu) {
  const Settings::Values rule = {{"plan.gpu_bytes_min", "1000000"}};
  const Choice small = choose_with(rule, 999999, 0);
  EXPECT_EQ(small.index, 0U);
  EXPECT_THAT(small.candidates[0].excluded, IsEmpty());
  EXPECT_THAT(small.candidates[1].excluded, HasSubstr("it touches 999999 bytes"));
  EXPECT_EQ(choose_with(rule, 1000000, 0).index, 1U);
}

TEST(PlanRules, WhatIsCopiedMustFitSeveralTimes) {
  const Settings::Values rule = {{"plan.gpu_free_factor", "2"}};
  const Choice large = choose_with(rule, 1, 1e15);
  EXPECT_EQ(large.index, 0U);
  EXPECT_THAT(large.candidates[1].excluded, HasSubstr("plan.gpu_free_factor (2)"));
  EXPECT_EQ(choose_with(rule, 1, 1e3).index, 1U);
}

TEST(PlanRules, SoftwareDriversAreCandidatesOnlyWhenAllowed) {
  Runtime runtime;
  const auto allows_software = [&](const DeviceRequest& request) {
    for (const Device& device : allowed_devices(runtime, request)) {
      if (device.info().software) return true;
    }
    return false;
  };
  EXPECT_FALSE(allows_software({}));
  EXPECT_TRUE(allows_software({.allow_software = true}));
}

// A driver may fail to report its free memory when another device could still do the work.
TEST(PlanRules, ADeviceThatCannotReportItsFreeMemoryIsLeftOut) {
  std::vector<std::string> log;
  RuntimeOptions options;
  options.settings = {{"plan.gpu_free_factor", "2"}};
  options.log = [&](const LogRecord& record) { log.emplace_back(record.message); };
  Runtime runtime(options);
  auto& registry = runtime.service<DeviceRegistry>();
  const Workload work{.name = "rules", .bytes = 1e6, .copy_in_bytes = 1e6};
  const std::array ways{Placement(registry.find("failing").value(), work),
                        Placement(registry.find("cpu").value(), work)};
  (void)planner(runtime).choose(ways);  // calibrates
  registry.configure("failing", "fail", "device_memory 1 driver_failure");
  const Choice choice = planner(runtime).choose(ways);
  EXPECT_EQ(choice.index, 1U);
  EXPECT_THAT(choice.candidates[0].excluded, HasSubstr("device_memory"));
  EXPECT_THAT(choice.reason, HasSubstr("failing:0 cannot be used"));
  EXPECT_THAT(log, testing::Contains(HasSubstr("the planner does not choose failing:0")));
  registry.configure("failing", "fail", "device_memory 1 driver_failure");
  EXPECT_ERROR((void)planner(runtime).choose(std::span(ways).first(1)), ErrorCode::driver_failure, "device_memory");
}

}  // namespace
}  // namespace vectis

#endif
