#include "vectis/memory/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <sstream>
#include <utility>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using testing::HasSubstr;
using Kind = AllocationEvent::Kind;

const std::string header = "vectis-allocation-log 1\n";

AllocationLog read_log(const std::string& text) {
  std::istringstream in(text);
  return read_allocation_log(in);
}

std::string written(const AllocationLog& log) {
  std::ostringstream out;
  write_allocation_log(out, log);
  return out.str();
}

AllocationEvent released(std::uint64_t id) {
  AllocationEvent event;
  event.kind = Kind::release;
  event.id = id;
  return event;
}

TEST(AllocationLog, IsReadableText) {
  AllocationLog log;
  log.events.push_back({Kind::allocate, 1, 4096, Precision::fp32, 0, "weights", std::nullopt});
  log.events.push_back({Kind::allocate, 7, 1, Precision::bf16, 2, "", std::nullopt});
  log.events.push_back(released(1));
  EXPECT_EQ(written(log), header + "a 1 4096 fp32 0 weights\na 7 1 bf16 2 -\nf 1\n");
  EXPECT_EQ(read_log(written(log)).events, log.events);
  EXPECT_EQ(log.allocations(), 2U);
  EXPECT_EQ(log.peak_bytes(), 4097U);
}

TEST(AllocationLog, AnEmptyLogIsOneLine) {
  EXPECT_EQ(written({}), header);
  EXPECT_TRUE(read_log(header).events.empty());
  EXPECT_EQ(AllocationLog{}.peak_bytes(), 0U);
}

TEST(AllocationLog, CommentsAreSkippedAndStillCounted) {
  EXPECT_EQ(read_log(header + "# made by hand\na 1 2 fp16 0 x\n#\nf 1\n").events.size(), 2U);
  EXPECT_ERROR(read_log(header + "# one\n# two\nf 1\n"), ErrorCode::corrupt_data, "line 4: id 1");
}

TEST(AllocationLog, KeepsTimes) {
  const AllocationLog log = read_log(header + "a 1 2 fp16 0 x @0\nf 1 @1500\n");
  EXPECT_EQ(log.events[0].time, Duration(0));
  EXPECT_EQ(log.events[1].time, Duration(1500));
  EXPECT_EQ(written(log), header + "a 1 2 fp16 0 x @0\nf 1 @1500\n");
}

TEST(AllocationLog, RoundTripsAnyTag) {
  for (const std::string tag : {"-", "@5", "a b", "100%", "%41", "line\nbreak", "na\xC3\xAFve", "\x7F", "#1", "a-@"}) {
    AllocationLog log;
    log.events.push_back({Kind::allocate, 1, 1, Precision::int8, 0, tag, std::nullopt});
    EXPECT_EQ(read_log(written(log)).events, log.events) << written(log);
  }
}

TEST(AllocationLog, EveryFaultIsNamedWithItsLine) {
  struct Case {
    std::string text;
    std::string fault;
  };
  const std::vector<Case> cases = {
      {"", "line 1: the log is empty"},
      {"rmm log\n", "line 1: the first line is 'rmm log', not 'vectis-allocation-log 1'"},
      {"\x1F\x8B\x08\n", "line 1: the first line is '?"},
      {"vectis-allocation-log 2\n", "line 1: version '2' of the format is unknown"},
      {"vectis-allocation-log 1", "line 1: the last line has no line end"},
      {header + "a 1 1 fp32 0 x\nf 1", "line 3: the last line has no line end; the log is truncated"},
      {header + "\n", "line 2: the operation is missing"},
      {header + "m 1 1\n", "line 2: 'm' is no operation"},
      {header + "a\n", "line 2: the id is missing"},
      {header + "f\n", "line 2: the id is missing"},
      {header + "a 1\n", "line 2: the size is missing"},
      {header + "a 1 1\n", "line 2: the precision is missing"},
      {header + "a 1 1 fp32\n", "line 2: the stream is missing"},
      {header + "a 1 1 fp32 0\n", "line 2: the tag is missing"},
      {header + "a  1 1 fp32 0 x\n", "line 2: the id is missing"},
      {header + "a x 1 fp32 0 x\n", "line 2: the id 'x' is not a number"},
      {header + "a -1 1 fp32 0 x\n", "line 2: the id '-1' is not a number"},
      {header + "a 1 1k fp32 0 x\n", "line 2: the size '1k' is not a number"},
      {header + "a 1 0 fp32 0 x\n", "line 2: the size '0' is not between 1 and 4611686018427387904"},
      {header + "a 1 4611686018427387905 fp32 0 x\n", "line 2: the size '4611686018427387905' is not between"},
      {header + "a 1 99999999999999999999999 fp32 0 x\n", "line 2: the size '99999999999999999999999' is not between"},
      {header + "a 18446744073709551616 1 fp32 0 x\n", "line 2: the id '18446744073709551616' is not between"},
      {header + "a 1 1 fp8 0 x\n", "line 2: 'fp8' is no precision"},
      {header + "a 1 1 fp32 1025 x\n", "line 2: the stream '1025' is not between 0 and 1024"},
      {header + "a 1 1 fp32 0 %4\n", "line 2: '%4' is no tag"},
      {header + "a 1 1 fp32 0 %+1\n", "line 2: '%+1' is no tag"},
      {header + "a 1 1 fp32 0 x\r\n", "line 2: 'x?' is no tag"},
      {header + "a 1 1 fp32 0 x y\n", "line 2: 'y' is no time"},
      {header + "a 1 1 fp32 0 x @\n", "line 2: the time '' is not a number"},
      {header + "a 1 1 fp32 0 x @9223372036854775808\n", "line 2: the time '9223372036854775808' is not between"},
      {header + "a 1 1 fp32 0 x @1 2\n", "line 2: '2' follows the time, which must be last"},
      {header + "a 1 1 fp32 0 x @5\nf 1 @4\n", "line 3: its time is earlier than that of the event before"},
      {header + "f 1\n", "line 2: id 1 is released but was never allocated"},
      {header + "a 1 1 fp32 0 x\nf 1\nf 1\n", "line 4: id 1 is released a second time"},
      {header + "a 1 1 fp32 0 x\na 1 1 fp32 0 x\n", "line 3: id 1 was allocated before"},
      {header + "a 1 1 fp32 0 x\nf 1\na 1 1 fp32 0 x\n", "line 4: id 1 was allocated before"},
      {header + "a 1 4611686018427387904 fp32 0 x\na 2 1 fp32 0 x\n", "line 3: more than 4611686018427387904 bytes"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    EXPECT_ERROR(read_log(one.text), ErrorCode::corrupt_data, "[read_allocation_log] " + one.fault);
  }
}

TEST(AllocationLog, AHandMadeLogIsValidated) {
  AllocationEvent good;
  good.bytes = 1;
  const auto with = [&](auto change) {
    AllocationEvent event = good;
    event.id = 1;
    change(event);
    validate_allocation_log({{good, event}});
  };
  with([](AllocationEvent&) {});
  const auto expect = [&](auto change, const std::string& fault) {
    EXPECT_ERROR(with(change), ErrorCode::invalid_input, "[validate_allocation_log] event 1: " + fault);
  };
  expect([](AllocationEvent& event) { event.kind = static_cast<AllocationEvent::Kind>(7); }, "7 is no kind");
  expect([](AllocationEvent& event) { event.bytes = 0; }, "the size 0 is not between 1 and 4611686018427387904");
  expect([](AllocationEvent& event) { event.bytes = UINT64_MAX; }, "the size 18446744073709551615 is not between");
  expect([](AllocationEvent& event) { event.bytes = log_live_bytes_max; }, "more than 4611686018427387904 bytes");
  expect([](AllocationEvent& event) { event.precision = Precision{}; }, "0 is no precision");
  expect([](AllocationEvent& event) { event.stream = 1025; }, "the stream 1025 is not between 0 and 1024");
  expect([](AllocationEvent& event) { event.id = 0; }, "id 0 was allocated before");
  expect([](AllocationEvent& event) { event.time = Duration(-1); }, "its time is before the start of the log");
}

// Multiples of two bucket counts of std::unordered_map, which would put all of them into one bucket.
TEST(AllocationLog, ChosenIdsTakeNoLongerThanOthers) {
  const auto time_to_read = [](std::uint64_t factor) {
    std::string text = header;
    for (std::uint64_t i = 0; i < 20'000; ++i) text += "a " + std::to_string(i * factor) + " 1 fp32 0 -\n";
    const std::clock_t start = std::clock();  // of the CPU: other processes may run meanwhile
    EXPECT_EQ(read_log(text).peak_bytes(), 20'000U);
    return std::clock() - start;
  };
  const std::clock_t usual = time_to_read(7919);
  EXPECT_LT(time_to_read(std::uint64_t{20753} * 10273), 10 * usual + CLOCKS_PER_SEC / 5);
}

TEST(AllocationLog, AStreamThatCannotBeReadIsNotAnEmptyLog) {
  std::istringstream in(header);
  in.setstate(std::ios::badbit);
  EXPECT_ERROR(read_allocation_log(in), ErrorCode::io, "line 1");
}

// A corrupt log is either rejected or reads as a log that round-trips.
TEST(AllocationLog, RandomCorruptionIsRejectedOrYieldsAValidLog) {
  Random random(test::seed());
  const std::string whole =
      header + "a 1 4096 fp32 0 weights @3\na 2 77 int8 1 -\nf 1 @4\n# x\na 3 5 bf16 2 a%20b\nf 3\nf 2\n";
  const std::string alphabet = "af0123456789 -@%#\n\r\tp\x80";
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      const std::size_t place = random.below(text.size());
      switch (random.below(3)) {
        case 0:
          text[place] = alphabet[random.below(alphabet.size())];
          break;
        case 1:
          text.erase(place, 1 + random.below(6));
          break;
        default:
          text.insert(place, 1, alphabet[random.below(alphabet.size())]);
      }
      if (text.empty()) break;
    }
    try {
      const AllocationLog log = read_log(text);
      ASSERT_EQ(read_log(written(log)).events, log.events) << text;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::corrupt_data) << text;
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(AllocationRecorder, NumbersAllocationsIndependentlyOfKeys) {
  std::ostringstream out;
  AllocationRecorder recorder(out);
  recorder.allocated(900, {.bytes = 5, .precision = Precision::int8, .context = Context{}.with_memory_tag("a b")});
  recorder.released(900);
  recorder.allocated(900, {.bytes = 6});
  recorder.released(901);  // unknown key
  recorder.released(900);
  recorder.released(900);
  EXPECT_EQ(out.str(), header + "a 1 5 int8 0 a%20b\nf 1\na 2 6 fp32 0 -\nf 2\n");
  EXPECT_TRUE(recorder.complete());
  EXPECT_EQ(read_log(out.str()).events.size(), 4U);
}

TEST(AllocationRecorder, WritesTheTimeSinceItsConstruction) {
  SimulatedExecutor clock(1);
  const auto pass = [&](Duration time) {
    clock.post_after(time, [] {});
    clock.run();
  };
  pass(Duration(1000));
  std::ostringstream out;
  AllocationRecorder recorder(out, &clock);
  pass(Duration(20));
  recorder.allocated(1, {.bytes = 8});
  pass(Duration(300));
  recorder.released(1);
  EXPECT_EQ(out.str(), header + "a 1 8 fp32 0 - @20\nf 1 @320\n");
}

TEST(AllocationRecorder, StopsWhenWritingFailsAndReportsIt) {
  std::ostringstream out;
  AllocationRecorder recorder(out);
  recorder.allocated(1, {.bytes = 8});
  out.setstate(std::ios::badbit);
  recorder.allocated(2, {.bytes = 8});
  EXPECT_FALSE(recorder.complete());
  out.clear();
  recorder.released(1);
  recorder.allocated(3, {.bytes = 8});
  EXPECT_EQ(out.str(), header + "a 1 8 fp32 0 -\n");

  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  EXPECT_FALSE(AllocationRecorder(closed).complete());
}

TEST(AllocationRecorder, SurvivesAStreamThatThrows) {
  std::ostringstream out;
  AllocationRecorder recorder(out);
  recorder.allocated(1, {.bytes = 8});
  out.exceptions(std::ios::badbit);
  EXPECT_THROW(out.setstate(std::ios::badbit), std::ios::failure);
  recorder.released(1);
  EXPECT_FALSE(recorder.complete());
}

class LogResourceTest : public testing::Test {
 protected:
  Runtime runtime;
  DeviceContext context{runtime.service<DeviceRegistry>().find("cpu").value()};
  DeviceResource device{context};
  std::ostringstream out;
};

TEST_F(LogResourceTest, LogsAllocationsAndDeallocations) {
  Stream first(context);
  Stream second(context);
  LogResource recorded(device, out);
  MemoryBlock a = recorded.allocate({.bytes = 10, .stream = &second});
  MemoryBlock b = recorded.allocate({.bytes = 20, .stream = &first});
  recorded.deallocate(std::move(a), &second);
  MemoryBlock c = recorded.allocate({.bytes = 30, .precision = Precision::fp16, .stream = &second});
  recorded.deallocate(std::move(c), nullptr);
  recorded.deallocate(std::move(b), nullptr);
  EXPECT_EQ(out.str(), header + "a 1 10 fp32 1 -\na 2 20 fp32 2 -\nf 1\na 3 30 fp16 1 -\nf 3\nf 2\n");
  EXPECT_TRUE(recorded.complete());
}

TEST_F(LogResourceTest, LeavesOutFailedAllocations) {
  FailingResource failing(device, [](std::uint64_t number, const MemoryRequest&) { return number == 1; });
  LogResource recorded(failing, out);
  EXPECT_ERROR(static_cast<void>(recorded.allocate({.bytes = 10})), ErrorCode::allocation, "injected failure at call");
  EXPECT_ERROR(static_cast<void>(recorded.allocate({.bytes = 0})), ErrorCode::invalid_input, "0 bytes");
  recorded.deallocate(recorded.allocate({.bytes = 11}), nullptr);
  EXPECT_EQ(out.str(), header + "a 1 11 fp32 0 -\nf 1\n");
}

using AllocationRecorderConcurrent = LogResourceTest;

TEST_F(AllocationRecorderConcurrent, FourThreadsGiveOneValidLog) {
  constexpr int threads = 4;
  constexpr int rounds = 500;
  LogResource recorded(device, out, &runtime.executor());
  runtime.executor().parallel_for(threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t thread = begin; thread < end; ++thread) {
      for (int i = 0; i < rounds; ++i) {
        MemoryBlock one = recorded.allocate({.bytes = 64 + thread});
        MemoryBlock two = recorded.allocate({.bytes = 128});
        recorded.deallocate(std::move(one), nullptr);
        recorded.deallocate(std::move(two), nullptr);
      }
    }
  });
  const AllocationLog log = read_log(out.str());
  EXPECT_EQ(log.events.size(), std::size_t{4} * threads * rounds);
  EXPECT_EQ(log.allocations(), std::size_t{2} * threads * rounds);
}

}  // namespace
}  // namespace vectis
