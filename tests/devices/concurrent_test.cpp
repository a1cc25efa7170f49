// Eight threads use four devices concurrently. VECTIS_SOAK_SECONDS sets the duration. Runs under ThreadSanitizer.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <thread>

#include "tests/devices/fixture.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

std::chrono::milliseconds how_long() {
  const char* seconds = std::getenv("VECTIS_SOAK_SECONDS");
  return seconds == nullptr ? std::chrono::milliseconds(1500) : std::chrono::seconds(std::atoi(seconds));
}

class DevicesConcurrent : public test::DevicesTest {
 protected:
  // One round trip through a shared context: two streams ordered by an event, a copy on the device, a comparison.
  static bool round_trip(const DeviceContext& context, Random& random) {
    const std::size_t bytes = 1 + random.below(20000);
    const auto sent = test::random_bytes(random, bytes);
    std::vector<std::byte> received(bytes);
    const DeviceMemory first(context, bytes);
    const DeviceMemory second(context, bytes);
    Stream one(context);
    Stream two(context);
    const Event event(context);
    one.copy_to_device(first, 0, sent);
    one.record(event);
    two.wait(event);
    two.copy_on_device(second, 0, first, 0, bytes);
    two.copy_to_host(received, second, 0);
    two.synchronize();
    return received == sent && event.completed();
  }
};

TEST_F(DevicesConcurrent, EightThreadsUseFourDevices) {
#if defined(VECTIS_HAS_OPENCL)
  const std::vector<std::string> names = {"cpu", "failing", "opencl:1", "opencl:2"};
#else
  const std::vector<std::string> names = {"cpu", "failing", "cpu", "failing"};
#endif
  std::vector<DeviceContext> contexts;
  for (const std::string& name : names) contexts.emplace_back(device(name));
  std::atomic<std::uint64_t> rounds{0};
  std::atomic<std::uint64_t> wrong{0};
  const auto end = std::chrono::steady_clock::now() + how_long();
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      Random random(test::seed() + number);
      while (std::chrono::steady_clock::now() < end) {
        const DeviceContext& context = contexts[random.below(contexts.size())];
        set_active_device(context.device().id(), runtime());
        if (!round_trip(context, random)) ++wrong;
        if (active_device(runtime()) != context.device()) ++wrong;
        ++rounds;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << rounds << " round trips by 8 threads on 4 devices\n";
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(rounds, 8U);
}

TEST_F(DevicesConcurrent, OneRegistryForAllThreads) {
  Runtime fresh;
  std::vector<std::thread> threads;
  std::atomic<const DeviceRegistry*> seen{nullptr};
  std::atomic<int> different{0};
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&] {
      const DeviceRegistry* mine = &fresh.service<DeviceRegistry>();
      const DeviceRegistry* expected = nullptr;
      if (!seen.compare_exchange_strong(expected, mine) && expected != mine) ++different;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
}

// Whatever outlives a stream, as its buffers do, may rely on its work having finished.
TEST_F(DevicesConcurrent, DestroyingAStreamWaitsForItsWork) {
  const DeviceContext context(device("failing"));
  const Event event(context);
  std::optional<Stream> stream(context);
  std::future<void> destroyed;
  registry().configure("failing", "hold", "");
  stream->record(event);
  EXPECT_FALSE(event.completed());
  destroyed = std::async(std::launch::async, [&] { stream.reset(); });
  EXPECT_EQ(destroyed.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  registry().configure("failing", "resume", "");
  destroyed.get();
  EXPECT_TRUE(event.completed());
}

TEST_F(DevicesConcurrent, DestroyingAStreamHidesTheErrorOfItsWork) {
  const DeviceContext context(device("failing"));
  for (const char* fault : {"stream_synchronize 1 driver_failure", "stream_synchronize 1 device_lost"}) {
    std::optional<Stream> stream(context);
    registry().configure("failing", "fail", fault);
    stream.reset();
    registry().configure("failing", "reset", "");
  }
  EXPECT_TRUE(context.lost());
}

}  // namespace
}  // namespace vectis
