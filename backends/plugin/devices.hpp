// What our plug-ins share in describing devices and their memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::plugin {

// Copies `text` into a field of VectisDeviceInfo, truncated to fit.
template <std::size_t Capacity>
void copy_text(char (&field)[Capacity], std::string_view text) {
  const std::size_t length = std::min(text.size(), Capacity - 1);
  text.copy(field, length);
  field[length] = '\0';
}

// Writes the fields of `described` that lie inside the host's struct, whose `size` stays.
inline void copy_info(VectisDeviceInfo described, VectisDeviceInfo* info) {
  described.size = info->size;
  std::memcpy(info, &described, std::min(info->size, sizeof described));
}

// Whether a device's name is that of a known renderer that runs on the CPU.
inline bool is_software_renderer(std::string_view name) {
  const auto contains = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
  return contains("llvmpipe") || contains("softpipe") || contains("SwiftShader") || contains("Basic Render Driver");
}

// The listed device with this index. Throws INVALID_INPUT when the index is out of range.
template <class Listed>
const Listed& device_at(const std::vector<Listed>& devices, std::uint32_t index) {
  if (index < devices.size()) return devices[index];
  throw Failure(VECTIS_INVALID_INPUT,
                "there is no device " + std::to_string(index) + ", the backend has " + std::to_string(devices.size()));
}

// Kernels access packed elements through 32-bit words: allocations are rounded up to whole words.
constexpr std::uint64_t round_up_to_word(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace vectis::plugin
