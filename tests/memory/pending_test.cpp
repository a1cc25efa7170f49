// Released blocks that a busy stream may still use: who waits for them, how long, and that nobody else does.
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "tests/memory/fixture.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;
using test::kib;
using test::mib;

// Long enough for a thread to reach its wait. A thread that takes longer makes a test check less, not fail.
constexpr auto moment = 30ms;
constexpr auto wait_max = 10s;

template <class T>
bool is_ready(const std::future<T>& future, std::chrono::milliseconds within) {
  return future.wait_for(within) == std::future_status::ready;
}

class PendingBlocksConcurrent : public test::MemoryTest {
 protected:
  // The device is busy while this exists. Declare it last: streams and threads wait for the device when they end.
  class Busy {
   public:
    explicit Busy(DeviceRegistry& registry) : registry_(registry) { registry_.configure("failing", "hold", ""); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { end(); }
    void end() { registry_.configure("failing", "resume", ""); }

   private:
    DeviceRegistry& registry_;
  };

  // Releases two buffers of 24 MiB while the stream works with them; the limit leaves no room for a third.
  void release_two(Stream& stream) {
    pool().set_max_pool_size(id("failing"), 64 * mib);
    const ManagedBuffer first = bytes("failing", 24 * mib, {.stream = &stream});
    const ManagedBuffer second = bytes("failing", 24 * mib, {.stream = &stream});
  }

  // Requests 24 MiB without a stream in another thread.
  std::future<ManagedBuffer> request(const Context& with = {}) {
    return std::async(std::launch::async, [this, with] { return bytes("failing", 24 * mib, {.context = with}); });
  }

  DeviceContext context = bytes("failing", 1).memory().context();
};

TEST_F(PendingBlocksConcurrent, AreServedWhenTheStreamHasFinished) {
  Stream stream(context);
  std::future<ManagedBuffer> waiting;
  Busy busy(registry());
  release_two(stream);
  waiting = request();
  EXPECT_FALSE(is_ready(waiting, moment));
  busy.end();
  EXPECT_TRUE(waiting.get());
}

TEST_F(PendingBlocksConcurrent, AreSharedByAllThreadsThatWait) {
  Stream stream(context);
  std::future<ManagedBuffer> first;
  std::future<ManagedBuffer> second;
  Busy busy(registry());
  release_two(stream);
  first = request();
  EXPECT_FALSE(is_ready(first, moment));
  second = request();
  EXPECT_FALSE(is_ready(second, moment));
  busy.end();
  ManagedBuffer one;
  ManagedBuffer two;
  EXPECT_NO_THROW(one = first.get());
  EXPECT_NO_THROW(two = second.get());
  EXPECT_TRUE(one);
  EXPECT_TRUE(two);
  EXPECT_EQ(stats("failing").failures, 0U);
}

TEST_F(PendingBlocksConcurrent, AreCachedWhileAThreadWaits) {
  Stream stream(context);
  std::future<ManagedBuffer> waiting;
  std::future<MemoryStats> looking;
  const Busy busy(registry());
  release_two(stream);
  waiting = request();
  EXPECT_FALSE(is_ready(waiting, moment));
  looking = std::async(std::launch::async, [&] { return stats("failing"); });
  ASSERT_TRUE(is_ready(looking, wait_max));
  EXPECT_EQ(looking.get().in_use_bytes, 0U);
}

TEST_F(PendingBlocksConcurrent, AWaitDoesNotBlockOtherCalls) {
  Stream stream(context);
  ManagedBuffer small = bytes("failing", kib, {.stream = &stream});
  std::future<ManagedBuffer> waiting;
  std::future<void> released;
  std::future<ManagedBuffer> reused;
  std::future<ManagedBuffer> other;
  Busy busy(registry());
  release_two(stream);
  waiting = request();
  EXPECT_FALSE(is_ready(waiting, moment));
  released = std::async(std::launch::async, [&] { small.release(); });
  ASSERT_TRUE(is_ready(released, wait_max)) << "the release waited for the device";
  reused = std::async(std::launch::async, [&] { return bytes("failing", kib, {.stream = &stream}); });
  ASSERT_TRUE(is_ready(reused, wait_max)) << "the stream's own request waited for the device";
  other = std::async(std::launch::async, [&] { return bytes("failing", kib); });
  ASSERT_TRUE(is_ready(other, wait_max)) << "a request with enough memory waited for the device";
  EXPECT_FALSE(is_ready(waiting, 0ms));
  busy.end();
  EXPECT_TRUE(waiting.get());
}

TEST_F(PendingBlocksConcurrent, ADeadlineEndsTheWait) {
  for (const bool real_time : {false, true}) {
    const Context limited = real_time ? Context{}.with_deadline(std::chrono::steady_clock::now() + 20ms)
                                      : Context{}.with_deadline(runtime().executor().now() + 20ms);
    Stream stream(context);
    std::future<ManagedBuffer> waiting;
    Busy busy(registry());
    release_two(stream);
    waiting = request(limited);
    ASSERT_TRUE(is_ready(waiting, wait_max));
    try {
      static_cast<void>(waiting.get());
      ADD_FAILURE() << "the stream still works with the memory";
    } catch (const OutOfMemoryError& error) {
      EXPECT_EQ(error.report().kind, OutOfMemoryKind::held_in_cache);
    }
    busy.end();
    EXPECT_TRUE(bytes("failing", 24 * mib, {.context = limited})) << "finished work needs no time";
  }
}

TEST_F(PendingBlocksConcurrent, CancellationEndsTheWait) {
  Stream stream(context);
  CancelSource source;
  std::future<ManagedBuffer> waiting;
  const Busy busy(registry());
  release_two(stream);
  waiting = request(Context{}.with_cancel(source));
  EXPECT_FALSE(is_ready(waiting, moment));
  source.cancel();
  ASSERT_TRUE(is_ready(waiting, wait_max));
  EXPECT_ERROR(static_cast<void>(waiting.get()), ErrorCode::cancelled, "get_managed_buffer");
}

TEST_F(PendingBlocksConcurrent, AreServedBeforeTheDeadline) {
  Stream stream(context);
  std::future<ManagedBuffer> waiting;
  Busy busy(registry());
  release_two(stream);
  waiting = request(Context{}.with_deadline(runtime().executor().now() + 1h).with_cancel(CancelSource{}));
  EXPECT_FALSE(is_ready(waiting, moment));
  busy.end();
  EXPECT_TRUE(waiting.get());
}

TEST_F(PendingBlocksConcurrent, OfAReclaimerAreWaitedFor) {
  Stream stream(context);
  pool().set_max_pool_size(id("failing"), 32 * mib);
  ManagedBuffer held = bytes("failing", 24 * mib, {.stream = &stream});
  const int reclaimer = pool().add_reclaimer({"cache", 50, [&](int, std::uint64_t) {
                                                held.release();
                                                return 24 * mib;
                                              }});
  std::future<ManagedBuffer> waiting;
  Busy busy(registry());
  waiting = request();
  EXPECT_FALSE(is_ready(waiting, moment));
  busy.end();
  EXPECT_NO_THROW(EXPECT_TRUE(waiting.get()));
  pool().remove_reclaimer(reclaimer);
}

TEST_F(PendingBlocksConcurrent, OfAStreamThatIsDestroyedAreNotReusedBeforeItsWorkHasFinished) {
  std::optional<Stream> stream(context);
  ManagedBuffer late = bytes("failing", mib, {.stream = &*stream});
  ManagedBuffer early = bytes("failing", mib, {.stream = &*stream});
  const auto* early_block = early.memory().core().get();
  std::future<void> destroyed;
  Busy busy(registry());
  early.release();
  destroyed = std::async(std::launch::async, [&] { stream.reset(); });
  EXPECT_FALSE(is_ready(destroyed, moment)) << "work that goes on in the background";
  EXPECT_NE(bytes("failing", mib).memory().core().get(), early_block);
  busy.end();
  destroyed.get();
  late.release();
  pool().emergency_cleanup(id("failing"));
  EXPECT_EQ(stats("failing").reserved_bytes, 0U) << "both blocks are idle";
}

TEST_F(PendingBlocksConcurrent, OfAnotherContextAreNotHandedOver) {
  const DeviceContext other_context(device("failing"));
  Stream stream(context);
  Stream foreign(other_context);
  const Busy busy(registry());
  bytes("failing", mib, {.stream = &foreign}).release();
  EXPECT_NO_THROW(EXPECT_TRUE(bytes("failing", mib, {.stream = &stream})));
}

TEST_F(PendingBlocksConcurrent, AReleaseAfterTheEndOfTheStreamDoesNotUseTheStream) {
  std::optional<Stream> stream(context);
  ManagedBuffer late = bytes("failing", mib, {.stream = &*stream});
  bytes("failing", mib, {.stream = &*stream}).release();  // records an event, which outlives the stream
  stream.reset();
  registry().configure("failing", "fail", "any 1 driver_failure");
  late.release();
  // The fault is still there: the release called no slot.
  EXPECT_ERROR(DeviceMemory(context, 1), ErrorCode::driver_failure, "an injected failure in memory_allocate");
}

}  // namespace
}  // namespace vectis
