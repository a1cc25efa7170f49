// Two hundred wrong kernels and launches: each a typed error, none the end of the process, and most of them found by
// wgpu itself rather than by a check of the plug-in's before it.
#include "hostile.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "harness.hpp"

namespace vectis::test {
namespace {

// Words of the plug-in's own checks.
bool is_own_check(const std::string& text) {
  constexpr std::array<std::string_view, 9> own{
      "no UTF-8",      "the text is too deep", "no entry point",     "compiled for",     "is shared memory",
      "is a value of", "one buffer too many",  "one value too many", "device's limit of"};
  return std::any_of(own.begin(), own.end(),
                     [&](std::string_view words) { return text.find(words) != std::string::npos; });
}

struct Tally {
  std::size_t cases = 0;
  std::size_t by_wgpu = 0;

  void add(const std::string& what, const Answer& answer) {
    ++cases;
    EXPECT_THAT(answer.status,
                testing::AnyOf(VECTIS_COMPILE_FAILED, VECTIS_INVALID_INPUT, VECTIS_ALLOCATION, VECTIS_UNSUPPORTED))
        << what << "\n"
        << answer;
    EXPECT_FALSE(answer.text.empty()) << what;
    if (!is_own_check(answer.text)) ++by_wgpu;
  }
};

void refuse_kernels(const Rig& rig, const std::vector<HostileKernel>& kernels, Tally& tally) {
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

void refuse_launches(Rig& rig, Tally& tally) {
  const Kernel kernel = rig.kernel(launched, "main");
  const Memory large = rig.allocate(1024);
  const Memory small = rig.allocate(1020);
  const Memory words = rig.allocate(4);
  const std::vector<std::uint32_t> values(8, 1);
  const std::array<std::uint32_t, 3> group{4, 2, 1};
  const Launch good{{large.get(), words.get()}, values, {1, 1, 1}, group};
  const auto refuse = [&](const std::string& what, const Launch& wrong) {
    tally.add(what, launch(rig.stream, kernel, wrong));
    ASSERT_TRUE(works(launch(rig.stream, kernel, good))) << "after " << what;
  };
  for (std::size_t count = 0; count <= 70; count += count < 6 ? 1 : 16) {
    if (count == 2) continue;
    refuse(std::to_string(count) + " buffers", {std::vector(count, large.get()), values, {1, 1, 1}, group});
  }
  for (const std::size_t count : {0U, 1U, 3U, 4U, 300U, 9000U}) {
    refuse(std::to_string(count) + " values", {good.buffers, std::vector<std::uint32_t>(count, 1), {1, 1, 1}, group});
  }
  refuse("a struct too small", {{small.get(), words.get()}, values, {1, 1, 1}, group});
  refuse("a struct of one word", {{words.get(), words.get()}, values, {1, 1, 1}, group});
  for (const std::uint32_t many : {65536U, 1000000U, 4294967295U}) {
    refuse("groups along x", {good.buffers, values, {many, 1, 1}, group});
    refuse("groups along y", {good.buffers, values, {1, many, 1}, group});
    refuse("groups along z", {good.buffers, values, {1, 1, many}, group});
    refuse("groups everywhere", {good.buffers, values, {many, many, many}, group});
  }
  for (const auto& other : {std::array{1U, 1U, 1U}, std::array{2U, 4U, 1U}, std::array{4U, 2U, 2U}}) {
    refuse("another group", {good.buffers, values, {1, 1, 1}, other});
  }
  EXPECT_TRUE(works(rig.synchronize()));
}

void refuse_sizes(Rig& rig, Tally& tally) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 40U, std::uint64_t{1} << 48U, std::uint64_t{1} << 62U, UINT64_MAX / 2}) {
    VectisMemory* memory = nullptr;
    tally.add(std::to_string(bytes) + " bytes", ask(plugin().memory_allocate, rig.context, bytes, &memory));
  }
}

class WebgpuHostile : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Interfaces, WebgpuHostile, testing::ValuesIn(interfaces()),
                         [](const auto& tested) { return tested.param; });

TEST_P(WebgpuHostile, KernelsAndLaunchesAreTypedErrors) {
  Rig rig(GetParam());
  Tally tally;
  refuse_kernels(rig, hostile_statements(), tally);
  refuse_kernels(rig, hostile_declarations(), tally);
  refuse_kernels(rig, hostile_texts(), tally);
  refuse_kernels(rig, hostile_sizes(), tally);
  refuse_launches(rig, tally);
  refuse_sizes(rig, tally);
  std::cout << tally.cases << " wrong kernels and launches over " << GetParam() << ", " << tally.by_wgpu
            << " refused by wgpu itself\n";
  EXPECT_GE(tally.cases, 200U);
  EXPECT_GE(tally.by_wgpu, 100U);
  const Memory memory = rig.allocate(16);
  rig.upload(memory.get(), "still here, then", 16);
  EXPECT_EQ(rig.download(memory.get(), 5), (Bytes{'s', 't', 'i', 'l', 'l'}));
}

}  // namespace
}  // namespace vectis::test
