// The baseline for the pool: a best-fit arena of unlimited size with immediate coalescing. Computes offsets only, and
// shares no code with the pool.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace vectis::app {

// One thread at a time.
class BestFitArena {
 public:
  // Offsets and sizes are rounded up to multiples of `alignment`.
  explicit BestFitArena(std::uint64_t alignment) : alignment_(alignment) {}

  // Returns the offset of a new range of `bytes` (at least 1): the smallest free range that fits, the lowest on ties,
  // or else the end of the arena.
  std::uint64_t allocate(std::uint64_t bytes);
  // Frees the range that allocate returned and returns its size, rounded.
  std::uint64_t release(std::uint64_t offset);

  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }        // end of the highest live range
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_; }      // high-water mark of end()
  [[nodiscard]] std::uint64_t in_use() const noexcept { return in_use_; }  // bytes in live ranges, rounded
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
