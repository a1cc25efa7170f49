#include "device/backend_names.hpp"

namespace vectis::inline v0_1::detail {

std::string_view plugin_name(std::string_view name) noexcept { return name == "rocm" ? "hip" : name; }

std::string_view backend_part(std::string_view device) noexcept { return device.substr(0, device.find(':')); }

std::string with_plugin_name(std::string_view device) {
  const std::string_view backend = backend_part(device);
  return std::string(plugin_name(backend)).append(device.substr(backend.size()));
}

bool is_on_metal(const Device& device) noexcept {
  return device.backend() == "webgpu" && device.info().driver.starts_with("Metal");
}

}  // namespace vectis::inline v0_1::detail
