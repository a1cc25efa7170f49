// How fast a device is: measured once per machine and driver, cached on disk, and measured again as it ages.
#pragma once

#include <cstdint>
#include <string>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1 {

// One value per precision.
struct VECTIS_API ByPrecision {
  double fp32 = 0;
  double fp16 = 0;
  double bf16 = 0;
  double int8 = 0;

  [[nodiscard]] double& at(Precision precision) noexcept;
  [[nodiscard]] double at(Precision precision) const noexcept;
  bool operator==(const ByPrecision&) const = default;
};

// A copy of n bytes takes call_seconds + n / bytes_per_second.
struct CopySpeed {
  double call_seconds = 0;
  double bytes_per_second = 0;
  bool operator==(const CopySpeed&) const = default;
};

// The result of calibrating a device. A rate of 0 was not measured, because the device has no instructions for that
// precision or the time was up; such work is predicted at the fp32 rate.
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

// Returns the profile of a device: the one of this process, else the one in the cache folder, else calibrates now,
// which takes less than half a second plus the driver's time to compile the first kernel.
//
// A machine that was busy during calibration looks slow, so a cached profile is measured again (and the better value of
// each quantity kept) until three calibrations at least 10 minutes apart agree in it. After 30 days it is replaced.
//
// Concurrent callers calibrate once. The reference stays valid, and its values constant, as long as the device's
// Runtime. Throws the device's own error when the device cannot be used, and the same error at every later call.
// Thread-safe.
VECTIS_API const DeviceProfile& profile(const Device& device);

// Calibrates now and returns that measurement alone; reads and writes no cache. Throws the device's own error.
VECTIS_API DeviceProfile calibrate(const Device& device);

// Calibrates now, combines the measurement with the cached profile, caches and returns the result. profile() of a
// running process keeps its value; new processes see the new one. Throws the device's own error.
VECTIS_API DeviceProfile recalibrate(const Device& device);

}  // namespace vectis::inline v0_1
