// The response of a pool to memory pressure, its statistics before the first use, the report of buffers that were not
// released, and a pool that caches nothing.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>

#include "memory/device_pool.hpp"
#include "tests/memory/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;
using test::kib;
using test::mib;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A pool on the CPU in simulated time, whose Runtime records warnings and errors.
class MemoryPressure : public testing::Test {
 protected:
  void start(Settings::Values settings = {}) {
    RuntimeOptions options;
    options.executor = simulator;
    options.settings = std::move(settings);
    options.settings.try_emplace("config", "");
    options.settings.try_emplace("memory.trim_after_ms", "0");  // not by time alone
    options.log_level = LogLevel::warning;
    options.log = [this](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      if (record.component == "memory") {
        log.push_back(std::string(name(record.level)) + ": " + std::string(record.message));
      }
    };
    runtime.emplace(options);
    cpu = runtime->service<DeviceRegistry>().find("cpu")->id();
  }
  MemoryPool& pool() { return memory_pool(*runtime); }
  ManagedBuffer bytes(std::uint64_t count) { return pool().allocate_bytes(cpu, count); }
  MemoryStats stats() { return pool().get_memory_stats(cpu).value(); }
  void run_for(std::chrono::milliseconds time) {
    bool reached = false;
    simulator->post_after(time, [&] { reached = true; });
    simulator->run_until([&] { return reached; });
  }

  std::shared_ptr<SimulatedExecutor> simulator = std::make_shared<SimulatedExecutor>(test::seed());
  std::mutex mutex;
  std::vector<std::string> log;
  std::optional<Runtime> runtime;
  int cpu = 0;
};

TEST_F(MemoryPressure, TrimsAboveTheFirstThresholdAndCleansAboveTheSecond) {
  start();
  pool().set_max_pool_size(cpu, 100 * mib);
  const ManagedBuffer first = bytes(64 * mib);
  EXPECT_THAT(log, IsEmpty()) << "64 % of the limit";
  const ManagedBuffer second = bytes(8 * mib);
  EXPECT_THAT(log, ElementsAre(AllOf(StartsWith("warning: device"), HasSubstr("the pool holds 72.0 % of its limit"),
                                     HasSubstr("trimmed, 0 bytes returned"))));
  const ManagedBuffer third = bytes(8 * mib);
  EXPECT_EQ(log.size(), 1U) << "logged when the pressure rises, not at every growth";
  const ManagedBuffer fourth = bytes(16 * mib);
  ASSERT_EQ(log.size(), 2U);
  EXPECT_THAT(log.back(), AllOf(StartsWith("error: device"), HasSubstr("the pool holds 96.0 % of its limit"),
                                HasSubstr("cleaned up, 0 bytes returned")));
}

TEST_F(MemoryPressure, ReturnsCachedMemoryWhenThePoolGrows) {
  start();
  pool().set_max_pool_size(cpu, 100 * mib);
  bytes(80 * mib).release();  // the peak, below which growth does not touch the cache
  pool().emergency_cleanup(cpu);
  bytes(30 * mib).release();
  log.clear();
  const ManagedBuffer live = bytes(44 * mib);
  EXPECT_THAT(log,
              ElementsAre(AllOf(HasSubstr("the pool holds 74.0 %"), HasSubstr("trimmed, 31457280 bytes returned"))));
  EXPECT_EQ(stats().reserved_bytes, 44 * mib);
  EXPECT_EQ(pool().memory_pressure(cpu), 0.44);
}

TEST_F(MemoryPressure, ReturnsCachedMemoryOfAnIdlePool) {
  start();
  pool().set_max_pool_size(cpu, 100 * mib);
  {
    const ManagedBuffer buffer = bytes(96 * mib);
    EXPECT_EQ(log.size(), 1U);
  }
  EXPECT_EQ(stats().cached_bytes, 96 * mib) << "kept for the next request";
  run_for(std::chrono::milliseconds(900));
  bytes(96 * mib).release();
  run_for(std::chrono::milliseconds(900));
  EXPECT_EQ(stats().cached_bytes, 96 * mib) << "the pool was used in between";
  run_for(std::chrono::milliseconds(1200));
  EXPECT_EQ(stats().cached_bytes, 0U);
  EXPECT_EQ(stats().device_allocations, 1U);
  bytes(10 * mib).release();
  run_for(std::chrono::milliseconds(2000));
  EXPECT_EQ(stats().cached_bytes, 10 * mib) << "without pressure the cache stays";
}

TEST_F(MemoryPressure, FollowsTheThresholds) {
  start();
  pool().set_health_thresholds({1, 1});
  pool().set_max_pool_size(cpu, 100 * mib);
  const ManagedBuffer most = bytes(92 * mib);
  EXPECT_THAT(log, IsEmpty());
  pool().set_health_thresholds({0.1, 0.2});
  const ManagedBuffer more = bytes(512 * kib);
  EXPECT_EQ(log.size(), 1U);
}

TEST_F(MemoryPressure, StatisticsAreThereBeforeTheFirstUse) {
  start();
  const MemoryStats before = stats();
  const DeviceInfo info = runtime->service<DeviceRegistry>().at(cpu, "test").info();
  EXPECT_EQ(before.total_bytes, info.memory_bytes);
  EXPECT_GT(before.total_bytes, 0U);
  EXPECT_EQ(before.limit_bytes, static_cast<std::uint64_t>(static_cast<double>(info.memory_bytes) * 0.7));
  EXPECT_EQ(before.reserved_bytes, 0U);
  EXPECT_FALSE(pool().memory_usage(cpu).has_value()) << "asking opens nothing";
  EXPECT_FALSE(pool().get_memory_stats(999).has_value());
  EXPECT_FALSE(pool().get_memory_stats(-1).has_value());
  ASSERT_TRUE(pool().set_max_pool_size(cpu, before.total_bytes / 2));
  const ManagedBuffer buffer = bytes(mib);
  const MemoryStats after = buffer.memory().context().memory_stats();
  EXPECT_EQ(after.total_bytes, before.total_bytes);
  EXPECT_EQ(after.limit_bytes, before.total_bytes / 2);
  EXPECT_EQ(after.in_use_bytes, mib);
}

TEST_F(MemoryPressure, ReportsBuffersThatWereNotReleased) {
  start({{"debug", "true"}});
  EXPECT_EQ(pool().leak_report(), "");
  const auto tagged = Context{}.with_memory_tag("model");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  static_cast<void>(pool().get_buffer(cpu, 1000, Precision::int8));  // and never return_buffer
#pragma GCC diagnostic pop
  {
    const ManagedBuffer kept = pool().allocate_bytes(cpu, 5000, {.context = tagged});
    EXPECT_THAT(pool().leak_report(),
                HasSubstr("2 buffers of 6000 bytes were not released: 5000 bytes (model), 1000 bytes"));
  }
  runtime.reset();
  EXPECT_THAT(log, ElementsAre(AllOf(StartsWith("warning: at shutdown, device"),
                                     HasSubstr("1 buffers of 1000 bytes were not released: 1000 bytes"))));
}

TEST_F(MemoryPressure, ReportsNothingUnlessAsked) {
  start();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  static_cast<void>(pool().get_buffer(cpu, 1000, Precision::int8));
#pragma GCC diagnostic pop
  runtime.reset();
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(MemoryPressure, WithoutPoolingNothingIsCached) {
  start({{"memory.pool", "0"}});
  pool().set_max_pool_size(cpu, 10 * mib);
  for (int i = 0; i < 5; ++i) {
    const ManagedBuffer buffer = bytes(1000 + static_cast<std::uint64_t>(i));
    EXPECT_EQ(stats().reserved_bytes, 1024U) << "no segment is larger than its buffer";
  }
  EXPECT_EQ(stats().cached_bytes, 0U);
  EXPECT_EQ(stats().reserved_bytes, 0U);
  EXPECT_EQ(stats().device_allocations, 5U);
  EXPECT_EQ(stats().device_frees, 5U);
  EXPECT_EQ(stats().hits, 0U);
  const ManagedBuffer most = bytes(8 * mib);
  try {
    static_cast<void>(bytes(4 * mib));
    FAIL() << "over the limit";
  } catch (const OutOfMemoryError& error) {
    EXPECT_EQ(error.report().kind, OutOfMemoryKind::over_limit);
    EXPECT_EQ(error.report().largest_bytes, 2 * mib);
  }
  EXPECT_ERROR(bytes(0), ErrorCode::invalid_input, "0 bytes requested");
}

// A buffer may be released while its stream still works with it.
TEST_F(MemoryPressure, WithoutPoolingReleasesAreStreamOrdered) {
  start({{"memory.pool", "0"}});
  const ManagedBuffer source = bytes(mib);
  Stream stream(source.memory().context());
  std::vector<std::byte> back(mib);
  for (int i = 0; i < 10; ++i) {
    ManagedBuffer buffer = pool().allocate_bytes(cpu, mib, {.stream = &stream});
    stream.fill(buffer.memory(), 0, mib, static_cast<std::uint8_t>(i));
    stream.copy_to_host(back, buffer.memory(), 0);
    buffer.release();
  }
  stream.synchronize();
  EXPECT_EQ(stats().reserved_bytes, mib);
}

// Frees memory as cuMemFree does, which waits for the work of the device.
class WaitingResource final : public MemoryResource {
 public:
  WaitingResource(DeviceContext context, const std::atomic<bool>& idle) : device_(std::move(context)), idle_(idle) {}
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override { return device_.allocate(request); }
  void deallocate(MemoryBlock block, Stream* stream) noexcept override {
    idle_.wait(false);
    device_.deallocate(std::move(block), stream);
  }
  [[nodiscard]] DeviceContext context() const override { return device_.context(); }

 private:
  DeviceResource device_;
  const std::atomic<bool>& idle_;
};

TEST_F(MemoryPressure, WithoutPoolingAReleaseThatWaitsBlocksNoOtherCall) {
  start({});
  std::atomic<bool> idle{false};
  detail::PoolPolicy policy;
  policy.caching = false;
  policy.trim_after = Duration::zero();
  const DeviceContext context(*runtime->service<DeviceRegistry>().find("cpu"));
  const auto own = std::make_shared<detail::DevicePool>(*runtime, std::make_unique<WaitingResource>(context, idle),
                                                        std::make_shared<detail::Budget>(mib), policy);
  detail::PoolBlock* block = own->acquire({.bytes = 1000}, {});
  auto released = std::async(std::launch::async, [&] { own->release(block); });
  EXPECT_EQ(released.wait_for(30ms), std::future_status::timeout);
  auto queried = std::async(std::launch::async, [&] { return own->stats(); });
  EXPECT_EQ(queried.wait_for(10s), std::future_status::ready) << "it waits for the release";
  idle = true;
  idle.notify_all();
  released.get();
  EXPECT_EQ(own->stats().device_frees, 1U);
}

}  // namespace
}  // namespace vectis
