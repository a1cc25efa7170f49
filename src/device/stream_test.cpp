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

}  // namespace
}  // namespace vectis
