// Ordering within a stream, between streams through events, and of timestamps; kernel launches where the device has a
// compiler.
#include <array>
#include <cstring>

#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

class Streams : public test::DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  bool has_timestamps() { return device(GetParam()).info().capabilities.timestamps; }
  DeviceContext context{device(GetParam())};
};

TEST_P(Streams, AnUnrecordedEventIsCompleted) {
  const Event event(context);
  EXPECT_TRUE(event.completed());
  event.synchronize();
  EXPECT_EQ(event.timestamp(), std::nullopt);
  Stream stream(context);
  stream.wait(event);
  stream.synchronize();
}

// Passes a value from stream to stream many times; each step must see the result of the previous one.
TEST_P(Streams, EventsOrderWorkAcrossStreams) {
  constexpr std::size_t bytes = 1 << 20;
  constexpr int hops = 40;
  std::array streams = {Stream(context), Stream(context), Stream(context)};
  const std::array memories = {DeviceMemory(context, bytes), DeviceMemory(context, bytes)};
  std::vector<Event> events;
  streams[0].fill(memories[0], 0, bytes, 5);
  for (int hop = 0; hop < hops; ++hop) {
    Stream& from = streams[static_cast<std::size_t>(hop) % 3];
    Stream& to = streams[static_cast<std::size_t>(hop + 1) % 3];
    events.emplace_back(context);
    from.record(events.back());
    to.wait(events.back());
    to.copy_on_device(memories[static_cast<std::size_t>(hop + 1) % 2], 0, memories[static_cast<std::size_t>(hop) % 2],
                      0, bytes);
    to.fill(memories[static_cast<std::size_t>(hop) % 2], 0, bytes, static_cast<std::uint8_t>(100 + hop));
  }
  std::vector<std::byte> received(bytes);
  streams[hops % 3].copy_to_host(received, memories[hops % 2], 0);
  streams[hops % 3].synchronize();
  EXPECT_EQ(received, std::vector<std::byte>(bytes, std::byte{5}));
  for (const Event& event : events) EXPECT_TRUE(event.completed());
}

TEST_P(Streams, TimestampsIncrease) {
  Stream stream(context);
  const DeviceMemory memory(context, 4 << 20);
  std::vector<Event> events;
  for (int i = 0; i < 5; ++i) {
    stream.fill(memory, 0, memory.bytes(), static_cast<std::uint8_t>(i));
    events.emplace_back(context);
    stream.record(events.back());
  }
  events.back().synchronize();
  if (!has_timestamps()) {
    EXPECT_EQ(events.back().timestamp(), std::nullopt);
    return;
  }
  Duration before{0};
  for (const Event& event : events) {
    const auto now = event.timestamp();
    ASSERT_TRUE(now);
    EXPECT_GE(*now, before);
    before = *now;
  }
  EXPECT_GT(before, *events.front().timestamp());
}

TEST_P(Streams, AnEventCanBeRecordedAgain) {
  Stream stream(context);
  const Event event(context);
  stream.record(event);
  event.synchronize();
  const auto first = event.timestamp();
  const DeviceMemory memory(context, 1 << 20);
  stream.fill(memory, 0, memory.bytes(), 1);
  stream.record(event);
  event.synchronize();
  EXPECT_TRUE(event.completed());
  if (has_timestamps()) {
    EXPECT_GT(event.timestamp().value(), first.value());
  }
}

TEST_P(Streams, AreMovableAndOutliveTheirResources) {
  std::vector<std::byte> received(3);
  const std::vector<std::byte> sent = {std::byte{1}, std::byte{2}, std::byte{3}};
  {
    Stream stream(context);
    Stream moved = std::move(stream);
    const DeviceMemory memory(DeviceContext(context), 3);
    moved.copy_to_device(memory, 0, sent);
    moved.copy_to_host(received, memory, 0);
    EXPECT_EQ(moved.context().device(), context.device());
    EXPECT_EQ(memory.context().device(), context.device());
    moved.synchronize();
  }
  EXPECT_EQ(received, sent);
}

TEST_P(Streams, ReportMemoryAndUtilization) {
  const Device& target = context.device();
  EXPECT_FALSE(target.info().name.empty());
  EXPECT_FALSE(target.info().driver.empty());
  EXPECT_GT(target.info().compute_units, 0U);
  EXPECT_GT(target.info().memory_bytes, 0U);
  if (const auto memory = target.memory()) {
    EXPECT_GT(memory->total_bytes, 0U);
    EXPECT_LE(memory->free_bytes, memory->total_bytes);
  }
  static_cast<void>(target.utilization());  // the first answer may be unknown: nothing was measured before
  if (const auto busy = target.utilization()) {
    EXPECT_GE(*busy, 0.0);
    EXPECT_LE(*busy, 1.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Streams, testing::ValuesIn(test::computing_devices()), test::case_name);

#if defined(VECTIS_HAS_OPENCL)

constexpr auto saxpy = R"(
__kernel void saxpy(__global float* y, __global const float* x, float a, int n, __local float* tile) {
  int i = get_global_id(0);
  int l = get_local_id(0);
  if (i < n) tile[l] = a * x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) y[i] += tile[l];
})";

class Kernels : public test::DevicesTest {
 protected:
  DeviceContext context{device("opencl")};

  // y + 2 x for every element, in work-groups of 64.
  void run_saxpy(const EntryPoint& kernel) {
    constexpr int n = 1003;
    std::vector<float> x(n);
    std::vector<float> y(n);
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    for (int i = 0; i < n; ++i) y[static_cast<std::size_t>(i)] = static_cast<float>(-i);
    Stream stream(context);
    const DeviceMemory on_x(context, n * sizeof(float));
    const DeviceMemory on_y(context, n * sizeof(float));
    stream.copy_to_device(on_x, 0, std::as_bytes(std::span(x)));
    stream.copy_to_device(on_y, 0, std::as_bytes(std::span(y)));
    stream.launch(kernel, {.grid = {(n + 63) / 64, 1, 1}, .block = {64, 1, 1}},
                  {on_y, on_x, 2.0F, n, LaunchArgument::shared(64 * sizeof(float))});
    stream.copy_to_host(std::as_writable_bytes(std::span(y)), on_y, 0);
    stream.synchronize();
    for (int i = 0; i < n; ++i) ASSERT_EQ(y[static_cast<std::size_t>(i)], static_cast<float>(i)) << i;
  }
};

TEST_F(Kernels, RunWithMemoryValuesAndSharedBytes) {
  const EntryPoint kernel(Program(context, "opencl-c", saxpy), "saxpy");
  EXPECT_EQ(kernel.entry_point(), "saxpy");
  run_saxpy(kernel);
}

TEST_F(Kernels, LoadFromABinary) {
  const std::vector<std::byte> binary = Program(context, "opencl-c", saxpy).binary();
  ASSERT_FALSE(binary.empty());
  const std::string_view text(reinterpret_cast<const char*>(binary.data()), binary.size());
  run_saxpy(EntryPoint(Program(context, "binary", text), "saxpy"));
}

TEST_F(Kernels, CompileErrorsContainTheCompilersOutput) {
  try {
    const Program program(context, "opencl-c", "__kernel void broken( { }");
    FAIL() << "it compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::compile_failed);
    EXPECT_THAT(error.detail(), testing::HasSubstr("error"));
    EXPECT_EQ(error.op(), "compile");
  }
}

TEST_F(Kernels, InvalidRequestsAreRejected) {
  const Program program(context, "opencl-c", saxpy);
  EXPECT_ERROR(EntryPoint(program, "nope"), ErrorCode::invalid_input, "nope");
  EXPECT_ERROR(Program(context, "wgsl", "x"), ErrorCode::unsupported, "does not compile 'wgsl'", "opencl-c");
  EXPECT_ERROR(Program(context, "opencl-c", ""), ErrorCode::invalid_input, "empty");
  EXPECT_ERROR(Program(context, "binary", "not a binary"), ErrorCode::invalid_input, "opencl:0");
  Stream stream(context);
  const EntryPoint kernel(program, "saxpy");
  const DeviceLimits& limits = context.device().info().limits;
  EXPECT_ERROR(stream.launch(kernel, {.grid = {0, 1, 1}, .block = {1, 1, 1}}, {}), ErrorCode::invalid_input,
               "0 work-groups");
  EXPECT_ERROR(stream.launch(kernel, {.grid = {1, 1, 1}, .block = {1, limits.group_size_max[1] + 1, 1}}, {}),
               ErrorCode::invalid_input, "dimension 1");
  EXPECT_ERROR(stream.launch(kernel, {.grid = {1, 1, 1}, .block = {limits.group_size_max[0], 2, 1}}, {}),
               ErrorCode::invalid_input, std::to_string(limits.group_items_max));
  EXPECT_ERROR(stream.launch(kernel, {}, {LaunchArgument::shared(limits.shared_bytes_max + 1)}),
               ErrorCode::invalid_input, "shared memory");
  run_saxpy(kernel);
}

#endif

}  // namespace
}  // namespace vectis
