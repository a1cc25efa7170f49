// What a repeated launch makes of wgpu's objects: encoders and command buffers, which wgpu uses up, and nothing else.
#include <dlfcn.h>

#include <atomic>

#include "harness.hpp"

namespace vectis::test {
namespace {

std::atomic<std::size_t> made{0};

// Stands for a function of wgpu that makes something, and counts.
template <int Number>
struct Counted {
  static inline void* (*real)(void*, const void*) = nullptr;
  static void* call(void* device, const void* wanted) {
    ++made;
    return real(device, wanted);
  }
};

template <int Number>
void count(TestHost& host, const char* symbol) {
  void* library = dlopen(host.settings.at("library").c_str(), RTLD_NOW | RTLD_LOCAL);
  Counted<Number>::real = reinterpret_cast<void* (*)(void*, const void*)>(dlsym(library, symbol));
  host.replaced[symbol] = reinterpret_cast<void*>(&Counted<Number>::call);
}

void count_all(TestHost& host) {
  count<0>(host, "wgpuDeviceCreateBuffer");
  count<1>(host, "wgpuDeviceCreateBindGroup");
  count<2>(host, "wgpuDeviceCreateBindGroupLayout");
  count<3>(host, "wgpuDeviceCreatePipelineLayout");
  count<4>(host, "wgpuDeviceCreateComputePipeline");
  count<5>(host, "wgpuDeviceCreateShaderModule");
}

TEST(WebgpuSteady, RepeatedWorkMakesNothing) {
  Rig rig("vulkan", count_all);
  const Kernel add = rig.kernel(add_text, "add");
  const Memory whole = rig.allocate(4096);
  std::vector<std::uint32_t> values(64, 1);
  const auto work = [&](std::uint32_t term) {
    const Memory in = rig.slice(whole, 0, 256);  // fresh handles of the same places, as a pool gives them
    const Memory out = rig.slice(whole, 1024, 256);
    rig.upload(in.get(), values.data(), 255, 1);  // ragged at both ends
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(works(launch(rig.stream, add, {{in.get(), out.get()}, {term, 64}})));
    ASSERT_TRUE(works(ask(plugin().copy_on_device, rig.stream, in.get(), 3U, out.get(), 5U, 100U)));
    ASSERT_TRUE(works(ask(plugin().fill, rig.stream, in.get(), 3U, 100U, std::uint8_t{7})));
    EXPECT_EQ(rig.download(out.get(), 99, 3).size(), 99U);
  };
  work(1);
  const std::size_t before = made;
  EXPECT_GT(before, 0U);
  for (std::uint32_t round = 0; round < 20; ++round) work(round);
  EXPECT_EQ(made, before);
}

}  // namespace
}  // namespace vectis::test
