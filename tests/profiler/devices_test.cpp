// Work submitted to streams, on every device.
#include <map>
#include <set>

#include "device/launch.hpp"
#include "device/observer.hpp"
#include "tests/profiler/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/kernel/ir.hpp"
#include "vectis/kernel/map.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory.hpp"

namespace vectis {
namespace {

std::vector<std::string> devices() {
  auto names = test::computing_devices();
  names.emplace_back("null");
  return names;
}

class ProfiledDevices : public test::DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  DeviceContext context{device(GetParam())};
  std::string label = context.device().label();
};

TEST_P(ProfiledDevices, RecordsCopiesAndFills) {
  constexpr std::size_t bytes = 4 << 20;
  Profiler profiler(runtime());
  Stream stream(context);
  const DeviceMemory one(context, bytes);
  const DeviceMemory two(context, bytes);
  std::vector<std::byte> host(bytes);
  {
    const ProfileRange range(profiler, "all");
    stream.fill(one, 0, bytes, 3);
    stream.copy_on_device(two, 0, one, 0, bytes);
    stream.copy_to_host(host, two, 0);
    stream.copy_to_device(one, 0, host);
    stream.copy_to_device(one, 0, {});  // nothing is given to the device
  }
  const auto rows = profiler.rows();
  for (const char* name : {"fill", "copy_on_device", "copy_to_host", "copy_to_device"}) {
    const auto row = test::row(rows, name);
    ASSERT_TRUE(row) << name;
    EXPECT_EQ(row->calls, 1U);
    EXPECT_EQ(row->bytes, bytes);
    EXPECT_EQ(row->device, label);
    EXPECT_EQ(row->clock, ProfileClock::device);
    // 4 MiB cannot be moved at more than 1 TB/s here; null moves nothing
    const auto least = std::chrono::microseconds(GetParam() == "null" ? 0 : 4);
    EXPECT_GE(row->total, least) << name;
    EXPECT_LT(row->total, std::chrono::seconds(5)) << name;
  }
  EXPECT_EQ(profiler.losses().untimed, 0U);

  const auto trace = test::trace_of(profiler);
  test::expect_sound(trace);
  EXPECT_EQ(test::events(trace, "X").size(), 9U);  // the range, four calls, four pieces of work
  EXPECT_EQ(test::events(trace, "f").size(), 4U);
  stream.synchronize();
}

// Work of one stream runs in order, so its slices must not overlap, and all of them lie between the first call and the
// end of the last wait.
TEST_P(ProfiledDevices, ConvertsDeviceTimestampsToTheHostClock) {
  if (GetParam() == "null") GTEST_SKIP() << "its clock counts events";
  constexpr std::size_t bytes = 1 << 20;
  Profiler profiler(runtime());
  Stream stream(context);
  const DeviceMemory memory(context, bytes);
  {
    const ProfileRange range(profiler, "frame");
    for (int i = 0; i < 20; ++i) stream.fill(memory, 0, bytes, static_cast<std::uint8_t>(i));
    stream.synchronize();
  }
  const auto trace = test::trace_of(profiler);
  test::expect_sound(trace);
  double begin = 0;
  double end = 0;
  std::vector<std::pair<double, double>> work;
  for (const auto& slice : test::events(trace, "X")) {
    const double ts = slice.at("ts");
    const double dur = slice.at("dur");
    if (slice.at("name") == "frame") {
      begin = ts;
      end = ts + dur;
    } else if (slice.at("pid") != 1) {
      work.emplace_back(ts, ts + dur);
    }
  }
  ASSERT_EQ(work.size(), 20U);
  constexpr double uncertainty = 5000;  // microseconds of clock synchronization on a loaded machine
  for (std::size_t i = 0; i < work.size(); ++i) {
    EXPECT_LE(work[i].second, end + uncertainty);
    EXPECT_GE(work[i].first, i == 0 ? begin : work[i - 1].second);
  }
}

TEST_P(ProfiledDevices, SeparatesStreams) {
  Profiler profiler(runtime());
  Stream first(context);
  Stream second(context);
  const DeviceMemory memory(context, 64);
  first.fill(memory, 0, 64, 1);
  second.fill(memory, 0, 64, 1);
  first.synchronize();
  second.synchronize();
  std::set<std::uint64_t> tracks;
  for (const auto& end : test::events(test::trace_of(profiler), "f")) tracks.insert(end.at("tid").get<std::uint64_t>());
  EXPECT_EQ(tracks.size(), 2U);
}

TEST_P(ProfiledDevices, RecordsNothingBeforeAndAfter) {
  Stream stream(context);
  const DeviceMemory memory(context, 64);
  stream.fill(memory, 0, 64, 1);
  {
    Profiler profiler(runtime());
    EXPECT_NE(detail::observer_of(*stream.core()), nullptr);
    profiler.pause();
    EXPECT_EQ(detail::observer_of(*stream.core()), nullptr);
    stream.fill(memory, 0, 64, 1);
    EXPECT_TRUE(profiler.rows().empty());
    profiler.resume();
    stream.fill(memory, 0, 64, 1);
    EXPECT_EQ(profiler.rows().size(), 1U);
  }
  EXPECT_EQ(detail::observer_of(*stream.core()), nullptr);
  stream.fill(memory, 0, 64, 1);
  stream.synchronize();
}

TEST_P(ProfiledDevices, SeveralProfilersRecordAtOnce) {
  Stream stream(context);
  const DeviceMemory memory(context, 64);
  Profiler outer(runtime());
  stream.fill(memory, 0, 64, 1);
  {
    Profiler inner(runtime(), {.device_times = false});
    stream.fill(memory, 0, 64, 1);
    EXPECT_EQ(inner.rows().at(0).calls, 1U);
    EXPECT_EQ(inner.rows().at(0).clock, ProfileClock::host);
    EXPECT_EQ(inner.losses().untimed, 0U);  // nobody asked for the device's
  }
  stream.fill(memory, 0, 64, 1);
  EXPECT_EQ(outer.rows().at(0).calls, 3U);
}

TEST_P(ProfiledDevices, ReusesEvents) {
  Profiler profiler(runtime(), {.capacity = 64});
  Stream stream(context);
  const DeviceMemory memory(context, 64);
  for (int i = 0; i < 3000; ++i) stream.fill(memory, 0, 64, 1);
  EXPECT_EQ(profiler.rows().at(0).calls, 3000U);
  EXPECT_EQ(profiler.losses().untimed, 0U);
  EXPECT_EQ(profiler.losses().dropped, 3000U - 64);
  EXPECT_EQ(test::events(test::trace_of(profiler), "f").size(), 64U);
}

TEST_P(ProfiledDevices, SamplesTheMemoryPool) {
  Profiler profiler(runtime(), {.counter_interval = Duration{0}});
  MemoryPool& pool = memory_pool(runtime());
  const int id = context.device().id();
  Stream stream(context);
  const DeviceMemory memory(context, 64);
  {
    const ManagedBuffer buffer = pool.get_managed_buffer(id, 1 << 18, Precision::fp32);
    stream.fill(memory, 0, 64, 1);
  }
  stream.fill(memory, 0, 64, 1);
  std::vector<std::uint64_t> live;
  std::vector<std::uint64_t> cached;
  for (const auto& sample : test::events(test::trace_of(profiler), "C")) {
    if (sample.at("pid") != 100 + id) continue;
    live.push_back(sample.at("args").at("live bytes"));
    cached.push_back(sample.at("args").at("cached bytes"));
  }
  ASSERT_GE(live.size(), 2U);
  EXPECT_EQ(live[0], 1U << 20);
  EXPECT_EQ(live[1], 0U);
  EXPECT_GE(cached[1], 1U << 20);
}

class Seen : public ProfilerSink {
 public:
  void begin(const HostSpan& span) override { begun.push_back(span.id); }
  void end(const HostSpan& span) override { calls.emplace(span.id, std::pair(span.begin, span.end)); }
  void device_span(const DeviceSpan& span) override { work.emplace(span.id, std::pair(span.begin, span.end)); }
  void pool_sample(const PoolSample& sample) override { pools.insert(std::string(sample.device)); }
  std::vector<std::uint64_t> begun;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> calls;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> work;
  std::set<std::string> pools;
};

TEST_P(ProfiledDevices, SinksReceiveSubmissionsThenWork) {
  const auto seen = std::make_shared<Seen>();
  Profiler profiler(runtime(), {.counter_interval = Duration{0}});
  profiler.add_sink(seen);
  memory_pool(runtime()).warm_up(context.device().id(), 16, Precision::fp32);
  Stream stream(context);
  const DeviceMemory memory(context, 64);
  for (int i = 0; i < 5; ++i) stream.fill(memory, 0, 64, 1);
  static_cast<void>(profiler.rows());
  EXPECT_EQ(seen->begun.size(), 5U);
  ASSERT_EQ(seen->work.size(), 5U);
  for (const auto& [id, times] : seen->work) {
    EXPECT_GE(times.first, seen->calls.at(id).first);
    EXPECT_GE(times.second, times.first);
  }
  EXPECT_TRUE(seen->pools.contains(label));
}

INSTANTIATE_TEST_SUITE_P(Devices, ProfiledDevices, testing::ValuesIn(devices()), test::case_name);

class ProfiledWork : public test::DevicesTest {
 protected:
  // A stream with 64 bytes of memory, and a profiler that observes it from then on.
  struct Observed {
    Observed(Runtime& runtime, const Device& device) : context(device), profiler(runtime) {}
    void fill() { stream.fill(memory, 0, 64, 1); }
    // The calls that were profiled and did not fail.
    [[nodiscard]] std::uint64_t calls() const {
      std::uint64_t sum = 0;
      for (const ProfileRow& row : profiler.rows()) sum += row.calls;
      return sum;
    }

    DeviceContext context;
    Stream stream{context};
    const DeviceMemory memory{context, 64};
    Profiler profiler;
  };
  Observed observe(const std::string& name) { return {runtime(), device(name)}; }
};

TEST_F(ProfiledWork, FailedCallsAreCountedSeparately) {
  Observed work = observe("failing");
  work.fill();
  registry().configure("failing", "fail", "fill 1 driver_failure");
  EXPECT_ERROR(work.fill(), ErrorCode::driver_failure, "");
  work.fill();
  std::uint64_t failed = 0;
  for (const ProfileRow& row : work.profiler.rows()) failed += row.failed;
  EXPECT_EQ(failed, 1U);
  EXPECT_EQ(work.calls(), 2U);
  test::expect_sound(test::trace_of(work.profiler));
}

// Failures of the profiler's own events are visible to the profiler only.
TEST_F(ProfiledWork, FailuresOfItsEventsDoNotAffectTheWork) {
  for (const std::string slot :
       {"event_create", "event_record", "event_query", "event_timestamp", "event_synchronize"}) {
    Observed work = observe("failing");
    for (int fault = 1; fault <= 12; ++fault) {
      registry().configure("failing", "fail", slot + " " + std::to_string(fault) + " driver_failure");
    }
    for (int i = 0; i < 10; ++i) EXPECT_NO_THROW(work.fill()) << slot;
    EXPECT_EQ(work.calls(), 10U) << slot;
    registry().configure("failing", "reset", "");
    test::expect_sound(test::trace_of(work.profiler));
  }
}

TEST_F(ProfiledWork, SurvivesALostDevice) {
  Observed work = observe("failing");
  work.fill();
  registry().configure("failing", "lose", "1");
  EXPECT_ERROR(work.fill(), ErrorCode::device_lost);
  EXPECT_ERROR(work.fill(), ErrorCode::device_lost);
  EXPECT_EQ(work.calls(), 1U);
  EXPECT_GE(work.profiler.losses().untimed, 1U);
  test::expect_sound(test::trace_of(work.profiler));
  registry().configure("failing", "reset", "");
}

// The CPU backend declines an operation it does not implement; the portable kernel is recorded instead.
TEST_F(ProfiledWork, DeclinedOperationsAreNotCounted) {
  Observed work = observe("cpu");
  const std::array views = {detail::OpView{&work.memory, 0, 1, 16, 16, DType::float32}};
  EXPECT_FALSE(detail::run_op(work.stream, "no such operation", views, {}));
  EXPECT_TRUE(work.profiler.rows().empty());
}

// The arguments of the only host slice of that name and category.
nlohmann::json arguments_of(const nlohmann::json& trace, const std::string& name, const std::string& category) {
  nlohmann::json found;
  for (const auto& slice : test::events(trace, "X")) {
    if (slice.at("pid") == 1 && slice.at("name") == name && slice.at("cat") == category) found = slice.at("args");
  }
  return found;
}

class ProfiledKernels : public test::DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  // Profiles `work` when it compiles nothing any more, and sets `range` and `on_device`.
  template <class Work>
  void profile(const std::string& name, const Work& work) {
    work();  // compiled now, if it must be
    Profiler profiler(runtime());
    work();
    const auto rows = profiler.rows();
    const auto trace = test::trace_of(profiler);
    test::expect_sound(trace);
    range = arguments_of(trace, name, "range");
    ASSERT_FALSE(range.is_null());
    const auto found = std::ranges::find(rows, ProfileClock::device, &ProfileRow::clock);
    ASSERT_NE(found, rows.end());
    on_device = *found;
  }

  DeviceContext context{device(GetParam())};
  Stream stream{context};
  nlohmann::json range;  // the arguments of the range with the name of the work
  ProfileRow on_device;  // the first row with times of the device
};

TEST_P(ProfiledKernels, NamedOperationsAreRangesWithTheirCost) {
  const DeviceMemory x(context, 64 * 64 * 4);
  const DeviceMemory out(context, 64 * 4);
  stream.fill(x, 0, x.bytes(), 0);
  ASSERT_NO_FATAL_FAILURE(profile(
      "sum_rows", [&] { run(stream, "sum_rows", {{x, DType::float32, 64, 64}, {out, DType::float32, 64, 1}}); }));
  EXPECT_GE(range.at("bytes"), 64 * 64 * 4);
  EXPECT_GE(range.at("operations"), 64 * 63);
  EXPECT_EQ(range.at("device"), context.device().label());
  EXPECT_THAT(on_device.name, testing::HasSubstr("sum"));  // natively under its own name, else by a kernel
}

TEST_P(ProfiledKernels, MapsAreRangesWithTheirCost) {
  ir::Builder builder("scaled");
  const ir::Value value = builder.input(DType::float32);
  builder.output(builder.mul(value, builder.constant(3.0F)), DType::float32);
  const ir::Function function = builder.finish();
  const std::array input = {DeviceMemory(context, 4000)};
  const std::array output = {DeviceMemory(context, 4000)};
  stream.fill(input[0], 0, 4000, 0);
  ASSERT_NO_FATAL_FAILURE(profile("scaled", [&] { map(stream, function, {input, {}, output, {}}, 1000); }));
  EXPECT_EQ(range.at("bytes"), 8000);
  EXPECT_EQ(range.at("operations"), 1000);
  EXPECT_THAT(on_device.name, testing::HasSubstr("scaled"));
  EXPECT_EQ(on_device.calls, 1U);
}

std::vector<std::string> kernel_devices() {
#if defined(VECTIS_HAS_OPENCL)
  return {"cpu", "opencl"};
#else
  return {"cpu"};
#endif
}

INSTANTIATE_TEST_SUITE_P(Devices, ProfiledKernels, testing::ValuesIn(kernel_devices()), test::case_name);

#if defined(VECTIS_HAS_OPENCL)

TEST_F(ProfiledWork, LaunchesAreNamedByTheirEntryPoint) {
  DeviceContext context(device("opencl"));
  const EntryPoint kernel(Program(context, "opencl-c", R"(
__kernel void busy(__global float* x, int n) {
  float sum = x[get_global_id(0)];
  for (int i = 0; i < n; ++i) sum = sum * 0.5f + 1.0f;
  x[get_global_id(0)] = sum;
})"),
                          "busy");
  Stream stream(context);
  const DeviceMemory memory(context, 4096);
  const LaunchShape shape{.grid = {16, 1, 1}, .block = {64, 1, 1}};
  stream.launch(kernel, shape, {memory, 1});
  stream.synchronize();
  Profiler profiler(runtime());
  for (int i = 0; i < 20; ++i) {  // other load may interrupt one of them
    stream.launch(kernel, shape, {memory, 200});
    stream.synchronize();
  }
  const auto quick = test::row(profiler.rows(), "busy");
  profiler.clear();
  stream.launch(kernel, shape, {memory, 200'000});
  stream.synchronize();
  const auto slow = test::row(profiler.rows(), "busy");
  ASSERT_TRUE(quick && slow);
  EXPECT_EQ(slow->clock, ProfileClock::device);
  EXPECT_GT(slow->total, 20 * quick->min);  // a thousand times the work
  EXPECT_EQ(slow->device, "opencl:0");
  test::expect_sound(test::trace_of(profiler));
}

#endif

}  // namespace
}  // namespace vectis
