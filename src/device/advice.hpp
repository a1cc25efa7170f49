// Turns the state of a backend into advice for the user of this system.
#pragma once

#include <string>
#include <vector>

#include "vectis/base/os.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1::detail {

// A backend that is not ready, as the doctor and the registry describe it.
struct BackendProblem {
  std::string backend;
  BackendState state = BackendState::failed;
  std::string reason;
  std::string install;  // the plug-in's own advice, used where Vectis has none
};

// The operating system's name from /etc/os-release: "Debian GNU/Linux 12 (bookworm)".
std::string system_name(const Os& os);

// Device nodes of GPUs that exist and that this user may not open.
std::vector<std::string> denied_nodes(const Os& os);

// Replaces "no driver" or "no device" by "no permission" when this user may not open a GPU's device node: drivers do
// not report that case themselves.
BackendProblem refine(const Os& os, BackendProblem problem);

// What to install or change, in one sentence; empty when Vectis has no advice.
std::string advice(const Os& os, const BackendProblem& problem);

// Advice for a backend that is ready but has software devices only.
std::string software_advice(const Os& os);

// "opencl: no driver: <reason>; <advice>", or the advice for software devices.
std::string why_unusable(const Os& os, const BackendStatus& status);
std::string why_unusable(const Os& os, const BackendProblem& problem);

}  // namespace vectis::inline v0_1::detail
