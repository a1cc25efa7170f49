// Reductions on devices other than the CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "array/node.hpp"

namespace vectis::inline v0_1::array {

enum class Reduction : std::uint8_t { sum, prod, max, min, argmax, argmin };

// Returns true when the result is a position.
[[nodiscard]] constexpr bool is_argument(Reduction how) noexcept {
  return how == Reduction::argmax || how == Reduction::argmin;
}

// Reduces the adjacent axes [first, last) of the input of `node`, whose memory it allocates. In float32 or int32.
void reduce_on_device(Reduction how, std::size_t first, std::size_t last, Node& node);
// Takes the memory that reduce_on_device() takes.
void dry_run_reduction(Reduction how, std::size_t first, std::size_t last, Node& node, DryRun& run);

}  // namespace vectis::inline v0_1::array
