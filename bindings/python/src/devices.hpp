// Devices as Python objects and as arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <string>
#include <variant>

#include "text.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::python {

// vectis.Device: a device and the Runtime that it belongs to.
struct PyDevice {
  Runtime* runtime;
  Device device;
};

// How calls name a device: a Device, an id, or a text as in the setting `device` ("opencl", "cpu:0", "gpu").
using DeviceArgument = std::variant<PyDevice, int, std::string>;

// Returns the device that an argument names; nothing: the active device of the calling thread. Throws InvalidInput,
// UnsupportedBackend or BackendCreation when there is no such device. Needs the GIL, which it releases meanwhile.
PyDevice find_device(const std::optional<DeviceArgument>& argument);

}  // namespace vectis::python
