// Turns the state of a backend into advice for the user of this system.
#pragma once

#include <string>
#include <string_view>

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

// Returns `problem` with the state no_permission and a reason, when its state is no_driver or no_device and this user
// may not open a device node of the backend (device_nodes()), which drivers do not report themselves; otherwise returns
// `problem` unchanged.
BackendProblem refine(const Os& os, BackendProblem problem);

// Returns what to install or change on this system to solve `problem`, which should have passed refine(); an empty
// string when Vectis has no advice.
std::string advice(const Os& os, const BackendProblem& problem);

// Returns what to do about a driver's error or a plug-in's note whose own words do not say it, such as a GPU in
// exclusive mode; an empty string when Vectis does not know these words.
std::string advice_for_words(std::string_view backend, std::string_view words);

// Returns the advice for a backend that is ready but has software devices only: how to allow them, and which of its
// device nodes this user may not open.
std::string software_advice(const Os& os, std::string_view backend);

// Returns why the backend is not usable as a GPU: "opencl: no driver: <reason>; <advice>", or "opencl: <advice for
// software devices, or why its GPU runs no kernels>" when `status` is ready. Never fails for a problem without advice:
// that part is left out.
std::string why_unusable(const Os& os, const BackendStatus& status);
// Returns why the backend is not usable, after refine(): "opencl: no driver: <reason>; <advice>". Without advice that
// part is left out. `problem` must not have the state ready.
std::string why_unusable(const Os& os, const BackendProblem& problem);

}  // namespace vectis::inline v0_1::detail
