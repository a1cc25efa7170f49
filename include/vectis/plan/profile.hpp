// How fast a device is: measured once per machine and driver, cached on disk, and measured again as it ages.
//
// A machine that was busy during calibration looks slow. Therefore profile() measures a cached profile again, and
// keeps the better value of each quantity, until the profile combines three calibrations at least 10 minutes apart.
// After 30 days it replaces the profile.
#pragma once

#include <cstdint>
#include <string>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1 {

// One value, such as a rate or a number of operations, for each precision.
struct VECTIS_API ByPrecision {
  double fp32 = 0;
  double fp16 = 0;
  double bf16 = 0;
  double int8 = 0;

  // Returns a reference to the value of `precision`. Does not throw.
  [[nodiscard]] double& at(Precision precision) noexcept;
  // Returns the value of `precision`. Does not throw.
  [[nodiscard]] double at(Precision precision) const noexcept;
  bool operator==(const ByPrecision&) const = default;
};

// Speed of copies in one direction: a copy of n bytes takes call_seconds + n / bytes_per_second seconds.
struct CopySpeed {
  double call_seconds = 0;
  double bytes_per_second = 0;
  bool operator==(const CopySpeed&) const = default;
};

// Measured speed of a device, the result of calibration. A rate of 0 was not measured, because the device has no
// instructions for that precision or the time budget ran out; work in that precision is predicted at the fp32 rate.
struct DeviceProfile {
  std::string device;          // label, "opencl:0", or the name of a simulated device; key of the run-time history
  double launch_seconds = 0;   // latency of an empty kernel, including the wait for it
  double compile_seconds = 0;  // of a kernel that is in no cache; 0 where nothing is compiled
  CopySpeed to_device;
  CopySpeed to_host;
  double memory_bytes_per_second = 0;  // device memory bandwidth, reads plus writes
  ByPrecision operations_per_second;   // in matrix products; a multiply-add counts as two
  double resolution_seconds = 0;       // of the clock used
  double calibration_seconds = 0;      // duration of the last calibration
  std::int64_t measured_at = 0;        // time of the last calibration, seconds since 1970 UTC
  std::uint32_t measurements = 1;      // calibrations combined in this profile: the best value of each
  bool complete = false;               // false when the time budget ran out; incomplete profiles are not cached
  bool operator==(const DeviceProfile&) const = default;
};

// Returns the profile of `device` from this process, else from the cache folder, else calibrates in less than half a
// second plus the time to compile kernels; concurrent callers calibrate once. The reference is valid, and its values
// constant, as long as the device's Runtime. Throws the device's own error (such as BackendCreation or DeviceLost)
// when the device cannot be used, and that error again for a minute before it calibrates again. Thread-safe.
VECTIS_API const DeviceProfile& profile(const Device& device);

// Calibrates `device` now and returns that measurement alone; neither reads nor writes the cache. An idle machine is
// expected: load makes the device look slower. Throws the device's own error, such as BackendCreation or DeviceLost,
// when the device cannot be used.
VECTIS_API DeviceProfile calibrate(const Device& device);

// Calibrates `device` now, combines the measurement with the cached profile (the better value of each quantity),
// caches and returns the result; does not cache after an incomplete calibration. profile() of a running process keeps
// its value. Throws the device's own error, such as BackendCreation or DeviceLost, when the device cannot be used.
VECTIS_API DeviceProfile recalibrate(const Device& device);

}  // namespace vectis::inline v0_1
