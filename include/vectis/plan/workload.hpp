// What a piece of work costs, whatever the device.
#pragma once

#include <optional>
#include <string>

#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1 {

// Numbers are at least zero and finite.
struct Workload {
  std::string name = {};          // whose history it shares: what is done and how, without sizes; "exact/int8"
  ByPrecision operations = {};    // arithmetic, a multiply-add counting as two
  double bytes = 0;               // read and written in the device's memory
  double copy_in_bytes = 0;       // to the device, of what is not already there
  double copy_out_bytes = 0;      // back to the host
  double launches = 1;            // kernels waited for one after the other
  double kernels_to_compile = 0;  // of them, those in no cache
  double host_seconds = 0;        // of the processor beside the device's work, as the caller guesses them
  double efficiency = 1;          // share of the device's rate the caller knows this work reaches
};

// A way to do it: the work on a device, or on one that only a profile stands for.
struct VECTIS_API Placement {
  Placement(const Device& on, Workload what, std::string called = {});
  // `on` must outlive the candidate.
  Placement(const DeviceProfile& on, Workload what, std::string called = {});

  std::string label;  // what explanations call it; the device's unless given
  std::optional<Device> device;
  const DeviceProfile* modelled = nullptr;  // set when `device` is not
  Workload workload;

  // "cpu:0"
  [[nodiscard]] std::string device_label() const;
};

}  // namespace vectis::inline v0_1
