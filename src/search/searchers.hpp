// Who may compute the answers of an exact index besides this processor.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "search/exact/device/search.hpp"
#include "search/exact/searcher.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::exact {

// These devices and no other. `reason` says why they were chosen.
[[nodiscard]] std::unique_ptr<Searcher> make_device_searcher(Runtime& runtime, std::span<const Device> devices,
                                                             DeviceSplit split, std::string reason);

// This processor or one of the devices, whichever the planner predicts to answer a search first.
[[nodiscard]] std::unique_ptr<Searcher> make_planned_searcher(Runtime& runtime, std::span<const Device> devices);

}  // namespace vectis::inline v0_1::exact
