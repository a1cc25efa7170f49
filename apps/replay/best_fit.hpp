// The baseline for the pool: a best-fit arena of unlimited size with immediate coalescing. Computes offsets only, and
// shares no code with the pool.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace vectis::app {

// A best-fit arena of unlimited size that computes offsets only and coalesces free ranges at once: the baseline for
// the memory pool. Allocation cannot fail. One thread at a time.
class BestFitArena {
 public:
  // Makes an empty arena that rounds offsets and sizes up to multiples of `alignment`, which must be above 0.
  explicit BestFitArena(std::uint64_t alignment) : alignment_(alignment) {}

  // Allocates `bytes`, which must be at least 1, and returns the offset: in the smallest free range that fits, the
  // lowest on ties, or else at the end of the arena.
  std::uint64_t allocate(std::uint64_t bytes);
  // Frees the range at `offset`, which allocate() must have returned and which must still be live, and returns its
  // rounded size.
  std::uint64_t release(std::uint64_t offset);

  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }        // end of the highest live range
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_; }      // high-water mark of end()
  [[nodiscard]] std::uint64_t in_use() const noexcept { return in_use_; }  // bytes in live ranges, rounded
  // Returns `bytes` rounded up to a multiple of the alignment. Does not throw.
  [[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) const noexcept;

 private:
  void add_free(std::uint64_t offset, std::uint64_t bytes);
  void remove_free(std::map<std::uint64_t, std::uint64_t>::iterator range);

  const std::uint64_t alignment_;
  std::map<std::uint64_t, std::uint64_t> live_;                     // bytes by offset
  std::map<std::uint64_t, std::uint64_t> free_;                     // below end_, bytes by offset
  std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_size_;  // the same ranges, as (bytes, offset)
  std::uint64_t end_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t in_use_ = 0;
};

}  // namespace vectis::app
