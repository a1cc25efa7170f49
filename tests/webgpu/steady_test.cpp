// A repeated launch creates no objects of wgpu but encoders and command buffers, which can be used only once.
#include <dlfcn.h>
#include <wgpu.h>

#include <atomic>

#include "harness.hpp"

namespace vectis::test {
namespace {

std::atomic<std::size_t> made{0};

// Replaces a create function of wgpu and counts its calls. `Tag` separates functions of the same type.
template <class Function, class Tag>
struct Counted;

template <class Result, class... Arguments, class Tag>
struct Counted<Result (*)(Arguments...), Tag> {
  static inline Result (*real)(Arguments...) = nullptr;
  static Result call(Arguments... arguments) {
    ++made;
    return real(arguments...);
  }

  static void stand_in(TestHost& host, const char* symbol) {
    void* library = dlopen(host.settings.at("library").c_str(), RTLD_NOW | RTLD_LOCAL);
    real = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, symbol));
    host.replaced[symbol] = reinterpret_cast<void*>(&call);
  }
};

#define VECTIS_COUNT(symbol) Counted<decltype(&::symbol), struct symbol##Tag>::stand_in(host, #symbol)

void count_all(TestHost& host) {
  VECTIS_COUNT(wgpuDeviceCreateBuffer);
  VECTIS_COUNT(wgpuDeviceCreateBindGroup);
  VECTIS_COUNT(wgpuDeviceCreateBindGroupLayout);
  VECTIS_COUNT(wgpuDeviceCreatePipelineLayout);
  VECTIS_COUNT(wgpuDeviceCreateComputePipeline);
  VECTIS_COUNT(wgpuDeviceCreateShaderModule);
}

#undef VECTIS_COUNT

TEST(WebgpuSteady, RepeatedWorkCreatesNothing) {
  Rig rig("vulkan", count_all);
  const Kernel add = rig.kernel(add_text, "add");
  const Memory whole = rig.allocate(4096);
  std::vector<std::uint32_t> values(64, 1);
  const auto work = [&](std::uint32_t term) {
    const Memory in = rig.slice(whole, 0, 256);  // fresh handles of the same places, as a pool gives them
    const Memory out = rig.slice(whole, 1024, 256);
    rig.upload(in.get(), values.data(), 255, 1);  // ragged at both ends
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(succeeded(launch(rig.stream, add, {{in.get(), out.get()}, {term, 64}})));
    ASSERT_TRUE(succeeded(call_slot(plugin().copy_on_device, rig.stream, in.get(), 3U, out.get(), 5U, 100U)));
    ASSERT_TRUE(succeeded(call_slot(plugin().fill, rig.stream, in.get(), 3U, 100U, std::uint8_t{7})));
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
