// Copies between the memories of any two devices.
#pragma once

#include <cstdint>

#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1 {

enum class CopyRoute : std::uint8_t {
  on_device,  // both memories are of one context
  peer,       // from device to device, by the backend of both
  staged,     // through the host's memory: the call waited for both streams
};

// Copies `bytes` bytes of `source`, a memory of `from`'s context, to `target`, one of `to`'s, by the shortest way there
// is. It is work of both streams: it starts after all either was given before, what either is given later finds it
// done, and both memories may be freed at once. InvalidInput for a range beyond its memory, ranges that overlap, or
// memory of another context than its stream's. Both streams are used by the calling thread alone.
VECTIS_API CopyRoute copy_between(Stream& to, const DeviceMemory& target, std::uint64_t target_offset, Stream& from,
                                  const DeviceMemory& source, std::uint64_t source_offset, std::uint64_t bytes);

}  // namespace vectis::inline v0_1
