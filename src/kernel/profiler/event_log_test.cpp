#include "kernel/profiler/event_log.hpp"

#include <gtest/gtest.h>

#include <string>

namespace vectis {
namespace {

using detail::AggregateKey;
using detail::EventLog;
using detail::SpanRecord;
using detail::StringTable;
using detail::TimeSource;

SpanRecord span(std::uint32_t name, std::uint64_t begin, std::uint64_t end) {
  SpanRecord record;
  record.name = name;
  record.begin = begin;
  record.end = end;
  record.bytes = 10;
  return record;
}

// A span that waits for the timestamps of its device.
SpanRecord pending_span(std::uint32_t name, std::uint64_t begin, std::uint64_t end) {
  SpanRecord record = span(name, begin, end);
  record.time_source = TimeSource::pending;
  return record;
}

TEST(StringTable, InternsEqualNamesOnce) {
  StringTable names;
  const auto a = names.intern("a");
  EXPECT_NE(a, 0U);
  EXPECT_NE(names.intern(""), a);
  EXPECT_EQ(names.intern(std::string("a")), a);
  EXPECT_EQ(names.name(a), "a");
}

TEST(StringTable, MapsExcessNamesToOther) {
  StringTable names;
  for (std::size_t i = 0; i + 1 < StringTable::names_max; ++i) ASSERT_EQ(names.intern(std::to_string(i)), i + 1);
  EXPECT_EQ(names.intern("one too many"), 0U);
  EXPECT_EQ(names.intern("7"), 8U);
  EXPECT_EQ(names.name(0), "(other names)");
  EXPECT_EQ(names.all().size(), StringTable::names_max);
}

TEST(EventLog, KeepsTheNewestAndCountsDropped) {
  EventLog log(3);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(log.append(span(1, i, 2 * i)), i);
  ASSERT_EQ(log.spans().size(), 3U);
  EXPECT_EQ(log.spans().front().begin, 2U);
  EXPECT_EQ(log.dropped(), 2U);
  const auto& sum = log.aggregates().at(AggregateKey{1, -1, ProfileClock::host});
  EXPECT_EQ(sum.calls, 5U);
  EXPECT_EQ(sum.total, 0U + 1 + 2 + 3 + 4);
  EXPECT_EQ(sum.min, 0U);
  EXPECT_EQ(sum.max, 4U);
  EXPECT_EQ(sum.bytes, 50U);
}

TEST(EventLog, AggregatesDroppedRecordsWhenTimestampsArrive) {
  EventLog log(1);
  const SpanRecord record = pending_span(1, 100, 101);
  const auto first = log.append(record);
  const auto second = log.append(record);
  EXPECT_TRUE(log.aggregates().empty());
  log.timed(first, record, 1000, 1500);
  log.timed(second, record, 2000, 2700);
  ASSERT_EQ(log.spans().size(), 1U);
  EXPECT_EQ(log.spans().front().device_begin, 2000U);
  EXPECT_EQ(log.spans().front().time_source, TimeSource::device);
  const auto& sum = log.aggregates().at(AggregateKey{1, -1, ProfileClock::device});
  EXPECT_EQ(sum.calls, 2U);
  EXPECT_EQ(sum.total, 1200U);
  EXPECT_EQ(sum.min, 500U);
}

TEST(EventLog, FallsBackToHostTime) {
  EventLog log(1);
  const SpanRecord record = pending_span(1, 100, 130);
  log.untimed(log.append(record), record);
  EXPECT_EQ(log.aggregates().at(AggregateKey(1, -1, ProfileClock::host)).total, 30U);
  EXPECT_EQ(log.spans().front().time_source, TimeSource::host);
}

TEST(EventLog, CountsFailuresSeparately) {
  EventLog log(1);
  SpanRecord record = span(1, 100, 130);
  record.failed = true;
  log.append(record);
  const auto& sum = log.aggregates().at(AggregateKey(1, -1, ProfileClock::host));
  EXPECT_EQ(sum.failed, 1U);
  EXPECT_EQ(sum.calls, 0U);
  EXPECT_EQ(sum.total, 0U);
}

TEST(EventLog, WithoutCapacityOnlyAggregates) {
  EventLog log(0);
  const auto first = log.append(span(1, 0, 5));
  EXPECT_NE(log.append(span(1, 0, 5)), first);
  log.append(detail::SampleRecord{0, 1, 2, 3});
  EXPECT_TRUE(log.spans().empty());
  EXPECT_TRUE(log.samples().empty());
  EXPECT_EQ(log.dropped(), 0U);
  EXPECT_EQ(log.aggregates().begin()->second.calls, 2U);
}

TEST(EventLog, SequenceNumbersStayUniqueAfterClear) {
  EventLog log(4);
  const SpanRecord record = pending_span(1, 0, 5);
  const auto before = log.append(record);
  log.clear();
  log.append(span(2, 7, 8));
  log.timed(before, record, 1, 2);
  ASSERT_EQ(log.spans().size(), 1U);
  EXPECT_EQ(log.spans().front().name, 2U);
}

}  // namespace
}  // namespace vectis
