// Turns the state of a backend into advice for the user of this system.
#pragma once

#include <string>
#include <vector>

#include "vectis/base/os.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1::detail {

// A backend that is not ready: its name, state, reason and the plug-in's own advice. Input of refine(), advice() and
// why_unusable().
struct BackendProblem {
  std::string backend;
  BackendState state = BackendState::failed;
  std::string reason;
  std::string install;  // the plug-in's own advice, used where Vectis has none
};

// Returns the operating system's name from /etc/os-release, such as "Debian GNU/Linux 12 (bookworm)"; "an unknown
// system" when the file does not name it.
std::string system_name(const Os& os);

// Returns the paths of the GPU device nodes (/dev/dri/renderD*, /dev/kfd, /dev/nvidia*) that exist and that this user
// may not open; empty when there is none.
std::vector<std::string> denied_nodes(const Os& os);

// Returns `problem` with the state no_permission and a reason, when its state is no_driver or no_device and this user
// may not open a GPU's device node, which drivers do not report themselves; otherwise returns `problem` unchanged.
BackendProblem refine(const Os& os, BackendProblem problem);

// Returns what to install or change on this system to solve `problem`, which should have passed refine(); an empty
// string when Vectis has no advice.
std::string advice(const Os& os, const BackendProblem& problem);

// Returns the advice for a backend that is ready but has software devices only: how to allow them, and which device
// nodes this user may not open.
std::string software_advice(const Os& os);

// Returns why the backend is not usable as a GPU: "opencl: no driver: <reason>; <advice>", or "opencl: <advice for
// software devices>" when `status` is ready. Never fails for a problem without advice: that part is left out.
std::string why_unusable(const Os& os, const BackendStatus& status);
// Returns why the backend is not usable, after refine(): "opencl: no driver: <reason>; <advice>". Without advice that
// part is left out. `problem` must not have the state ready.
std::string why_unusable(const Os& os, const BackendProblem& problem);

}  // namespace vectis::inline v0_1::detail
