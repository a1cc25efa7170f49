// Arguments of a launch, compared with the parameters of a portable kernel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vectis/device/stream.hpp"
#include "vectis/kernel/custom.hpp"

namespace vectis::inline v0_1::detail {

// As the device takes them. InvalidInput naming the parameter when one does not fit; `source` null: nothing to compare
// with, and they pass as they are.
std::vector<LaunchArgument> lower_arguments(const KernelSource* source, std::string_view kernel,
                                            std::span<const KernelArgument> arguments);

// Whole groups that cover the items; empty when there are no items. InvalidInput when there are too many.
std::optional<LaunchShape> cover(const WorkItems& items, const std::array<std::uint32_t, 3>& group);

}  // namespace vectis::inline v0_1::detail
