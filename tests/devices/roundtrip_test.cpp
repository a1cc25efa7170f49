// Copies to every device and back, at odd sizes and offsets; host memory is the oracle.
#include <algorithm>

#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

class RoundTrip : public test::DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  DeviceContext context{device(GetParam())};
  Random random{test::seed()};
};

TEST_P(RoundTrip, CopiesOfEverySize) {
  Stream stream(context);
  for (const std::size_t bytes : {1UL, 2UL, 3UL, 63UL, 64UL, 65UL, 4095UL, 1000003UL, 8UL << 20}) {
    const auto sent = test::random_bytes(random, bytes);
    std::vector<std::byte> received(bytes);
    DeviceMemory memory(context, bytes);
    EXPECT_EQ(memory.bytes(), bytes);
    stream.copy_to_device(memory, 0, sent);
    stream.copy_to_host(received, memory, 0);
    stream.synchronize();
    EXPECT_EQ(sent, received) << bytes;
  }
}

// Applies the same random operations to a model in host memory.
TEST_P(RoundTrip, RandomOperationsAgreeWithTheHost) {
  constexpr std::size_t size = 10007;
  Stream stream(context);
  const DeviceMemory memory(context, size);
  const DeviceMemory other(context, size);
  std::vector<std::byte> model(size);
  std::vector<std::byte> other_model(size);
  stream.fill(memory, 0, size, 0);
  stream.fill(other, 0, size, 0);
  std::vector<std::vector<std::byte>> kept;  // sources stay valid until the stream has passed
  for (int step = 0; step < 200; ++step) {
    const std::size_t offset = random.below(size);
    const std::size_t bytes = random.below(size - offset + 1);
    switch (random.below(3)) {
      case 0: {
        kept.push_back(test::random_bytes(random, bytes));
        stream.copy_to_device(memory, offset, kept.back());
        std::ranges::copy(kept.back(), model.begin() + static_cast<std::ptrdiff_t>(offset));
        break;
      }
      case 1: {
        const auto value = static_cast<std::uint8_t>(random.next());
        stream.fill(memory, offset, bytes, value);
        std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(offset), bytes, std::byte{value});
        break;
      }
      default: {
        const std::size_t target = random.below(size - bytes + 1);
        stream.copy_on_device(other, target, memory, offset, bytes);
        std::copy_n(model.begin() + static_cast<std::ptrdiff_t>(offset), bytes,
                    other_model.begin() + static_cast<std::ptrdiff_t>(target));
      }
    }
  }
  std::vector<std::byte> received(size);
  std::vector<std::byte> other_received(size);
  stream.copy_to_host(received, memory, 0);
  stream.copy_to_host(other_received, other, 0);
  stream.synchronize();
  EXPECT_EQ(received, model);
  EXPECT_EQ(other_received, other_model);
}

TEST_P(RoundTrip, WithinOneMemoryRangesMustNotOverlap) {
  Stream stream(context);
  const DeviceMemory memory(context, 100);
  stream.fill(memory, 0, 100, 1);
  stream.copy_on_device(memory, 0, memory, 50, 50);
  EXPECT_ERROR(stream.copy_on_device(memory, 0, memory, 49, 50), ErrorCode::invalid_input, "overlap");
  EXPECT_ERROR(stream.copy_on_device(memory, 10, memory, 10, 1), ErrorCode::invalid_input, "overlap");
  stream.synchronize();
}

TEST_P(RoundTrip, SlicesThatShareBytesMustNotOverlap) {
  if (!DeviceMemory::can_slice(context)) GTEST_SKIP() << "no slices";
  const std::uint64_t step = context.device().info().limits.memory_alignment;
  Stream stream(context);
  const DeviceMemory memory(context, 4 * step);
  const DeviceMemory low = memory.slice(0, 3 * step);
  const DeviceMemory high = memory.slice(step, 3 * step);
  const DeviceMemory inner = high.slice(step, step);
  const auto sent = test::random_bytes(random, 4 * step);
  stream.copy_to_device(memory, 0, sent);
  EXPECT_ERROR(stream.copy_on_device(high, 0, low, 0, 3 * step), ErrorCode::invalid_input, "overlap");
  EXPECT_ERROR(stream.copy_on_device(low, 0, high, 0, step + 1), ErrorCode::invalid_input, "overlap");
  EXPECT_ERROR(stream.copy_on_device(memory, 1, low, 0, step), ErrorCode::invalid_input, "overlap");
  EXPECT_ERROR(stream.copy_on_device(inner, step - 1, memory, 3 * step - 1, 1), ErrorCode::invalid_input, "overlap");
  EXPECT_ERROR(copy_between(stream, memory, 1, stream, low, 0, step), ErrorCode::invalid_input, "overlap");
  stream.copy_on_device(high, 2 * step, low, 0, step);  // equal offsets in different slices are different bytes
  stream.copy_on_device(inner, 0, memory, step, step);
  std::vector<std::byte> received(4 * step);
  stream.copy_to_host(received, memory, 0);
  stream.synchronize();
  std::vector<std::byte> expected = sent;
  const auto at = [&](std::uint64_t part) { return expected.begin() + static_cast<std::ptrdiff_t>(part * step); };
  std::copy(at(0), at(1), at(3));
  std::copy(at(1), at(2), at(2));
  EXPECT_EQ(received, expected);
}

TEST_P(RoundTrip, RangesAreCheckedAndTheStreamStaysUsable) {
  Stream stream(context);
  const DeviceMemory memory(context, 16);
  std::vector<std::byte> host(17);
  const std::uint64_t huge = UINT64_MAX;
  EXPECT_ERROR(stream.copy_to_device(memory, 0, host), ErrorCode::invalid_input, "[copy_to_device]",
               "17 bytes at offset 0 exceed the memory's 16 bytes");
  EXPECT_ERROR(stream.copy_to_host(std::span(host).first(1), memory, 16), ErrorCode::invalid_input, "offset 16");
  EXPECT_ERROR(stream.copy_to_host(std::span(host).first(1), memory, huge), ErrorCode::invalid_input, "[copy_to_host]");
  EXPECT_ERROR(stream.fill(memory, 1, huge, 0), ErrorCode::invalid_input, "[fill]");
  EXPECT_ERROR(stream.copy_on_device(memory, huge, memory, 0, 1), ErrorCode::invalid_input, "[copy_on_device]");
  stream.copy_to_device(memory, 16, {});  // nothing at the very end is nothing
  stream.fill(memory, 16, 0, 1);
  stream.copy_on_device(memory, 16, memory, 0, 0);
  stream.copy_to_host({}, memory, 16);
  stream.copy_to_device(memory, 0, std::span(host).first(16));
  stream.synchronize();
}

TEST_P(RoundTrip, InvalidSizesAreRejected) {
  EXPECT_ERROR(DeviceMemory(context, 0), ErrorCode::invalid_input, "0 bytes");
  EXPECT_ERROR(DeviceMemory(context, UINT64_MAX), ErrorCode::invalid_input, "18446744073709551615", "at most");
  const std::uint64_t limit = context.device().info().limits.allocation_bytes_max;
  EXPECT_ERROR(DeviceMemory(context, limit + 1), ErrorCode::invalid_input, std::to_string(limit));
}

TEST_P(RoundTrip, MemoryOfAnotherContextIsRejected) {
  const DeviceContext second(device(GetParam()));
  Stream stream(second);
  const DeviceMemory memory(context, 4);
  const std::vector<std::byte> host(4);
  EXPECT_ERROR(stream.copy_to_device(memory, 0, host), ErrorCode::invalid_input, "another context");
}

TEST_P(RoundTrip, AddressesAreAligned) {
  const DeviceMemory memory(context, 100);
  std::byte* address = memory.address();
  EXPECT_EQ(address != nullptr, GetParam() == "cpu" || GetParam() == "failing");
  if (address == nullptr) return;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(address) % context.device().info().limits.memory_alignment, 0U);
  Stream stream(context);
  stream.fill(memory, 99, 1, 7);
  EXPECT_EQ(address[99], std::byte{7});
}

INSTANTIATE_TEST_SUITE_P(Devices, RoundTrip, testing::ValuesIn(test::computing_devices()), test::case_name);

class NullDevice : public test::DevicesTest {};

TEST_F(NullDevice, AcceptsEverythingAndComputesNothing) {
  const DeviceContext context(device("null"));
  Stream stream(context);
  const DeviceMemory memory(context, std::uint64_t{1} << 39);  // more than any machine has
  std::vector<std::byte> host(8, std::byte{3});
  stream.copy_to_device(memory, 1ULL << 38, host);
  stream.fill(memory, 0, 1ULL << 39, 9);
  stream.copy_to_host(host, memory, 0);
  const Program program(context, "wgsl", "anything");
  stream.launch(EntryPoint(program, "any"), {.grid = {1000, 1, 1}, .block = {256, 1, 1}}, {memory, 3});
  Event event(context);
  stream.record(event);
  stream.wait(event);
  event.synchronize();
  EXPECT_TRUE(event.completed());
  EXPECT_TRUE(event.timestamp());
  stream.synchronize();
  EXPECT_EQ(host, std::vector<std::byte>(8, std::byte{3}));
  EXPECT_EQ(device("null").memory(), std::nullopt);
  EXPECT_ERROR(static_cast<void>(program.binary()), ErrorCode::unsupported, "offers no program binaries");
}

}  // namespace
}  // namespace vectis
