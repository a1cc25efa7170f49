// Hash of ids that nobody outside of the process can predict.
#pragma once

#include <cstdint>

namespace vectis::inline v0_1::detail {

// Hash function of one table of ids. Each object draws a random key, so that ids of a hostile caller or file cannot be
// chosen to collide: with a fixed hash such ids make tables take quadratic time. Values differ from table to table and
// from process to process: never store them, and never let results depend on them. Immutable.
class IdHash {
 public:
  // Draws a key from the system's random numbers. Does not throw: without random numbers it uses clock and address.
  IdHash() noexcept;

  // Returns 64 bits, each of which depends on all bits of the id. The folded product of wyhash (Wang Yi, 2019). Does
  // not throw.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t id) const noexcept {
    const Wide product = static_cast<Wide>(id ^ key_) * multiplier_;
    return static_cast<std::uint64_t>(product >> 64U) ^ static_cast<std::uint64_t>(product);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;
  std::uint64_t key_;
  std::uint64_t multiplier_;
};

}  // namespace vectis::inline v0_1::detail
