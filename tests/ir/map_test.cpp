#include "vectis/kernel/map.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "tests/devices/fixture.hpp"
#include "tests/ir/runners.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/kernel/tuner.hpp"

namespace vectis::test {
namespace {

using ir::Builder;
using ir::Op;
using ir::Value;

class Map : public DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  template <class T>
  DeviceMemory upload(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    DeviceMemory memory(context_, std::max<std::size_t>((bytes.size() + 3) / 4 * 4, 4));
    stream_.copy_to_device(memory, 0, bytes);
    stream_.synchronize();
    return memory;
  }
  template <class T>
  std::vector<T> download(const DeviceMemory& memory, std::size_t count) {
    std::vector<T> values(count);
    stream_.copy_to_host(std::as_writable_bytes(std::span(values)), memory, 0);
    stream_.synchronize();
    return values;
  }
  void run(const ir::Function& function, std::vector<DeviceMemory> inputs, std::vector<DeviceMemory> outputs,
           std::uint64_t count, std::vector<std::uint32_t> arguments = {}, std::vector<DeviceMemory> tables = {}) {
    map(stream_, function, {inputs, tables, outputs, arguments}, count);
  }

  DeviceContext context_{device(GetParam())};
  Stream stream_{context_};
};

ir::Function scaled_add(float constant) {
  Builder b("scaled_add");
  const Value x = b.input(DType::int32);
  const Value a = b.argument(DType::float32);
  const Value sum = b.add(b.mul(b.convert(x, DType::float32), a), b.constant(constant));
  b.output(b.convert(sum, DType::int32), DType::int32);
  return b.finish();
}

TEST_P(Map, WritesEverySizeAndNoByteBeyond) {
  for (const std::size_t count : {0U, 1U, 2U, 255U, 256U, 257U, 1023U, 2047U, 2048U, 2049U, 100003U}) {
    std::vector<std::int32_t> x(count + 3);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i) - 50;
    const DeviceMemory in = upload(x);
    const DeviceMemory out = upload(std::vector<std::int32_t>(count + 3, -9));
    run(scaled_add(7), {in}, {out}, count, {std::bit_cast<std::uint32_t>(3.0F)});
    const auto result = download<std::int32_t>(out, count + 3);
    for (std::size_t i = 0; i < result.size(); ++i)
      ASSERT_EQ(result[i], i < count ? x[i] * 3 + 7 : -9) << i << " of " << count;
  }
}

// With tuning, the first large call measures. Results stay the same, and in-place calls run once.
TEST_P(Map, TunedWorkGroupsComputeTheSame) {
  RuntimeOptions options;
  options.settings["autotune"] = "on";
  Runtime runtime(options);
  const Device tuned_device = *runtime.service<DeviceRegistry>().find(GetParam());
  const DeviceContext context(tuned_device);
  Stream stream(context);
  const std::size_t count = tuned_items_min + 5;
  std::vector<std::int32_t> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<std::int32_t>(i % 1000);
  const std::vector<DeviceMemory> in{DeviceMemory(context, count * 4)};
  const std::vector<DeviceMemory> out{DeviceMemory(context, count * 4)};
  const std::vector<std::uint32_t> three{std::bit_cast<std::uint32_t>(3.0F)};
  stream.copy_to_device(in[0], 0, std::as_bytes(std::span(x)));
  std::vector<std::int32_t> result(count);
  for (const auto& target : {out, out, in}) {
    map(stream, scaled_add(7), {in, {}, target, three}, count);
    stream.copy_to_host(std::as_writable_bytes(std::span(result)), target[0], 0);
    stream.synchronize();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], x[i] * 3 + 7) << i;
  }
  EXPECT_EQ(tuner(runtime).statistics().measured, tuned_device.info().dialects.empty() ? 0U : 1U);
}

// Buffers of a pool are slices of one allocation.
TEST_P(Map, SlicesOfOneAllocationAreTuned) {
  RuntimeOptions options;
  options.settings["autotune"] = "on";
  options.settings["cache_path"] = "off";
  Runtime runtime(options);
  const Device tuned_device = *runtime.service<DeviceRegistry>().find(GetParam());
  const DeviceContext context(tuned_device);
  if (!DeviceMemory::can_slice(context)) GTEST_SKIP() << GetParam() << " has no slices";
  Stream stream(context);
  const std::size_t count = tuned_items_min;
  const DeviceMemory whole(context, count * 8);
  const std::vector<DeviceMemory> in{whole.slice(0, count * 4)};
  const std::vector<DeviceMemory> out{whole.slice(count * 4, count * 4)};
  const std::vector<std::uint32_t> three{std::bit_cast<std::uint32_t>(3.0F)};
  const std::vector<std::int32_t> fives(count, 5);
  stream.copy_to_device(in[0], 0, std::as_bytes(std::span(fives)));
  map(stream, scaled_add(7), {in, {}, out, three}, count);
  std::vector<std::int32_t> result(count);
  stream.copy_to_host(std::as_writable_bytes(std::span(result)), out[0], 0);
  stream.synchronize();
  EXPECT_EQ(result, std::vector<std::int32_t>(count, 22));
  EXPECT_EQ(tuner(runtime).statistics().measured, tuned_device.info().dialects.empty() ? 0U : 1U);
}

TEST_P(Map, KeepsPackedElementsBeyondTheCount) {
  Builder b("bytes");
  b.output(b.add(b.input(DType::int8), b.constant(1)), DType::int8);
  const ir::Function function = b.finish();
  for (const std::size_t count : {1U, 2U, 3U, 4U, 5U, 127U, 2049U}) {
    const DeviceMemory in = upload(std::vector<std::int8_t>(count + 8, 41));
    const DeviceMemory out = upload(std::vector<std::int8_t>(count + 8, 9));
    run(function, {in}, {out}, count);
    const auto result = download<std::int8_t>(out, count + 8);
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], i < count ? 42 : 9) << i << " of " << count;
  }
}

TEST_P(Map, WorksInPlace) {
  Builder b("halves");
  b.output(b.mul(b.input(DType::float16), b.constant(2.0F)), DType::float16);
  const DeviceMemory both = upload(std::vector<std::uint16_t>(1001, 0x3c00));
  run(b.finish(), {both}, {both}, 1001);
  EXPECT_EQ(download<std::uint16_t>(both, 1001), std::vector<std::uint16_t>(1001, 0x4000));
}

// Inputs, tables and outputs are slices of one allocation, as from the pool.
TEST_P(Map, TakesSlicesOfOneMemory) {
  constexpr std::uint64_t slice = 4096;
  constexpr std::size_t count = 1000;
  const DeviceMemory whole(context_, 4 * slice);
  std::vector<std::uint32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::uint32_t>(i % 7);
  std::vector<DeviceMemory> parts;
  for (std::uint64_t i = 0; i < 4; ++i) {
    parts.push_back(whole.slice(i * slice, slice));
    stream_.copy_to_device(parts.back(), 0, std::as_bytes(std::span(numbers)));
  }
  stream_.synchronize();
  Builder b("slices");
  const Value x = b.input(DType::uint32);
  const std::uint32_t table = b.table(DType::uint32);
  b.output(b.add(x, b.gather(table, x)), DType::uint32);
  b.output(b.mul(x, x), DType::uint32);
  run(b.finish(), {parts[0]}, {parts[2], parts[0]}, count, {}, {parts[1]});
  const auto sums = download<std::uint32_t>(parts[2], count);
  const auto squares = download<std::uint32_t>(parts[0], count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(sums[i], 2 * numbers[i]) << i;
    ASSERT_EQ(squares[i], numbers[i] * numbers[i]) << i;
  }
  EXPECT_EQ(download<std::uint32_t>(parts[3], count), numbers);
}

TEST_P(Map, ComputesDecisionsLoopsAndTables) {
  Builder b("collatz");
  const Value x = b.input(DType::uint32);
  const std::uint32_t table = b.table(DType::uint32);
  auto loop = b.begin_loop(b.argument(DType::uint32), std::array{x});
  const Value n = loop.carried[0];
  const Value odd = b.convert(b.binary(Op::bit_and, n, b.constant(1U)), DType::boolean);
  const Value up = b.add(b.mul(n, b.constant(3U)), b.constant(1U));
  const auto end = b.end_loop(loop, std::array{b.select(odd, up, b.div(n, b.constant(2U)))});
  b.output(b.add(end[0], b.gather(table, x)), DType::uint32);
  const DeviceMemory in = upload(std::vector<std::uint32_t>{1, 2, 3, 27, 97});
  const DeviceMemory out = upload(std::vector<std::uint32_t>(5));
  run(b.finish(), {in}, {out}, 5, {4}, {upload(std::vector<std::uint32_t>{1000, 2000, 3000})});
  // 1 4 2 1 4; 2 1 4 2 1; 3 10 5 16 8; 27 82 41 124 62; 97 292 146 73 220
  EXPECT_EQ(download<std::uint32_t>(out, 5), (std::vector<std::uint32_t>{2004, 3001, 3008, 3062, 3220}));
}

TEST_P(Map, RejectsInvalidBuffers) {
  const ir::Function function = scaled_add(1);
  const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0F);
  const DeviceMemory in = upload(std::vector<std::int32_t>(64));
  const DeviceMemory out = upload(std::vector<std::int32_t>(64));
  EXPECT_ERROR(run(function, {}, {out}, 64, {one}), ErrorCode::invalid_input, "has 1 inputs, 0 were given");
  EXPECT_ERROR(run(function, {in}, {out}, 64), ErrorCode::invalid_input, "has 1 arguments, 0 were given");
  EXPECT_ERROR(run(function, {in}, {out}, 65, {one}), ErrorCode::invalid_input, "input 0 has 256 bytes",
               "65 elements of i32 need 260");
  EXPECT_ERROR(run(function, {in}, {out}, std::uint64_t{1} << 32U, {one}), ErrorCode::invalid_input,
               "4294967296 elements were asked for, at most 4294967295");
  Builder b("two");
  const Value x = b.input(DType::int32);
  b.output(x, DType::int32);
  b.output(x, DType::int32);
  const ir::Function two = b.finish();
  EXPECT_ERROR(run(two, {in}, {out, out}, 64), ErrorCode::invalid_input, "output 1 takes bytes 0 to 256",
               "output 0 takes 0 to 256");
  Builder c("other");
  c.output(c.convert(c.input(DType::int32), DType::float32), DType::float32);
  EXPECT_ERROR(run(c.finish(), {in}, {in}, 64), ErrorCode::invalid_input, "same element type");
  const DeviceContext other(device(GetParam()));
  EXPECT_ERROR(run(function, {in}, {DeviceMemory(other, 256)}, 64, {one}), ErrorCode::invalid_input, "another context");
  ir::Function broken = function;
  broken.outputs.clear();
  EXPECT_ERROR(run(broken, {in}, {out}, 64, {one}), ErrorCode::invalid_input, "has no output");
  EXPECT_NO_THROW(run(function, {in}, {out}, 64, {one}));
}

INSTANTIATE_TEST_SUITE_P(Devices, Map, testing::ValuesIn(runner_names()), case_name);

#if defined(VECTIS_HAS_OPENCL)
using MapKernels = DevicesTest;

TEST_F(MapKernels, AreSharedByFunctionsThatDifferInConstants) {
  const DeviceContext context(device("opencl"));
  Stream stream(context);
  const DeviceMemory in(context, 4096);
  const DeviceMemory out(context, 4096);
  const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0F);
  const auto programs = [&] {
    const CacheStatistics statistics = kernel_cache(runtime()).statistics();
    return statistics.compiled + statistics.disk_hits;
  };
  const std::uint64_t before = programs();
  for (int i = 2; i < 12; ++i)
    map(stream, scaled_add(static_cast<float>(i)), {{&in, 1}, {}, {&out, 1}, {&one, 1}}, 1000);
  stream.synchronize();
  EXPECT_EQ(programs() - before, 1U);
}
#endif

}  // namespace
}  // namespace vectis::test
