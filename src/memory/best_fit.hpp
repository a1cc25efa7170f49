// What a pool is measured against: one endless range in which every request gets the smallest hole that fits, and holes
// merge at once. It computes places only and shares no code with the pool's own map.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace vectis::inline v0_1::detail {

// One thread at a time.
class BestFit {
 public:
  // Places and sizes are multiples of `alignment`.
  explicit BestFit(std::uint64_t alignment) : alignment_(alignment) {}

  // The place of `bytes` bytes, at least 1: the smallest hole that fits, among equals the lowest, or else the end.
  std::uint64_t allocate(std::uint64_t bytes);
  // Takes back what allocate placed there; returns the bytes that it took.
  std::uint64_t release(std::uint64_t offset);

  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }        // of the highest live range
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_; }      // the highest end so far
  [[nodiscard]] std::uint64_t in_use() const noexcept { return in_use_; }  // bytes in live ranges, as placed
  [[nodiscard]] std::uint64_t placed_bytes(std::uint64_t bytes) const noexcept;

 private:
  void add_hole(std::uint64_t offset, std::uint64_t bytes);
  void remove_hole(std::map<std::uint64_t, std::uint64_t>::iterator hole);

  const std::uint64_t alignment_;
  std::map<std::uint64_t, std::uint64_t> live_;                      // bytes by offset
  std::map<std::uint64_t, std::uint64_t> holes_;                     // below end_, bytes by offset
  std::set<std::pair<std::uint64_t, std::uint64_t>> holes_by_size_;  // the same, as (bytes, offset)
  std::uint64_t end_ = 0;
  std::uint64_t peak_ = 0;
  std::uint64_t in_use_ = 0;
};

}  // namespace vectis::inline v0_1::detail
