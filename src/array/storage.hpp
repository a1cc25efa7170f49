// The memory behind arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "vectis/memory/buffer.hpp"

namespace vectis::inline v0_1::array {

// Memory of one array or of several views of it, on one device. Small arrays in host memory are stored in the object
// itself, which is cheaper than a block of the pool.
struct Storage {
  static constexpr std::size_t inline_bytes = 64;

  alignas(64) std::array<std::byte, inline_bytes> small;
  ManagedBuffer buffer;
  std::shared_ptr<const void> owner;  // of memory that somebody else allocated
  std::byte* host = nullptr;          // null: the host cannot access it
};

}  // namespace vectis::inline v0_1::array
