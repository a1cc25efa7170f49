// Why a device is not there, and what to do about it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1 {

struct DeviceSummary {
  std::string name;
  std::string driver;
  bool software = false;
  bool operator==(const DeviceSummary&) const = default;
};

// One backend's health, learned in a process of its own.
struct Diagnosis {
  std::string backend;
  std::string path;
  std::string requirement;
  BackendState state = BackendState::failed;
  std::string
      reason;  // the exact one, in the driver's or loader's words; when ready, what the plug-in tells, or nothing
  std::string advice;  // what to install or change on this system; empty when nothing is wrong
  std::vector<DeviceSummary> devices;
};

struct DoctorReport {
  std::string system;               // "Debian GNU/Linux 12 (bookworm)"
  std::vector<Diagnosis> backends;  // in the automatic order
};

// Probes every plug-in in a helper process, so that one that crashes at load is named here instead of ending the
// program.
VECTIS_API DoctorReport diagnose(Runtime& runtime = Runtime::get_default());

// Text for people.
VECTIS_API void print(std::ostream& out, const DoctorReport& report);

// What the helper process does: loads one plug-in and writes what it found as a line for `diagnose`. The line's form is
// private to the two.
VECTIS_API void probe(std::ostream& out, Runtime& runtime, const std::string& path);

}  // namespace vectis::inline v0_1
