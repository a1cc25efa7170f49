// How parallel_for splits a range, equally on every executor.
#pragma once

#include <algorithm>
#include <cstddef>

namespace vectis::inline v0_1 {

// The elements from `begin` up to but not including `end` of a range that Split divides.
struct SubRange {
  std::size_t begin;
  std::size_t end;
};

// Splits [0, count) into pieces of whole grains, as even as possible, at most eight per thread: few calls, yet enough
// for load balancing. The pieces depend only on count, grain and threads, so a reduction over them is reproducible
// for a given number of threads.
class Split {
 public:
  // Computes the split. A `grain` of 0 counts as 1; `threads` must be at least 1, else there are no pieces. Does not
  // throw.
  Split(std::size_t count, std::size_t grain, std::size_t threads) noexcept
      : count_(count),
        grain_(std::max<std::size_t>(grain, 1)),
        grains_(count / grain_ + (count % grain_ == 0 ? 0 : 1)),
        pieces_(std::min(grains_, threads * pieces_per_thread)) {}

  // Returns the number of pieces: 0 when `count` is 0. Does not throw.
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_; }

  // Returns the elements of piece `index`, which must be less than pieces(); this is not checked. Does not throw.
  [[nodiscard]] SubRange piece(std::size_t index) const noexcept {
    // The last piece ends at the count itself: grains times grain may not fit in a size_t.
    return {first_grain(index) * grain_, index + 1 == pieces_ ? count_ : first_grain(index + 1) * grain_};
  }

 private:
  static constexpr std::size_t pieces_per_thread = 8;

  [[nodiscard]] std::size_t first_grain(std::size_t index) const noexcept {
    return index * (grains_ / pieces_) + std::min(index, grains_ % pieces_);
  }

  std::size_t count_;
  std::size_t grain_;
  std::size_t grains_;
  std::size_t pieces_;
};

}  // namespace vectis::inline v0_1
