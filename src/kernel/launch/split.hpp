// Work over memories that a device cannot give a kernel whole.
#pragma once

#include <cstdint>
#include <functional>

#include "device/cores.hpp"
#include "vectis/kernel/map.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Whether the device gives a kernel every memory of the call whole.
bool bindable(const OperationCall& call, const DeviceLimits& limits) noexcept;
bool bindable(const MapBuffers& buffers, const DeviceLimits& limits) noexcept;

// Calls `one` with calls that together do what `call` does, in their order: views are narrowed to slices of their
// memories, and a call that spans more than the device binds is cut as its operation allows. InvalidInput naming the
// operand when that is not enough.
void for_each_part(const OperationCall& call, const DeviceCore& device,
                   const std::function<void(const OperationCall&)>& one);

// The same of a map over [0, count): `one` gets a part's buffers, its first element and their number. InvalidInput for
// a table, which every element may reach, that is larger than what the device binds.
void for_each_part(const ir::Function& function, const MapBuffers& buffers, std::uint64_t count,
                   const DeviceCore& device,
                   const std::function<void(const MapBuffers&, std::uint64_t, std::uint64_t)>& one);

}  // namespace vectis::inline v0_1::detail
