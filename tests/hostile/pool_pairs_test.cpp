// Every ordered pair of operations of a memory pool, each repeated by a thread of its own. VECTIS_TEST_PAIR repeats one
// run, as for indexes.
#include <array>
#include <barrier>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

#include "tests/memory/fixture.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

// What one thread of a run knows. Only that thread uses it, except `live`.
struct PoolActor {
  PoolActor(std::uint64_t seed, const DeviceContext& context) : random(seed), stream(context) {}

  Random random;
  Stream stream;
  std::atomic<std::uint64_t> live = 0;     // buffers
  std::atomic<std::uint64_t> changes = 0;  // odd while a buffer is requested or released
};

// A pool that two threads use.
class PoolScene {
 public:
  PoolScene(Runtime& runtime, const std::string& device_name, std::uint64_t seed)
      : pool(runtime),
        computes(device_name != "null"),
        device(runtime.service<DeviceRegistry>().find(device_name).value().id()),
        context(pool.get_managed_buffer(device, 1, Precision::int8).memory().context()),
        actors{PoolActor(seed, context), PoolActor(seed + 1, context)} {
    pool.set_max_pool_size(device, limit);
  }

  void fail(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = text;
    failed_ = true;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  static constexpr std::uint64_t limit = 64 * mib;

  MemoryPool pool;
  const bool computes;
  const int device;
  DeviceContext context;
  std::array<PoolActor, 2> actors;

 private:
  mutable std::mutex mutex_;
  std::string failure_;
  std::atomic<bool> failed_ = false;
};

struct PoolOperation {
  const char* name;
  int repeats;
  void (*act)(PoolScene& scene, PoolActor& actor);
};

std::uint64_t some_bytes(PoolActor& actor) {
  const std::uint64_t limit = std::uint64_t{1} << (4 + actor.random.below(17));
  return 1 + actor.random.below(limit);
}

ManagedBuffer request(PoolScene& scene, PoolActor& actor, std::uint64_t bytes, const BufferOptions& options = {}) {
  ++actor.changes;
  ManagedBuffer buffer = scene.pool.allocate_bytes(scene.device, bytes, options);
  ++actor.live;
  ++actor.changes;
  return buffer;
}
void give_back(PoolActor& actor, ManagedBuffer buffer) {
  ++actor.changes;
  buffer.release();
  --actor.live;
  ++actor.changes;
}

// Fills the buffer on the stream, and reads it again: no other buffer may be in its place.
void expect_own_bytes(PoolScene& scene, Stream& stream, const ManagedBuffer& buffer, std::uint8_t value) {
  if (!scene.computes) return;
  std::vector<std::byte> received(buffer.bytes());
  stream.fill(buffer.memory(), 0, buffer.bytes(), value);
  stream.copy_to_host(received, buffer.memory(), 0);
  stream.synchronize();
  if (received != std::vector<std::byte>(received.size(), std::byte{value}))
    scene.fail("a buffer has bytes of another");
}

void use_buffer(PoolScene& scene, PoolActor& actor) {
  ManagedBuffer buffer = request(scene, actor, some_bytes(actor));
  expect_own_bytes(scene, actor.stream, buffer, static_cast<std::uint8_t>(actor.random.next()));
  give_back(actor, std::move(buffer));
}

void use_several(PoolScene& scene, PoolActor& actor) {
  std::vector<ManagedBuffer> buffers;
  for (int i = 0; i < 6; ++i) buffers.push_back(request(scene, actor, some_bytes(actor)));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (scene.computes) actor.stream.fill(buffers[i].memory(), 0, buffers[i].bytes(), static_cast<std::uint8_t>(i + 1));
  }
  actor.stream.synchronize();
  for (std::size_t i = 0; i < buffers.size() && scene.computes; ++i) {
    std::vector<std::byte> received(buffers[i].bytes());
    actor.stream.copy_to_host(received, buffers[i].memory(), 0);
    actor.stream.synchronize();
    if (received != std::vector<std::byte>(received.size(), static_cast<std::byte>(i + 1))) {
      scene.fail("a buffer was overwritten");
    }
  }
  for (ManagedBuffer& buffer : buffers) give_back(actor, std::move(buffer));
}

// Released while the stream still works with it.
void use_ordered(PoolScene& scene, PoolActor& actor) {
  ManagedBuffer buffer = request(scene, actor, some_bytes(actor), {.stream = &actor.stream});
  expect_own_bytes(scene, actor.stream, buffer, 7);
  if (scene.computes) actor.stream.fill(buffer.memory(), 0, buffer.bytes(), 9);
  give_back(actor, std::move(buffer));
}

// A stream that is gone before or after its buffer.
void use_new_stream(PoolScene& scene, PoolActor& actor) {
  std::optional<Stream> stream(scene.context);
  ManagedBuffer buffer = request(scene, actor, some_bytes(actor), {.stream = &*stream});
  expect_own_bytes(scene, *stream, buffer, 3);
  if (scene.computes) stream->fill(buffer.memory(), 0, buffer.bytes(), 4);
  if (actor.random.below(2) == 0) stream.reset();
  give_back(actor, std::move(buffer));
}

void warm_up_pool(PoolScene& scene, PoolActor& actor) {
  const std::uint64_t count = 1 + actor.random.below(4);
  ++actor.changes;  // its buffers are live for a moment
  scene.pool.warm_up(scene.device, some_bytes(actor), Precision::int8, count);
  ++actor.changes;
}

void batch_of_buffers(PoolScene& scene, PoolActor& actor) {
  ++actor.changes;
  {
    BufferBatch batch = scene.pool.create_buffer_batch(scene.device);
    const std::vector<std::byte> bytes(100, std::byte{5});
    for (int i = 0; i < 3; ++i) static_cast<void>(batch.add_buffer(bytes, bytes.size(), Precision::int8));
    if (batch.size() != 3) scene.fail("a batch of another size");
  }
  ++actor.changes;
}

void clean_up(PoolScene& scene, PoolActor& /*actor*/) { static_cast<void>(scene.pool.emergency_cleanup(scene.device)); }
void change_limit(PoolScene& scene, PoolActor& actor) {
  const std::uint64_t bytes = PoolScene::limit + actor.random.below(4) * mib;
  if (!scene.pool.set_max_pool_size(scene.device, bytes)) scene.fail("an unknown device");
}
void check_health(PoolScene& scene, PoolActor& /*actor*/) {
  if (!scene.pool.check_memory_health(scene.device)) scene.fail("no health of a device in use");
}
void add_and_remove_reclaimer(PoolScene& scene, PoolActor& /*actor*/) {
  scene.pool.remove_reclaimer(
      scene.pool.add_reclaimer({.name = "none", .reclaim = [](int, std::uint64_t) { return std::uint64_t{0}; }}));
}
void log_allocations(PoolScene& scene, PoolActor& actor) {
  // `out` must outlive the recording, also one that the other thread replaces: only one of the two logs.
  static std::mutex one;
  const std::lock_guard lock(one);
  std::ostringstream out;
  scene.pool.start_log(scene.device, out);
  use_buffer(scene, actor);
  scene.pool.stop_log(scene.device);
  std::istringstream in(out.str());
  static_cast<void>(read_allocation_log(in));
}

void check_counters(PoolScene& scene, const MemoryStats& now) {
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) scene.fail(std::string("statistics: ") + what);
  };
  expect(now.reserved_bytes == now.in_use_bytes + now.cached_bytes, "reserved is not in use plus cached");
  expect(now.requested_bytes <= now.in_use_bytes, "more requested than in use");
  expect(now.reserved_bytes <= now.peak_reserved_bytes, "reserved above its peak");
  expect(now.in_use_bytes <= now.peak_in_use_bytes, "in use above its peak");
  expect(now.largest_free_bytes <= now.cached_bytes, "a free range above the cached bytes");
  expect(now.fragmentation >= 0 && now.fragmentation <= 1, "fragmentation out of range");
  expect(now.hits <= now.allocations, "more hits than allocations");
  expect(now.device_allocations == now.device_frees + now.segments, "segments that were neither held nor freed");
  expect(now.failures == 0, "a request failed");
}

void read_statistics(PoolScene& scene, PoolActor& actor) {
  const PoolActor& other = &actor == scene.actors.data() ? scene.actors[1] : scene.actors[0];
  const std::uint64_t changes = other.changes;
  const std::uint64_t live = actor.live + other.live;
  const MemoryStats now = scene.pool.get_memory_stats(scene.device).value();
  if (other.changes == changes && changes % 2 == 0 && now.live_buffers != live) scene.fail("a wrong number of buffers");
  check_counters(scene, now);
}
void read_usage(PoolScene& scene, PoolActor& /*actor*/) {
  const MemoryUsage now = scene.pool.memory_usage(scene.device).value();
  if (now.allocated_bytes > now.peak_bytes) scene.fail("usage above its peak");
  const double pressure = scene.pool.memory_pressure(scene.device).value();
  if (!(pressure >= 0 && pressure <= 1)) scene.fail("a pressure out of range");
  static_cast<void>(scene.pool.total_memory_usage());
}
void take_snapshot(PoolScene& scene, PoolActor& /*actor*/) {
  const MemorySnapshot now = scene.pool.snapshot(scene.device).value();
  check_counters(scene, now.stats);
  std::uint64_t live_bytes = 0;
  std::uint64_t live = 0;
  std::uint64_t all_bytes = 0;
  for (std::size_t i = 0; i < now.blocks.size(); ++i) {
    const SnapshotBlock& block = now.blocks[i];
    all_bytes += block.bytes;
    if (block.state == BlockState::live) {
      ++live;
      live_bytes += block.bytes;
    }
    if (i == 0 || now.blocks[i - 1].segment != block.segment) continue;
    if (now.blocks[i - 1].offset + now.blocks[i - 1].bytes != block.offset)
      scene.fail("blocks overlap or leave a hole");
  }
  if (live != now.stats.live_buffers) scene.fail("a snapshot with other live blocks than its counters");
  if (live_bytes != now.stats.in_use_bytes) scene.fail("a snapshot with other live bytes than its counters");
  if (all_bytes != now.stats.reserved_bytes) scene.fail("a snapshot with other bytes than its counters");
  std::stringstream text;
  write_json(text, now);
  if (read_memory_snapshot(text).blocks.size() != now.blocks.size())
    scene.fail("a snapshot read otherwise than written");
}

constexpr std::array pool_operations{
    PoolOperation{"use_buffer", 20, use_buffer},   PoolOperation{"use_several", 6, use_several},
    PoolOperation{"use_ordered", 20, use_ordered}, PoolOperation{"use_new_stream", 10, use_new_stream},
    PoolOperation{"warm_up", 20, warm_up_pool},    PoolOperation{"batch", 10, batch_of_buffers},
    PoolOperation{"clean_up", 20, clean_up},       PoolOperation{"change_limit", 20, change_limit},
    PoolOperation{"health", 20, check_health},     PoolOperation{"reclaimer", 20, add_and_remove_reclaimer},
    PoolOperation{"log", 6, log_allocations},      PoolOperation{"statistics", 30, read_statistics},
    PoolOperation{"usage", 100, read_usage},       PoolOperation{"snapshot", 8, take_snapshot},
};

class PoolPairsConcurrent : public testing::TestWithParam<std::string> {
 protected:
  // Returns what failed, or nothing.
  std::string run_pool_pair(const PoolOperation& first, const PoolOperation& second, std::uint64_t seed) {
    PoolScene scene(runtime, GetParam(), seed);
    std::barrier start(2);
    const auto repeat = [&](PoolActor& actor, const PoolOperation& operation) {
      start.arrive_and_wait();
      try {
        for (int i = 0; i < operation.repeats && !scene.failed(); ++i) operation.act(scene, actor);
        actor.stream.synchronize();
      } catch (const std::exception& error) {
        scene.fail(std::string(operation.name) + " threw " + error.what());
      }
    };
    std::thread other([&] { repeat(scene.actors[1], second); });
    repeat(scene.actors[0], first);
    other.join();
    if (!scene.failed()) {
      MemoryStats end = scene.pool.get_memory_stats(scene.device).value();
      check_counters(scene, end);
      if (end.live_buffers != 0 || end.in_use_bytes != 0) scene.fail("live buffers at the end");
      // Work of a destroyed stream may still run.
      for (int i = 0; i < 1000 && end.reserved_bytes > 0; ++i) {
        static_cast<void>(scene.pool.emergency_cleanup(scene.device));
        end = scene.pool.get_memory_stats(scene.device).value();
        if (end.reserved_bytes > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      if (end.reserved_bytes != 0 || end.segments != 0) scene.fail("the cleanup at the end left memory");
    }
    return scene.failure();
  }
  void expect_pool_pair(const PoolOperation& first, const PoolOperation& second, std::uint64_t seed) {
    const std::string failure = run_pool_pair(first, second, seed);
    if (failure.empty()) return;
    ADD_FAILURE() << failure << "\nrepeat: VECTIS_TEST_PAIR='" << first.name << ' ' << second.name << ' ' << seed
                  << "' hostile_test --gtest_filter='*PoolPairsConcurrent*" << GetParam() << '\'';
  }
  static const PoolOperation* pool_operation(const std::string& name) {
    const auto* const found = std::ranges::find_if(pool_operations, [&](auto& one) { return one.name == name; });
    return found == pool_operations.end() ? nullptr : found;
  }

  Runtime runtime;
  Random random{seed()};
};

TEST_P(PoolPairsConcurrent, HoldWhateverRunsBesideThem) {
  if (const char* const text = std::getenv("VECTIS_TEST_PAIR")) {
    std::istringstream words(text);
    std::string first;
    std::string second;
    std::uint64_t run_seed = 0;
    words >> first >> second >> run_seed;
    ASSERT_TRUE(pool_operation(first) != nullptr && pool_operation(second) != nullptr) << text;
    for (std::uint64_t i = 0; i < runs_wanted(100) && !HasFailure(); ++i) {
      expect_pool_pair(*pool_operation(first), *pool_operation(second), run_seed);
    }
    return;
  }
  const std::uint64_t runs = runs_wanted(200);
  for (std::uint64_t i = 0; i < runs && !HasFailure(); ++i) {
    expect_pool_pair(pool_operations[random.below(pool_operations.size())],
                     pool_operations[random.below(pool_operations.size())], random.next() >> 16U);
  }
  std::cout << "pool on " << GetParam() << ": " << runs << " runs of pairs of " << pool_operations.size()
            << " operations\n";
}

// The limit has room for one buffer of each thread: whatever is cached or pending, a request must be served.
TEST_P(PoolPairsConcurrent, NeverFailWhereTheLimitSuffices) {
  if (GetParam() == "null") GTEST_SKIP() << "its streams never have pending work";
  constexpr std::uint64_t bytes = 4 * mib;
  for (std::uint64_t run = 0; run < runs_wanted(10) && !HasFailure(); ++run) {
    PoolScene scene(runtime, GetParam(), random.next());
    static_cast<void>(scene.pool.emergency_cleanup(scene.device));
    scene.pool.set_max_pool_size(scene.device, 2 * bytes);
    std::barrier start(2);
    const auto repeat = [&](PoolActor& actor) {
      start.arrive_and_wait();
      try {
        for (int i = 0; i < 20 && !scene.failed(); ++i) {
          Stream stream(scene.context);
          ManagedBuffer buffer = scene.pool.allocate_bytes(scene.device, bytes, {.stream = &stream});
          for (int work = 0; work < 4; ++work) stream.fill(buffer.memory(), 0, bytes, 1);
          buffer.release();
          if (actor.random.below(2) == 0) stream.synchronize();
        }
      } catch (const std::exception& error) {
        scene.fail(error.what());
      }
    };
    std::thread other([&] { repeat(scene.actors[1]); });
    repeat(scene.actors[0]);
    other.join();
    EXPECT_EQ(scene.failure(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PoolPairsConcurrent, testing::Values("cpu", "failing", "null"), case_name);

}  // namespace
}  // namespace vectis::test
