#include "kernel/profiler/exporters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/golden.hpp"

namespace vectis {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(ProfileSummary, PrintsATable) {
  const std::vector<ProfileRow> rows = {
      {"training step", "", ProfileClock::host, 10, 0, microseconds(91'000), microseconds(8'000), microseconds(12'500),
       0},
      {"gemm", "cuda:0", ProfileClock::device, 1'200, 0, microseconds(60'000), microseconds(41), microseconds(95),
       std::uint64_t{48} << 30},
      {"copy_to_device", "cuda:0", ProfileClock::device, 20, 3, microseconds(1'500), nanoseconds(70'123),
       nanoseconds(80'456), std::uint64_t{20} << 20},
      {"copy_to_device", "null:0", ProfileClock::host, 1, 0, nanoseconds(1), nanoseconds(1), nanoseconds(1), 7},
      {"never worked", "cuda:0", ProfileClock::host, 0, 5, nanoseconds(0), nanoseconds(0), nanoseconds(0), 0},
  };
  detail::ProfileSession session;
  session.on = 100'000'000;
  session.capacity = 262'144;
  session.losses = {.dropped = 12'345, .untimed = 1, .other_names = 1'234'567, .sink_failures = 2};
  std::ostringstream text;
  detail::print_summary(text, rows, session);
  test::expect_golden("profiler/summary.txt", text.str());
}

TEST(ProfileSummary, OfAnEmptyProfile) {
  std::ostringstream text;
  detail::print_summary(text, {}, {});
  test::expect_golden("profiler/empty.txt", text.str());
}

using detail::ProfileSnapshot;
using detail::SpanRecord;
using nlohmann::json;

json parsed(const ProfileSnapshot& snapshot) {
  std::string text;
  detail::write_trace(snapshot, [&](std::string_view piece) { text += piece; });
  return json::parse(text);
}

std::vector<json> of(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

ProfileSnapshot empty_copy() {
  ProfileSnapshot snapshot;
  snapshot.names = {"(other names)", "outer", "vt_sum"};
  snapshot.device_labels = {"cpu:0", "opencl:0"};
  snapshot.device_names = {"A CPU", "A \"GPU\""};
  snapshot.session.origin = 1'000'000;
  snapshot.session.capacity = 8;
  return snapshot;
}

SpanRecord range(std::uint32_t name, std::uint64_t begin, std::uint64_t end) {
  SpanRecord record;
  record.id = begin;
  record.name = name;
  record.thread = 1;
  record.begin = begin;
  record.end = end;
  return record;
}

TEST(ProfileTrace, OfAnEmptyProfileIsValid) {
  const json trace = parsed(empty_copy());
  EXPECT_EQ(of(trace, "M").size(), 2U);  // name and sort index of the host
  EXPECT_EQ(of(trace, "X").size(), 0U);
  EXPECT_EQ(trace.at("otherData").at("events dropped"), "0");
}

TEST(ProfileTrace, ConnectsSubmissionAndWorkByAFlow) {
  ProfileSnapshot snapshot = empty_copy();
  SpanRecord work = range(2, 1'002'000, 1'003'500);
  work.id = 77;
  work.kind = SpanKind::launch;
  work.time_source = detail::TimeSource::device;
  work.device = 1;
  work.stream = 5;
  work.device_begin = 1'004'001;
  work.device_end = 1'006'001;
  work.bytes = 4000;
  snapshot.spans = {range(1, 1'001'000, 1'010'000), work};
  const json trace = parsed(snapshot);

  const auto slices = of(trace, "X");
  ASSERT_EQ(slices.size(), 3U);
  EXPECT_EQ(slices[0].at("name"), "outer");
  EXPECT_DOUBLE_EQ(slices[0].at("ts").get<double>(), 1.0);
  EXPECT_DOUBLE_EQ(slices[0].at("dur").get<double>(), 9.0);
  EXPECT_EQ(slices[1].at("pid"), slices[0].at("pid"));
  EXPECT_EQ(slices[2].at("name"), "vt_sum");
  EXPECT_EQ(slices[2].at("cat"), "launch");
  EXPECT_NE(slices[2].at("pid"), slices[0].at("pid"));
  EXPECT_EQ(slices[2].at("tid"), 5);
  EXPECT_DOUBLE_EQ(slices[2].at("ts").get<double>(), 4.001);
  EXPECT_DOUBLE_EQ(slices[2].at("dur").get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(slices[2].at("args").at("GB/s").get<double>(), 2.0);
  EXPECT_EQ(slices[2].at("args").at("device"), "opencl:0");

  const auto starts = of(trace, "s");
  const auto ends = of(trace, "f");
  ASSERT_EQ(starts.size(), 1U);
  ASSERT_EQ(ends.size(), 1U);
  for (const char* key : {"id", "cat", "name"}) EXPECT_EQ(starts[0].at(key), ends[0].at(key));
  EXPECT_EQ(starts[0].at("id"), 77);
  EXPECT_EQ(ends[0].at("bp"), "e");
  for (const char* key : {"pid", "tid", "ts"}) {
    EXPECT_EQ(starts[0].at(key), slices[1].at(key));
    EXPECT_EQ(ends[0].at(key), slices[2].at(key));
  }
}

TEST(ProfileTrace, NamesEveryUsedTrack) {
  ProfileSnapshot snapshot = empty_copy();
  SpanRecord work = range(2, 1'002'000, 1'003'500);
  work.kind = SpanKind::fill;
  work.time_source = detail::TimeSource::device;
  work.device = 1;
  work.stream = 3;
  work.thread = 2;
  snapshot.spans = {work};
  snapshot.samples = {{0, 1'000'500, 100, 50}, {0, 1'000'900, 200, 0}};
  const json trace = parsed(snapshot);
  std::map<std::pair<int, int>, std::string> threads;
  std::map<int, std::string> processes;
  for (const json& event : of(trace, "M")) {
    if (event.at("name") == "thread_name") threads[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
    if (event.at("name") == "process_name") processes[event.at("pid")] = event.at("args").at("name");
  }
  EXPECT_THAT(processes, testing::ElementsAre(testing::Pair(1, "host"), testing::Pair(100, "cpu:0 A CPU"),
                                              testing::Pair(101, "opencl:0 A \"GPU\"")));
  EXPECT_THAT(threads, testing::ElementsAre(testing::Pair(std::pair(1, 2), "thread 2"),
                                            testing::Pair(std::pair(101, 3), "stream 3")));
  const auto counters = of(trace, "C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0].at("pid"), 100);
  EXPECT_EQ(counters[0].at("args"), (json{{"live bytes", 100}, {"cached bytes", 50}}));
  EXPECT_DOUBLE_EQ(counters[1].at("ts").get<double>(), 0.9);
}

// Slices of one track must nest, so an overlapping range gets a track of its own.
TEST(ProfileTrace, PutsOverlappingRangesOnTheirOwnTracks) {
  ProfileSnapshot snapshot = empty_copy();
  snapshot.spans = {range(1, 1'001'000, 1'003'000), range(2, 1'002'000, 1'004'000)};
  snapshot.spans[0].overlapping = true;
  const json trace = parsed(snapshot);
  EXPECT_EQ(of(trace, "X").size(), 1U);
  ASSERT_EQ(of(trace, "b").size(), 1U);
  ASSERT_EQ(of(trace, "e").size(), 1U);
  EXPECT_EQ(of(trace, "b")[0].at("id"), of(trace, "e")[0].at("id"));
  EXPECT_EQ(of(trace, "b")[0].at("cat"), of(trace, "e")[0].at("cat"));
}

TEST(ProfileTrace, AcceptsAnyNameAndReportsDropped) {
  ProfileSnapshot snapshot = empty_copy();
  snapshot.names[1] = "quote \" backslash \\ newline \n nul \x01 and no utf-8: \xff\xfe {}";
  snapshot.spans = {range(1, 999'999, 1'000'001)};  // began before the profile was cleared
  snapshot.spans[0].failed = true;
  snapshot.spans[0].open = true;
  snapshot.session.losses.dropped = 12'345;
  const json trace = parsed(snapshot);
  ASSERT_EQ(of(trace, "X").size(), 1U);
  EXPECT_THAT(of(trace, "X")[0].at("name").get<std::string>(), testing::StartsWith("quote \" backslash \\ newline \n"));
  EXPECT_DOUBLE_EQ(of(trace, "X")[0].at("ts").get<double>(), 0.0);
  EXPECT_EQ(of(trace, "X")[0].at("args").at("failed"), true);
  EXPECT_EQ(of(trace, "X")[0].at("args").at("open"), true);
  ASSERT_EQ(of(trace, "i").size(), 1U);
  EXPECT_THAT(of(trace, "i")[0].at("name").get<std::string>(), testing::HasSubstr("12345 events dropped; raise"));
  EXPECT_EQ(trace.at("otherData").at("events dropped"), "12345");
}

// Many chunks form one valid JSON text.
TEST(ProfileTrace, IsWrittenInChunks) {
  ProfileSnapshot snapshot = empty_copy();
  for (std::uint64_t i = 0; i < 5000; ++i) snapshot.spans.push_back(range(1, 1'000'000 + 10 * i, 1'000'005 + 10 * i));
  std::size_t pieces = 0;
  std::string text;
  detail::write_trace(snapshot, [&](std::string_view piece) {
    ++pieces;
    text += piece;
  });
  EXPECT_GT(pieces, 5U);
  EXPECT_EQ(of(json::parse(text), "X").size(), 5000U);
}

}  // namespace
}  // namespace vectis
