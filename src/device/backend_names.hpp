// Names by which users call backends besides the names of the plug-ins.
#pragma once

#include <string>
#include <string_view>

#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::detail {

// Returns the name of the plug-in for the name of a backend: "hip" for "rocm", otherwise `name` itself. Does not throw.
[[nodiscard]] std::string_view plugin_name(std::string_view name) noexcept;
// Returns the part of a device name before its index: "opencl" for "opencl:1". Does not throw.
[[nodiscard]] std::string_view backend_part(std::string_view device) noexcept;
// Returns `device` with plugin_name() of its backend: "hip:1" for "rocm:1".
[[nodiscard]] std::string with_plugin_name(std::string_view device);
// Returns whether the device is a GPU that WebGPU drives through Metal, which the name "metal" stands for.
[[nodiscard]] bool is_on_metal(const Device& device) noexcept;

}  // namespace vectis::inline v0_1::detail
