// Searchers of exact indexes on devices.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "search/exact/device/search.hpp"
#include "search/exact/search_task.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::exact {

// Makes a searcher that searches on these devices only, shared as `split` says; `reason` says why they were chosen.
// Preconditions, not checked: at least one device; `runtime` outlives the searcher. Its searches throw the devices'
// errors.
[[nodiscard]] std::unique_ptr<Searcher> make_device_searcher(Runtime& runtime, std::span<const Device> devices,
                                                             DeviceSplit split, std::string reason);

// Makes a searcher that runs each search on the host or on one of the devices, whichever the planner predicts to be
// fastest. `devices` may be empty; `reason` says why these; `runtime` must outlive the searcher. A search throws the
// error of the chosen device.
[[nodiscard]] std::unique_ptr<Searcher> make_planned_searcher(Runtime& runtime, std::span<const Device> devices,
                                                              std::string reason);

}  // namespace vectis::inline v0_1::exact
