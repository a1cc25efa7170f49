// The memory behind arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "vectis/memory/buffer.hpp"

namespace vectis::inline v0_1::array {

class Lane;

// Bounds of integers.
struct Bounds {
  std::int64_t min = 0;
  std::int64_t max = -1;
};

// Memory of one array or of several views of it, on one device. Small arrays in host memory are stored in the object
// itself, which is cheaper than a block of the pool.
struct Storage {
  static constexpr std::size_t inline_bytes = 64;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  alignas(64) std::array<std::byte, inline_bytes> small;
  ManagedBuffer buffer;
  std::byte* host = nullptr;          // null: the host cannot access it
  std::shared_ptr<const void> owner;  // of memory that the program gave
  Lane* lane = nullptr;               // whose stream uses the buffer, when the host does not
  std::optional<Bounds> bounds;  // of integers in device memory, when the host knows them: indices need no check then
};

}  // namespace vectis::inline v0_1::array
