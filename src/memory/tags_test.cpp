#include "memory/tags.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace vectis {
namespace {

using detail::TagTable;

TEST(TagTable, EachTagHasItsOwnCounters) {
  TagTable table;
  EXPECT_EQ(table.find(""), nullptr);
  EXPECT_EQ(table.find("a"), table.find("a"));
  EXPECT_NE(table.find("a"), table.find("b"));
  table.find("a")->add(5);
  ASSERT_EQ(table.usage().size(), 1U);
  EXPECT_EQ(table.usage()[0].tag, "a");
  EXPECT_EQ(table.usage()[0].live_bytes, 5U);
}

TEST(TagTable, TagsBeyondTheLimitShareTheirCounters) {
  TagTable table;
  for (std::size_t i = 0; i < 3 * TagTable::tags_max; ++i) table.find("request " + std::to_string(i))->add(1);
  EXPECT_EQ(table.names().size(), TagTable::tags_max + 1);
  EXPECT_EQ(table.find("request 3"), table.find("request 3"));
  EXPECT_EQ(table.find("new"), table.find(TagTable::other_tags));
  const auto usage = table.usage();
  const auto other = std::ranges::find(usage, TagTable::other_tags, &TagUsage::tag);
  ASSERT_NE(other, usage.end());
  EXPECT_EQ(other->live_buffers, 2 * TagTable::tags_max);
}

}  // namespace
}  // namespace vectis
