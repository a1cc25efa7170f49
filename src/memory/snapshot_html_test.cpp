#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/snapshot_format.hpp"
#include "tests/support/memory_snapshot.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const MemorySnapshot& snapshot) {
  std::ostringstream out;
  write_html(out, snapshot);
  return out.str();
}

// The text of the data element, up to where a browser ends it.
std::string data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script", from) - from);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SnapshotPage, IsSelfContained) {
  const std::string page = page_of(test::random_snapshot(1, 50));
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(page, testing::EndsWith("</html>\n"));
  for (const char* outside : {" src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "https:"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(SnapshotPage, NamesCannotBecomeMarkup) {
  const std::string page = page_of(test::random_snapshot(1, 200));
  EXPECT_EQ(count_of(page, "</script>"), 2U);
  EXPECT_THAT(page, Not(HasSubstr("<b>&")));
  EXPECT_THAT(data_of(page), Not(HasSubstr("<")));
  for (const char* sink : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
    EXPECT_THAT(page, Not(HasSubstr(sink)));
  }
  const nlohmann::json data = nlohmann::json::parse(data_of(page));
  EXPECT_EQ(data.at("device"), "cpu:0 (" + test::hostile_tag + ")");
  const auto& tags = data.at("tags");
  EXPECT_TRUE(std::ranges::any_of(tags, [](const auto& tag) { return tag.at("tag") == test::hostile_tag; }));
}

TEST(SnapshotPage, HasEveryBlockAndTheLargestFirst) {
  const MemorySnapshot snapshot = test::random_snapshot(test::seed(), 1000);
  const nlohmann::json data = nlohmann::json::parse(data_of(page_of(snapshot)));
  const auto& blocks = data.at("blocks");
  const std::string states = blocks.at("state");
  ASSERT_EQ(states.size(), 1000U);
  for (std::size_t i = 0; i < 1000; ++i) {
    const SnapshotBlock& block = snapshot.blocks[i];
    EXPECT_EQ(states[i], name(block.state)[0]);
    EXPECT_EQ(blocks.at("bytes")[i], block.bytes);
    EXPECT_EQ(blocks.at("segment")[i], block.segment);
    if (block.state != BlockState::live) continue;
    EXPECT_EQ(blocks.at("requested")[i], block.requested_bytes);
    EXPECT_EQ(data.at("tags").at(blocks.at("tag")[i].get<std::size_t>()).at("tag"), block.tag);
    EXPECT_EQ(data.at("precisions").at(blocks.at("precision")[i].get<std::size_t>()), name(block.precision));
  }
  const auto& largest = data.at("largest");
  EXPECT_EQ(largest.size(), 20U);
  for (std::size_t i = 1; i < largest.size(); ++i) EXPECT_LE(largest[i].at("bytes"), largest[i - 1].at("bytes"));
  std::uint64_t most = 0;
  for (const SnapshotBlock& block : snapshot.blocks) {
    if (block.state == BlockState::live) most = std::max(most, block.bytes);
  }
  EXPECT_EQ(largest.at(0).at("bytes"), most);
}

TEST(SnapshotPage, OfAnEmptyPoolIsAPageToo) {
  const nlohmann::json data = nlohmann::json::parse(data_of(page_of({})));
  EXPECT_TRUE(data.at("largest").empty());
  EXPECT_EQ(data.at("blocks").at("state"), "");
}

TEST(SnapshotPage, ALiveTagMissingFromTheCountersIsAdded) {
  MemorySnapshot snapshot = test::random_snapshot(1, 500);
  snapshot.stats.tags.clear();
  const nlohmann::json data = nlohmann::json::parse(data_of(page_of(snapshot)));
  EXPECT_EQ(data.at("tags").size(), 4U);
}

TEST(SnapshotPage, StaysSmallWithVeryManyBlocks) {
  EXPECT_LT(page_of(test::random_snapshot(1, 50'000)).size(), 6'000'000U);
  EXPECT_LT(page_of(test::random_snapshot(2, 70'000)).size(), 6'000'000U);
}

TEST(SnapshotPage, CondensingKeepsBytesAndLargeBlocks) {
  const MemorySnapshot snapshot = test::random_snapshot(test::seed(), 20'000);
  const std::uint32_t segments = snapshot.blocks.back().segment + 1;
  for (const std::size_t max : {200U, 2'000U, 20'000U}) {
    const auto blocks = detail::condense(snapshot.blocks, max);
    EXPECT_LE(blocks.size(), max + segments);
    std::uint64_t bytes = 0;
    std::uint64_t live = 0;
    std::size_t count = 0;
    const std::uint64_t visible = max >= 20'000 ? 0 : 2 * snapshot.stats.reserved_bytes / max;
    for (const detail::PageBlock& block : blocks) {
      bytes += block.bytes;
      live += block.live_bytes;
      count += block.count;
      EXPECT_TRUE(block.count == 1 || block.first->bytes <= visible);
    }
    EXPECT_EQ(bytes, snapshot.stats.reserved_bytes);
    EXPECT_EQ(live, snapshot.stats.in_use_bytes);
    EXPECT_EQ(count, snapshot.blocks.size());
  }
}

}  // namespace
}  // namespace vectis
