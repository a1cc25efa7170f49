// The buffers handed out by the deprecated get_buffer, so that their return can be checked.
#pragma once

#include <map>
#include <mutex>

#include "vectis/memory/buffer.hpp"

namespace vectis::inline v0_1::detail {

// Thread-safe.
class RawBuffers {
 public:
  DeviceMemory keep(int device, ManagedBuffer buffer);
  // InvalidInput unless the buffer is out, on that device, with that size and precision.
  void take_back(int device, const DeviceMemory& memory, std::size_t elements, Precision precision);

 private:
  struct Kept {
    int device;
    ManagedBuffer buffer;
  };
  std::mutex mutex_;
  std::map<const MemoryCore*, Kept> kept_;
};

}  // namespace vectis::inline v0_1::detail
