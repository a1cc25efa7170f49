// Running an IR function on a device.
//
//   map(stream, function, {.inputs = inputs, .outputs = outputs}, count);
#pragma once

#include <cstdint>
#include <span>

#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1 {

// The memory that map() reads and writes. All of it belongs to the stream's context and must stay alive until the work
// is done.
struct MapBuffers {
  std::span<const DeviceMemory> inputs;      // at least `count` elements each, packed as function.inputs says
  std::span<const DeviceMemory> tables;      // at least one element each
  std::span<const DeviceMemory> outputs;     // at least `count` elements each
  std::span<const std::uint32_t> arguments;  // the bits of each argument
};

// Applies `function` to the elements [0, count), ordered after earlier work of the stream. A device with a compiler for
// a dialect that Vectis prints runs a generated kernel, cached after the first call; a device whose memory the host can
// address runs the function on the CPU vector VM.
//
// An output may be the same memory as an input of the same element type. Throws InvalidInput for any other overlap, for
// a function that does not verify, and for a number, size or context of the buffers that does not fit; NoCompiler when
// the device can neither compile the kernel nor share memory with the host.
VECTIS_API void map(Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count);

}  // namespace vectis::inline v0_1
