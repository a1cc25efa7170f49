// The kind of an out-of-memory error from the byte counts; each case changes when its cause alone is removed.
#include <gtest/gtest.h>

#include "memory/device_pool.hpp"

namespace vectis::detail {
namespace {

constexpr std::uint64_t mib = 1 << 20;

struct Numbers {
  std::uint64_t requested, limit, total, in_use, cached, longest_run, pending;
  bool refused;
};

OutOfMemoryKind kind(const Numbers& n) {
  OutOfMemoryReport report;
  report.requested_bytes = n.requested * mib;
  report.limit_bytes = n.limit * mib;
  report.total_bytes = n.total * mib;
  report.in_use_bytes = n.in_use * mib;
  report.cached_bytes = n.cached * mib;
  return classify(report, {n.longest_run * mib, n.pending * mib}, n.refused);
}

TEST(Classify, OverTheLimitAloneOrWithLiveBuffers) {
  EXPECT_EQ(kind({200, 100, 1000, 0, 0, 0, 0, false}), OutOfMemoryKind::over_limit);
  EXPECT_EQ(kind({50, 100, 1000, 60, 0, 0, 0, false}), OutOfMemoryKind::over_limit);
}

TEST(Classify, FragmentedWhenTheGapsTogetherSuffice) {
  EXPECT_EQ(kind({40, 100, 1000, 50, 50, 20, 0, false}), OutOfMemoryKind::fragmented);
  EXPECT_EQ(kind({40, 100, 1000, 50, 30, 20, 0, false}), OutOfMemoryKind::fragmented)
      << "gaps keep the rest from growing";
}

TEST(Classify, HeldInCacheWhenAStreamMayStillUseIt) {
  EXPECT_EQ(kind({40, 100, 1000, 50, 50, 50, 50, false}), OutOfMemoryKind::held_in_cache);
  EXPECT_EQ(kind({40, 100, 1000, 50, 30, 30, 30, false}), OutOfMemoryKind::held_in_cache);
}

TEST(Classify, FullOrHeldByOthersWhenTheDeviceRefuses) {
  EXPECT_EQ(kind({40, 900, 1000, 800, 0, 0, 0, true}), OutOfMemoryKind::held_by_others);
  EXPECT_EQ(kind({90, 2000, 1000, 950, 0, 0, 0, true}), OutOfMemoryKind::full);
}

TEST(Classify, ASharedBudgetUsedByASiblingIsTheLimit) {
  EXPECT_EQ(kind({40, 100, 1000, 10, 0, 0, 0, false}), OutOfMemoryKind::over_limit);
}

TEST(Classify, KindsHaveNames) {
  EXPECT_EQ(name(OutOfMemoryKind::full), "full");
  EXPECT_EQ(name(OutOfMemoryKind::fragmented), "fragmented");
  EXPECT_EQ(name(OutOfMemoryKind::held_in_cache), "held in cache");
  EXPECT_EQ(name(OutOfMemoryKind::over_limit), "over your limit");
  EXPECT_EQ(name(OutOfMemoryKind::held_by_others), "held by others");
}

}  // namespace
}  // namespace vectis::detail
