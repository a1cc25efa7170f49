#include "vectis/memory/snapshot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/snapshot_format.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/memory_snapshot.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/seed.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis {
namespace {

using Json = nlohmann::ordered_json;

std::string json_text(const MemorySnapshot& snapshot) {
  std::ostringstream out;
  write_json(out, snapshot);
  return out.str();
}

MemorySnapshot read_back(const std::string& text) {
  std::istringstream in(text);
  return read_memory_snapshot(in);
}

TEST(Snapshot, RoundTripsThroughJson) {
  const MemorySnapshot snapshot = test::random_snapshot(test::seed(), 500);
  const std::string text = json_text(snapshot);
  const MemorySnapshot again = read_back(text);
  EXPECT_EQ(json_text(again), text);
  EXPECT_EQ(again.device, snapshot.device);
  EXPECT_EQ(again.cause, snapshot.cause);
  EXPECT_EQ(again.stats.limit_bytes, UINT64_MAX);
  ASSERT_EQ(again.blocks.size(), 500U);
  for (std::size_t i = 0; i < 500; ++i) {
    EXPECT_EQ(again.blocks[i].tag, snapshot.blocks[i].tag);
    EXPECT_EQ(again.blocks[i].age, snapshot.blocks[i].age);
    EXPECT_EQ(again.blocks[i].precision, snapshot.blocks[i].precision);
  }
}

TEST(Snapshot, JsonNamesEveryNumberWithItsUnit) {
  const Json page = Json::parse(json_text(test::random_snapshot(1, 3)));
  EXPECT_EQ(page.at("format"), "vectis-memory-snapshot");
  EXPECT_EQ(page.at("version"), 1);
  EXPECT_EQ(page.at("time_ns"), 300'000'000'000);
  for (const detail::StatsField& field : detail::stats_fields) {
    EXPECT_TRUE(page.at("stats").contains(std::string(field.name))) << field.name;
  }
  EXPECT_EQ(page.at("stats").at("hit_rate"), 5.0 / 7);
}

TEST(Snapshot, OfAnEmptyPoolIsValid) {
  const MemorySnapshot again = read_back(json_text({}));
  EXPECT_TRUE(again.blocks.empty());
  EXPECT_TRUE(again.timeline.empty());
}

TEST(Snapshot, InvalidUtf8IsReplaced) {
  MemorySnapshot snapshot;
  snapshot.device = "bad \xFF name";
  EXPECT_EQ(read_back(json_text(snapshot)).device, "bad \uFFFD name");
}

TEST(Snapshot, OtherFilesAreRejected) {
  for (const char* text : {"", "vectis", "{", "{\"format\": \"vectis-memory-snapshot\"", "\xFF\xFE"}) {
    EXPECT_ERROR(read_back(text), ErrorCode::corrupt_data, "[read_memory_snapshot]", "not JSON");
  }
  for (const char* text : {"[]", "3", "null", "{}", R"({"format": "other"})", R"({"format": [1]})"}) {
    EXPECT_ERROR(read_back(text), ErrorCode::corrupt_data, "no snapshot of a memory pool");
  }
}

TEST(Snapshot, EveryCorruptFieldIsNamed) {
  const Json good = Json::parse(json_text(test::random_snapshot(1, 40)));
  const auto& blocks = good.at("blocks");
  std::size_t second = 1;  // a block with a predecessor in its segment
  while (blocks.at(second).at("offset") == 0) ++second;
  const std::string before = "/blocks/" + std::to_string(second - 1);
  struct Case {
    std::string pointer;
    Json value;
    const char* word;
  };
  const std::vector<Case> cases = {
      {"/version", 2, "version 2 of the format is unknown"},
      {"/device", 5, "`device` is not a string"},
      {"/time_ns", -1, "`time_ns` is -1"},
      {"/stats/hits", "many", "`hits`"},
      {"/stats/hits", 1.5, "`hits`"},
      {"/stats/fragmentation", 1.5, "`fragmentation`"},
      {"/stats", 3, "`limit_bytes`"},
      {"/tags", Json::object(), "`tags` is not a list"},
      {"/blocks/0/state", "lost", "unknown value `lost`"},
      {"/blocks/0/segment", 1ULL << 32, "`segment`"},
      {before + "/bytes", 1ULL << 62, "overlaps"},
      {"/blocks/" + std::to_string(second) + "/bytes", UINT64_MAX, "`bytes`"},
      {"/blocks/3", nullptr, "`segment`"},
      {"/timeline/1/time_ns", UINT64_MAX, "`time_ns`"},
      {"/timeline/0/time_ns", 1'000'000'000'000, "earlier"},
  };
  for (const Case& one : cases) {
    Json corrupt = good;
    corrupt[Json::json_pointer(one.pointer)] = one.value;
    EXPECT_ERROR(read_back(corrupt.dump()), ErrorCode::corrupt_data, one.word);
  }
  for (const char* key : {"device", "cause", "time_ns", "stats", "tags", "blocks", "timeline", "version"}) {
    Json corrupt = good;
    corrupt.erase(key);
    EXPECT_ERROR(read_back(corrupt.dump()), ErrorCode::corrupt_data, key);
  }
}

TEST(Snapshot, DeepNestingIsRejected) {
  constexpr std::size_t depth = test::sanitized ? 40'000 : 200'000;  // frames are larger with a sanitizer
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  const std::string good = json_text(test::random_snapshot(1, 3));
  for (const std::string key : {"format", "version", "device", "time_ns", "stats", "tags", "blocks", "timeline"}) {
    const std::size_t start = good.find("\"" + key + "\": ") + key.size() + 4;
    EXPECT_ERROR(read_back(good.substr(0, start) + deep + ", \"rest\": " + good.substr(start)), ErrorCode::corrupt_data,
                 "[read_memory_snapshot]");
  }
  EXPECT_ERROR(read_back(deep), ErrorCode::corrupt_data, "no snapshot of a memory pool");
}

TEST(Snapshot, TruncatedFilesAreRejected) {
  MemorySnapshot snapshot = test::random_snapshot(1, 3);
  snapshot.timeline.resize(2);
  const std::string text = json_text(snapshot);
  for (std::size_t end = 0; end + 2 < text.size(); ++end) {
    EXPECT_THROW(read_back(text.substr(0, end)), Error) << end;
  }
}

TEST(Snapshot, OfARealPoolAgreesWithItsCounters) {
  RuntimeOptions options;
  options.settings["gpu.enabled"] = "false";
  options.settings["config"] = "";
  Runtime runtime(options);
  MemoryPool& pool = memory_pool(runtime);
  EXPECT_FALSE(pool.snapshot(0).has_value());
  EXPECT_FALSE(pool.snapshot(-1).has_value());

  const BufferOptions tagged{.stream = nullptr, .context = Context{}.with_memory_tag("weights")};
  const ManagedBuffer kept = pool.get_managed_buffer(0, 5000, Precision::fp16, tagged);
  {
    const ManagedBuffer released = pool.get_managed_buffer(0, 700, Precision::fp32);
  }
  const MemorySnapshot snapshot = pool.snapshot(0).value();

  std::uint64_t bytes[3] = {};
  for (const SnapshotBlock& block : snapshot.blocks) bytes[static_cast<std::size_t>(block.state)] += block.bytes;
  EXPECT_EQ(bytes[0], snapshot.stats.in_use_bytes);
  EXPECT_EQ(bytes[1] + bytes[2], snapshot.stats.cached_bytes);
  EXPECT_GE(bytes[1], 2800U);
  const auto live = std::ranges::find(snapshot.blocks, BlockState::live, &SnapshotBlock::state);
  ASSERT_NE(live, snapshot.blocks.end());
  EXPECT_EQ(live->requested_bytes, 10'000U);
  EXPECT_EQ(live->precision, Precision::fp16);
  EXPECT_EQ(live->tag, "weights");
  EXPECT_THAT(snapshot.device, testing::StartsWith("cpu:0 ("));
  ASSERT_FALSE(snapshot.timeline.empty());
  EXPECT_EQ(snapshot.timeline.back().in_use_bytes, snapshot.stats.in_use_bytes);
  EXPECT_EQ(snapshot.timeline.back().reserved_bytes, snapshot.stats.reserved_bytes);
  EXPECT_EQ(std::ranges::max(snapshot.timeline, {}, &TimelinePoint::in_use_bytes).in_use_bytes,
            snapshot.stats.peak_in_use_bytes);
  EXPECT_EQ(json_text(read_back(json_text(snapshot))), json_text(snapshot));
}

}  // namespace
}  // namespace vectis
