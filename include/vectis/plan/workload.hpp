// A description of work that the planner can predict: how much is computed, read and copied.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "vectis/device/device.hpp"
#include "vectis/plan/profile.hpp"

namespace vectis::inline v0_1 {

// The resources that one piece of work needs: arithmetic, memory traffic, copies and launches. Every amount must be
// finite and at least 0, and `efficiency` finite and above 0; otherwise the functions of Planner throw InvalidInput.
struct Workload {
  std::string name = {};          // key of its run-time history; names the algorithm, not the size: "exact/int8"
  ByPrecision operations = {};    // arithmetic operations; a multiply-add counts as two
  double bytes = 0;               // read and written in device memory
  double copy_in_bytes = 0;       // host to device; leave out what is already on the device
  double copy_out_bytes = 0;      // device to host
  double launches = 1;            // kernel launches that wait for each other
  double kernels_to_compile = 0;  // kernels that are in no cache
  double host_seconds = 0;        // CPU time that does not overlap with the device, as the caller estimates it
  double efficiency = 1;          // fraction of the device's peak rate that this work reaches, if known
};

// A workload on one device: one of the candidates that Planner::choose compares.
struct Placement {
  // Places the workload `what` on the device `on`. `called` is the label in explanations; empty: the label of the
  // device.
  Placement(const Device& on, Workload what, std::string_view called = {})
      : label(called.empty() ? on.label() : std::string(called)), device(on), workload(std::move(what)) {}
  // Places the workload `what` on a device known only by its profile, as in simulations. The profile must outlive the
  // placement. `called` is the label in explanations; empty: the name in the profile.
  Placement(const DeviceProfile& on, Workload what, std::string_view called = {})
      : label(called.empty() ? on.device : called), simulated(&on), workload(std::move(what)) {}

  std::string label;
  std::optional<Device> device;
  const DeviceProfile* simulated = nullptr;  // set when `device` is empty
  Workload workload;

  // Returns the label of the device, such as "cpu:0", or the name in the profile. `device` or `simulated` must be
  // set.
  [[nodiscard]] std::string device_label() const { return device ? device->label() : simulated->device; }
};

}  // namespace vectis::inline v0_1
