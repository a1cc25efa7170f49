#include "device/host_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/support/deferred_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/transfer.hpp"

namespace vectis {
namespace {

using test::DeferredBackend;

constexpr std::size_t bytes = 1000;

class DeferredCopies : public test::FakeRuntimeTest {
 protected:
  DeferredCopies() { DeferredBackend::install(os); }
  DeviceContext context(const char* label) {
    return DeviceContext(runtime().service<DeviceRegistry>().find(label).value());
  }
  static std::vector<std::byte> read(Stream& stream, const DeviceMemory& memory) {
    std::vector<std::byte> host(memory.bytes());
    stream.copy_to_host(host, memory, 0);
    stream.synchronize();
    return host;
  }
};

TEST_F(DeferredCopies, DestroyedHostMemoryHasWaitedForThem) {
  const DeviceContext device = context("cuda:0");
  const DeviceMemory memory(device, bytes);
  Stream stream(device);
  {
    const HostMemory host(device, bytes);
    EXPECT_FALSE(host.pinned());
    std::ranges::fill(host.bytes(), std::byte{7});
    stream.copy_to_device(memory, 0, host.bytes());
    stream.copy_to_device(memory, 1, host.bytes().subspan(10, 5));
    EXPECT_EQ(DeferredBackend::pending, 2);
  }
  ASSERT_EQ(DeferredBackend::pending, 0);
  EXPECT_EQ(read(stream, memory), std::vector<std::byte>(bytes, std::byte{7}));
  {
    const HostMemory host(device, bytes);
    stream.copy_to_host(host.bytes().last(1), memory, 0);
    EXPECT_EQ(DeferredBackend::pending, 1);
  }
  ASSERT_EQ(DeferredBackend::pending, 0);
}

TEST_F(DeferredCopies, OfOtherDevicesAndStreamsCountToo) {
  const DeviceContext here = context("cuda:0");
  const DeviceContext there = context("cuda:1");
  const DeviceMemory memory(there, bytes);
  std::vector<Stream> streams;
  for (int i = 0; i < 20; ++i) streams.emplace_back(there);
  {
    HostMemory host(here, bytes);
    for (Stream& stream : streams) stream.copy_to_host(host.bytes(), memory, 0);
    streams.front().synchronize();
    streams.front().copy_to_host(host.bytes(), memory, 0);
    EXPECT_EQ(DeferredBackend::pending, 20);
    const HostMemory moved = std::move(host);
    EXPECT_EQ(DeferredBackend::pending, 20);
  }
  ASSERT_EQ(DeferredBackend::pending, 0);
}

TEST_F(DeferredCopies, AssignedHostMemoryHasWaitedForThem) {
  const DeviceContext device = context("cuda:0");
  const DeviceMemory memory(device, bytes);
  Stream stream(device);
  HostMemory host(device, bytes);
  stream.copy_to_host(host.bytes(), memory, 0);
  host = HostMemory(device, 3);
  ASSERT_EQ(DeferredBackend::pending, 0);
  host = HostMemory(device, 0);
  EXPECT_TRUE(host.bytes().empty());
  EXPECT_FALSE(host.pinned());
}

TEST_F(DeferredCopies, AreWaitedForAtOnceWithoutAnEvent) {
  const DeviceContext device = context("cuda:0");
  const DeviceMemory memory(device, bytes);
  Stream stream(device);
  const HostMemory host(device, bytes);
  DeferredBackend::fails_events = true;
  stream.copy_to_host(host.bytes(), memory, 0);
  EXPECT_EQ(DeferredBackend::pending, 0);
}

TEST_F(DeferredCopies, OfOtherMemoryAreNotWaitedFor) {
  const DeviceContext device = context("cuda:0");
  const DeviceMemory memory(device, bytes);
  std::vector<std::byte> mine(bytes);
  Stream stream(device);
  {
    const HostMemory unused(device, bytes);
    stream.copy_to_host(mine, memory, 0);
  }
  EXPECT_EQ(DeferredBackend::pending, 1);
  stream.synchronize();
}

// The memory waits without the caller, and what its wait reports is reported by no other: the stream must keep it.
TEST_F(DeferredCopies, ThatFailAreReportedByTheirStream) {
  const DeviceContext device = context("cuda:0");
  const DeviceMemory memory(device, bytes);
  Stream stream(device);
  {
    const HostMemory host(device, bytes);
    stream.copy_to_host(host.bytes(), memory, 0);
    DeferredBackend::work_failure = VECTIS_DRIVER_FAILURE;
  }
  EXPECT_ERROR(stream.synchronize(), ErrorCode::driver_failure, "cuda:0");
  EXPECT_ERROR(stream.synchronize(), ErrorCode::driver_failure, "cuda:0");
}

TEST_F(DeferredCopies, ThatFailAreReportedByTheirStreamWithoutAnEvent) {
  const DeviceContext device = context("cuda:0");
  const DeviceMemory memory(device, bytes);
  Stream stream(device);
  const HostMemory host(device, bytes);
  DeferredBackend::fails_events = true;
  DeferredBackend::work_failure = VECTIS_DEVICE_LOST;
  stream.copy_to_host(host.bytes(), memory, 0);
  EXPECT_ERROR(stream.synchronize(), ErrorCode::device_lost, "cuda:0");
  EXPECT_TRUE(device.lost());
}

// More streams than a memory remembers: it asks which copies have finished.
TEST_F(DeferredCopies, ThatFailAreReportedByTheirStreamAfterAQuery) {
  const DeviceContext device = context("cuda:0");
  const DeviceMemory memory(device, bytes);
  std::vector<Stream> streams;
  for (int i = 0; i < 9; ++i) streams.emplace_back(device);
  const HostMemory host(device, bytes);
  for (int i = 0; i < 8; ++i) streams[static_cast<std::size_t>(i)].copy_to_host(host.bytes(), memory, 0);
  const Event passed(device);
  streams[0].record(passed);
  passed.synchronize();
  DeferredBackend::work_failure = VECTIS_DRIVER_FAILURE;
  streams[8].copy_to_host(host.bytes(), memory, 0);
  EXPECT_ERROR(streams[0].synchronize(), ErrorCode::driver_failure, "cuda:0");
}

TEST(HostMemoryErrors, TooMuchIsAnAllocationError) {
  test::FakeOs os;  // without plug-ins
  Runtime runtime(test::options_on(os));
  const DeviceContext cpu(runtime.service<DeviceRegistry>().find("cpu").value());
  EXPECT_ERROR(HostMemory(cpu, SIZE_MAX), ErrorCode::allocation, "[host_memory]", "18446744073709551615 bytes");
  EXPECT_EQ(HostMemory(cpu, 5).bytes().size(), 5U);
}

// Threads make, use and destroy memories beside each other; each finds its own.
TEST(HostMemoryConcurrent, ThreadsCopyThroughTheirOwnMemories) {
  test::FakeOs os;  // without plug-ins
  Runtime runtime(test::options_on(os));
  const DeviceContext cpu(runtime.service<DeviceRegistry>().find("cpu").value());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&, value = static_cast<std::byte>(id)] {
      const DeviceMemory memory(cpu, bytes);
      Stream stream(cpu);
      for (int round = 0; round < 200; ++round) {
        const HostMemory sent(cpu, bytes);
        const HostMemory received(cpu, bytes);
        std::ranges::fill(sent.bytes(), value);
        stream.copy_to_device(memory, 0, sent.bytes());
        stream.copy_to_host(received.bytes(), memory, 0);
        stream.synchronize();
        if (!std::ranges::equal(sent.bytes(), received.bytes())) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace vectis
