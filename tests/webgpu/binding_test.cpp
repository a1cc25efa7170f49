// Buffers larger than a binding may be. The device is created with a lowered limit, which wgpu enforces.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "harness.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t limit = 64 << 10;

class WebgpuBinding : public testing::TestWithParam<std::string> {
 protected:
  std::uint64_t below(std::uint64_t most) { return random() % most; }

  std::mt19937_64 random{seed()};
  Rig rig{GetParam(), [](TestHost& host) { host.settings["binding_kb"] = "64"; }};
};

INSTANTIATE_TEST_SUITE_P(GraphicsApis, WebgpuBinding, testing::ValuesIn(graphics_apis()),
                         [](const auto& tested) { return tested.param; });

TEST_P(WebgpuBinding, LimitIsTheSetting) {
  EXPECT_EQ(rig.info.binding_bytes_max, limit);
  EXPECT_GT(rig.info.allocation_bytes_max, std::uint64_t{128} << 20U);
  const Rig usual(GetParam());
  EXPECT_GE(usual.info.binding_bytes_max, std::uint64_t{128} << 20U);
  EXPECT_GT(usual.info.allocation_bytes_max, usual.info.binding_bytes_max);
}

// Compared with the same steps on host memory.
TEST_P(WebgpuBinding, BuffersAboveTheLimitAreFilledAndCopied) {
  constexpr std::uint64_t size = 5 * limit + 4321;
  const std::array memories{rig.allocate(size), rig.allocate(size)};
  std::array<Bytes, 2> bytes{Bytes(size), Bytes(size)};
  for (std::size_t m = 0; m < 2; ++m) {
    for (std::uint8_t& byte : bytes[m]) byte = static_cast<std::uint8_t>(random());
    rig.upload(memories[m].get(), bytes[m].data(), size);
  }
  for (int step = 0; step < 60; ++step) {
    const std::size_t from = below(2);
    const std::size_t to = below(2);
    const std::uint64_t count = 1 + below(below(2) == 0 ? 100 : size / 2 - 1);
    // In one buffer the two ranges must not meet.
    const std::uint64_t source = below(size / 2 - count + 1);
    const std::uint64_t target = size / 2 + below(size - size / 2 - count + 1);
    if (below(3) == 0) {
      const auto value = static_cast<std::uint8_t>(random());
      ASSERT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, memories[to].get(), target, count, value)));
      std::fill_n(bytes[to].begin() + static_cast<std::ptrdiff_t>(target), count, value);
    } else {
      ASSERT_TRUE(succeeded(call_slot(plugin().copy_on_device, rig.stream, memories[to].get(), target,
                                      memories[from].get(), source, count)));
      std::copy_n(bytes[from].begin() + static_cast<std::ptrdiff_t>(source), count,
                  bytes[to].begin() + static_cast<std::ptrdiff_t>(target));
    }
  }
  for (std::size_t m = 0; m < 2; ++m) EXPECT_EQ(rig.download(memories[m].get(), size), bytes[m]) << m;
}

TEST_P(WebgpuBinding, SlicesAreBoundWithTheirOffset) {
  const std::uint64_t step = rig.info.memory_alignment;
  const std::uint64_t size = 4 * limit;
  const Memory large = rig.allocate(size);
  const Kernel add = rig.kernel(add_text, "add");
  const Bytes zeros(size);
  rig.upload(large.get(), zeros.data(), size);
  std::vector<std::uint32_t> expected(size / 4);
  for (std::uint32_t term = 1; term <= 20; ++term) {
    const std::uint64_t from = below(size / 2 - limit) / step * step;
    const std::uint64_t to = (size / 2 + below(size / 2 - limit)) / step * step;
    const std::uint32_t count = static_cast<std::uint32_t>(1 + below(limit / 4));
    const Memory source = rig.slice(large, from, limit);
    const Memory target = rig.slice(large, to, limit);
    ASSERT_TRUE(
        succeeded(launch(rig.stream, add, {{source.get(), target.get()}, {term, count}, {(count + 63) / 64, 1, 1}})));
    for (std::uint32_t i = 0; i < count; ++i) expected[to / 4 + i] = expected[from / 4 + i] + term;
  }
  const Bytes came = rig.download(large.get(), size);
  EXPECT_EQ(std::memcmp(came.data(), expected.data(), size), 0);
}

TEST_P(WebgpuBinding, AMemoryAboveTheLimitIsRejectedWithSizeAndRemedy) {
  const Memory in = rig.allocate(256);
  const Memory large = rig.allocate(limit + 4);
  const SlotResult result = launch(rig.stream, rig.kernel(add_text, "add"), {{in.get(), large.get()}, {1, 64}});
  EXPECT_EQ(result.status, VECTIS_INVALID_INPUT);
  EXPECT_THAT(result.text, HasSubstr("argument 1 is a memory of 65540 bytes"));
  EXPECT_THAT(result.text, HasSubstr("at most 65536 of one to a kernel; launch over slices"));
}

TEST_P(WebgpuBinding, ASettingThatIsNoIntegerIsRejected) {
  for (const char* wrong : {"0", "-1", "64k", ""}) {
    TestHost host;
    host.settings["binding_kb"] = wrong;
    VectisBackendState* state = nullptr;
    const SlotResult result = call_slot(plugin().open, host.get(), &state);
    EXPECT_EQ(result.status, VECTIS_INVALID_INPUT) << wrong;
    EXPECT_THAT(result.text, HasSubstr("binding_kb is '"));
    if (state != nullptr) plugin().close(state);
  }
}

}  // namespace
}  // namespace vectis::test
