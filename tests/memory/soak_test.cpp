// Random acquire and release by eight threads on four streams. VECTIS_SOAK_OPERATIONS sets the number of operations.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "tests/memory/fixture.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using test::mib;

std::uint64_t operations() {
  const char* text = std::getenv("VECTIS_SOAK_OPERATIONS");
  return text == nullptr ? 100'000 : std::strtoull(text, nullptr, 10);
}

class PoolConcurrent : public test::MemoryTest {
 protected:
  static constexpr std::uint64_t limit = 128 * mib;
  static constexpr std::size_t threads = 8;

  // A live buffer holds its own number at both ends and in the middle.
  struct Marked {
    ManagedBuffer buffer;
    std::uint64_t number = 0;
    std::size_t stream = 0;

    [[nodiscard]] std::array<std::byte*, 3> places() const {
      std::byte* start = buffer.memory().address();
      return {start, start + buffer.bytes() / 2 / 8 * 8, start + buffer.bytes() - 8};
    }
    void mark() const {
      for (std::byte* place : places()) std::memcpy(place, &number, 8);
    }
    [[nodiscard]] bool intact() const {
      const auto same = [&](const std::byte* place) { return std::memcmp(place, &number, 8) == 0; };
      const auto all = places();
      return std::all_of(all.begin(), all.end(), same);
    }
  };

  struct SharedStream {
    explicit SharedStream(const DeviceContext& context) : stream(context) {}
    std::mutex mutex;  // a stream is used by one thread at a time
    Stream stream;
  };

  std::atomic<std::uint64_t> overlaps{0};
  std::atomic<std::uint64_t> over_limit{0};
  std::atomic<std::uint64_t> bad_pressure{0};
  std::atomic<std::uint64_t> refusals{0};

  void check_numbers(int cpu) {
    if (pool().memory_usage(cpu)->allocated_bytes > limit) ++over_limit;
    const double pressure = *pool().memory_pressure(cpu);
    if (!(pressure >= 0 && pressure <= 1)) ++bad_pressure;
  }

  void work(std::size_t number, std::uint64_t steps, std::vector<std::unique_ptr<SharedStream>>& streams) {
    const int cpu = id("cpu");
    Random random(test::seed() * 1000 + number);
    std::vector<Marked> live;
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (!live.empty() && (live.size() > 24 || random.below(2) == 0)) {
        std::swap(live[random.below(live.size())], live.back());
        if (!live.back().intact()) ++overlaps;
        const std::lock_guard lock(streams[live.back().stream]->mutex);
        live.pop_back();
      } else {
        const std::size_t which = random.below(streams.size());
        const std::uint64_t size = 24 + (random.next() >> (44 + random.below(18)));
        const std::lock_guard lock(streams[which]->mutex);
        Stream* stream = random.below(4) == 0 ? nullptr : &streams[which]->stream;
        try {
          live.push_back(
              {pool().get_managed_buffer(cpu, size, Precision::int8, {.stream = stream}), number << 48 | step, which});
          live.back().mark();
        } catch (const OutOfMemoryError&) {
          ++refusals;
        }
      }
      if (step % 1024 == 0) check_numbers(cpu);
    }
  }
};

TEST_F(PoolConcurrent, RandomUseByEightThreadsOnFourStreams) {
  const int cpu = id("cpu");
  pool().set_max_pool_size(cpu, limit);
  const DeviceContext context = bytes("cpu", 1).memory().context();
  std::vector<std::unique_ptr<SharedStream>> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(std::make_unique<SharedStream>(context));
  std::vector<std::thread> workers;
  for (std::size_t number = 0; number < threads; ++number) {
    workers.emplace_back([&, number] { work(number, operations() / threads, streams); });
  }
  for (std::thread& worker : workers) worker.join();
  const MemoryStats end = stats("cpu");
  std::cout << operations() << " operations: " << overlaps << " overlaps, " << over_limit << " over the limit, "
            << bad_pressure << " bad pressures, " << refusals << " refusals, peak " << end.peak_reserved_bytes << " of "
            << limit << " bytes, hit rate " << end.hit_rate() << '\n';
  EXPECT_EQ(overlaps, 0U);
  EXPECT_EQ(over_limit, 0U);
  EXPECT_EQ(bad_pressure, 0U);
  EXPECT_EQ(end.live_buffers, 0U);
  EXPECT_EQ(end.in_use_bytes, 0U);
  EXPECT_EQ(end.requested_bytes, 0U);
  EXPECT_LE(end.peak_reserved_bytes, limit);
  pool().emergency_cleanup_all();
  EXPECT_EQ(stats("cpu").reserved_bytes, 0U) << "nothing leaks";
}

TEST_F(PoolConcurrent, CleanupTrimAndQueriesFromOtherThreads) {
  const int cpu = id("cpu");
  pool().warm_up(cpu, 1, Precision::fp16);
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (std::uint64_t number = 0; number < 4; ++number) {
    workers.emplace_back([&, number] {
      Random random(test::seed() + number);
      while (!stop) {
        const Context tagged = Context{}.with_memory_tag(number % 2 == 0 ? "even" : "odd");
        const ManagedBuffer buffer =
            pool().get_managed_buffer(cpu, 1 + random.below(100000), Precision::fp16, {.context = tagged});
        std::memset(buffer.memory().address(), 1, buffer.bytes());
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    pool().emergency_cleanup(cpu);
    if (const auto now = pool().get_memory_stats(cpu)) {
      EXPECT_EQ(now->in_use_bytes + now->cached_bytes, now->reserved_bytes);
      EXPECT_LE(now->largest_free_bytes, now->cached_bytes);
      EXPECT_GE(now->fragmentation, 0.0);
    }
    pool().check_memory_health(cpu);
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(stats("cpu").live_buffers, 0U);
}

}  // namespace
}  // namespace vectis
