// What our plug-ins share in describing devices and their memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::plugin {

// Copies `text` into a field of VectisDeviceInfo and terminates it with '\0'. A text of Capacity bytes or more is
// truncated to its first Capacity - 1 bytes. Does not throw. Precondition: Capacity is at least 1.
template <std::size_t Capacity>
void copy_text(char (&field)[Capacity], std::string_view text) {
  const std::size_t length = std::min(text.size(), Capacity - 1);
  text.copy(field, length);
  field[length] = '\0';
}

// Copies `described` into the host's struct `info`, except for fields beyond info->size, and keeps info->size. Does
// not throw. Precondition: info->size is the size of the host's struct in bytes.
inline void copy_info(VectisDeviceInfo described, VectisDeviceInfo* info) {
  described.size = info->size;
  std::memcpy(info, &described, std::min(info->size, sizeof described));
}

// Returns the physical id of the PCI device at this address, "pci-0000:0a:00.0" with lower-case digits: the same in
// every backend that lists the device.
inline std::string pci_physical_id(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                                   std::uint32_t function) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "pci-%04x:%02x:%02x.%x", domain, bus, device, function);
  return text.data();
}

// Returns whether a device's name contains that of a known renderer that computes on the CPU: llvmpipe, softpipe,
// SwiftShader or Microsoft's Basic Render Driver. Does not throw.
inline bool is_software_renderer(std::string_view name) {
  const auto contains = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
  return contains("llvmpipe") || contains("softpipe") || contains("SwiftShader") || contains("Basic Render Driver");
}

// Returns the listed device with this index, as a reference into `devices`. Throws Failure with VECTIS_INVALID_INPUT
// when the index is not below the number of devices.
template <class Listed>
const Listed& device_at(const std::vector<Listed>& devices, std::uint32_t index) {
  if (index < devices.size()) return devices[index];
  throw Failure(VECTIS_INVALID_INPUT,
                "there is no device " + std::to_string(index) + ", the backend has " + std::to_string(devices.size()));
}

// Returns `bytes` rounded up to a multiple of 4: kernels access packed elements through 32-bit words, so allocations
// consist of whole words. Does not throw. Precondition: bytes <= 2^64 - 4.
constexpr std::uint64_t round_up_to_word(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace vectis::plugin
