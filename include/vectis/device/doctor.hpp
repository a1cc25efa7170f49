// The doctor: which backends work, why the others do not, and what to install or change.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1 {

// One device that a Diagnosis found.
struct DeviceSummary {
  std::string name;
  std::string driver;
  bool software = false;          // a software driver
  bool runs_kernels = true;       // false: nothing compiles kernels for the device, which is ranked after the CPU
  std::string physical_id = {};   // equal for devices that share one physical memory; empty: unknown
  std::string same_card_as = {};  // the label of a preferred device of another backend that is the same card
  bool operator==(const DeviceSummary&) const = default;
};

// The health of one backend, as diagnose() reports it. A backend that does not work has a `state` other than
// BackendState::ready, a `reason` and, where Vectis has one, an `advice`.
struct Diagnosis {
  std::string backend;
  std::string path;
  std::string requirement;
  BackendState state = BackendState::failed;
  std::string reason;  // the driver's or loader's own words; when ready, a note of the plug-in, or empty
  std::string advice;  // what to install or change on this system; empty when nothing is wrong
  std::vector<DeviceSummary> devices;
};

// The result of diagnose(): the system's name, warnings about the configuration, and one Diagnosis for each backend.
struct DoctorReport {
  std::string system;                 // "Debian GNU/Linux 12 (bookworm)"
  std::vector<std::string> warnings;  // about the configuration: unknown VECTIS_* variables, missing folders
  std::vector<Diagnosis> backends;    // in the automatic order
};

// Loads every plug-in in a helper process of its own, for at most a minute each, and reports which backends work and
// why others do not. A plug-in that crashes or fails, or a helper process that cannot start, gives a Diagnosis with a
// reason, not an exception. Only the default argument throws: InvalidInput when the settings are invalid.
VECTIS_API DoctorReport diagnose(Runtime& runtime = Runtime::get_default());

// Writes `report` as text to `out`. A failure to write sets the error state of `out`.
VECTIS_API void print(std::ostream& out, const DoctorReport& report);

// Opens the plug-in at `path` in this process and writes the result to `out` as one line, which only diagnose()
// reads. Run it in a helper process: a plug-in that crashes ends the process. A plug-in that cannot be opened is
// reported in the line, not thrown.
VECTIS_API void probe(std::ostream& out, Runtime& runtime, const std::string& path);

}  // namespace vectis::inline v0_1
