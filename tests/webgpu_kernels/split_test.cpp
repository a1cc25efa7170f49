// Operations and maps over memories larger than what the device gives a kernel at once, against the CPU. The limit is
// lowered, and wgpu itself refuses whatever would be over it.
#include <gmock/gmock.h>

#include <optional>

#include "tests/operations/fixture.hpp"
#include "vectis/kernel/custom.hpp"
#include "vectis/kernel/map.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

constexpr std::uint64_t limit = 4096;  // bytes

RuntimeOptions small_bindings() {
  RuntimeOptions options;
  options.settings["backends.webgpu.binding_kb"] = std::to_string(limit / 1024);
  return options;
}

class WebGpuSplit : public testing::Test {
 protected:
  DeviceContext on(const char* name) { return DeviceContext(runtime.service<DeviceRegistry>().find(name).value()); }

  // On both devices, from the same bytes; `tolerance` as in expect_equal.
  void expect_same(const std::string& operation, const std::vector<HostMatrix>& operands,
                   const std::vector<ParameterValue>& parameters = {}, double tolerance = 0) {
    SCOPED_TRACE(operation);
    const std::vector<HostMatrix> expected = result(cpu, operation, operands, parameters);
    const std::vector<HostMatrix> actual = result(gpu, operation, operands, parameters);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "operand " << i);
      expect_equal(actual[i], expected[i], tolerance);
    }
  }

  static std::vector<HostMatrix> result(const DeviceContext& context, const std::string& operation,
                                        std::vector<HostMatrix> matrices,
                                        const std::vector<ParameterValue>& parameters) {
    Stream stream(context);
    std::vector<View> views;
    for (const HostMatrix& matrix : matrices) {
      views.push_back(matrix.view(DeviceMemory(context, matrix.bytes().size())));
      stream.copy_to_device(views.back().memory, 0, matrix.bytes());
    }
    run(stream, operation, views, parameters);
    for (std::size_t i = 0; i < matrices.size(); ++i) stream.copy_to_host(matrices[i].bytes(), views[i].memory, 0);
    stream.synchronize();
    return matrices;
  }

  // Somewhere in a memory that is larger than the limit by far.
  HostMatrix matrix(DType type, std::uint64_t rows, std::uint64_t columns) {
    HostMatrix made(type, {rows, columns, random.next() % 9000, random.next() % 7});
    return made.randomize(random);
  }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + random.next() % (most - least + 1); }
  DType any_of(std::span<const DType> types) { return types[random.next() % types.size()]; }

  Random random{seed()};
  Runtime runtime{small_bindings()};
  DeviceContext gpu = on("webgpu");
  DeviceContext cpu = on("cpu");
};

constexpr std::array stored = {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int32};
constexpr std::array computed = {DType::float32, DType::float16, DType::bfloat16, DType::int8};
constexpr int rounds = 8;

TEST_F(WebGpuSplit, TheDeviceReportsTheBindingLimit) {
  const DeviceLimits& limits = gpu.device().info().limits;
  EXPECT_EQ(limits.binding_bytes_max, limit);
  EXPECT_GT(limits.allocation_bytes_max, std::uint64_t{128} << 20U);
  EXPECT_EQ(cpu.device().info().limits.binding_bytes_max, UINT64_MAX);
}

TEST_F(WebGpuSplit, ElementwiseOperationsAreSplit) {
  for (int i = 0; i < rounds; ++i) {
    const std::uint64_t rows = between(1, 3) == 1 ? 1 : between(2, 60);
    const std::uint64_t columns = rows == 1 ? between(5000, 30000) : between(1, 3000);
    const DType type = any_of(stored);
    expect_same("copy", {matrix(type, rows, columns), matrix(type, rows, columns)});
    expect_same("cast", {matrix(any_of(stored), rows, columns), matrix(any_of(stored), rows, columns)});
    expect_same("fill", {matrix(type, rows, columns)}, {3.0});
    expect_same("transpose", {matrix(type, rows, columns), matrix(type, columns, rows)});
  }
}

TEST_F(WebGpuSplit, RowReductionsTopKAndScansAreSplit) {
  for (int i = 0; i < rounds; ++i) {
    const std::uint64_t rows = between(20, 300);
    const std::uint64_t columns = between(8, 700);
    expect_same("sum_rows", {matrix(any_of(computed), rows, columns), matrix(DType::float32, rows, 1)});
    expect_same("argmax_rows", {matrix(any_of(computed), rows, columns), matrix(DType::int32, rows, 1)});
    expect_same("prefix_sum", {matrix(DType::int32, rows, columns), matrix(DType::int32, rows, columns)});
    const std::uint64_t k = between(1, 8);
    expect_same("top_k", {matrix(DType::float32, rows, columns), matrix(DType::float32, rows, k),
                          matrix(DType::int32, rows, k)});
  }
}

TEST_F(WebGpuSplit, GatherAndScatterAreSplit) {
  for (int i = 0; i < rounds; ++i) {
    const DType type = any_of(stored);
    const std::uint64_t columns = between(1, 40);
    const std::uint64_t few = between(1, 20);  // rows that every part may reach
    const std::uint64_t many = between(200, 3000);
    HostMatrix index(DType::int32, {1, many, random.next() % 5000, 0});
    index.fill([&](auto, auto) { return static_cast<double>(random.next() % (few + 2)) - 1; });
    const auto narrow = [&] { return HostMatrix(type, {few, columns, 3, 0}).randomize(random); };
    expect_same("gather", {narrow(), index, matrix(type, many, columns)});
    expect_same("scatter", {matrix(type, many, columns), index, narrow()});
  }
}

TEST_F(WebGpuSplit, MatmulAndDistancesAreSplit) {
  for (int i = 0; i < rounds; ++i) {
    const DType type = any_of(computed);
    const bool whole = type == DType::int8;  // not cut along what is added up
    const std::uint64_t m = between(1, 90);
    const std::uint64_t n = between(1, 90);
    const std::uint64_t k = between(1, 60);
    const bool turn_a = !whole && between(0, 1) == 1;
    const bool turn_b = whole || between(0, 1) == 1;
    expect_same("matmul",
                {turn_a ? matrix(type, k, m) : matrix(type, m, k), turn_b ? matrix(type, n, k) : matrix(type, k, n),
                 matrix(whole ? DType::int32 : DType::float32, m, n)},
                {turn_a ? 1 : 0, turn_b ? 1 : 0, 1.0, whole ? 0.0 : 2.0});
    expect_same("l2_squared", {matrix(type, m, k), matrix(type, n, k), matrix(DType::float32, m, n)});
    expect_same("dot_product", {matrix(type, m, k), matrix(type, n, k), matrix(DType::float32, m, n)});
    expect_same("cosine_distance", {matrix(type, m, k), matrix(type, n, k), matrix(DType::float32, m, n)}, {}, 1e-5);
  }
}

TEST_F(WebGpuSplit, AnOperandThatCannotBeSplitIsInvalidInputWithSizeAndLimit) {
  Stream stream(gpu);
  const DeviceMemory x(gpu, 80'000);
  const DeviceMemory out(gpu, 64);
  EXPECT_ERROR(run(stream, "sum", {View(x, DType::float32, 4, 5000), View(out, DType::float32, 1, 1)}),
               ErrorCode::invalid_input, "'x' spans 80000 bytes", "webgpu:0", "at most 4096", "call it for parts");
  EXPECT_ERROR(run(stream, "sum_rows", {View(x, DType::float32, 4, 5000), View(out, DType::float32, 4, 1)}),
               ErrorCode::invalid_input, "'x' spans 20000 bytes");
  run(stream, "sum", {View(x, DType::float32, 1, 1000, 7777, 1000), View(out, DType::float32, 1, 1)});
  stream.synchronize();
}

// Words, halves and bytes, the number of the element, and a table.
TEST_F(WebGpuSplit, MapsAreSplitAndKeepTheirElementIndices) {
  ir::Builder b("mixed");
  const ir::Value x = b.input(DType::int8);
  const ir::Value y = b.input(DType::float16);
  const ir::Value raise = b.argument(DType::uint32);
  const std::uint32_t table = b.table(DType::uint32);
  const ir::Value place = b.add(b.index(), raise);
  b.output(b.add(b.gather(table, b.binary(ir::Op::bit_and, place, b.constant(std::uint32_t{63}))), place),
           DType::uint32);
  b.output(b.add(b.convert(x, DType::float32), y), DType::float16);
  b.output(b.add(x, b.constant(std::int32_t{1})), DType::int8);
  const ir::Function function = b.finish();
  const std::vector<std::byte> noise = random_bytes(random, 200'000);
  for (const std::uint64_t count : {1U, 1023U, 1024U, 1025U, 4096U, 33'333U}) {
    const auto outcome = [&](const DeviceContext& context) {
      Stream stream(context);
      const auto uploaded = [&](std::uint64_t bytes) {
        DeviceMemory memory(context, bytes);
        stream.copy_to_device(memory, 0, std::span(noise).first(bytes));
        return memory;
      };
      const std::array inputs{uploaded(40'000), uploaded(80'000)};
      const std::array tables{uploaded(256)};
      const std::array outputs{uploaded(160'000), uploaded(80'000), uploaded(40'000)};
      const std::array<std::uint32_t, 1> arguments{17};
      map(stream, function, {inputs, tables, outputs, arguments}, count);
      std::vector<std::vector<std::byte>> results;
      for (const DeviceMemory& output : outputs) {
        results.emplace_back(output.bytes());
        stream.copy_to_host(results.back(), output, 0);
      }
      stream.synchronize();
      return results;
    };
    EXPECT_EQ(outcome(gpu), outcome(cpu)) << count << " elements";
  }
  Stream stream(gpu);
  const DeviceMemory large(gpu, 160'000);
  const DeviceMemory rest(gpu, 8192);
  const std::array inputs{rest.slice(0, 1024), rest.slice(1024, 1024)};
  const std::array outputs{rest.slice(2048, 1024), rest.slice(3072, 1024), rest.slice(4096, 1024)};
  const std::array<std::uint32_t, 1> arguments{17};
  EXPECT_ERROR(map(stream, function, {inputs, {&large, 1}, outputs, arguments}, 16), ErrorCode::invalid_input,
               "table 0 of 'mixed' has 160000 bytes", "at most 4096");
}

// 128 MiB on Mesa's drivers, and no memory of the host is needed for it.
TEST(WebGpuLimit, MemoryOverTheDevicesOwnLimitIsUsedWhole) {
  Runtime runtime;
  const DeviceContext context(runtime.service<DeviceRegistry>().find("webgpu").value());
  const std::uint64_t own = context.device().info().limits.binding_bytes_max;
  constexpr std::uint64_t columns = 2048;
  const std::uint64_t rows = own / (columns * sizeof(float)) + 1001;
  if (rows * columns * sizeof(float) > context.device().info().limits.allocation_bytes_max) GTEST_SKIP() << own;
  const DeviceMemory x(context, rows * columns * sizeof(float));
  const DeviceMemory sums(context, rows * sizeof(float));
  Stream stream(context);
  run(stream, "fill", {View(x, DType::float32, rows, columns)}, {2.0});
  run(stream, "fill", {View(x, DType::float32, 1, 7, (rows - 1) * columns + 5, 7)}, {3.0});
  run(stream, "sum_rows", {View(x, DType::float32, rows, columns), View(sums, DType::float32, rows, 1)});
  std::vector<float> came(rows);
  stream.copy_to_host(std::as_writable_bytes(std::span(came)), sums, 0);
  stream.synchronize();
  for (std::uint64_t row = 0; row < rows; ++row) ASSERT_EQ(came[row], row + 1 == rows ? 4103 : 4096) << row;
}

TEST_F(WebGpuSplit, ACustomKernelOverTheLimitIsInvalidInput) {
  constexpr const char* text = R"(
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64)
fn raise(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = x[id.x] + 1u; })";
  KernelManager manager(runtime);
  const Kernel raise = manager.make_kernel("raise", text, "webgpu", {64, 1, 1});
  Stream stream(gpu);
  const DeviceMemory x(gpu, 3 * limit);
  stream.fill(x, 0, x.bytes(), 0);
  EXPECT_ERROR(manager.launch(stream, raise, {64}, {x}), ErrorCode::invalid_input, "12288 bytes", "at most 4096",
               "slices");
  manager.launch(stream, raise, {64}, {x.slice(limit, limit)});
  std::vector<std::uint32_t> words(3 * limit / 4);
  stream.copy_to_host(std::as_writable_bytes(std::span(words)), x, 0);
  stream.synchronize();
  for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], i / 64 == limit / 256 ? 1U : 0U) << i;
}

}  // namespace
}  // namespace vectis::test
