#include "kernel/profiler/ledger.hpp"

#include <gtest/gtest.h>

#include <string>

namespace vectis {
namespace {

using detail::Ledger;
using detail::NameTable;
using detail::SpanRecord;
using detail::SumKey;
using detail::TimedBy;

SpanRecord span(std::uint32_t name, std::uint64_t begin, std::uint64_t end) {
  SpanRecord record;
  record.name = name;
  record.begin = begin;
  record.end = end;
  record.bytes = 10;
  return record;
}

TEST(NameTable, GivesOneNumberToOneName) {
  NameTable names;
  const auto a = names.number("a");
  EXPECT_NE(a, 0U);
  EXPECT_NE(names.number(""), a);
  EXPECT_EQ(names.number(std::string("a")), a);
  EXPECT_EQ(names.name(a), "a");
}

TEST(NameTable, PutsWhatDoesNotFitUnderOneName) {
  NameTable names;
  for (std::size_t i = 0; i + 1 < NameTable::names_max; ++i) ASSERT_EQ(names.number(std::to_string(i)), i + 1);
  EXPECT_EQ(names.number("one too many"), 0U);
  EXPECT_EQ(names.number("7"), 8U);
  EXPECT_EQ(names.name(0), "(other names)");
  EXPECT_EQ(names.all().size(), NameTable::names_max);
}

TEST(Ledger, KeepsTheNewestAndCountsTheRest) {
  Ledger ledger(3);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(ledger.append(span(1, i, 2 * i)), i);
  ASSERT_EQ(ledger.spans().size(), 3U);
  EXPECT_EQ(ledger.spans().front().begin, 2U);
  EXPECT_EQ(ledger.dropped(), 2U);
  const auto& sum = ledger.sums().at(SumKey{1, -1, ProfileClock::host});
  EXPECT_EQ(sum.calls, 5U);
  EXPECT_EQ(sum.total, 0U + 1 + 2 + 3 + 4);
  EXPECT_EQ(sum.least, 0U);
  EXPECT_EQ(sum.most, 4U);
  EXPECT_EQ(sum.bytes, 50U);
}

TEST(Ledger, SumsWorkWhenItsTimeIsKnownThoughTheRecordIsGone) {
  Ledger ledger(1);
  SpanRecord record = span(1, 100, 101);
  record.timed_by = TimedBy::pending;
  const auto first = ledger.append(record);
  const auto second = ledger.append(record);
  EXPECT_TRUE(ledger.sums().empty());
  ledger.timed(first, record, 1000, 1500);
  ledger.timed(second, record, 2000, 2700);
  ASSERT_EQ(ledger.spans().size(), 1U);
  EXPECT_EQ(ledger.spans().front().device_begin, 2000U);
  EXPECT_EQ(ledger.spans().front().timed_by, TimedBy::device);
  const auto& sum = ledger.sums().at(SumKey{1, -1, ProfileClock::device});
  EXPECT_EQ(sum.calls, 2U);
  EXPECT_EQ(sum.total, 1200U);
  EXPECT_EQ(sum.least, 500U);
}

TEST(Ledger, FallsBackToTheHostsTime) {
  Ledger ledger(1);
  SpanRecord record = span(1, 100, 130);
  record.timed_by = TimedBy::pending;
  ledger.untimed(ledger.append(record), record);
  EXPECT_EQ(ledger.sums().at(SumKey(1, -1, ProfileClock::host)).total, 30U);
  EXPECT_EQ(ledger.spans().front().timed_by, TimedBy::host);
}

TEST(Ledger, CountsFailuresApart) {
  Ledger ledger(1);
  SpanRecord record = span(1, 100, 130);
  record.failed = true;
  ledger.append(record);
  const auto& sum = ledger.sums().at(SumKey(1, -1, ProfileClock::host));
  EXPECT_EQ(sum.failed, 1U);
  EXPECT_EQ(sum.calls, 0U);
  EXPECT_EQ(sum.total, 0U);
}

TEST(Ledger, WithoutCapacityOnlySums) {
  Ledger ledger(0);
  const auto first = ledger.append(span(1, 0, 5));
  EXPECT_NE(ledger.append(span(1, 0, 5)), first);
  ledger.append(detail::SampleRecord{0, 1, 2, 3});
  EXPECT_TRUE(ledger.spans().empty());
  EXPECT_TRUE(ledger.samples().empty());
  EXPECT_EQ(ledger.dropped(), 0U);
  EXPECT_EQ(ledger.sums().begin()->second.calls, 2U);
}

TEST(Ledger, ClearedItForgetsButItsPlacesStayUnique) {
  Ledger ledger(4);
  SpanRecord record = span(1, 0, 5);
  record.timed_by = TimedBy::pending;
  const auto before = ledger.append(record);
  ledger.clear();
  ledger.append(span(2, 7, 8));
  ledger.timed(before, record, 1, 2);
  ASSERT_EQ(ledger.spans().size(), 1U);
  EXPECT_EQ(ledger.spans().front().name, 2U);
}

}  // namespace
}  // namespace vectis
