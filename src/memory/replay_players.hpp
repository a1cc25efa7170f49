// The allocators that a log is replayed against, behind one face.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vectis/base/runtime.hpp"
#include "vectis/memory/resource.hpp"

namespace vectis::inline v0_1::detail {

// Holds one buffer a slot. Destroying it gives everything back. One thread at a time.
class Player {
 public:
  Player() = default;
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;
  virtual ~Player() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  virtual void allocate(std::size_t slot, const MemoryRequest& request) = 0;
  virtual void release(std::size_t slot) = 0;
  virtual void release_all() = 0;

  [[nodiscard]] virtual std::uint64_t allocated_bytes() const = 0;  // in live buffers
  [[nodiscard]] virtual std::uint64_t peak_bytes() const = 0;       // held of the device so far
  [[nodiscard]] virtual std::uint64_t device_allocations() const = 0;
};

// The pool, plain device allocation, and best fit, each from nothing.
std::vector<std::unique_ptr<Player>> make_players(Runtime& runtime, const DeviceContext& context, std::size_t slots);

}  // namespace vectis::inline v0_1::detail
