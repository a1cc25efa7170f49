// Where a device sits on the PCI bus.
#pragma once

#include <CL/cl.h>

#include <optional>
#include <string>

#include "api.hpp"

namespace vectis::opencl {

// Returns the physical id of the device's PCI address, by cl_khr_pci_bus_info, else by the extension of NVIDIA or AMD;
// nothing for a device without an address, such as a CPU. Throws Failure when its extensions cannot be read.
std::optional<std::string> pci_id(const Api& api, cl_device_id device);

}  // namespace vectis::opencl
