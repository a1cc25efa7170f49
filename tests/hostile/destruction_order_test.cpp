// Buffers, streams, events, pools, indexes and stores are destroyed in every order that their contracts allow: a pool
// after its buffers, the Runtime after everything.
#include <array>
#include <functional>
#include <iostream>
#include <numeric>

#include "tests/indexes/kinds.hpp"
#include "tests/memory/fixture.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/seed.hpp"
#include "vectis/device/transfer.hpp"
#include "vectis/store.hpp"

namespace vectis::test {
namespace {

using Order = std::vector<std::size_t>;

// All orders of `count` things in which `last` comes after all of `before`.
std::vector<Order> orders_of(std::size_t count, std::size_t last, std::span<const std::size_t> before) {
  Order order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Order> found;
  do {
    const auto place = std::ranges::find(order, last);
    if (std::ranges::all_of(before, [&](std::size_t one) { return std::find(order.begin(), place, one) != place; })) {
      found.push_back(order);
    }
  } while (std::ranges::next_permutation(order).found);
  return found;
}

// As many of them as are wanted, spread by the seed.
std::vector<Order> some_orders(std::vector<Order> all, std::uint64_t usual) {
  Random random(seed());
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
  all.resize(std::min<std::size_t>(all.size(), runs_wanted(usual)));
  return all;
}

std::string text_of(const Order& order, std::span<const char* const> names) {
  std::string text;
  for (const std::size_t one : order) text += std::string(text.empty() ? "" : ", ") + names[one];
  return text;
}

class DestructionOrder : public testing::TestWithParam<std::string> {
 protected:
  static Device device_of(Runtime& runtime) { return runtime.service<DeviceRegistry>().find(GetParam()).value(); }
  static bool computes() { return GetParam() != "null"; }
  static void start_work(Stream& stream, const DeviceMemory& memory, std::uint64_t bytes) {
    for (int i = 0; i < 3 && computes(); ++i) stream.fill(memory, 0, bytes, 1);
  }
};

TEST_P(DestructionOrder, OfBuffersStreamsEventsAndTheirPool) {
  constexpr std::array names{"stream one",   "stream two", "buffer of one", "buffer of two",
                             "plain buffer", "event",      "context",       "pool"};
  constexpr std::array<std::size_t, 3> buffers{2, 3, 4};
  const auto orders = some_orders(orders_of(names.size(), 7, buffers), 500);
  Runtime runtime;
  const Device device = device_of(runtime);
  for (const Order& order : orders) {
    SCOPED_TRACE(text_of(order, names));
    auto pool = std::make_unique<MemoryPool>(runtime);
    std::optional<DeviceContext> context(pool->allocate_bytes(device.id(), 1).memory().context());
    std::optional<Stream> one(*context);
    std::optional<Stream> two(*context);
    std::optional<Event> event(*context);
    constexpr std::uint64_t bytes = 256 * kib;
    ManagedBuffer of_one = pool->allocate_bytes(device.id(), bytes, {.stream = &*one});
    ManagedBuffer of_two = pool->allocate_bytes(device.id(), bytes, {.stream = &*two});
    ManagedBuffer plain = pool->allocate_bytes(device.id(), bytes);
    start_work(*one, of_one.memory(), bytes);
    one->record(*event);
    two->wait(*event);
    start_work(*two, of_two.memory(), bytes);
    const std::array<std::function<void()>, 8> destroy{
        [&] { one.reset(); },     [&] { two.reset(); },   [&] { of_one.release(); }, [&] { of_two.release(); },
        [&] { plain.release(); }, [&] { event.reset(); }, [&] { context.reset(); },  [&] { pool.reset(); }};
    for (const std::size_t which : order) {
      destroy[which]();
      // Whatever is left still works: what was released is handed out again behind the work that uses it.
      if (pool == nullptr) continue;
      ManagedBuffer again = pool->allocate_bytes(device.id(), bytes);
      if (computes() && two) {
        two->fill(again.memory(), 0, bytes, 2);
        two->synchronize();
      }
    }
  }
  std::cout << GetParam() << ": " << orders.size() << " orders of buffers, streams, events and pool\n";
}

// With a Runtime of their own, which goes last.
TEST_P(DestructionOrder, OfIndexesStoresAndBuffersBeforeTheirRuntime) {
  constexpr std::array names{"index", "graph", "store", "buffer", "stream", "host memory"};
  const auto orders = some_orders(orders_of(names.size(), 0, {}), 40);
  for (const Order& order : orders) {
    SCOPED_TRACE(text_of(order, names));
    Runtime runtime;
    const Device device = device_of(runtime);
    const std::string name = computes() ? GetParam() : "cpu";
    Random random(seed());
    auto index = make_index("gpu", 4, Metric::l2, {.device = name, .runtime = &runtime});
    index->add(random_rows(random, 50, 4));
    auto graph = make_index("graph", 4, Metric::l2, {.runtime = &runtime});
    graph->add(random_rows(random, 50, 4));
    auto store = std::make_unique<VectorStore>(runtime);
    store->create_collection("c", {.dim = 4, .index = "flat"}).add(random_rows(random, 20, 4));
    ManagedBuffer buffer = memory_pool(runtime).allocate_bytes(device.id(), 100 * kib);
    std::optional<Stream> stream(buffer.memory().context());
    auto host = std::make_unique<HostMemory>(buffer.memory().context(), 100 * kib);
    if (computes()) stream->copy_to_device(buffer.memory(), 0, host->bytes());
    stream->synchronize();
    static_cast<void>(index->search(random_rows(random, 2, 4), 3));
    const std::array<std::function<void()>, 6> destroy{[&] { index.reset(); },  [&] { graph.reset(); },
                                                       [&] { store.reset(); },  [&] { buffer.release(); },
                                                       [&] { stream.reset(); }, [&] { host.reset(); }};
    for (const std::size_t which : order) {
      destroy[which]();
      if (index) {
        EXPECT_EQ(index->search(random_rows(random, 1, 4), 3)[0].size(), 3U);
      }
    }
  }
  std::cout << GetParam() << ": " << orders.size() << " orders of indexes, stores and buffers\n";
}

INSTANTIATE_TEST_SUITE_P(Devices, DestructionOrder, testing::Values("cpu", "failing", "null"), case_name);

// Nothing of a device's memory is left when all is gone.
TEST(DestructionOrderEnd, LeavesNoMemoryOnTheDevice) {
  const auto free_bytes = [](Runtime& runtime) {
    return runtime.service<DeviceRegistry>().find("failing").value().memory().value().free_bytes;
  };
  Runtime watching;
  const std::uint64_t before = free_bytes(watching);
  for (int i = 0; i < 3; ++i) {
    Runtime runtime;
    Random random(seed());
    const auto index = make_index("gpu", 4, Metric::l2, {.device = "failing", .runtime = &runtime});
    index->add(random_rows(random, 200, 4));
    static_cast<void>(index->search(random_rows(random, 2, 4), 3));
    const ManagedBuffer buffer =
        memory_pool(runtime).allocate_bytes(runtime.service<DeviceRegistry>().find("failing").value().id(), mib);
    EXPECT_LT(free_bytes(watching), before);
  }
  EXPECT_EQ(free_bytes(watching), before);
}

}  // namespace
}  // namespace vectis::test
