// What map refuses on every device alike.
#pragma once

#include <cstdint>

#include "vectis/device/stream.hpp"
#include "vectis/kernel/map.hpp"

namespace vectis::inline v0_1::detail {

// Elements of a table's memory.
std::uint64_t table_elements(const DeviceMemory& memory, DType element);

// InvalidInput unless buffers and arguments are as many as the function has, of the stream's context, large enough for
// `count` elements in whole 32-bit words, and outputs overlap nothing but an input of their own element type, entirely.
void check_map(const Stream& stream, const ir::Function& function, const MapBuffers& buffers, std::uint64_t count);

}  // namespace vectis::inline v0_1::detail
