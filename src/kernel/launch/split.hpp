// Splitting of calls over memories that are larger than a device can bind to a kernel.
#pragma once

#include <cstdint>
#include <functional>

#include "device/cores.hpp"
#include "vectis/kernel/map.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Returns whether the device can bind the memory of every view of the call whole, so that for_each_part() is not
// needed. Does not throw.
bool bindable(const OperationCall& call, const DeviceLimits& limits) noexcept;
// Returns whether the device can bind every input, table and output of a map() call whole, so that for_each_part()
// is not needed. Does not throw.
bool bindable(const MapBuffers& buffers, const DeviceLimits& limits) noexcept;

// Calls `one`, in order, with calls that together are equivalent to `call`: views are narrowed to slices of their
// memories, and a call that spans more than the device binds is split as its operation allows. `call` must have
// passed check_call(). Throws InvalidInput, with the operand's name, if the operation cannot be split far enough,
// and what `one` throws.
void for_each_part(const OperationCall& call, const DeviceCore& device,
                   const std::function<void(const OperationCall&)>& one);

// Calls `one`, in order, with the buffers, the first element and the count of parts of a map() over [0, count), each
// small enough for the device to bind. `buffers` must have passed the checks of map(). Throws InvalidInput for a
// table larger than the device binds, since every element may access the whole table, and what `one` throws.
void for_each_part(const ir::Function& function, const MapBuffers& buffers, std::uint64_t count,
                   const DeviceCore& device,
                   const std::function<void(const MapBuffers&, std::uint64_t, std::uint64_t)>& one);

}  // namespace vectis::inline v0_1::detail
