// One profiler used by many threads.
#include <atomic>
#include <latch>
#include <map>
#include <set>
#include <thread>

#include "tests/profiler/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/memory.hpp"

namespace vectis {
namespace {

class ProfilerConcurrent : public test::DevicesTest {};

template <class Work>
void on_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ProfilerConcurrent, ThreadsHaveTheirOwnRangesAndStreams) {
  constexpr int threads = 4;
  constexpr int rounds = 300;
  DeviceContext context(device("cpu"));
  Profiler profiler(runtime(), {.counter_interval = Duration{0}});
  std::atomic<bool> done = false;
  std::latch all_began(threads);
  std::thread reader([&] {
    while (!done) {
      static_cast<void>(profiler.rows());
      test::expect_sound(test::trace_of(profiler));
    }
  });
  on_threads(threads, [&](int) {
    Stream stream(context);
    const DeviceMemory memory(context, 64);
    all_began.arrive_and_wait();
    for (int round = 0; round < rounds; ++round) {
      const ProfileRange range(profiler, "round");
      const auto buffer = memory_pool(runtime()).get_managed_buffer(context.device().id(), 64, Precision::fp32);
      stream.fill(memory, 0, 64, 1);
    }
  });
  done = true;
  reader.join();
  const auto rows = profiler.rows();
  EXPECT_EQ(test::row(rows, "round")->calls, threads * rounds);
  EXPECT_EQ(test::row(rows, "fill")->calls, threads * rounds);
  const auto trace = test::trace_of(profiler);
  test::expect_sound(trace);
  std::set<int> tracks;
  for (const auto& start : test::events(trace, "s")) tracks.insert(start.at("tid").get<int>());
  EXPECT_EQ(tracks.size(), static_cast<std::size_t>(threads));
}

TEST_F(ProfilerConcurrent, ProfilersCanBeCreatedAndDestroyedDuringWork) {
  DeviceContext context(device("cpu"));
  std::atomic<bool> done = false;
  std::thread worker([&] {
    Stream stream(context);
    const DeviceMemory memory(context, 64);
    while (!done) stream.fill(memory, 0, 64, 1);
  });
  on_threads(2, [&](int) {
    for (int i = 0; i < 100; ++i) {
      Profiler profiler(runtime(), {.capacity = 16});
      profiler.pause();
      profiler.resume();
      static_cast<void>(profiler.rows());
      profiler.clear();
    }
  });
  done = true;
  worker.join();
}

// The system reuses the id of an ended thread.
TEST_F(ProfilerConcurrent, ANewThreadDoesNotContinueTheRangesOfAnEndedOne) {
  Profiler profiler(runtime());
  for (int i = 0; i < 10; ++i) {
    std::thread([&] { profiler.start("abandoned"); }).join();
    std::thread([&] {
      EXPECT_ERROR(profiler.end("abandoned"), ErrorCode::invalid_input, "which has 0 open ranges");
      profiler.start("own");
      profiler.end("own");
    }).join();
  }
  const auto rows = profiler.rows();
  EXPECT_EQ(test::row(rows, "own")->calls, 10U);
  EXPECT_FALSE(test::row(rows, "abandoned").has_value());
}

TEST_F(ProfilerConcurrent, ARangeClosedByAnotherThreadIsRecorded) {
  Profiler profiler(runtime());
  for (int i = 0; i < 10; ++i) {
    auto moved = std::make_unique<ProfileRange>(profiler, "moved");
    const ProfileRange inner(profiler, "inner");
    std::thread([&] { moved.reset(); }).join();
  }
  const auto rows = profiler.rows();
  ASSERT_TRUE(test::row(rows, "moved").has_value());
  EXPECT_EQ(test::row(rows, "moved")->calls, 10U);
  EXPECT_EQ(test::row(rows, "inner")->calls, 10U);
  EXPECT_ERROR(profiler.end("moved"), ErrorCode::invalid_input, "which has 0 open ranges");
}

class Count : public ProfilerSink {
 public:
  void begin(const HostSpan& /*span*/) override { ++begun; }
  void end(const HostSpan& /*span*/) override { ++ended; }
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
};

TEST_F(ProfilerConcurrent, SinksCanBeAddedAndRemovedDuringWork) {
  DeviceContext context(device("null"));
  Profiler profiler(runtime());
  const auto all = std::make_shared<Count>();
  profiler.add_sink(all);
  on_threads(3, [&](int thread) {
    Stream stream(context);
    const DeviceMemory memory(context, 64);
    for (int i = 0; i < 200; ++i) {
      if (thread == 0) profiler.remove_sink(profiler.add_sink(std::make_shared<Count>()));
      stream.fill(memory, 0, 64, 1);
    }
  });
  EXPECT_EQ(all->begun, 600);
  EXPECT_EQ(all->ended, 600);
}

}  // namespace
}  // namespace vectis
