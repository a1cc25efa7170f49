#include "vectis/device/stream.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tests/support/deferred_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using test::DeferredBackend;

std::vector<std::byte> read(Stream& stream, const DeviceMemory& memory) {
  std::vector<std::byte> host(memory.bytes());
  stream.copy_to_host(host, memory, 0);
  stream.synchronize();
  return host;
}

// A device without a fill gets copies of a block of 1 MiB on the host, which must outlive them.
TEST(StreamFill, ACopyThatFailsLeavesNoneThatReadsTheBlock) {
  test::FakeOs os;
  DeferredBackend::install(os);
  Runtime runtime(test::options_on(os));
  const DeviceContext device(runtime.service<DeviceRegistry>().find("cuda:0").value());
  const DeviceMemory memory(device, 3 << 20);
  Stream stream(device);
  stream.fill(memory, 0, memory.bytes(), 9);
  EXPECT_EQ(read(stream, memory), std::vector<std::byte>(memory.bytes(), std::byte{9}));
  DeferredBackend::copies_until_failure = 3;
  EXPECT_ERROR(stream.fill(memory, 0, memory.bytes(), 8), ErrorCode::driver_failure, "no more copies");
  ASSERT_EQ(DeferredBackend::pending, 0);
  const std::vector<std::byte> left = read(stream, memory);
  EXPECT_EQ(left[(2 << 20) - 1], std::byte{8});
  EXPECT_EQ(left[2 << 20], std::byte{9});
}

// A stream may be destroyed after its device was lost, for which nothing ends the copies that read the host's memory.
TEST(StreamDestruction, WaitsForTheWorkOfALostDevice) {
  test::FakeOs os;
  DeferredBackend::install(os);
  DeferredBackend::destroys_at_once = true;
  Runtime runtime(test::options_on(os));
  const DeviceContext device(runtime.service<DeviceRegistry>().find("cuda:0").value());
  const DeviceMemory memory(device, 100);
  const std::vector<std::byte> host(100);
  {
    Stream stream(device);
    stream.copy_to_device(memory, 0, host);
    DeferredBackend::copies_until_failure = 1;
    DeferredBackend::copy_failure = VECTIS_DEVICE_LOST;
    EXPECT_ERROR(stream.copy_to_device(memory, 0, host), ErrorCode::device_lost, "no more copies");
    ASSERT_EQ(DeferredBackend::pending, 1);
  }
  EXPECT_EQ(DeferredBackend::pending, 0);
}

// The wait for the block's copies is the one that gets the failure of earlier work: the stream must keep it.
TEST(StreamFill, AFailureOfEarlierWorkStaysOnTheStream) {
  test::FakeOs os;
  DeferredBackend::install(os);
  Runtime runtime(test::options_on(os));
  const DeviceContext device(runtime.service<DeviceRegistry>().find("cuda:0").value());
  const DeviceMemory memory(device, 100);
  Stream stream(device);
  DeferredBackend::work_failure = VECTIS_DRIVER_FAILURE;
  DeferredBackend::copies_until_failure = 1;
  EXPECT_ERROR(stream.fill(memory, 0, memory.bytes(), 8), ErrorCode::driver_failure, "no more copies");
  EXPECT_ERROR(stream.synchronize(), ErrorCode::driver_failure, "cuda:0");
}

}  // namespace
}  // namespace vectis
