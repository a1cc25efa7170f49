// Memory, streams and events through the backend contract, compared with results computed on the host.
#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "tests/slots/rig.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

Bytes noise(std::size_t size) {
  std::mt19937_64 random(seed() + size);
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

class OpenclMemory : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { rig.need_streams(); }
  Rig rig;
};

TEST_P(OpenclMemory, IsReadBackAsWritten) {
  const auto memory = allocate(rig, GetParam());
  const Bytes sent = noise(GetParam());
  rig.upload(memory.get(), sent.data(), sent.size());
  EXPECT_EQ(rig.download(memory.get(), sent.size()), sent);
}

TEST_P(OpenclMemory, OffsetsLeaveTheRestUnchanged) {
  constexpr std::size_t before = 3;
  constexpr std::size_t after = 5;
  constexpr std::size_t source_before = 7;
  const std::size_t size = GetParam();
  const auto memory = allocate(rig, before + size + after);
  const auto source = allocate(rig, source_before + size);
  Bytes expected(before + size + after, 0x5A);
  EXPECT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, memory.get(), 0U, expected.size(), std::uint8_t{0x5A})));
  const Bytes sent = noise(size);
  rig.upload(source.get(), sent.data(), size, source_before);
  EXPECT_TRUE(succeeded(
      call_slot(plugin().copy_on_device, rig.stream, memory.get(), before, source.get(), source_before, size)));
  std::copy(sent.begin(), sent.end(), expected.begin() + before);
  EXPECT_EQ(rig.download(memory.get(), expected.size()), expected);
  EXPECT_EQ(rig.download(memory.get(), size, before), sent);
  EXPECT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, memory.get(), before, size, std::uint8_t{0xC3})));
  std::fill_n(expected.begin() + before, size, std::uint8_t{0xC3});
  EXPECT_EQ(rig.download(memory.get(), expected.size()), expected);
}

INSTANTIATE_TEST_SUITE_P(Sizes, OpenclMemory, testing::Values(1, 2, 3, 127, 4096, 1000003, std::size_t{64} << 20U));

TEST(OpenclAllocation, TooMuchIsAnAllocationFailure) {
  Rig rig;
  rig.need_context();
  VectisMemory* memory = nullptr;
  const SlotResult result = call_slot(plugin().memory_allocate, rig.context, std::uint64_t{1} << 62U, &memory);
  EXPECT_EQ(result.status, VECTIS_ALLOCATION);
  EXPECT_EQ(memory, nullptr);
  EXPECT_THAT(result.text, HasSubstr("clCreateBuffer of 4611686018427387904 bytes"));
  rig.need_memory();
}

TEST(OpenclAllocation, ASliceSharesItsMemory) {
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  Bytes expected = noise(Rig::bytes);
  rig.upload(rig.memory, expected.data(), expected.size());
  ASSERT_TRUE(succeeded(call_slot(plugin().memory_slice, rig.memory, 256U, 300U, &rig.slice)));
  const auto part = expected.begin() + 256;
  EXPECT_EQ(rig.download(rig.slice, 300), Bytes(part, part + 300));
  EXPECT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, rig.slice, 10U, 20U, std::uint8_t{0xEE})));
  std::fill_n(part + 10, 20, std::uint8_t{0xEE});
  EXPECT_EQ(rig.download(rig.memory, expected.size()), expected);
}

TEST(OpenclAllocation, FreedMemoryStaysForWorkInFlight) {
  Rig rig;
  rig.need_streams();
  constexpr std::size_t size = std::size_t{16} << 20U;
  const Bytes sent = noise(size);
  Bytes got(size);
  {
    const auto memory = allocate(rig, size);
    EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_device, rig.stream, memory.get(), 0U, sent.data(), size)));
    EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_host, rig.stream, got.data(), memory.get(), 0U, size)));
  }
  EXPECT_TRUE(succeeded(rig.synchronize()));
  EXPECT_EQ(got, sent);
}

TEST(OpenclStream, KeepsTheOrderOfManyCommands) {
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  constexpr std::size_t commands = 500;  // many times the capacity of a stream's tracker
  for (std::size_t command = 0; command < commands; ++command) {
    ASSERT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, rig.memory, command, Rig::bytes - command,
                                    static_cast<std::uint8_t>(command))));
  }
  Bytes expected(Rig::bytes, static_cast<std::uint8_t>(commands - 1));
  for (std::size_t command = 0; command < commands; ++command) expected[command] = static_cast<std::uint8_t>(command);
  EXPECT_EQ(rig.download(rig.memory, Rig::bytes), expected);
}

// Starts work that lasts some tenths of a second.
void start_slow(Rig& rig, VectisStream* stream, VectisKernel* slow, VectisMemory* memory) {
  const std::uint32_t rounds = 200'000'000;
  const std::array arguments{VectisArgument{VECTIS_ARGUMENT_MEMORY, memory, nullptr, 0},
                             VectisArgument{VECTIS_ARGUMENT_VALUE, nullptr, &rounds, sizeof rounds}};
  const VectisLaunch launch{sizeof(VectisLaunch), {1, 1, 1}, {1, 1, 1}, arguments.data(), arguments.size()};
  rig.need_program();
  EXPECT_TRUE(succeeded(call_slot(plugin().launch, stream, slow, &launch)));
}

std::uint32_t slow_oracle() {
  std::uint32_t value = 0;
  for (std::uint32_t round = 0; round < 200'000'000; ++round) value = value * 1664525U + 1013904223U;
  return value;
}

class OpenclEvent : public testing::Test {
 protected:
  void SetUp() override {
    rig.need_streams();
    rig.need_memory();
    rig.need_event();
    rig.need_program();
    ASSERT_TRUE(succeeded(call_slot(plugin().kernel_create, rig.program, "slow", &rig.kernel)));
  }
  Rig rig;
};

TEST_F(OpenclEvent, NeverRecordedCountsAsPassed) {
  EXPECT_TRUE(succeeded(call_slot(plugin().event_query, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_wait_event, rig.stream, rig.event)));
  std::uint64_t time = 5;
  EXPECT_EQ(call_slot(plugin().event_timestamp, rig.event, &time).status, VECTIS_INVALID_INPUT);
  EXPECT_EQ(time, 5U);
}

TEST_F(OpenclEvent, PassesAfterTheWorkBeforeIt) {
  start_slow(rig, rig.stream, rig.kernel, rig.memory);
  ASSERT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  EXPECT_EQ(call_slot(plugin().event_query, rig.event).status, VECTIS_NOT_READY);
  std::uint64_t time = 0;
  EXPECT_EQ(call_slot(plugin().event_timestamp, rig.event, &time).status, VECTIS_NOT_READY);
  EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_query, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_timestamp, rig.event, &time)));
}

TEST_F(OpenclEvent, BlocksAnotherStream) {
  start_slow(rig, rig.stream, rig.kernel, rig.memory);
  ASSERT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  ASSERT_TRUE(succeeded(call_slot(plugin().stream_wait_event, rig.other_stream, rig.event)));
  std::uint32_t got = 0;
  EXPECT_TRUE(succeeded(call_slot(plugin().copy_to_host, rig.other_stream, &got, rig.memory, 0U, sizeof got)));
  EXPECT_TRUE(succeeded(call_slot(plugin().stream_synchronize, rig.other_stream)));
  EXPECT_EQ(got, slow_oracle());
}

TEST_F(OpenclEvent, TimestampsAreMonotonic) {
  std::vector<std::uint64_t> times;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(
        succeeded(call_slot(plugin().fill, rig.stream, rig.memory, 0U, Rig::bytes, static_cast<std::uint8_t>(round))));
    ASSERT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
    ASSERT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
    ASSERT_TRUE(succeeded(call_slot(plugin().event_timestamp, rig.event, &times.emplace_back())));
  }
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_LT(times.front(), times.back());
}

TEST_F(OpenclEvent, OutlivesItsStream) {
  ASSERT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, rig.memory, 0U, Rig::bytes, std::uint8_t{1})));
  ASSERT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  plugin().stream_destroy(std::exchange(rig.stream, nullptr));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
  EXPECT_TRUE(succeeded(call_slot(plugin().event_query, rig.event)));
}

TEST(OpenclConcurrent, ThreadsRecordAndQueryAnEvent) {
  Rig rig;
  rig.need_streams();
  rig.need_memory();
  rig.need_event();
  constexpr int rounds = 200;
  std::thread asking([&rig] {
    for (int round = 0; round < rounds; ++round) {
      const SlotResult result = call_slot(plugin().event_query, rig.event);
      EXPECT_TRUE(result.status == VECTIS_OK || result.status == VECTIS_NOT_READY) << result;
      EXPECT_TRUE(succeeded(call_slot(plugin().event_synchronize, rig.event)));
      EXPECT_TRUE(succeeded(call_slot(plugin().stream_wait_event, rig.other_stream, rig.event)));
    }
  });
  for (int round = 0; round < rounds; ++round) {
    EXPECT_TRUE(
        succeeded(call_slot(plugin().fill, rig.stream, rig.memory, 0U, Rig::bytes, static_cast<std::uint8_t>(round))));
    EXPECT_TRUE(succeeded(call_slot(plugin().event_record, rig.event, rig.stream)));
  }
  asking.join();
  EXPECT_TRUE(succeeded(rig.synchronize()));
}

}  // namespace
}  // namespace vectis::test
