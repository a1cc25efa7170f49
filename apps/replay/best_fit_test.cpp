#include "replay/best_fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis::app {
namespace {

TEST(BestFit, AllocatesContiguouslyAndTracksThePeak) {
  BestFitArena arena(256);
  EXPECT_EQ(arena.peak(), 0U);
  EXPECT_EQ(arena.allocate(1), 0U);
  EXPECT_EQ(arena.allocate(257), 256U);
  EXPECT_EQ(arena.end(), 768U);
  EXPECT_EQ(arena.in_use(), 768U);
  EXPECT_EQ(arena.release(256), 512U);
  EXPECT_EQ(arena.release(0), 256U);
  EXPECT_EQ(arena.end(), 0U);
  EXPECT_EQ(arena.in_use(), 0U);
  EXPECT_EQ(arena.peak(), 768U);
}

TEST(BestFit, PrefersTheSmallestRangeThenTheLowest) {
  BestFitArena arena(1);
  for (const std::uint64_t bytes : {8U, 1U, 4U, 1U, 4U, 1U}) arena.allocate(bytes);  // free ranges of 8, 4 and 4 below
  arena.release(0);
  arena.release(9);
  arena.release(14);
  EXPECT_EQ(arena.allocate(3), 9U);
  EXPECT_EQ(arena.allocate(4), 14U);
  EXPECT_EQ(arena.allocate(1), 12U);
  EXPECT_EQ(arena.allocate(5), 0U);
  EXPECT_EQ(arena.allocate(4), 19U) << "the hole of 3 that is left is too small";
}

TEST(BestFit, FreeRangesCoalesceOnBothSidesAndWithTheEnd) {
  BestFitArena arena(1);
  for (int i = 0; i < 4; ++i) arena.allocate(10);
  arena.release(0);
  arena.release(20);
  arena.release(10);
  EXPECT_EQ(arena.allocate(30), 0U);
  arena.release(0);
  arena.release(30);
  EXPECT_EQ(arena.end(), 0U);
  EXPECT_EQ(arena.peak(), 40U);
}

// Reference: an arena as an array of cells, searched linearly.
class Cells {
 public:
  std::size_t allocate(std::size_t count) {
    std::optional<std::size_t> best;
    std::size_t best_length = 0;
    for (std::size_t i = 0; i < used_.size();) {
      std::size_t length = 0;
      while (i + length < used_.size() && !used_[i + length]) ++length;
      if (length >= count && (!best || length < best_length)) best = i, best_length = length;
      i += length + 1;
    }
    const std::size_t place = best.value_or(used_.size());
    if (!best) used_.resize(place + count);
    std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(place), count, true);
    return place;
  }
  void release(std::size_t place, std::size_t count) {
    std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(place), count, false);
    while (!used_.empty() && !used_.back()) used_.pop_back();
  }
  [[nodiscard]] std::size_t end() const { return used_.size(); }
  [[nodiscard]] std::size_t in_use() const { return static_cast<std::size_t>(std::ranges::count(used_, true)); }

 private:
  std::vector<bool> used_;
};

TEST(BestFit, AgreesWithALinearSearch) {
  constexpr std::uint64_t alignment = 16;
  Random random(test::seed());
  BestFitArena arena(alignment);
  Cells cells;
  struct Live {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  std::vector<Live> live;
  std::uint64_t peak = 0;
  for (int step = 0; step < 8000; ++step) {
    const bool shrink = step % 1000 > 700;  // phases in which ranges are freed and the end drops
    if (!live.empty() && random.below(5) < (shrink ? 4U : 2U)) {
      std::swap(live[random.below(live.size())], live.back());
      const Live gone = live.back();
      live.pop_back();
      const std::uint64_t count = (gone.bytes + alignment - 1) / alignment;
      ASSERT_EQ(arena.release(gone.offset), count * alignment) << "step " << step;
      cells.release(gone.offset / alignment, count);
    } else {
      const std::uint64_t bytes = 1 + random.below(random.below(10) == 0 ? 600 : 60);
      const std::uint64_t offset = arena.allocate(bytes);
      ASSERT_EQ(offset, alignment * cells.allocate((bytes + alignment - 1) / alignment)) << "step " << step;
      live.push_back({offset, bytes});
    }
    peak = std::max<std::uint64_t>(peak, alignment * cells.end());
    ASSERT_EQ(arena.end(), alignment * cells.end()) << "step " << step;
    ASSERT_EQ(arena.in_use(), alignment * cells.in_use()) << "step " << step;
    ASSERT_EQ(arena.peak(), peak) << "step " << step;
  }
}

}  // namespace
}  // namespace vectis::app
