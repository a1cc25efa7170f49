// From a backend's state to what a person should do about it on this system.
#pragma once

#include <string>
#include <vector>

#include "vectis/base/os.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1::detail {

// What is known of a backend that is not ready; the doctor and the registry both come with this.
struct BackendProblem {
  std::string backend;
  BackendState state = BackendState::failed;
  std::string reason;
  std::string install;  // the plug-in's own words, used where we have none of ours
};

// The operating system's name as it gives it: "Debian GNU/Linux 12 (bookworm)".
std::string system_name(const Os& os);

// Device nodes that exist and may not be opened.
std::vector<std::string> denied_nodes(const Os& os);

// A driver that sees no device often just may not open it: where a device node is denied, that is the reason.
BackendProblem refine(const Os& os, BackendProblem problem);

// One sentence; empty when there is nothing to advise.
std::string advice(const Os& os, const BackendProblem& problem);

// What to say when the only devices are software drivers.
std::string software_advice(const Os& os);

// "opencl: no driver: <reason>; <advice>", or that it has software devices only.
std::string why_unusable(const Os& os, const BackendStatus& status);
std::string why_unusable(const Os& os, const BackendProblem& problem);

}  // namespace vectis::inline v0_1::detail
