// How fast a device is, measured once and kept per machine and driver.
#pragma once

#include <string>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1 {

// One number for each precision: operations, or operations per second.
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

// What calibration found. A rate of zero was not measured: the device has no instructions for that precision, or there
// was no time; such work is predicted to run as fast as in fp32.
struct DeviceProfile {
  std::string device;          // its label, "opencl:0", or the name of a modelled one; whose history it is
  double launch_seconds = 0;   // of the smallest kernel, waited for
  double compile_seconds = 0;  // of a kernel that is in no cache; zero where none is
  CopySpeed to_device;
  CopySpeed to_host;
  double memory_bytes_per_second = 0;  // its own memory, reading and writing
  ByPrecision operations_per_second;   // in products of matrices, a multiply-add counting as two
  double resolution_seconds = 0;       // of the clock that measured
  double calibration_seconds = 0;      // how long all this took
  bool complete = false;               // false: half a second did not suffice; it is not kept
  bool operator==(const DeviceProfile&) const = default;
};

// The profile of a device: from this process, from the cache folder, else measured now, which takes less than half a
// second unless the driver needs longer to compile the first kernel. Threads that ask together measure once. The
// reference stays valid as long as the device's Runtime. Throws what using the device throws; a failure is remembered.
// Thread-safe.
VECTIS_API const DeviceProfile& profile(const Device& device);

// Measures afresh, keeping nothing.
VECTIS_API DeviceProfile calibrate(const Device& device);

}  // namespace vectis::inline v0_1
