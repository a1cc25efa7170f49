// Which bytes of an allocation an operand takes, however the memory was cut.
#pragma once

#include <cstdint>

#include "device/cores.hpp"
#include "vectis/device/context.hpp"

namespace vectis::inline v0_1::detail {

// Counted from the start of the memory that `memory` is part of, or is.
struct Extent {
  const MemoryCore* whole;
  std::uint64_t begin;
  std::uint64_t end;
};

inline Extent extent(const DeviceMemory& memory, std::uint64_t begin, std::uint64_t end) {
  const MemoryCore& core = *memory.core();
  return {core.whole ? core.whole.get() : &core, core.offset + begin, core.offset + end};
}

// Whether two extents that are not empty share a byte.
inline bool meet(const Extent& a, const Extent& b) { return a.whole == b.whole && a.begin < b.end && b.begin < a.end; }

}  // namespace vectis::inline v0_1::detail
