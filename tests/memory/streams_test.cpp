// Stream-ordered release: another stream reuses a block only behind the work that still uses it.
#include <array>

#include "tests/memory/fixture.hpp"

namespace vectis {
namespace {

using test::mib;

class StreamOrdered : public test::MemoryTest, public testing::WithParamInterface<std::string> {
 protected:
  std::string on = GetParam();
  DeviceContext context = bytes(on, 1).memory().context();
};

TEST_P(StreamOrdered, TheSameStreamReusesAtOnce) {
  Stream stream(context);
  ManagedBuffer first = bytes(on, mib, {.stream = &stream});
  const auto* piece = first.memory().core().get();
  first.release();
  const ManagedBuffer again = bytes(on, mib, {.stream = &stream});
  EXPECT_EQ(again.memory().core().get(), piece);
}

TEST_P(StreamOrdered, AnotherStreamStealsBehindTheWork) {
  Stream one(context);
  Stream two(context);
  std::vector<std::byte> received(mib);
  for (int round = 0; round < 20; ++round) {
    ManagedBuffer buffer = bytes(on, mib, {.stream = &one});
    for (int work = 0; work < 10; ++work) one.fill(buffer.memory(), 0, mib, 1);
    const auto* piece = buffer.memory().core().get();
    buffer.release();
    const ManagedBuffer stolen = bytes(on, mib, {.stream = &two});
    EXPECT_EQ(stolen.memory().core().get(), piece) << "it was there to be stolen";
    two.fill(stolen.memory(), 0, mib, 2);
    two.copy_to_host(received, stolen.memory(), 0);
    two.synchronize();
    ASSERT_EQ(received, std::vector<std::byte>(mib, std::byte{2})) << "work of the first stream came later";
  }
}

TEST_P(StreamOrdered, WithoutAStreamTheHostWaits) {
  pool().set_max_pool_size(id(on), 4 * mib);
  Stream one(context);
  ManagedBuffer buffer = bytes(on, 4 * mib, {.stream = &one});
  for (int work = 0; work < 50; ++work) one.fill(buffer.memory(), 0, 4 * mib, 1);
  buffer.release();
  const ManagedBuffer mine = bytes(on, 3 * mib);  // another size class, so that the cache must be coalesced
  Stream two(context);
  std::vector<std::byte> received(3 * mib);
  two.fill(mine.memory(), 0, 3 * mib, 2);
  two.copy_to_host(received, mine.memory(), 0);
  two.synchronize();
  EXPECT_EQ(received, std::vector<std::byte>(3 * mib, std::byte{2}));
}

TEST_P(StreamOrdered, BlocksOfADestroyedStreamAreFreeForAll) {
  const void* piece = nullptr;
  {
    Stream stream(context);
    Stream moved = std::move(stream);
    ManagedBuffer buffer = bytes(on, mib, {.stream = &moved});
    moved.fill(buffer.memory(), 0, mib, 1);
    piece = buffer.memory().core().get();
  }
  EXPECT_EQ(bytes(on, mib).memory().core().get(), piece);
}

TEST_P(StreamOrdered, ABufferMayOutliveItsStream) {
  ManagedBuffer buffer;
  {
    Stream stream(context);
    buffer = bytes(on, mib, {.stream = &stream});
    stream.fill(buffer.memory(), 0, mib, 1);
  }
  buffer.release();
  EXPECT_TRUE(bytes(on, mib));
}

TEST_P(StreamOrdered, ABufferMayOutliveItsStreamAfterAnotherWasReleased) {
  ManagedBuffer late;
  {
    Stream stream(context);
    ManagedBuffer early = bytes(on, mib, {.stream = &stream});
    late = bytes(on, mib, {.stream = &stream});
    stream.fill(early.memory(), 0, mib, 1);
    stream.fill(late.memory(), 0, mib, 1);
  }
  late.release();
  const std::uint64_t reserved = stats(on).reserved_bytes;
  const ManagedBuffer one = bytes(on, mib);
  const ManagedBuffer two = bytes(on, mib);
  EXPECT_EQ(stats(on).reserved_bytes, reserved) << "both blocks are idle";
}

TEST_P(StreamOrdered, OrdersOfDestroyedStreamsAreDropped) {
  for (int i = 0; i < 300; ++i) {
    Stream stream(context);
    static_cast<void>(bytes(on, 1000, {.stream = &stream}));
  }
  EXPECT_LE(stats(on).reserved_bytes, 8 * mib);
}

std::vector<std::string> devices() {
  std::vector<std::string> names = test::computing_devices();
  std::erase(names, "opencl:1");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Devices, StreamOrdered, testing::ValuesIn(devices()), test::case_name);

}  // namespace
}  // namespace vectis
