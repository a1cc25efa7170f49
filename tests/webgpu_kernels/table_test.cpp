// The kernels that the WebGPU plug-in carries.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/webgpu/kernels.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/device/device.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::test {
namespace {

using webgpu::BuiltinKernel;

TEST(WebGpuKernels, HoldEveryTextOfEveryDevice) {
  const std::span<const BuiltinKernel> table = webgpu::builtin_kernels();
  for (const DeviceInfo& device : prebuilt_devices()) {
    for (const KernelSource& source : builtin_kernels(device)) {
      const std::uint64_t hash = webgpu::text_hash(print(source, Dialect::glsl_webgpu));
      EXPECT_TRUE(std::ranges::binary_search(table, hash, {}, &BuiltinKernel::text)) << source.name;
    }
  }
}

TEST(WebGpuKernels, AreModulesInOrderOfTheirHashes) {
  constexpr std::uint32_t magic = 0x07230203;
  constexpr std::uint32_t names_thing = 5;  // OpName
  const std::span<const BuiltinKernel> table = webgpu::builtin_kernels();
  EXPECT_GT(table.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(table, {}, &BuiltinKernel::text));
  EXPECT_EQ(std::ranges::adjacent_find(table, {}, &BuiltinKernel::text), table.end());
  for (const BuiltinKernel& kernel : table) {
    ASSERT_GT(kernel.count, 5U);
    EXPECT_EQ(kernel.words[0], magic);
    std::size_t at = 5;
    while (at < kernel.count) {
      EXPECT_NE(kernel.words[at] & 0xffffU, names_thing);
      ASSERT_GT(kernel.words[at] >> 16U, 0U);
      at += kernel.words[at] >> 16U;
    }
    EXPECT_EQ(at, kernel.count) << "instructions end where the module ends";
  }
}

TEST(WebGpuKernels, AreFoundByTheSameHashOnBothSides) {
  constexpr std::string_view text = "#version 450\n";
  EXPECT_EQ(webgpu::text_hash(text), fingerprint(std::as_bytes(std::span(text))));
  EXPECT_EQ(webgpu::text_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(webgpu::text_hash("a"), 0xaf63dc4c8601ec8cU);  // of the authors of FNV
}

}  // namespace
}  // namespace vectis::test
