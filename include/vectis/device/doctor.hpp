// The doctor: which backends work, why the others do not, and what to install or change.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1 {

// One device of a Diagnosis.
struct DeviceSummary {
  std::string name;
  std::string driver;
  bool software = false;
  bool operator==(const DeviceSummary&) const = default;
};

// The health of one backend, found by a helper process.
struct Diagnosis {
  std::string backend;
  std::string path;
  std::string requirement;
  BackendState state = BackendState::failed;
  std::string reason;  // the driver's or loader's own words; when ready, a note of the plug-in, or empty
  std::string advice;  // what to install or change on this system; empty when nothing is wrong
  std::vector<DeviceSummary> devices;
};

// Result of diagnose.
struct DoctorReport {
  std::string system;                 // "Debian GNU/Linux 12 (bookworm)"
  std::vector<std::string> warnings;  // about the configuration: unknown VECTIS_* variables, missing folders
  std::vector<Diagnosis> backends;    // in the automatic order
};

// Loads every plug-in in a helper process of its own, so that a plug-in that crashes is reported instead of ending the
// program. Takes up to a minute per plug-in. Never throws for a broken backend; throws Forked in a child process.
VECTIS_API DoctorReport diagnose(Runtime& runtime = Runtime::get_default());

// Writes the report as text.
VECTIS_API void print(std::ostream& out, const DoctorReport& report);

// The helper process's part of `diagnose`: opens the plug-in at `path` and writes the result as one line. The format of
// the line is private to the two functions.
VECTIS_API void probe(std::ostream& out, Runtime& runtime, const std::string& path);

}  // namespace vectis::inline v0_1
