// Copies between devices: equal bytes on every route, ordered on both streams.
#include <array>
#include <cstdlib>
#include <iostream>

#include "tests/cuda/steering.hpp"
#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

struct Pair {
  std::string to;
  std::string from;
  bool reach = false;  // whether the test driver lets its devices reach each other
};

CopyRoute expected_route(const Pair& pair) { return pair.reach ? CopyRoute::peer : CopyRoute::staged; }

// VECTIS_TEST_COPIES sets the number of additional copies of random sizes for every pair of devices.
std::size_t more_copies() {
  const char* wanted = std::getenv("VECTIS_TEST_COPIES");
  return wanted == nullptr ? 10 : std::strtoull(wanted, nullptr, 10);
}

std::string pair_name(const testing::TestParamInfo<Pair>& info) {
  std::string name = info.param.to + "_from_" + info.param.from + (info.param.reach ? "_peer" : "");
  std::ranges::replace(name, ':', '_');
  return name;
}

std::vector<Pair> pairs() {
  std::vector<Pair> all = {{"cpu", "cpu"}, {"failing", "cpu"}};
  for (const std::string& backend : test::test_driver_backends()) {
    all.push_back({backend + ":0", backend + ":1", true});
    all.push_back({backend + ":0", backend + ":0", true});
    all.push_back({backend + ":0", backend + ":1", false});
    all.push_back({backend + ":1", "cpu", false});
    all.push_back({"cpu", backend + ":1", false});
  }
#if defined(VECTIS_HAS_CUDA) && defined(VECTIS_HAS_HIP)
  all.push_back({"cuda:0", "hip:1"});
#endif
#if defined(VECTIS_HAS_OPENCL)
  all.push_back({"opencl:0", "opencl:1"});
#endif
#if defined(VECTIS_HAS_WEBGPU)
  all.push_back({"webgpu:0", "webgpu:1"});
#endif
  return all;
}

class Copies : public test::DevicesTest, public testing::WithParamInterface<Pair> {
 protected:
  Copies() {
    for (const std::string& backend : test::test_driver_backends()) {
      test::driver_of(backend).set("peer", GetParam().reach ? 1 : 0);
      test::driver_of(backend).set_order(test::seed() | 1U);
    }
  }
  ~Copies() override {
    for (const std::string& backend : test::test_driver_backends()) {
      const VectisTestDriver& driver = test::driver_of(backend);
      driver.set("peer", 1);
      EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
    }
  }

  static void TearDownTestSuite() {
    std::cout << "copies between devices with the right bytes: " << right[0] << " on one device, " << right[1]
              << " by peer, " << right[2] << " staged\n";
  }
  static inline std::array<std::size_t, 3> right{};  // by route

  Random random{test::seed()};
  DeviceContext to_context{device(GetParam().to)};
  DeviceContext from_context{device(GetParam().from)};
  Stream to{to_context};
  Stream from{from_context};
};

TEST_P(Copies, CopyTheSameBytesOnEveryRoute) {
  constexpr std::size_t block = std::size_t{4} << 20U;  // of staging
  std::vector<std::size_t> sizes = {1, 3, 1000, 65537, block - 1, block + 1, 2 * block + 5};
  for (std::size_t more = 0; more < more_copies(); ++more) sizes.push_back(1 + random.next() % (1U << (more % 20)));
  for (const std::size_t bytes : sizes) {
    const std::size_t target_offset = random.next() % 9;
    const std::size_t source_offset = random.next() % 9;
    const std::vector<std::byte> sent = test::random_bytes(random, bytes + source_offset + 3);
    const std::vector<std::byte> before = test::random_bytes(random, bytes + target_offset + 5);
    const DeviceMemory source(from_context, sent.size());
    const DeviceMemory target(to_context, before.size());
    from.copy_to_device(source, 0, sent);
    to.copy_to_device(target, 0, before);
    EXPECT_EQ(copy_between(to, target, target_offset, from, source, source_offset, bytes), expected_route(GetParam()));
    std::vector<std::byte> received(before.size());
    to.copy_to_host(received, target, 0);
    to.synchronize();
    std::vector<std::byte> expected = before;
    std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(source_offset), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(target_offset));
    EXPECT_EQ(received, expected) << bytes << " bytes";
    if (received == expected) ++right[static_cast<std::size_t>(expected_route(GetParam()))];
  }
}

// A staged copy uses pinned memory where one of the two backends has it, and reuses it for the next copy.
TEST_P(Copies, AreStagedInPinnedMemory) {
  constexpr std::size_t bytes = std::size_t{9} << 20U;
  const DeviceMemory source(from_context, bytes);
  const DeviceMemory target(to_context, bytes);
  const std::vector<std::string> backends = test::test_driver_backends();
  const auto sum = [&](auto counter) {
    std::int64_t all = 0;
    for (const std::string& backend : backends) all += (test::driver_of(backend).*counter)();
    return all;
  };
  const auto pinned_memories = [&] {
    std::int64_t all = 0;
    for (const std::string& backend : backends) all += test::driver_of(backend).live(VECTIS_DRIVER_PINNED);
    return all;
  };
  for (int round = 0; round < 3; ++round) {
    const std::int64_t pinned = sum(&VectisTestDriver::pinned_copies);
    const std::int64_t pageable = sum(&VectisTestDriver::pageable_copies);
    const CopyRoute route = copy_between(to, target, 0, from, source, 0, bytes);
    const bool both = GetParam().to == "cuda:0" && GetParam().from == "hip:1";  // the memory of one is not the other's
    if (!both) {
      EXPECT_EQ(sum(&VectisTestDriver::pageable_copies), pageable);
    }
    const bool uses_driver = GetParam().to != "cpu" || GetParam().from != "cpu";
    const std::string& named = GetParam().to == "cpu" ? GetParam().from : GetParam().to;
    if (route == CopyRoute::staged && uses_driver && (named.starts_with("cuda") || named.starts_with("hip"))) {
      EXPECT_GE(sum(&VectisTestDriver::pinned_copies), pinned + 3);
      EXPECT_EQ(pinned_memories(), 1);
    }
  }
}

// Without waiting in between: the source is written before and overwritten after the copy, the target read before and
// after.
TEST_P(Copies, KeepTheOrderOfBothStreams) {
  constexpr std::size_t bytes = 5000;
  constexpr std::size_t rounds = 40;
  const DeviceMemory source(from_context, bytes);
  const DeviceMemory target(to_context, bytes);
  to.fill(target, 0, bytes, 255);
  std::vector<std::vector<std::byte>> earlier(rounds, std::vector<std::byte>(bytes));
  std::vector<std::vector<std::byte>> later = earlier;
  for (std::size_t round = 0; round < rounds; ++round) {
    from.fill(source, 0, bytes, static_cast<std::uint8_t>(round));
    to.copy_to_host(earlier[round], target, 0);
    copy_between(to, target, 0, from, source, 0, bytes);
    from.fill(source, 0, bytes, 99);
    to.copy_to_host(later[round], target, 0);
  }
  from.synchronize();
  to.synchronize();
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto before = static_cast<std::byte>(round == 0 ? 255 : round - 1);
    EXPECT_EQ(earlier[round], std::vector<std::byte>(bytes, before)) << round;
    EXPECT_EQ(later[round], std::vector<std::byte>(bytes, static_cast<std::byte>(round))) << round;
  }
}

TEST_P(Copies, AllowFreeingTheSourceImmediately) {
  constexpr std::size_t bytes = 3000;
  const DeviceMemory target(to_context, bytes);
  for (int round = 0; round < 10; ++round) {
    {
      Stream short_lived(from_context);
      const DeviceMemory source(from_context, bytes);
      short_lived.fill(source, 0, bytes, static_cast<std::uint8_t>(round));
      copy_between(to, target, 0, short_lived, source, 0, bytes);
    }
    std::vector<std::byte> received(bytes);
    to.copy_to_host(received, target, 0);
    to.synchronize();
    EXPECT_EQ(received, std::vector<std::byte>(bytes, static_cast<std::byte>(round)));
  }
}

TEST_P(Copies, RejectInvalidRangesAndMemoryOfOtherContexts) {
  const DeviceMemory source(from_context, 100);
  const DeviceMemory target(to_context, 100);
  EXPECT_ERROR(copy_between(to, target, 1, from, source, 0, 100), ErrorCode::invalid_input, "[copy_between]",
               "100 bytes at offset 1");
  EXPECT_ERROR(copy_between(to, target, 0, from, source, 100, 1), ErrorCode::invalid_input, "1 bytes at offset 100");
  EXPECT_ERROR(copy_between(to, source, 0, from, source, 0, 1), ErrorCode::invalid_input, "another context");
  EXPECT_ERROR(copy_between(to, target, 0, from, target, 0, 1), ErrorCode::invalid_input, "another context");
  copy_between(to, target, 100, from, source, 100, 0);
  copy_between(to, target, 0, from, source, 0, 100);
}

TEST_P(Copies, StayOnOneDevice) {
  constexpr std::size_t bytes = 4000;
  const DeviceMemory source(to_context, bytes);
  const DeviceMemory target(to_context, bytes);
  Stream other(to_context);
  for (int round = 0; round < 20; ++round) {
    other.fill(source, 0, bytes, static_cast<std::uint8_t>(round));
    EXPECT_EQ(copy_between(to, target, 0, other, source, 0, bytes), CopyRoute::on_device);
    other.fill(source, 0, bytes, 99);
    EXPECT_EQ(copy_between(to, target, 7, to, target, 0, 7), CopyRoute::on_device);
    std::vector<std::byte> received(bytes);
    to.copy_to_host(received, target, 0);
    to.synchronize();
    EXPECT_EQ(received, std::vector<std::byte>(bytes, static_cast<std::byte>(round)));
  }
  EXPECT_ERROR(copy_between(to, target, 3, to, target, 0, 7), ErrorCode::invalid_input, "overlap");
}

class HostMemories : public test::DevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  ~HostMemories() override { registry().configure("failing", "reset", ""); }
};

TEST_P(HostMemories, ServeCopiesBothWays) {
  const DeviceContext context(device(GetParam()));
  const bool has_pinned = GetParam() == "cuda" || GetParam() == "hip";
  Stream stream(context);
  for (const std::size_t bytes : std::array<std::size_t, 4>{1, 7, 4096, 1000003}) {
    HostMemory sent(context, bytes);
    HostMemory received(context, bytes);
    EXPECT_EQ(sent.pinned(), has_pinned);
    EXPECT_EQ(sent.bytes().size(), bytes);
    std::ranges::fill(sent.bytes(), std::byte{42});
    const DeviceMemory memory(context, bytes);
    stream.copy_to_device(memory, 0, sent.bytes());
    stream.copy_to_host(received.bytes(), memory, 0);
    stream.synchronize();
    EXPECT_TRUE(std::ranges::equal(sent.bytes(), received.bytes()));
    const HostMemory moved = std::move(received);
    EXPECT_TRUE(std::ranges::equal(sent.bytes(), moved.bytes()));
    sent = HostMemory(context, 3);
    EXPECT_EQ(sent.bytes().size(), 3U);
  }
  EXPECT_TRUE(HostMemory(context, 0).bytes().empty());
}

// The copy waits behind slow work, and the memory's place is soon taken by others.
TEST_P(HostMemories, MayBeDestroyedBeforeTheirCopiesHaveRun) {
  constexpr std::size_t bytes = 1 << 16;
  constexpr std::size_t slow_bytes = 16 << 20;
  const DeviceContext context(device(GetParam()));
  Stream stream(context);
  const DeviceMemory memory(context, bytes);
  const DeviceMemory slow(context, slow_bytes);
  stream.fill(memory, 0, bytes, 7);
  for (int round = 0; round < 3; ++round) {
    for (std::uint8_t value = 0; value < 4; ++value) stream.fill(slow, 0, slow_bytes, value);
    {
      const HostMemory received(context, bytes);
      stream.copy_to_host(received.bytes(), memory, 0);
    }
    const std::vector<std::vector<std::byte>> others(8, std::vector<std::byte>(bytes, std::byte{1}));
    stream.synchronize();
    for (const auto& other : others) EXPECT_EQ(other, others.front());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, HostMemories, testing::ValuesIn(test::computing_devices()), test::case_name);

// Out of pinned memory, HostMemory falls back to pageable memory; any other failure is thrown.
TEST(HostMemory, IsPageableWithoutPinnedMemory) {
  for (const std::string& backend : test::test_driver_backends()) {
    Runtime runtime;
    const DeviceContext context(runtime.service<DeviceRegistry>().find(backend).value());
    const VectisTestDriver& driver = test::driver_of(backend);
    const char* function = backend == "hip" ? "hipHostMalloc" : "cuMemHostAlloc";
    driver.fail_call(function, 1, 2);
    const HostMemory ordinary(context, 1000);
    EXPECT_FALSE(ordinary.pinned());
    EXPECT_EQ(ordinary.bytes().size(), 1000U);
    driver.fail_call(function, 1, 999);
    EXPECT_ERROR(HostMemory(context, 1000), ErrorCode::driver_failure, "999");
    EXPECT_TRUE(HostMemory(context, 1000).pinned());
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Copies, testing::ValuesIn(pairs()), pair_name);

class StagedFaults : public test::DevicesTest {
 protected:
  ~StagedFaults() override { registry().configure("failing", "reset", ""); }
};

// A failure in the middle of a staged copy of several blocks is thrown, and a new stream works.
TEST_F(StagedFaults, AreReportedAndLeaveTheDevicesUsable) {
  constexpr std::size_t bytes = std::size_t{13} << 20U;
  const DeviceContext failing(device("failing"));
  const DeviceContext cpu(device("cpu"));
  const DeviceMemory target(failing, bytes);
  const DeviceMemory source(cpu, bytes);
  for (const char* slot : {"copy_to_device", "event_record", "event_synchronize", "stream_synchronize"}) {
    for (int nth = 1; nth <= 3; ++nth) {
      Stream to(failing);
      Stream from(cpu);
      from.fill(source, 0, bytes, 7);
      if (nth > 1 && std::string_view(slot) == "stream_synchronize") continue;  // there is one
      if (nth > 2 && std::string_view(slot) == "event_synchronize") continue;   // two blocks are free at first
      registry().configure("failing", "fail", std::string(slot) + " " + std::to_string(nth) + " driver_failure");
      EXPECT_ERROR(copy_between(to, target, 0, from, source, 0, bytes), ErrorCode::driver_failure, slot);
      registry().configure("failing", "reset", "");
      Stream fresh(failing);
      EXPECT_EQ(copy_between(fresh, target, 0, from, source, 0, bytes), CopyRoute::staged);
    }
  }
}

}  // namespace
}  // namespace vectis
