// Ranges, with a simulated clock.

#include "tests/profiler/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/golden.hpp"

namespace vectis {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

class Profiles : public test::DevicesTest {
 protected:
  void pass(Duration time) {
    clock.post_after(time, [] {});
    clock.run();
  }
  // A range of the given duration.
  void range(const std::string& name, Duration time, std::uint64_t bytes = 0, int device = -1) {
    profiler.start(name);
    pass(time);
    profiler.end(name, bytes, device);
  }

  SimulatedExecutor clock{1};
  Profiler profiler{runtime(), {.capacity = 100, .clock = &clock}};
};

TEST_F(Profiles, AggregateByName) {
  range("short", microseconds(2));
  range("short", microseconds(1), 3000);
  range("short", microseconds(3), 3000, 0);
  range("long", microseconds(100));
  const auto rows = profiler.rows();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "long");
  EXPECT_EQ(rows[1].name, "short");
  EXPECT_EQ(rows[1].calls, 2U);
  EXPECT_EQ(rows[1].total, microseconds(3));
  EXPECT_EQ(rows[1].min, microseconds(1));
  EXPECT_EQ(rows[1].max, microseconds(2));
  EXPECT_DOUBLE_EQ(rows[1].mean_nanoseconds(), 1500.0);
  EXPECT_DOUBLE_EQ(rows[1].gigabytes_per_second(), 1.0);
  EXPECT_EQ(rows[2].device, registry().devices().at(0).label());
}

TEST_F(Profiles, PrintATable) {
  {
    const ProfileRange outer(profiler, "step");
    range("matrix_multiply", microseconds(400), 8'000'000);
    range("activation", microseconds(50), 1'000'000);
  }
  pass(microseconds(50));
  std::ostringstream text;
  profiler.print_summary(text);
  test::expect_golden("profiler/ranges.txt", text.str());
}

TEST_F(Profiles, NestInTheTrace) {
  {
    const ProfileRange outer(profiler, "outer", 7, 0);
    pass(nanoseconds(1001));
    range("inner", nanoseconds(2003));
    pass(nanoseconds(10));
  }
  const auto trace = test::trace_of(profiler);
  test::expect_sound(trace);
  const auto slices = test::events(trace, "X");
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].at("name"), "inner");
  EXPECT_DOUBLE_EQ(slices[0].at("ts").get<double>(), 1.001);
  EXPECT_DOUBLE_EQ(slices[0].at("dur").get<double>(), 2.003);
  EXPECT_DOUBLE_EQ(slices[1].at("dur").get<double>(), 3.014);
  EXPECT_EQ(slices[1].at("args").at("bytes"), 7);
}

TEST_F(Profiles, MayOverlap) {
  profiler.start("a");
  pass(microseconds(1));
  profiler.start("b");
  pass(microseconds(1));
  profiler.end("a");
  pass(microseconds(1));
  profiler.end("b");
  const auto rows = profiler.rows();
  EXPECT_EQ(test::row(rows, "a")->total, microseconds(2));
  EXPECT_EQ(test::row(rows, "b")->total, microseconds(2));
  const auto trace = test::trace_of(profiler);
  test::expect_sound(trace);
  EXPECT_EQ(test::events(trace, "b").size(), 1U);
  EXPECT_EQ(test::events(trace, "X").size(), 1U);
}

TEST_F(Profiles, OfOneNameEndInnermostFirst) {
  profiler.start("r");
  pass(microseconds(1));
  profiler.start("r");
  pass(microseconds(1));
  profiler.end("r");
  profiler.end("r");
  const auto rows = profiler.rows();
  EXPECT_EQ(rows.at(0).total, microseconds(3));
  EXPECT_EQ(test::events(test::trace_of(profiler), "b").size(), 0U);
}

TEST_F(Profiles, WithoutAStartAreRejected) {
  EXPECT_ERROR(profiler.end("never"), ErrorCode::invalid_input, "'never'", "call start first");
  profiler.start("one");
  EXPECT_ERROR(profiler.end("other"), ErrorCode::invalid_input, "'other'", "1 open ranges");
  EXPECT_ERROR(profiler.end("one", 0, 1000), ErrorCode::invalid_input, "device 1000");
  EXPECT_ERROR(ProfileRange(profiler, "x", 0, -2), ErrorCode::invalid_input, "device -2");
  profiler.end("one");
  EXPECT_ERROR(profiler.end("one"), ErrorCode::invalid_input, "'one'");
}

TEST_F(Profiles, EndAlsoBeyondTheLargestNumberOfNames) {
  for (int i = 0; i < 65'536; ++i) {
    const std::string name = "name " + std::to_string(i);
    profiler.start(name);
    profiler.end(name);
  }
  const std::uint64_t before = profiler.losses().other_names;
  profiler.start("one more");
  profiler.start("and another");
  profiler.end("one more");
  EXPECT_ERROR(profiler.end("(other names)"), ErrorCode::invalid_input, "1 open ranges");
  profiler.end("and another");
  EXPECT_EQ(profiler.losses().other_names, before + 2);
}

// The destructor of a sink that forwards events to a device.
class DeviceSink : public ProfilerSink {
 public:
  explicit DeviceSink(Runtime& runtime) : context_(runtime.service<DeviceRegistry>().find("cpu").value()) {}
  ~DeviceSink() override {
    const DeviceMemory memory(context_, 4);
    Stream(context_).fill(memory, 0, 4, 0);
  }

 private:
  DeviceContext context_;
};

TEST_F(Profiles, ARemovedSinkMayUseAStreamInItsDestructor) {
  const int sink = profiler.add_sink(std::make_shared<DeviceSink>(runtime()));
  profiler.remove_sink(sink);
  EXPECT_EQ(test::row(profiler.rows(), "fill")->calls, 1U);
}

TEST_F(Profiles, OpenRangesAreInTheTrace) {
  profiler.start("open");
  pass(microseconds(5));
  const auto slices = test::events(test::trace_of(profiler), "X");
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0].at("args").at("open"), true);
  EXPECT_DOUBLE_EQ(slices[0].at("dur").get<double>(), 5.0);
  EXPECT_TRUE(profiler.rows().empty());
  profiler.end("open");
}

TEST_F(Profiles, PausedRecordNothingAndKeepRecords) {
  range("seen", microseconds(1));
  profiler.start("across");
  profiler.pause();
  EXPECT_TRUE(profiler.paused());
  profiler.pause();
  pass(microseconds(2));
  range("unseen", microseconds(1));
  profiler.start("begun unseen");
  profiler.resume();
  EXPECT_FALSE(profiler.paused());
  profiler.resume();
  profiler.end("begun unseen");
  profiler.end("across");
  const auto rows = profiler.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "across");
  EXPECT_EQ(rows[0].total, microseconds(3));
  std::ostringstream text;
  profiler.print_summary(text);
  EXPECT_THAT(text.str(), testing::HasSubstr("0.001 ms the profiler was on"));
}

TEST_F(Profiles, StartOverAfterClear) {
  range("before", microseconds(1));
  profiler.start("across");
  profiler.clear();
  pass(microseconds(1));
  profiler.end("across");
  const auto rows = profiler.rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "across");
  EXPECT_EQ(test::events(test::trace_of(profiler), "X").size(), 1U);
}

TEST_F(Profiles, CountDroppedRecords) {
  for (int i = 0; i < 250; ++i) range("r", microseconds(1));
  EXPECT_EQ(profiler.losses().dropped, 150U);
  EXPECT_EQ(profiler.rows().at(0).calls, 250U);
  EXPECT_EQ(test::events(test::trace_of(profiler), "X").size(), 100U);
  std::ostringstream text;
  profiler.print_summary(text);
  EXPECT_THAT(text.str(), testing::HasSubstr("150 events dropped from the trace; raise capacity (now 100)"));
}

TEST_F(Profiles, AreWrittenToByteWritersAndReportFailingStreams) {
  range("r", microseconds(1));
  MemoryWriter bytes;
  profiler.write_trace(bytes);
  std::ostringstream text;
  profiler.write_trace(text);
  const std::string_view written(reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size());
  EXPECT_EQ(nlohmann::json::parse(written), nlohmann::json::parse(text.str()));
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  EXPECT_ERROR(profiler.write_trace(broken), ErrorCode::io, "write_trace");
}

// Records the events it receives.
class Notes : public ProfilerSink {
 public:
  void begin(const HostSpan& span) override { lines.push_back("begin " + std::string(span.name)); }
  void end(const HostSpan& span) override {
    lines.push_back("end " + std::string(span.name) + " " + std::to_string(span.end - span.begin));
  }
  std::vector<std::string> lines;
};

class Broken : public ProfilerSink {
 public:
  void begin(const HostSpan& /*span*/) override { throw std::runtime_error("no"); }
  void end(const HostSpan& /*span*/) override { throw 5; }  // NOLINT: whatever a sink throws
};

TEST_F(Profiles, NotifySinks) {
  profiler.add_sink(std::make_shared<Broken>());
  const auto notes = std::make_shared<Notes>();
  const int number = profiler.add_sink(notes);
  {
    const ProfileRange outer(profiler, "outer");
    range("inner", nanoseconds(5));
  }
  profiler.remove_sink(number);
  range("later", nanoseconds(5));
  EXPECT_THAT(notes->lines, testing::ElementsAre("begin outer", "begin inner", "end inner 5", "end outer 5"));
  EXPECT_EQ(profiler.losses().sink_failures, 6U);
}

}  // namespace
}  // namespace vectis
