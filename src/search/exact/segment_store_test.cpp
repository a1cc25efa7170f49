#include "search/exact/segment_store.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "vectis/base/runtime.hpp"

namespace vectis {
namespace {

// Rows of device 0 have even ids, those of device 1 odd ones.
TEST(SegmentStore, DevicesThatAddSingleRowsInTurnLeaveFewSegments) {
  Runtime runtime;
  exact::SegmentStore store(runtime.executor(), Metric::l2, 2, Precision::int8);
  constexpr std::uint64_t rows = 300;
  for (std::uint64_t id = 0; id < rows; ++id) {
    const std::vector<float> row{static_cast<float>(id), 1};
    EXPECT_EQ(store.add(row, {}, static_cast<int>(id % 2)), id);
  }
  const std::vector<std::uint64_t> gone{10, 11, 298};
  EXPECT_EQ(store.remove(gone, {}), 3U);
  store.upsert(std::vector<std::uint64_t>{20}, std::vector<float>{-20, 1}, {}, 0);
  const auto snapshot = store.now();
  EXPECT_LE(snapshot->views.size(), 2U);
  EXPECT_EQ(snapshot->vectors(), rows - 3);
  for (std::uint64_t id = 0; id < rows; ++id) {
    const auto place = snapshot->find(id);
    ASSERT_EQ(place.has_value(), id != 10 && id != 11 && id != 298) << id;
    if (!place) continue;
    const exact::SegmentView& view = snapshot->views[place->first];
    EXPECT_EQ(view.device, static_cast<int>(id % 2)) << id;
    EXPECT_EQ(view.originals[2 * place->second], id == 20 ? -20.0F : static_cast<float>(id));
  }
}

// Segments that are large enough stay as they are.
TEST(SegmentStore, DevicesThatAddManyRowsInTurnDoNotCopyThem) {
  Runtime runtime;
  exact::SegmentStore store(runtime.executor(), Metric::l2, 1, Precision::int8);
  for (int turn = 0; turn < 4; ++turn) store.add(std::vector<float>(2000, 1.0F), {}, turn % 2);
  EXPECT_EQ(store.now()->views.size(), 4U);
}

}  // namespace
}  // namespace vectis
