// The public behavior of the pool, on every device.
#include <cmath>
#include <sstream>

#include "tests/memory/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using test::kib;
using test::mib;

class Pool : public test::MemoryTest, public testing::WithParamInterface<std::string> {
 protected:
  std::string on = GetParam();
};

TEST_P(Pool, ADestroyedBufferIsReused) {
  const std::byte* address = nullptr;
  {
    const ManagedBuffer buffer = pool().get_managed_buffer(id(on), 1024, Precision::fp32);
    EXPECT_EQ(buffer.elements(), 1024U);
    EXPECT_EQ(buffer.bytes(), 4096U);
    EXPECT_EQ(buffer.precision(), Precision::fp32);
    EXPECT_GE(buffer.memory().bytes(), 4096U);
    address = buffer.memory().address();
    EXPECT_EQ(stats(on).live_buffers, 1U);
    EXPECT_EQ(stats(on).requested_bytes, 4096U);
  }
  EXPECT_EQ(stats(on).live_buffers, 0U);
  EXPECT_EQ(stats(on).in_use_bytes, 0U);
  const auto before = stats(on).device_allocations;
  const ManagedBuffer again = pool().get_managed_buffer(id(on), 1000, Precision::fp32);
  EXPECT_EQ(stats(on).device_allocations, before);
  EXPECT_EQ(again.memory().address(), address);
  EXPECT_EQ(stats(on).hits, 1U);
  EXPECT_EQ(stats(on).hit_rate(), 0.5);
}

TEST_P(Pool, MovedAndReleasedBuffersAreEmpty) {
  ManagedBuffer first = bytes(on, 100);
  ManagedBuffer second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is the test
  EXPECT_TRUE(second);
  second = bytes(on, 50);
  EXPECT_EQ(second.bytes(), 50U);
  EXPECT_EQ(stats(on).live_buffers, 1U);
  second.release();
  second.release();
  EXPECT_FALSE(second);
  EXPECT_EQ(second.elements(), 0U);
  EXPECT_EQ(stats(on).live_buffers, 0U);
  EXPECT_ERROR(static_cast<void>(second.memory()), ErrorCode::invalid_input, "released or moved from");
}

TEST_P(Pool, BatchesCopyAndAreReleasedTogether) {
  {
    BufferBatch batch = pool().create_buffer_batch(id(on));
    std::vector<std::byte> host(256, std::byte{7});
    batch.add_buffer(host, 64, Precision::fp32);
    batch.add_buffer(std::span(host).first(128), 64, Precision::fp16);
    EXPECT_EQ(batch.size(), 2U);
    EXPECT_EQ(batch[1].bytes(), 128U);
    EXPECT_EQ(stats(on).live_buffers, 2U);
    std::vector<std::byte> back(256);
    Stream stream(batch[0].memory().context());
    stream.copy_to_host(back, batch[0].memory(), 0);
    stream.synchronize();
    if (on != "null") {
      EXPECT_EQ(back, host);
    }
    EXPECT_ERROR(batch.add_buffer(host, 63, Precision::fp32), ErrorCode::invalid_input,
                 "256 host bytes given for 63 elements");
    EXPECT_ERROR(batch.add_buffer({}, 0, Precision::fp32), ErrorCode::invalid_input, "0 bytes requested");
  }
  EXPECT_EQ(stats(on).live_buffers, 0U);
}

TEST_P(Pool, WarmUpFillsTheCache) {
  pool().warm_up(id(on), 3000, Precision::fp16, 4);
  const auto before = stats(on).device_allocations;
  std::vector<ManagedBuffer> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(pool().get_managed_buffer(id(on), 3000, Precision::fp16));
  EXPECT_EQ(stats(on).device_allocations, before);
}

TEST_P(Pool, CleanupReturnsTheCacheToTheDevice) {
  const ManagedBuffer kept = bytes(on, 100 * kib);
  for (std::uint64_t size = 1; size < 8 * mib; size *= 3) static_cast<void>(bytes(on, size));
  EXPECT_GT(stats(on).cached_bytes, 8 * mib / 3);
  EXPECT_GT(pool().emergency_cleanup(id(on)), 0U);
  EXPECT_LT(stats(on).reserved_bytes, 3 * mib) << "only the segment of the live buffer is left";
  EXPECT_EQ(stats(on).live_buffers, 1U);
  EXPECT_EQ(stats(on).cleanups, 1U);
}

TEST_P(Pool, UsageAndPressure) {
  EXPECT_EQ(pool().memory_pressure(id(on)), std::nullopt) << "never used";
  ASSERT_TRUE(pool().set_max_pool_size(id(on), 64 * mib));
  EXPECT_EQ(pool().memory_pressure(id(on)), 0.0);
  {
    const ManagedBuffer half = bytes(on, 32 * mib);
    EXPECT_EQ(pool().memory_pressure(id(on)), 0.5);
    EXPECT_EQ(pool().memory_usage(id(on))->allocated_bytes, 32 * mib);
    const ManagedBuffer rest = bytes(on, 32 * mib);
    EXPECT_EQ(pool().memory_pressure(id(on)), 1.0);
    EXPECT_EQ(pool().check_memory_health(id(on)), MemoryHealth::critical);
  }
  EXPECT_EQ(pool().check_memory_health(id(on)), MemoryHealth::critical) << "cached counts";
  EXPECT_EQ(pool().check_memory_health(id(on)), MemoryHealth::good) << "and was cleaned";
  EXPECT_EQ(pool().memory_usage(id(on))->allocated_bytes, 0U);
  EXPECT_EQ(pool().memory_usage(id(on))->peak_bytes, 64 * mib);
  EXPECT_EQ(pool().total_memory_usage().peak_bytes, 64 * mib);
}

TEST_P(Pool, ThresholdsCanBeSet) {
  pool().set_max_pool_size(id(on), 100 * mib);
  const ManagedBuffer buffer = bytes(on, 40 * mib);
  EXPECT_EQ(pool().check_memory_health(id(on)), MemoryHealth::good);
  pool().set_health_thresholds({0.1, 0.9});
  EXPECT_EQ(pool().check_memory_health(id(on)), MemoryHealth::high);
  for (const auto& [warn, clean] :
       std::vector<std::pair<double, double>>{{0.5, 0.4}, {-0.1, 0.5}, {0.5, 1.1}, {NAN, 1}}) {
    EXPECT_ERROR(pool().set_health_thresholds({warn, clean}), ErrorCode::invalid_input, "0 <= warn <= clean <= 1");
  }
}

TEST_P(Pool, LoweringTheLimitFreesTheCache) {
  static_cast<void>(bytes(on, 32 * mib));
  EXPECT_GE(stats(on).cached_bytes, 32 * mib);
  pool().set_max_pool_size(id(on), 16 * mib);
  EXPECT_EQ(stats(on).reserved_bytes, 0U);
}

// The number of size classes is bounded.
TEST_P(Pool, RarelyUsedSizeClassesAreDropped) {
  for (std::uint64_t i = 1; i <= 500; ++i) static_cast<void>(bytes(on, i * 256));
  const MemoryStats now = stats(on);
  EXPECT_EQ(now.in_use_bytes, 0U);
  EXPECT_LT(now.reserved_bytes, 40 * mib) << "size classes that were not requested again were coalesced";
}

TEST_P(Pool, ARepeatingWorkloadNeedsNoDeviceAllocation) {
  Random random(test::seed());
  std::vector<std::uint64_t> sizes(40);
  for (std::uint64_t& size : sizes) size = 1 + (random.next() >> (40 + random.below(20)));
  std::uint64_t after_warm_up = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<ManagedBuffer> live;
    for (const std::uint64_t size : sizes) {
      live.push_back(bytes(on, size));
      if (live.size() > 10) live.erase(live.begin());
    }
    if (round == 9) after_warm_up = stats(on).device_allocations;
  }
  const std::uint64_t later = stats(on).device_allocations - after_warm_up;
  std::cout << later << " device allocations after warm-up\n";
  EXPECT_EQ(later, 0U);
}

TEST_P(Pool, RequestsInBytes) {
  const ManagedBuffer buffer = pool().allocate_bytes(id(on), 1001, {.context = Context{}.with_memory_tag("scratch")});
  EXPECT_EQ(buffer.bytes(), 1001U);
  EXPECT_GE(buffer.memory().bytes(), 1001U);
  EXPECT_EQ(stats(on).requested_bytes, 1001U);
  EXPECT_EQ(stats(on).tags.at(0).tag, "scratch");
  EXPECT_ERROR(static_cast<void>(pool().allocate_bytes(id(on), 0)), ErrorCode::invalid_input, "0 bytes requested");
  EXPECT_ERROR(static_cast<void>(pool().allocate_bytes(-1, 1)), ErrorCode::invalid_input, "does not exist");
}

TEST_P(Pool, CachedMemoryInOneRangeIsNotFragmented) {
  bytes(on, 28 * mib).release();
  const MemoryStats cached = stats(on);
  EXPECT_GE(cached.cached_bytes, 28 * mib);
  EXPECT_GE(cached.largest_free_bytes, 28 * mib);
  EXPECT_LT(cached.fragmentation, 0.1);
}

TEST_P(Pool, BadRequests) {
  EXPECT_ERROR(bytes(on, 0), ErrorCode::invalid_input, "0 bytes requested");
  EXPECT_ERROR(bytes(on, std::uint64_t{1} << 63), ErrorCode::invalid_input, "9223372036854775808 bytes");
  EXPECT_ERROR(static_cast<void>(pool().get_managed_buffer(id(on), UINT64_MAX, Precision::fp32)),
               ErrorCode::invalid_input, "exceed 2^64 bytes");
  for (const auto wrong : {static_cast<Precision>(0), static_cast<Precision>(99)}) {
    EXPECT_ERROR(static_cast<void>(pool().get_managed_buffer(id(on), 1, wrong)), ErrorCode::invalid_input,
                 "is no precision");
  }
  for (const int wrong : {-1, 99, INT32_MAX}) {
    EXPECT_ERROR(static_cast<void>(pool().get_managed_buffer(wrong, 1, Precision::fp32)), ErrorCode::invalid_input,
                 "does not exist");
    EXPECT_ERROR(static_cast<void>(pool().create_buffer_batch(wrong)), ErrorCode::invalid_input, "does not exist");
    EXPECT_EQ(pool().memory_pressure(wrong), std::nullopt);
    EXPECT_EQ(pool().memory_usage(wrong).has_value(), false);
    EXPECT_EQ(pool().get_memory_stats(wrong).has_value(), false);
    EXPECT_EQ(pool().check_memory_health(wrong), std::nullopt);
    EXPECT_EQ(pool().emergency_cleanup(wrong), 0U);
    EXPECT_FALSE(pool().set_max_pool_size(wrong, 1));
  }
}

TEST_P(Pool, WarmUpWithAnAbsurdCountIsOutOfMemory) {
  pool().set_max_pool_size(id(on), 4 * mib);
  EXPECT_THROW(pool().warm_up(id(on), mib, Precision::int8, SIZE_MAX), OutOfMemoryError);
  EXPECT_EQ(stats(on).live_buffers, 0U);
}

TEST(PoolLimits, SizesNearTheLargestNumberAreRejected) {
  RuntimeOptions options;
  options.settings["backends.null.memory_bytes"] = std::to_string(UINT64_MAX);
  Runtime runtime(options);
  MemoryPool& pool = memory_pool(runtime);
  const int null = runtime.service<DeviceRegistry>().find("null")->id();
  pool.set_max_pool_size(null, UINT64_MAX);
  for (const std::uint64_t bytes : {UINT64_MAX, UINT64_MAX - 255, std::uint64_t{1} << 63}) {
    EXPECT_ERROR(static_cast<void>(pool.allocate_bytes(null, bytes)), ErrorCode::invalid_input,
                 "the largest allocation on null:0");
  }
  EXPECT_EQ(pool.get_memory_stats(null)->reserved_bytes, 0U);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_P(Pool, GetBufferAndReturnBufferAreValidated) {
  DeviceMemory raw = pool().get_buffer(id(on), 10, Precision::fp16);
  EXPECT_EQ(stats(on).live_buffers, 1U);
  EXPECT_ERROR(pool().return_buffer(id(on), raw, 11, Precision::fp16), ErrorCode::invalid_input, "10 elements of fp16");
  EXPECT_ERROR(pool().return_buffer(id(on), raw, 10, Precision::int8), ErrorCode::invalid_input, "10 elements of fp16");
  const int other = id(on) == 0 ? 1 : 0;
  EXPECT_ERROR(pool().return_buffer(other, raw, 10, Precision::fp16), ErrorCode::invalid_input,
               "the buffer is on device");
  pool().return_buffer(id(on), raw, 10, Precision::fp16);
  EXPECT_ERROR(pool().return_buffer(id(on), raw, 10, Precision::fp16), ErrorCode::invalid_input, "returned before");
  EXPECT_EQ(stats(on).live_buffers, 0U);
}
#pragma GCC diagnostic pop

TEST_P(Pool, TagsAndScopesCount) {
  const Context tagged = Context{}.with_memory_tag("index");
  const ManagedBuffer kept = bytes(on, 1000, {.context = tagged});
  {
    MemoryScope outer(pool(), id(on), "index");
    MemoryScope forward(pool(), id(on), "forward");
    const ManagedBuffer a = bytes(on, 500, {.context = forward.context()});
    static_cast<void>(bytes(on, 700, {.context = forward.context()}));
    const ManagedBuffer b = bytes(on, 100, {.context = forward.context()});
    EXPECT_EQ(forward.peak_bytes(), 1200U);
    EXPECT_EQ(forward.live_bytes(), 600U);
    EXPECT_EQ(outer.peak_bytes(), 1000U);
  }
  MemoryScope later(pool(), id(on), "forward");
  EXPECT_EQ(later.peak_bytes(), 0U);
  const std::vector<TagUsage> tags = stats(on).tags;
  ASSERT_EQ(tags.size(), 2U);
  EXPECT_EQ(tags[0].tag, "forward");
  EXPECT_EQ(tags[0].live_bytes, 0U);
  EXPECT_EQ(tags[0].peak_bytes, 1200U);
  EXPECT_EQ(tags[1].tag, "index");
  EXPECT_EQ(tags[1].live_buffers, 1U);
  EXPECT_ERROR(MemoryScope(pool(), id(on), ""), ErrorCode::invalid_input, "the tag is empty");
}

TEST_P(Pool, AllocationsCanBeLogged) {
  const ManagedBuffer before = bytes(on, 5);
  std::stringstream text;
  pool().start_log(id(on), text);
  ManagedBuffer kept = bytes(on, 1000, {.context = Context{}.with_memory_tag("kept")});
  static_cast<void>(bytes(on, 2000));
  pool().stop_log(id(on));
  kept.release();
  const AllocationLog log = read_allocation_log(text);
  ASSERT_EQ(log.events.size(), 3U);
  EXPECT_EQ(log.events[0].bytes, 1000U);
  EXPECT_EQ(log.events[0].tag, "kept");
  EXPECT_EQ(log.events[2].kind, AllocationEvent::Kind::release);
  EXPECT_EQ(log.events[2].id, log.events[1].id);
  EXPECT_EQ(log.peak_bytes(), 3000U);
}

std::vector<std::string> pool_devices() {
  std::vector<std::string> names = test::computing_devices();
  std::erase(names, "opencl:1");
  names.emplace_back("null");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Devices, Pool, testing::ValuesIn(pool_devices()), test::case_name);

class FailingPool : public test::MemoryTest {};

TEST_F(FailingPool, AfterAFailedDeviceAllocationNothingIsLost) {
  registry().configure("failing", "fail", "memory_allocate 1 driver_failure");
  EXPECT_ERROR(bytes("failing", 10 * mib), ErrorCode::driver_failure, "injected");
  EXPECT_EQ(stats("failing").reserved_bytes, 0U);
  registry().configure("failing", "fail", "memory_slice 1 driver_failure");
  EXPECT_ERROR(bytes("failing", 1000), ErrorCode::driver_failure, "injected");
  EXPECT_EQ(stats("failing").in_use_bytes, 0U);
  EXPECT_EQ(bytes("failing", 1000).bytes(), 1000U);
}

// In simulated time: an idle pool returns its cache, a used one keeps it.
TEST(IdleTrim, ReturnsTheCacheToTheDevice) {
  RuntimeOptions options;
  auto simulator = std::make_shared<SimulatedExecutor>(test::seed());
  options.executor = simulator;
  options.settings["memory.trim_after_ms"] = "1000";
  Runtime runtime(options);
  MemoryPool& pool = memory_pool(runtime);
  const int cpu = runtime.service<DeviceRegistry>().find("cpu")->id();
  const ManagedBuffer kept = pool.get_managed_buffer(cpu, mib, Precision::int8);
  const auto use = [&] { static_cast<void>(pool.get_managed_buffer(cpu, 64 * mib, Precision::int8)); };
  use();
  const auto run_until = [&](std::chrono::milliseconds time) {
    bool reached = false;
    simulator->post_after(time, [&] { reached = true; });
    simulator->run_until([&] { return reached; });
  };
  run_until(std::chrono::milliseconds(900));
  use();
  run_until(std::chrono::milliseconds(900));
  EXPECT_GE(pool.get_memory_stats(cpu)->cached_bytes, 64 * mib) << "it was used in between";
  run_until(std::chrono::milliseconds(2000));
  const MemoryStats idle = *pool.get_memory_stats(cpu);
  std::cout << "cached after the trim time: " << idle.cached_bytes << " of a peak of " << idle.peak_reserved_bytes
            << '\n';
  EXPECT_LT(static_cast<double>(idle.cached_bytes), 0.05 * static_cast<double>(idle.peak_reserved_bytes));
  EXPECT_EQ(idle.live_buffers, 1U);
}

// A time beyond what a Duration can say is the longest one, not a short or negative one.
TEST(IdleTrim, AfterAnAbsurdTimeKeepsTheCache) {
  for (const char* milliseconds : {"9223372036854", "9223372036855", "18446744073710", "18446744073709551615"}) {
    RuntimeOptions options;
    auto simulator = std::make_shared<SimulatedExecutor>(test::seed());
    options.executor = simulator;
    options.settings["memory.trim_after_ms"] = milliseconds;
    Runtime runtime(options);
    MemoryPool& pool = memory_pool(runtime);
    static_cast<void>(pool.get_managed_buffer(0, mib, Precision::int8));
    bool reached = false;
    simulator->post_after(std::chrono::hours(24 * 365), [&] { reached = true; });
    simulator->run_until([&] { return reached; });
    EXPECT_GE(pool.get_memory_stats(0)->cached_bytes, mib) << milliseconds;
  }
}

TEST(IdleTrim, AfterNoNumberOfAllocationsIsNever) {
  RuntimeOptions options;
  options.settings["memory.trim_allocations"] = "0";
  Runtime runtime(options);
  MemoryPool& pool = memory_pool(runtime);
  const ManagedBuffer kept = pool.get_managed_buffer(0, 100, Precision::int8);
  static_cast<void>(pool.get_managed_buffer(0, 64 * mib, Precision::int8));
  for (int i = 0; i < 5000; ++i) static_cast<void>(pool.get_managed_buffer(0, 100, Precision::int8));
  EXPECT_GE(pool.get_memory_stats(0)->cached_bytes, 64 * mib);
}

TEST(IdleTrim, KeepsTheCacheOfARepeatingWorkload) {
  RuntimeOptions options;
  options.settings["memory.trim_allocations"] = "1024";
  Runtime runtime(options);
  MemoryPool& pool = memory_pool(runtime);
  const auto use = [&](std::uint64_t bytes) { return pool.allocate_bytes(0, bytes); };
  std::uint64_t first = 0;  // device allocations of the first rounds
  for (int round = 0; round < 2000; ++round) {
    {
      const ManagedBuffer one = use(8 * mib);
      const ManagedBuffer two = use(12 * mib);
    }
    const ManagedBuffer small = use(100);  // a trim during this request finds the others in the cache
    if (round == 10) first = pool.get_memory_stats(0)->device_allocations;
  }
  EXPECT_EQ(pool.get_memory_stats(0)->device_allocations, first);
}

TEST(IdleTrim, ByNumberOfAllocations) {
  RuntimeOptions options;
  options.settings["memory.trim_allocations"] = "100";
  Runtime runtime(options);
  MemoryPool& pool = memory_pool(runtime);
  const ManagedBuffer kept = pool.get_managed_buffer(0, 100, Precision::int8);  // its segment serves the small buffers
  static_cast<void>(pool.get_managed_buffer(0, 64 * mib, Precision::int8));
  EXPECT_GE(pool.get_memory_stats(0)->cached_bytes, 64 * mib);
  for (int i = 0; i < 400; ++i) static_cast<void>(pool.get_managed_buffer(0, 100, Precision::int8));
  EXPECT_LT(pool.get_memory_stats(0)->cached_bytes, 3 * mib);
}

}  // namespace
}  // namespace vectis
