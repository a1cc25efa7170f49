// Running an IR function over buffers of a device.
#pragma once

#include <cstdint>
#include <span>

#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1 {

struct MapBuffers {
  std::span<const DeviceMemory> inputs;
  std::span<const DeviceMemory> tables;
  std::span<const DeviceMemory> outputs;
  std::span<const std::uint32_t> arguments;  // bits
};

// Applies `function` to the elements [0, count). A device that compiles a dialect we print gets a kernel; one whose
// memory the host can address is served by the CPU executor; any other is NoCompiler. An output may be an input of the
// same element type; other overlaps are InvalidInput.
VECTIS_API void map(Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count);

}  // namespace vectis::inline v0_1
