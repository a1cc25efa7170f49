// Kernels on WebGPU: whose text reaches the device, and how memory is bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/kernel/custom.hpp"
#include "vectis/kernel/operation.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

// The example of docs/webgpu.md.
constexpr const char* scale_text = R"(
struct Numbers { count: u32, factor: f32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: Numbers;
@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < numbers.count) { y[id.x] = numbers.factor * x[id.x]; }
})";

class WebGpuDevice : public DevicesTest {
 protected:
  std::vector<float> download(const DeviceMemory& memory, std::size_t count) {
    std::vector<float> values(count);
    stream.copy_to_host(std::as_writable_bytes(std::span(values)), memory, 0);
    stream.synchronize();
    return values;
  }
  static std::vector<float> ramp(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    return values;
  }

  DeviceContext context{device("webgpu")};
  Stream stream{context};
  KernelManager manager{runtime()};
};

TEST_F(WebGpuDevice, ReportsTheLimitsOfAPrebuiltDevice) {
  const DeviceLimits& limits = context.device().info().limits;
  const auto same = [&](const DeviceInfo& prebuilt) {
    return prebuilt.limits.group_items_max == limits.group_items_max &&
           prebuilt.limits.group_size_max == limits.group_size_max &&
           prebuilt.limits.shared_bytes_max == limits.shared_bytes_max;
  };
  EXPECT_TRUE(std::ranges::any_of(prebuilt_devices(Dialect::glsl_webgpu), same));
  EXPECT_THAT(context.device().info().dialects, testing::ElementsAre("wgsl", "glsl-webgpu"));
}

// Each text is found among what the plug-in carries, and wgpu takes the module.
TEST_F(WebGpuDevice, HasEveryBuiltInKernel) {
  std::set<std::string> texts;
  for (const DeviceInfo& prebuilt : prebuilt_devices(Dialect::glsl_webgpu)) {
    for (const KernelSource& source : builtin_kernels(prebuilt)) {
      EXPECT_EQ(entry_point(source, Dialect::glsl_webgpu), "main");
      if (!texts.insert(print(source, Dialect::glsl_webgpu)).second) continue;
      EXPECT_NO_THROW(Program(context, "glsl-webgpu", *texts.find(print(source, Dialect::glsl_webgpu)))) << source.name;
    }
  }
  EXPECT_GT(texts.size(), 100U);
}

TEST_F(WebGpuDevice, RunsCustomWgslBetweenSlicesOfOneMemory) {
  constexpr std::uint32_t count = 1000;
  const Kernel scale = manager.make_kernel("scale", scale_text, "webgpu", {64, 1, 1});
  const DeviceMemory whole(context, 16384);
  const DeviceMemory x = whole.slice(0, 4096);
  const DeviceMemory y = whole.slice(8192, 4096);
  const std::vector<float> numbers = ramp(1024);
  stream.copy_to_device(x, 0, std::as_bytes(std::span(numbers)));
  stream.copy_to_device(y, 0, std::as_bytes(std::span(numbers)));
  manager.launch(stream, scale, {count}, {x, y, count, 3.0F});
  const std::vector<float> result = download(y, 1024);
  for (std::size_t i = 0; i < result.size(); ++i)
    ASSERT_EQ(result[i], static_cast<float>(i + 1) * (i < count ? 3 : 1)) << i;
}

TEST_F(WebGpuDevice, ReportsErrorsInCustomWgsl) {
  EXPECT_ERROR((void)manager.make_kernel("scale", "fn scale( {", "webgpu"), ErrorCode::compile_failed, "scale");
  EXPECT_ERROR((void)manager.make_kernel("other", scale_text, "webgpu", {64, 1, 1}), ErrorCode::invalid_input,
               "'other' has no entry point");
  Kernel misnamed = manager.make_kernel("scale", scale_text, "webgpu", {64, 1, 1});
  misnamed.entry_point = "other";
  EXPECT_ERROR((void)manager.load(context, misnamed), ErrorCode::invalid_input, "other");
}

TEST_F(WebGpuDevice, HasNoCompilerForPortableKernels) {
  const KernelSource portable{.name = "twice",
                              .buffers = {{"x", DType::float32, Access::read_write}},
                              .body = "STORE_x(GLOBAL_ID(0), 2.0f * LOAD_x(GLOBAL_ID(0)));"};
  EXPECT_ERROR((void)manager.make_kernel(portable, "webgpu"), ErrorCode::no_compiler, "kernel 'twice': webgpu:0",
               "compiles wgsl at run time", "map()");
  EXPECT_ERROR(Program(context, "glsl-webgpu", print(portable, Dialect::glsl_webgpu)), ErrorCode::no_compiler,
               "built-in kernels");
}

// Every operand in one buffer, as the pool's small blocks are.
TEST_F(WebGpuDevice, TakesOperandsFromOneMemory) {
  constexpr std::uint64_t rows = 37;
  constexpr std::uint64_t columns = 29;
  const DeviceMemory whole(context, 3 * 8192);
  const DeviceMemory x = whole.slice(0, 8192);
  const DeviceMemory sums = whole.slice(8192, 8192);
  const std::vector<float> numbers = ramp(rows * columns);
  stream.copy_to_device(x, 0, std::as_bytes(std::span(numbers)));
  run(stream, "sum_rows", {View(x, DType::float32, rows, columns), View(sums, DType::float32, rows, 1)});
  // Two views of one memory that do not meet, one of them written.
  run(stream, "copy",
      {View(whole, DType::float32, 1, rows, 2048, rows), View(whole, DType::float32, 1, rows, 4096, rows)});
  const std::vector<float> copied = download(whole.slice(16384, 4096), rows);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const float expected = std::accumulate(numbers.begin() + static_cast<std::ptrdiff_t>(row * columns),
                                           numbers.begin() + static_cast<std::ptrdiff_t>((row + 1) * columns), 0.0F);
    ASSERT_EQ(copied[row], expected) << row;  // integers below 2^24
  }
}

TEST_F(WebGpuDevice, TakesBuffersOfThePool) {
  MemoryPool& pool = memory_pool(runtime());
  const int id = context.device().id();
  const ManagedBuffer x = pool.get_managed_buffer(id, 4096, Precision::fp32);
  const ManagedBuffer y = pool.get_managed_buffer(id, 4096, Precision::fp32);
  Stream pooled(x.memory().context());
  const std::vector<float> numbers = ramp(1024);
  pooled.copy_to_device(x.memory(), 0, std::as_bytes(std::span(numbers)));
  run(pooled, "copy", {View(x.memory(), DType::float32, 1, 1000), View(y.memory(), DType::float32, 1, 1000)});
  std::vector<float> result(1000);
  pooled.copy_to_host(std::as_writable_bytes(std::span(result)), y.memory(), 0);
  pooled.synchronize();
  EXPECT_TRUE(std::equal(result.begin(), result.end(), numbers.begin()));
}

}  // namespace
}  // namespace vectis::test
