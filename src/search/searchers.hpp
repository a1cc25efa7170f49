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

// Searches on these devices only; `reason` says why they were chosen. Precondition: at least one device.
[[nodiscard]] std::unique_ptr<Searcher> make_device_searcher(Runtime& runtime, std::span<const Device> devices,
                                                             DeviceSplit split, std::string reason);

// Searches on the host or on one of the devices, whichever the planner predicts to be fastest.
[[nodiscard]] std::unique_ptr<Searcher> make_planned_searcher(Runtime& runtime, std::span<const Device> devices);

}  // namespace vectis::inline v0_1::exact
