#include "vectis/search/id_filter.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vectis {
namespace {

using Ids = std::vector<std::uint64_t>;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t last_id = std::numeric_limits<std::uint64_t>::max();

Ids all_of(const IdFilter& filter) {
  Ids ids;
  EXPECT_TRUE(filter.for_each(1000, [&](std::uint64_t id) { ids.push_back(id); }));
  for (const std::uint64_t id : ids) EXPECT_TRUE(filter.allows(id));
  return ids;
}

TEST(IdFilterTest, AnEmptyFilterAllowsNothing) {
  EXPECT_THAT(all_of(IdFilter()), IsEmpty());
  EXPECT_FALSE(IdFilter().allows(0));
  EXPECT_EQ(IdFilter().count_max(), 0U);
}

TEST(IdFilterTest, AListMustBeSorted) {
  const Ids ids{3, 3, 9, last_id};
  const IdFilter filter = IdFilter::sorted_list(ids);
  EXPECT_THAT(all_of(filter), ElementsAre(3, 9, last_id));
  EXPECT_FALSE(filter.allows(4));
  EXPECT_ERROR(static_cast<void>(IdFilter::sorted_list(Ids{1, 5, 4})), ErrorCode::invalid_input, "id 4 follows id 5",
               "position 2");
}

TEST(IdFilterTest, ABitmapEndsAtTheLastId) {
  const Ids words{5, ~std::uint64_t{0}};
  EXPECT_EQ(all_of(IdFilter::bitmap(words, 100)).size(), 66U);
  const IdFilter high = IdFilter::bitmap(words, last_id - 2);
  EXPECT_THAT(all_of(high), ElementsAre(last_id - 2, last_id));
  EXPECT_FALSE(high.allows(0));
  EXPECT_FALSE(high.allows(61));
  EXPECT_FALSE(high.allows(last_id - 1));
}

TEST(IdFilterTest, ARangeHasBothEnds) {
  EXPECT_THAT(all_of(IdFilter::range(last_id - 1, last_id)), ElementsAre(last_id - 1, last_id));
  EXPECT_THAT(all_of(IdFilter::range(2, 1)), IsEmpty());
  const IdFilter whole = IdFilter::range(0, last_id);
  EXPECT_TRUE(whole.allows(0));
  EXPECT_TRUE(whole.allows(last_id));
  EXPECT_EQ(whole.count_max(), last_id);
  EXPECT_FALSE(whole.for_each(last_id - 1, [](std::uint64_t) { FAIL(); }));
}

TEST(IdFilterTest, APredicateIsNotEnumerated) {
  const IdFilter odd = IdFilter::predicate([](std::uint64_t id) { return id % 2 == 1; });
  EXPECT_TRUE(odd.allows(last_id));
  EXPECT_FALSE(odd.allows(2));
  EXPECT_EQ(odd.count_max(), std::nullopt);
  EXPECT_FALSE(odd.for_each(last_id, [](std::uint64_t) { FAIL(); }));
  EXPECT_ERROR(static_cast<void>(IdFilter::predicate({})), ErrorCode::invalid_input, "empty");
}

}  // namespace
}  // namespace vectis
