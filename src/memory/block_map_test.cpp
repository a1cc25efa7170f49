#include "memory/block_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis::detail {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t unit = 256;

struct Range {
  std::uint32_t segment;
  std::uint64_t offset;
  std::uint64_t bytes;
  bool free;
};

std::vector<Range> ranges(const BlockMap& map) {
  std::vector<Range> result;
  map.visit([&](BlockMap::BlockId, const BlockMap::Block& block) {
    result.push_back({block.segment, block.offset, block.bytes, block.free});
  });
  return result;
}

TEST(BlockMap, TakesNothingFromAnEmptyMap) {
  BlockMap map(unit, true);
  EXPECT_EQ(map.take(unit), std::nullopt);
  EXPECT_EQ(map.largest_free(), 0U);
  EXPECT_THAT(map.empty_segments(), ElementsAre());
}

TEST(BlockMap, TakesTheSmallestRangeThatFits) {
  BlockMap map(unit, true);
  map.add_segment(10 * unit);
  map.add_segment(4 * unit);
  map.add_segment(6 * unit);
  EXPECT_EQ(map.block(*map.take(5 * unit)).segment, 2U);
  EXPECT_EQ(map.block(*map.take(4 * unit)).segment, 1U);
  EXPECT_EQ(map.block(*map.take(1 * unit)).segment, 2U);
  EXPECT_EQ(map.take(11 * unit), std::nullopt);
  EXPECT_EQ(map.largest_free(), 10 * unit);
}

TEST(BlockMap, CoalescesWithBothNeighbors) {
  BlockMap map(unit, true);
  map.add_segment(3 * unit);
  const auto a = map.take(unit);
  const auto b = map.take(unit);
  const auto c = map.take(unit);
  map.give(*a);
  map.give(*c);
  EXPECT_EQ(map.largest_free(), unit);
  map.give(*b);
  EXPECT_EQ(map.largest_free(), 3 * unit);
  EXPECT_THAT(map.empty_segments(), ElementsAre(0U));
}

TEST(BlockMap, WithoutSplittingReturnsWholeSegments) {
  BlockMap map(unit, false);
  map.add_segment(5 * unit);
  const auto block = map.take(unit);
  EXPECT_EQ(map.block(*block).bytes, 5 * unit);
  EXPECT_EQ(map.free_bytes(), 0U);
  map.give(*block);
  EXPECT_EQ(map.free_bytes(), 5 * unit);
}

TEST(BlockMap, AddsAndRemovesSegments) {
  BlockMap map(unit, true);
  const auto first = map.add_segment(2 * unit);
  const auto second = map.add_segment(8 * unit);
  map.remove_segment(first);
  EXPECT_EQ(map.reserved_bytes(), 8 * unit);
  EXPECT_EQ(map.add_segment(unit), first);
  EXPECT_EQ(map.segment_bytes(second), 8 * unit);
  EXPECT_EQ(map.block(*map.take(unit)).segment, first);
}

// Invariants: ranges tile their segments, no two free neighbors exist, and the counters equal the sums.
void check_invariants(const BlockMap& map) {
  std::map<std::uint32_t, std::uint64_t> ends;
  std::map<std::uint32_t, bool> last_free;
  std::uint64_t free = 0;
  std::uint64_t reserved = 0;
  std::uint64_t largest = 0;
  for (const Range& range : ranges(map)) {
    ASSERT_EQ(range.offset, ends[range.segment]);
    ASSERT_FALSE(range.free && last_free[range.segment]) << "two free neighbors";
    ends[range.segment] += range.bytes;
    last_free[range.segment] = range.free;
    reserved += range.bytes;
    if (range.free) free += range.bytes, largest = std::max(largest, range.bytes);
  }
  for (const auto& [segment, end] : ends) ASSERT_EQ(end, map.segment_bytes(segment));
  ASSERT_EQ(free, map.free_bytes());
  ASSERT_EQ(reserved, map.reserved_bytes());
  ASSERT_EQ(largest, map.largest_free());
}

// The size that a linear search over all free ranges chooses.
std::optional<std::uint64_t> best_size(const BlockMap& map, std::uint64_t bytes) {
  std::optional<std::uint64_t> best;
  for (const Range& range : ranges(map)) {
    if (range.free && range.bytes >= bytes && (!best || range.bytes < *best)) best = range.bytes;
  }
  return best;
}

// Bytes of the free range that begins where `block` ends.
std::uint64_t free_after(const BlockMap& map, BlockMap::BlockId block) {
  const BlockMap::Block taken = map.block(block);
  for (const Range& range : ranges(map)) {
    if (range.segment == taken.segment && range.offset == taken.offset + taken.bytes && range.free) return range.bytes;
  }
  return 0;
}

TEST(BlockMap, RandomUseKeepsTheInvariantsAndBestFit) {
  Random random(test::seed());
  BlockMap map(unit, true);
  std::vector<BlockMap::BlockId> live;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t bytes = unit * (1 + random.below(40));
    if (random.below(50) == 0) map.add_segment(unit * (1 + random.below(200)));
    const auto empty = map.empty_segments();
    if (!empty.empty() && random.below(60) == 0) map.remove_segment(empty[random.below(empty.size())]);
    if (!live.empty() && random.below(2) == 0) {
      std::swap(live[random.below(live.size())], live.back());
      map.give(live.back());
      live.pop_back();
    } else {
      const auto expected = best_size(map, bytes);
      const std::uint64_t free_before = map.free_bytes();
      const auto block = map.take(bytes);
      ASSERT_EQ(block.has_value(), expected.has_value());
      if (block) {
        ASSERT_EQ(map.block(*block).bytes, bytes);
        ASSERT_EQ(map.free_bytes(), free_before - bytes);
        ASSERT_EQ(free_after(map, *block), *expected - bytes) << "not the best range";
        live.push_back(*block);
      }
    }
    check_invariants(map);
  }
  for (const BlockMap::BlockId block : live) map.give(block);
  check_invariants(map);
  EXPECT_EQ(map.free_bytes(), map.reserved_bytes());
}

}  // namespace
}  // namespace vectis::detail
