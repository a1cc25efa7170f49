// The documents' rules of thumb, on a CPU and a device that is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

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

}  // namespace
}  // namespace vectis

#endif
