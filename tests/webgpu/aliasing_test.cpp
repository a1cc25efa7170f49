// No kernel of the plug-in itself binds the same bytes of a buffer twice: WebGPU forbids it when a binding is writable,
// and a driver may rely on that.
#include <dlfcn.h>
#include <wgpu.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "harness.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

std::atomic<int> groups{0};
std::atomic<int> aliased{0};  // groups of which two entries share bytes
decltype(&::wgpuDeviceCreateBindGroup) create_group = nullptr;

bool overlap(const WGPUBindGroupEntry& a, const WGPUBindGroupEntry& b) {
  return a.buffer != nullptr && a.buffer == b.buffer && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

WGPUBindGroup checked_group(WGPUDevice device, const WGPUBindGroupDescriptor* description) {
  ++groups;
  const WGPUBindGroupEntry* const end = description->entries + description->entryCount;
  const bool shares = std::any_of(description->entries, end, [&](const WGPUBindGroupEntry& a) {
    return std::any_of(&a + 1, end, [&](const WGPUBindGroupEntry& b) { return overlap(a, b); });
  });
  if (shares) ++aliased;
  return create_group(device, description);
}

void check_groups(TestHost& host) {
  void* library = dlopen(host.settings.at("library").c_str(), RTLD_NOW | RTLD_LOCAL);
  create_group = reinterpret_cast<decltype(&::wgpuDeviceCreateBindGroup)>(dlsym(library, "wgpuDeviceCreateBindGroup"));
  host.replaced["wgpuDeviceCreateBindGroup"] = reinterpret_cast<void*>(&checked_group);
}

class WebgpuAliasing : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(GraphicsApis, WebgpuAliasing, testing::ValuesIn(graphics_apis()),
                         [](const auto& tested) { return tested.param; });

TEST_P(WebgpuAliasing, CopiesWithinOneBufferBindItOnce) {
  groups = aliased = 0;
  std::mt19937_64 random{seed()};
  Rig rig(GetParam(), check_groups);
  const std::uint64_t size = 8 << 20;  // twice the plug-in's scratch buffer
  const Memory memory = rig.allocate(2 * size + 8);
  Bytes expected(2 * size + 8);
  for (std::size_t i = 0; i < expected.size(); i += 97) expected[i] = static_cast<std::uint8_t>(random());
  rig.upload(memory.get(), expected.data(), expected.size());
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{1000}, size}) {
    for (const std::uint64_t skew : {0U, 1U, 3U}) {
      ASSERT_TRUE(succeeded(call_slot(plugin().copy_on_device, rig.stream, memory.get(), count + skew, memory.get(),
                                      std::uint64_t{0}, count)));
      std::copy_n(expected.begin(), count, expected.begin() + static_cast<std::ptrdiff_t>(count + skew));
    }
  }
  EXPECT_EQ(rig.download(memory.get(), expected.size()), expected) << "seed " << seed();
  EXPECT_GT(groups, 0);
  EXPECT_EQ(aliased, 0);
}

}  // namespace
}  // namespace vectis::test
