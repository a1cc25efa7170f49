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

// The device memory and arguments of one map() call. All memory must belong to the context of the stream and stay
// alive until the work is done; map() throws InvalidInput if a buffer is too small or of another context.
struct MapBuffers {
  std::span<const DeviceMemory> inputs;      // at least `count` elements each, packed as function.inputs says
  std::span<const DeviceMemory> tables;      // at least one element each
  std::span<const DeviceMemory> outputs;     // at least `count` elements each
  std::span<const std::uint32_t> arguments;  // the bits of each argument
};

// Applies `function` to the elements [0, count), after earlier work of the stream: as a generated kernel, or, if the
// device compiles no dialect that Vectis prints, on the CPU vector VM, which waits for the stream. Throws
// InvalidInput if `function` does not verify, `count` is over 2^32 - 1, a buffer is missing, too small or of another
// context, or an output overlaps a buffer other than exactly an input of its type; NoCompiler if neither way is
// possible.
VECTIS_API void map(Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count);

}  // namespace vectis::inline v0_1
