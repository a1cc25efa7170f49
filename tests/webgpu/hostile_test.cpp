// Two hundred invalid kernels and launches: each is a typed error, none aborts the process, and wgpu itself rejects
// most of them.
#include "hostile.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "harness.hpp"

namespace vectis::test {
namespace {

// Whether the message is that of a check in the plug-in.
bool is_own_check(const std::string& text) {
  constexpr std::array<std::string_view, 9> own{
      "not UTF-8",        "the text is too complex", "no entry point", "compiled for",
      "is shared memory", "is a value of",           "is buffer 65",   "is value 257",
      "device's limit"};
  return std::any_of(own.begin(), own.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

struct Tally {
  std::size_t cases = 0;
  std::size_t by_wgpu = 0;

  void add(const std::string& what, const SlotResult& result) {
    ++cases;
    EXPECT_THAT(result.status,
                testing::AnyOf(VECTIS_COMPILE_FAILED, VECTIS_INVALID_INPUT, VECTIS_ALLOCATION, VECTIS_UNSUPPORTED))
        << what << "\n"
        << result;
    EXPECT_FALSE(result.text.empty()) << what;
    if (!is_own_check(result.text)) ++by_wgpu;
  }
};

void compile_all(const Rig& rig, const std::vector<HostileKernel>& kernels, Tally& tally) {
  for (const HostileKernel& hostile : kernels) {
    Kernel kernel;
    tally.add(hostile.what, rig.compile(hostile.text, "main", &kernel));
  }
}

// A kernel with a struct of 1 KiB in storage, an array, and two scalars.
constexpr std::string_view launched = R"(
struct Large { head: array<vec4<u32>, 64>, }
struct Scalars { a: vec4<u32>, b: vec4<u32> }
@group(0) @binding(0) var<storage, read_write> large: Large;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@group(0) @binding(2) var<uniform> scalars: Scalars;
@compute @workgroup_size(4, 2, 1)
fn main() { words[0] = large.head[1].x + scalars.a.x + scalars.b.x; }
)";

void launch_all(Rig& rig, Tally& tally) {
  const Kernel kernel = rig.kernel(launched, "main");
  const Memory large = rig.allocate(1024);
  const Memory small = rig.allocate(1020);
  const Memory words = rig.allocate(4);
  const std::vector<std::uint32_t> values(8, 1);
  const std::array<std::uint32_t, 3> group{4, 2, 1};
  const Launch good{{large.get(), words.get()}, values, {1, 1, 1}, group};
  const auto expect_error = [&](const std::string& what, const Launch& wrong) {
    tally.add(what, launch(rig.stream, kernel, wrong));
    ASSERT_TRUE(succeeded(launch(rig.stream, kernel, good))) << "after " << what;
  };
  for (std::size_t count = 0; count <= 70; count += count < 6 ? 1 : 16) {
    if (count == 2) continue;
    expect_error(std::to_string(count) + " buffers", {std::vector(count, large.get()), values, {1, 1, 1}, group});
  }
  for (const std::size_t count : {0U, 1U, 3U, 4U, 300U, 9000U}) {
    expect_error(std::to_string(count) + " values",
                 {good.buffers, std::vector<std::uint32_t>(count, 1), {1, 1, 1}, group});
  }
  expect_error("a struct too small", {{small.get(), words.get()}, values, {1, 1, 1}, group});
  expect_error("a struct of one word", {{words.get(), words.get()}, values, {1, 1, 1}, group});
  for (const std::uint32_t many : {65536U, 1000000U, 4294967295U}) {
    expect_error("groups along x", {good.buffers, values, {many, 1, 1}, group});
    expect_error("groups along y", {good.buffers, values, {1, many, 1}, group});
    expect_error("groups along z", {good.buffers, values, {1, 1, many}, group});
    expect_error("groups everywhere", {good.buffers, values, {many, many, many}, group});
  }
  for (const auto& other : {std::array{1U, 1U, 1U}, std::array{2U, 4U, 1U}, std::array{4U, 2U, 2U}}) {
    expect_error("another group", {good.buffers, values, {1, 1, 1}, other});
  }
  EXPECT_TRUE(succeeded(rig.synchronize()));
}

void allocate_all(Rig& rig, Tally& tally) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 40U, std::uint64_t{1} << 48U, std::uint64_t{1} << 62U, UINT64_MAX / 2}) {
    VectisMemory* memory = nullptr;
    tally.add(std::to_string(bytes) + " bytes", call_slot(plugin().memory_allocate, rig.context, bytes, &memory));
  }
}

class WebgpuHostile : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(GraphicsApis, WebgpuHostile, testing::ValuesIn(graphics_apis()),
                         [](const auto& tested) { return tested.param; });

TEST_P(WebgpuHostile, KernelsAndLaunchesAreTypedErrors) {
  Rig rig(GetParam());
  Tally tally;
  compile_all(rig, hostile_statements(), tally);
  compile_all(rig, hostile_declarations(), tally);
  compile_all(rig, hostile_texts(), tally);
  compile_all(rig, hostile_sizes(), tally);
  launch_all(rig, tally);
  allocate_all(rig, tally);
  std::cout << tally.cases << " invalid kernels and launches over " << GetParam() << ", " << tally.by_wgpu
            << " rejected by wgpu itself\n";
  EXPECT_GE(tally.cases, 200U);
  EXPECT_GE(tally.by_wgpu, 100U);
  const Memory memory = rig.allocate(16);
  rig.upload(memory.get(), "still here, then", 16);
  EXPECT_EQ(rig.download(memory.get(), 5), (Bytes{'s', 't', 'i', 'l', 'l'}));
}

}  // namespace
}  // namespace vectis::test
