#include "vectis/kernel/custom.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "vectis/base.hpp"
#include "vectis/device.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis {
namespace {

// y = x * x + shift for the first `count`.
KernelSource square() {
  KernelSource source;
  source.name = "square";
  source.buffers = {{"x", DType::float32, Access::read}, {"y", DType::float32, Access::write}};
  source.scalars = {{"count", DType::uint32}, {"shift", DType::float32}};
  source.body = "uint i = GLOBAL_ID(0);\nif (i < count) { STORE_y(i, LOAD_x(i) * LOAD_x(i) + shift); }\n";
  return source;
}

constexpr const char* raw_square = R"(__kernel void square(__global const float* x, __global float* y, uint count) {
  uint i = get_global_id(0);
  if (i < count) y[i] = x[i] * x[i];
}
)";

class CustomKernel : public testing::Test {
 protected:
  CustomKernel() : manager(runtime), context(*runtime.service<DeviceRegistry>().find("opencl")), stream(context) {}

  DeviceMemory upload(const std::vector<float>& values) {
    DeviceMemory memory(context, values.size() * sizeof(float));
    stream.copy_to_device(memory, 0, std::as_bytes(std::span(values)));
    stream.synchronize();
    return memory;
  }
  std::vector<float> download(const DeviceMemory& memory) {
    std::vector<float> values(memory.bytes() / sizeof(float));
    stream.copy_to_host(std::as_writable_bytes(std::span(values)), memory, 0);
    stream.synchronize();
    return values;
  }
  static std::vector<float> ramp(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), -3.0F);
    return values;
  }
  // Whether the kernel squares `count` numbers and leaves the one behind them alone.
  void expect_squares(const Kernel& kernel, std::size_t count, std::vector<KernelArgument> more = {}) {
    const std::vector<float> values = ramp(count + 1);
    const DeviceMemory x = upload(values);
    const DeviceMemory y = upload(std::vector<float>(count + 1, 7.0F));
    std::vector<KernelArgument> arguments{x, y, count};
    if (kernel.portable == nullptr) arguments.back() = static_cast<std::uint32_t>(count);
    arguments.insert(arguments.end(), more.begin(), more.end());
    manager.launch(stream, kernel, {count}, arguments);
    std::vector<float> expected(count + 1, 7.0F);
    const float shift = more.empty() ? 0.0F : 1.0F;
    for (std::size_t i = 0; i < count; ++i) expected[i] = values[i] * values[i] + shift;
    EXPECT_EQ(download(y), expected) << count;
  }

  Runtime runtime;
  KernelManager manager;
  DeviceContext context;
  Stream stream;
};

TEST_F(CustomKernel, APortableKernelRunsOnUserBuffers) {
  const Kernel kernel = manager.make_kernel(square(), "opencl");
  EXPECT_EQ(kernel.name, "square");
  EXPECT_EQ(kernel.entry_point, "vt_square");
  EXPECT_EQ(kernel.source, square().body);
  EXPECT_FALSE(kernel.compiled_binary.empty());
  EXPECT_EQ(kernel.backend, "opencl");
  for (const std::size_t count : {0U, 1U, 63U, 64U, 65U, 1000U}) expect_squares(kernel, count, {1.0F});
}

TEST_F(CustomKernel, ARawKernelIsInTheBackendsLanguage) {
  const Kernel kernel = manager.make_kernel("square", raw_square, "opencl", {32, 1, 1});
  for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 1000U}) expect_squares(kernel, count);
}

TEST_F(CustomKernel, ARawKernelTakesSharedMemory) {
  const Kernel kernel = manager.make_kernel("turn", R"(
__kernel void turn(__global float* x, __local float* tile) {
  uint i = get_local_id(0);
  tile[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = tile[get_local_size(0) - 1 - i];
})",
                                            "opencl", {8, 1, 1});
  const DeviceMemory x = upload({0, 1, 2, 3, 4, 5, 6, 7});
  manager.launch(stream, kernel, {8}, {x, KernelArgument::shared(8 * sizeof(float))});
  EXPECT_THAT(download(x), testing::ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
}

TEST_F(CustomKernel, BuffersOfThePoolAreArguments) {
  const int id = context.device().id();
  ManagedBuffer buffer = memory_pool(runtime).get_managed_buffer(id, 100, Precision::fp32);
  Stream own(buffer.memory().context());
  KernelSource fill = square();
  fill.name = "fill_up";
  fill.buffers = {{"y", DType::float32, Access::write}};
  fill.scalars = {{"count", DType::uint32}, {"value", DType::int32}};
  fill.body = "uint i = GLOBAL_ID(0); if (i < count) { STORE_y(i, F32(value)); }";
  manager.launch(own, manager.make_kernel(fill, "opencl"), {100}, {buffer, 100, -5});
  std::vector<float> values(100);
  own.copy_to_host(std::as_writable_bytes(std::span(values)), buffer.memory(), 0);
  own.synchronize();
  EXPECT_THAT(values, testing::Each(-5.0F));
}

TEST_F(CustomKernel, ABinaryIsStoredAndLoadedAgain) {
  const std::vector<std::byte> binary = manager.compile_kernel("square", raw_square, "opencl");
  Kernel kernel;
  kernel.name = kernel.entry_point = "square";
  kernel.compiled_binary = binary;
  expect_squares(kernel, 100);
  EXPECT_FALSE(manager.compile_kernel(square(), "opencl").empty());
}

TEST_F(CustomKernel, KernelsOfOneSourceAreToldApartByTheirBinaries) {
  const auto storing = [&](const std::string& value) {
    return manager.make_kernel("k", "__kernel void k(__global float* y) { y[0] = " + value + "; }", "opencl",
                               {1, 1, 1});
  };
  const Kernel one = storing("1.0f");
  Kernel two = storing("2.0f");
  two.source = one.source;  // the binary is what runs
  const DeviceMemory y = upload({0.0F});
  manager.launch(stream, one, {1}, {y});
  EXPECT_EQ(download(y), std::vector<float>{1.0F});
  manager.launch(stream, two, {1}, {y});
  EXPECT_EQ(download(y), std::vector<float>{2.0F});
}

TEST_F(CustomKernel, ARejectedBinaryFallsBackToTheSource) {
  Kernel kernel = manager.make_kernel("square", raw_square, "opencl");
  kernel.compiled_binary.assign(100, std::byte{1});
  expect_squares(kernel, 100);
  kernel.source.clear();
  EXPECT_ERROR((void)manager.load(context, kernel), ErrorCode::invalid_input, "clCreateProgramWithBinary");
  kernel.compiled_binary.clear();
  EXPECT_ERROR((void)manager.load(context, kernel), ErrorCode::invalid_input, "square", "neither");
  kernel.source = raw_square;
  kernel.entry_point = "cube";
  EXPECT_ERROR((void)manager.load(context, kernel), ErrorCode::invalid_input, "cube");
}

TEST_F(CustomKernel, AWrongEntryPointIsFoundWhenTheKernelIsMade) {
  EXPECT_ERROR((void)manager.make_kernel("cube", raw_square, "opencl"), ErrorCode::invalid_input, "[make_kernel]",
               "'cube' has no entry point of that name");
}

TEST_F(CustomKernel, ABinaryOfAnotherBackendIsNotEvenTried) {
  Kernel kernel = manager.make_kernel(square(), "opencl");
  kernel.backend = "cuda";
  kernel.compiled_binary.assign(100, std::byte{1});
  expect_squares(kernel, 100, {1.0F});
}

TEST_F(CustomKernel, LaunchingAgainCompilesNothing) {
  const Kernel kernel = manager.make_kernel(square(), "opencl");
  expect_squares(kernel, 10, {1.0F});
  const CacheStatistics before = kernel_cache(runtime).statistics();
  expect_squares(kernel, 10, {1.0F});
  expect_squares(kernel, 11, {1.0F});
  const CacheStatistics after = kernel_cache(runtime).statistics();
  EXPECT_EQ(after.compiled, before.compiled);
  EXPECT_EQ(after.memory_hits, before.memory_hits + 2);
}

TEST_F(CustomKernel, ArgumentsAreCheckedAgainstTheParameters) {
  const Kernel kernel = manager.make_kernel(square(), "opencl");
  const DeviceMemory x = upload(ramp(8));
  const DeviceMemory odd(context, 30);
  const auto launch = [&](std::vector<KernelArgument> arguments) { manager.launch(stream, kernel, {8}, arguments); };
  launch({x, x, 8, 1.0F});
  launch({x, x, std::size_t{8}, 1.0F});
  const auto code = ErrorCode::invalid_input;
  EXPECT_ERROR(launch({x, x, 8}), code, "'square'", "3 arguments", "takes 4: x, y, count, shift");
  EXPECT_ERROR(launch({x, x, 8, 1.0F, 2}), code, "5 arguments");
  EXPECT_ERROR(launch({x, 1, 8, 1.0F}), code, "buffer 'y'", "an integer", "device memory");
  EXPECT_ERROR(launch({x, KernelArgument::shared(4), 8, 1.0F}), code, "buffer 'y'", "shared memory");
  EXPECT_ERROR(launch({x, odd, 8, 1.0F}), code, "buffer 'y'", "30 bytes", "multiple of 4");
  EXPECT_ERROR(launch({x, x, x, 1.0F}), code, "scalar 'count'", "memory", "an integer");
  EXPECT_ERROR(launch({x, x, 8.0F, 1.0F}), code, "scalar 'count'", "a float");
  EXPECT_ERROR(launch({x, x, true, 1.0F}), code, "scalar 'count'", "a bool");
  EXPECT_ERROR(launch({x, x, -1, 1.0F}), code, "scalar 'count'", "-1", "4294967295");
  EXPECT_ERROR(launch({x, x, 1ULL << 32U, 1.0F}), code, "scalar 'count'", "4294967296");
  EXPECT_ERROR(launch({x, x, ~0ULL, 1.0F}), code, "scalar 'count'");
  EXPECT_ERROR(launch({x, x, 8, 1.0}), code, "scalar 'shift'", "a double", "2.0f");
  EXPECT_ERROR(launch({x, x, 8, 1}), code, "scalar 'shift'", "an integer");
  EXPECT_ERROR(manager.launch(stream, kernel, {~0ULL}, {x, x, 8, 1.0F}), code, "work-items", "4294967295");
  manager.launch(stream, kernel, {0}, {x, x, 8, 1.0F});
  stream.synchronize();  // nothing of that stuck to the stream
  Kernel wider = kernel;
  wider.work_group_size = {128, 1, 1};
  EXPECT_ERROR(manager.launch(stream, wider, {8}, {x, x, 8, 1.0F}), code, "64 x 1 x 1", "128 x 1 x 1");
}

TEST_F(CustomKernel, AGridOf2To32GroupsIsRejected) {
  const Kernel kernel = manager.make_kernel("one", "__kernel void one() {}", "opencl", {1, 1, 1});
  EXPECT_ERROR(manager.launch(stream, kernel, {65536, 65536}, {}), ErrorCode::invalid_input,
               "65536 x 65536 x 1 work-groups", "4294967295");
  manager.launch(stream, kernel, {64, 2, 2}, {});
  stream.synchronize();
}

TEST_F(CustomKernel, SharedArraysBeyondTheDeviceAreRejected) {
  const std::uint64_t limit = context.device().info().limits.shared_bytes_max;
  KernelSource source = square();
  source.shared = {{"s", DType::float32, static_cast<std::uint32_t>(limit / 4)}, {"t", DType::uint32, 1}};
  EXPECT_ERROR((void)manager.make_kernel(source, "opencl"), ErrorCode::invalid_input,
               std::to_string(limit + 4) + " bytes", std::to_string(limit), "shared");
  Kernel loaded = manager.make_kernel(square(), "opencl");
  loaded.portable = std::make_shared<const KernelSource>(source);
  EXPECT_ERROR((void)manager.load(context, loaded), ErrorCode::invalid_input, std::to_string(limit + 4) + " bytes");
  source.shared = {{"s", DType::float32, 1}};
  (void)manager.load(context, manager.make_kernel(source, "opencl"));
  const std::string raw = "__kernel void k(__global float* x) { __local float s[" + std::to_string(limit / 4 + 1) +
                          "]; s[get_local_id(0)] = x[0]; barrier(CLK_LOCAL_MEM_FENCE); x[0] = s[1]; }";
  EXPECT_ERROR((void)manager.make_kernel("k", raw, "opencl"), ErrorCode::invalid_input,
               std::to_string(limit + 4) + " bytes", std::to_string(limit));
}

TEST_F(CustomKernel, NamesThatDriversCannotTakeAreRejected) {
  const auto code = ErrorCode::invalid_input;
  const auto raw = [&](const std::string& name) {
    return manager.make_kernel(name, "__kernel void " + name + "() {}", "opencl", {1, 1, 1});
  };
  manager.launch(stream, raw(std::string(128, 'k')), {1}, {});
  stream.synchronize();
  EXPECT_ERROR((void)raw(std::string(129, 'k')), code, "129 characters", "128");
  EXPECT_ERROR((void)raw(std::string("k\0k", 3)), code, "NUL");
  EXPECT_ERROR((void)manager.make_kernel("", raw_square, "opencl"), code, "0 characters");
  KernelSource source = square();
  source.name = std::string(128, 'k');
  Kernel kernel = manager.make_kernel(source, "opencl");
  expect_squares(kernel, 3, {1.0F});
  kernel.entry_point.assign(132, 'k');
  EXPECT_ERROR((void)manager.load(context, kernel), code, "132 characters", "131");
  source.name.assign(129, 'k');
  EXPECT_ERROR((void)manager.make_kernel(source, "opencl"), code, "129 characters", "128");
}

TEST_F(CustomKernel, CompileErrorsHaveLinesOfTheUsersText) {
  KernelSource broken = square();
  broken.overrides[Dialect::opencl_c] = "uint i = GLOBAL_ID(0);\n\n    y[i] = nothing + 1.0f;\n";
  const auto code = ErrorCode::compile_failed;
  EXPECT_ERROR((void)manager.compile_kernel(broken, "opencl"), code, "kernel 'square', line 3, column 12:", "nothing");
  const std::string raw = "// one\n__kernel void k(__global float* x) {\n  x[0] = missing;\n}\n";
  EXPECT_ERROR((void)manager.compile_kernel("k", raw, "opencl"), code, "kernel 'k', line 3, column 10:", "missing");
  KernelSource inside = square();  // a mistake in the arguments of a macro
  inside.overrides[Dialect::opencl_c] =
      "uint i = GLOBAL_ID(0);\nif (i < count) {\n  STORE_y(i, LOAD_x(i) * nothing);\n}";
  EXPECT_ERROR((void)manager.compile_kernel(inside, "opencl"), code, "kernel 'square', line 3, column 26:", "nothing");
  try {
    (void)manager.compile_kernel("k", raw, "opencl");
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.detail()), testing::HasSubstr(":3:10"));
  }
  KernelSource pointer = square();
  pointer.body = "uint i = GLOBAL_ID(0);\nfloat* p;\n";
  EXPECT_ERROR((void)manager.compile_kernel(pointer, "opencl"), ErrorCode::invalid_input, "square", "line 2");
}

TEST(CustomKernelDebug, ShowsSourceAndWarnings) {
  std::string log;
  RuntimeOptions options;
  options.settings["debug"] = "true";
  options.log = [&](const LogRecord& record) { log.append(record.message).append("\n"); };
  Runtime runtime(options);
  KernelManager manager(runtime);
  (void)manager.compile_kernel("k", "#warning take care\n__kernel void k() {}\n", "opencl");
  EXPECT_THAT(log, testing::HasSubstr("opencl-c for opencl:0"));
  EXPECT_THAT(log, testing::HasSubstr("__kernel void k() {}"));
  EXPECT_THAT(log, testing::ContainsRegex("compiler output:\n.*take care"));
}

TEST_F(CustomKernel, TheCpuThrowsNoCompiler) {
  EXPECT_ERROR((void)manager.compile_kernel(square(), "cpu"), ErrorCode::no_compiler, "'square'", "cpu:0", "map()");
  EXPECT_ERROR((void)manager.compile_kernel("k", raw_square, "cpu"), ErrorCode::no_compiler, "'k'", "cpu:0", "map()");
  EXPECT_ERROR((void)manager.compile_kernel("k", raw_square, "npu"), ErrorCode::unsupported_backend, "npu");
}

}  // namespace
}  // namespace vectis
