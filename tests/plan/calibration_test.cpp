// Calibration of the devices of this machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "vectis/base/time.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel.hpp"
#include "vectis/plan.hpp"

namespace vectis {
namespace {

std::vector<std::string> calibrated_devices() {
#if defined(VECTIS_HAS_OPENCL)
  return {"cpu", "opencl"};
#else
  return {"cpu"};
#endif
}

class CalibrationOf : public testing::TestWithParam<std::string> {
 protected:
  Device device() { return runtime.service<DeviceRegistry>().find(GetParam()).value(); }
  Runtime runtime;
};

TEST_P(CalibrationOf, TakesHalfASecondAndGivesNumbersOfThisWorld) {
  constexpr double loosely = 2;  // other tests run beside this one
  (void)calibrate(device());     // compiles what was never compiled here
  const DeviceProfile found = calibrate(device());
  std::cout << fmt::format(
      "{}: calibrated in {:.3f} s; launch {:.2g} s, to device {:.3g} B/s, to host {:.3g} B/s, memory {:.3g} B/s, fp32 "
      "{:.3g}/s, bf16 {:.3g}/s, int8 {:.3g}/s\n",
      found.device, found.calibration_seconds, found.launch_seconds, found.to_device.bytes_per_second,
      found.to_host.bytes_per_second, found.memory_bytes_per_second, found.operations_per_second.fp32,
      found.operations_per_second.bf16, found.operations_per_second.int8);
  EXPECT_LT(found.calibration_seconds, loosely);
  EXPECT_EQ(found.device, device().label());
  EXPECT_GT(found.resolution_seconds, 0);
  EXPECT_LT(found.resolution_seconds, 1e-3);
  EXPECT_GT(found.launch_seconds, 0);
  EXPECT_LT(found.launch_seconds, 0.1);
  for (const double rate : {found.to_device.bytes_per_second, found.to_host.bytes_per_second,
                            found.memory_bytes_per_second, found.operations_per_second.fp32}) {
    EXPECT_GT(rate, 1e7);
    EXPECT_LT(rate, 1e14);
  }
  EXPECT_EQ(found.compile_seconds > 0, !device().info().dialects.empty());
}

// A product of matrices of a size calibration does not use: predicted, then learned.
TEST_P(CalibrationOf, PredictsARealProductWithinReason) {
  constexpr std::uint64_t side = 320;
  constexpr double reason = 30;  // other tests run beside this one
  const DeviceContext context(device());
  Stream stream(context);
  const DeviceMemory memory(context, 2 * side * side * sizeof(float));
  const View factor(memory, DType::float32, side, side);
  const View product(memory, DType::float32, side, side, side * side, side);
  stream.fill(memory, 0, memory.bytes(), 0);
  const auto measure = [&] {
    const std::uint64_t begin = monotonic_nanoseconds();
    run(stream, "matmul", {factor, factor, product}, {0, 1});
    stream.synchronize();
    return static_cast<double>(monotonic_nanoseconds() - begin) / 1e9;
  };
  (void)measure();
  Workload work{.name = "matmul/fp32"};
  work.operations.fp32 = 2.0 * side * side * side;
  work.bytes = 3.0 * side * side * sizeof(float);
  const Placement candidate(device(), work);
  std::vector<double> times(9);
  std::ranges::generate(times, measure);
  const double before = planner(runtime).assess(candidate).predicted.seconds();
  for (const double time : times) planner(runtime).record(candidate, time);
  std::ranges::sort(times);
  const double after = planner(runtime).assess(candidate).predicted.seconds();
  std::cout << fmt::format("{}: predicted {:.3g} s, measured {:.3g} s, then predicted {:.3g} s\n", candidate.label,
                           before, times[4], after);
  if (profile(device()).complete) {  // else the machine was too busy to say anything
    EXPECT_GT(before, times.front() / reason);
    EXPECT_LT(before, times.back() * reason);
  }
  EXPECT_GE(after, times.front() * 0.7);
  EXPECT_LE(after, times.back() * 1.3);
}

INSTANTIATE_TEST_SUITE_P(Devices, CalibrationOf, testing::ValuesIn(calibrated_devices()));

}  // namespace
}  // namespace vectis
