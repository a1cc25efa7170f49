// What is refused, on every device in the same words, and what empty views do.
#include <algorithm>

#include "kernel/launch/check.hpp"
#include "kernel/launch/run.hpp"
#include "tests/operations/fixture.hpp"

namespace vectis::test {
namespace {

class OperationRules : public OperationsTest {
 protected:
  OperationRules() : cpu(device("cpu")), memory(cpu, 4096), other(cpu, 4096), stream(cpu) {}

  View f32(std::uint64_t rows, std::uint64_t columns) { return {memory, DType::float32, rows, columns}; }
  View out(std::uint64_t rows, std::uint64_t columns, DType type = DType::float32) {
    return {other, type, rows, columns};
  }

  DeviceContext cpu;
  DeviceMemory memory;
  DeviceMemory other;
  Stream stream;
};

TEST(Operations, AreListedByNameAndComplete) {
  std::string before;
  for (const Operation& operation : operations()) {
    SCOPED_TRACE(operation.name);
    EXPECT_LT(before, operation.name);
    before = operation.name;
    EXPECT_EQ(find_operation(operation.name), &operation);
    EXPECT_THAT(operation.summary, testing::EndsWith("."));
    EXPECT_TRUE(operation.plan && operation.cost);
    ASSERT_FALSE(operation.samples.empty());
    for (const auto& shapes : operation.samples) EXPECT_EQ(shapes.size(), operation.operands.size());
    for (const ParameterRule& rule : operation.parameters) {
      EXPECT_TRUE(rule.min <= rule.default_value && rule.default_value <= rule.max) << rule.name;
    }
  }
  EXPECT_EQ(operations().size(), 28U);
  EXPECT_EQ(find_operation("sum_row"), nullptr);
}

TEST(Operations, HaveKernelsOfTheSubsetWithDifferentNamesOrTexts) {
  const auto kernels = builtin_kernels();
  EXPECT_GT(kernels.size(), 80U);
  for (const KernelSource& kernel : kernels) {
    EXPECT_THAT(lint(kernel), testing::IsEmpty()) << kernel.name;
    EXPECT_LE(kernel.scalars.size() * 4, 128U) << kernel.name << ": what a Vulkan device takes as push constants";
  }
}

// Plans keep within whatever a device has.
TEST(Operations, PlanWithinTheLimitsOfSmallDevices) {
  for (const std::uint32_t items : {1U, 2U, 16U, 100U, 1024U}) {
    DeviceInfo device;
    device.limits.group_items_max = items;
    device.limits.group_size_max = {items, 1, 1};
    device.limits.shared_bytes_max = 32768;
    for (const KernelSource& kernel : builtin_kernels(device)) {
      EXPECT_LE(kernel.group[0], items) << kernel.name;
      EXPECT_EQ(kernel.group[1] * kernel.group[2], 1U) << kernel.name;
      std::uint64_t shared = 0;
      for (const SharedArray& array : kernel.shared) shared += array.count * sizeof(float);
      EXPECT_LE(shared, device.limits.shared_bytes_max) << kernel.name;
    }
  }
}

// WebGPU guarantees 16 KiB of shared memory, which the largest k fills exactly.
TEST(Operations, PlanTheLargestTopKIn16KiBOfSharedMemory) {
  DeviceInfo device;
  device.limits.group_items_max = 256;
  device.limits.group_size_max = {256, 256, 64};
  device.limits.shared_bytes_max = 16384;
  std::uint64_t largest = 0;
  for (const KernelSource& kernel : builtin_kernels(device)) {
    if (!kernel.name.starts_with("top_k")) continue;
    std::uint64_t shared = 0;
    for (const SharedArray& array : kernel.shared) shared += array.count * sizeof(float);
    largest = std::max(largest, shared);
  }
  EXPECT_EQ(largest, device.limits.shared_bytes_max);
}

TEST_F(OperationRules, NamesCountsAndTypes) {
  EXPECT_ERROR(run(stream, "sums", {f32(2, 2)}), ErrorCode::invalid_input, "[run] there is no operation 'sums'");
  EXPECT_ERROR(run(stream, "sum", {f32(2, 2)}), ErrorCode::invalid_input, "[sum] 1 views were given", "takes 2");
  EXPECT_ERROR(run(stream, "fill", {f32(2, 2)}, {1, 2}), ErrorCode::invalid_input, "[fill] 2 parameters", "at most 1");
  EXPECT_ERROR(run(stream, "sum", {{memory, DType::int32, 2, 2}, out(1, 1)}), ErrorCode::invalid_input,
               "[sum] 'x' is int32", "float32, float16, bfloat16, int8");
  EXPECT_ERROR(run(stream, "copy", {f32(2, 2), out(2, 2, DType::int32)}), ErrorCode::invalid_input,
               "[copy] the operand types float32, int32 cannot be combined");
  EXPECT_ERROR(run(stream, "matmul", {f32(2, 2), f32(2, 2), out(2, 2, DType::int32)}), ErrorCode::invalid_input,
               "cannot be combined");
}

TEST_F(OperationRules, ParametersAreCheckedForRangeAndInteger) {
  EXPECT_ERROR(run(stream, "matmul", {f32(2, 2), f32(2, 2), out(2, 2)}, {2}), ErrorCode::invalid_input,
               "[matmul] transpose_a is 2", "between 0 and 1");
  EXPECT_ERROR(run(stream, "matmul", {f32(2, 2), f32(2, 2), out(2, 2)}, {0, 0.5}), ErrorCode::invalid_input,
               "transpose_b is 0.5", "integers from");
  EXPECT_ERROR(run(stream, "prefix_sum", {f32(2, 2), out(2, 2)}, {NAN}), ErrorCode::invalid_input, "integers from");
  run(stream, "prefix_sum", {f32(2, 2), out(2, 2)}, {1.0});  // a real that is whole will do
}

TEST_F(OperationRules, ViewsLieInTheirMemory) {
  EXPECT_ERROR(run(stream, "fill", {f32(33, 32)}), ErrorCode::invalid_input, "[fill] 'out' has 33 rows and 32 columns",
               "its memory holds 1024 elements of float32");
  EXPECT_ERROR(run(stream, "fill", {View(memory, DType::float32, 1, 1, 1024, 1)}), ErrorCode::invalid_input,
               "offset 1024");
  EXPECT_ERROR(run(stream, "fill", {View(memory, DType::float32, 2, 4, 0, 3)}), ErrorCode::invalid_input,
               "a stride of 3 elements, its rows have 4 columns");
  const std::uint64_t huge = UINT64_MAX / 2;
  EXPECT_ERROR(run(stream, "fill", {View(memory, DType::float32, huge, huge, huge, huge)}), ErrorCode::invalid_input,
               "use a larger memory");
  EXPECT_ERROR(run(stream, "fill", {View(memory, DType::int8, 1, huge, 8, huge)}), ErrorCode::invalid_input,
               "use a larger memory");
  const DeviceContext another(device("cpu"));
  Stream stranger(another);
  EXPECT_ERROR(run(stranger, "fill", {f32(1, 1)}), ErrorCode::invalid_input, "[fill]", "another context");
}

TEST_F(OperationRules, OutputsOverlapNothing) {
  const auto at = [&](std::uint64_t offset, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride) {
    return View(memory, DType::float32, rows, columns, offset, stride);
  };
  EXPECT_ERROR(run(stream, "copy", {at(0, 4, 4, 4), at(15, 4, 4, 4)}), ErrorCode::invalid_input,
               "[copy] 'out' is written and overlaps 'x' at bytes 60 to 124");
  EXPECT_ERROR(run(stream, "copy", {at(0, 4, 4, 8), at(3, 4, 4, 8)}), ErrorCode::invalid_input, "overlaps");
  EXPECT_ERROR(run(stream, "copy", {at(0, 4, 4, 8), at(4, 2, 8, 8)}), ErrorCode::invalid_input, "it must be 4 x 4");
  EXPECT_ERROR(run(stream, "top_k", {out(2, 4), at(0, 2, 3, 3), View(memory, DType::int32, 2, 3, 5, 3)}),
               ErrorCode::invalid_input, "overlaps");
  run(stream, "copy", {at(0, 4, 4, 8), at(4, 4, 4, 8)});  // two halves of one matrix, side by side
  run(stream, "copy", {at(0, 4, 4, 4), at(16, 4, 4, 4)});
}

TEST_F(OperationRules, SlicesOfOneMemoryOverlapToo) {
  const std::uint64_t step = cpu.device().info().limits.memory_alignment;
  const std::uint64_t elements = step / sizeof(float);
  const View first(memory.slice(0, 2 * step), DType::float32, 1, 2 * elements);
  const View second(memory.slice(step, 2 * step), DType::float32, 1, 2 * elements);
  EXPECT_ERROR(run(stream, "copy", {first, second}), ErrorCode::invalid_input, "overlaps");
  const View apart(memory.slice(2 * step, 2 * step), DType::float32, 1, 2 * elements);
  run(stream, "copy", {first, apart});
}

TEST_F(OperationRules, ShapesFitTogether) {
  const auto refused = [&](const char* name, std::initializer_list<View> views, const char* words,
                           std::initializer_list<ParameterValue> parameters = {}) {
    EXPECT_ERROR(run(stream, name, views, parameters), ErrorCode::invalid_input, std::string("[") + name + "]", words);
  };
  const DType i32 = DType::int32;
  refused("copy", {f32(2, 3), out(3, 2)}, "'out' is 3 x 2, it must be 2 x 3");
  refused("cast", {f32(2, 3), out(2, 2)}, "it must be 2 x 3");
  refused("transpose", {f32(2, 3), out(2, 3)}, "it must be 3 x 2");
  refused("sum_rows", {f32(2, 3), out(1, 1)}, "it must be 2 x 1");
  refused("sum", {f32(2, 3), out(2, 1)}, "it must be 1 x 1");
  refused("mean_rows", {f32(2, 0), out(2, 1)}, "mean of no elements is not defined");
  refused("max", {f32(0, 5), out(1, 1)}, "max of no elements is not defined");
  refused("argmax", {f32(3, 0), out(1, 1, i32)}, "argmax of no elements");
  refused("gather", {f32(4, 3), {other, i32, 2, 2}, f32(2, 3)}, "'index' is 2 x 2, it must be 1 x 2");
  refused("gather", {f32(4, 3), {other, i32, 1, 5}, f32(4, 3)}, "'out' is 4 x 3, it must be 5 x 3");
  refused("scatter", {f32(4, 3), {other, i32, 1, 3}, out(4, 3)}, "it must be 1 x 4");
  refused("scatter", {f32(4, 3), {other, i32, 1, 4}, out(4, 2)}, "it must be 4 x 3");
  refused("matmul", {f32(2, 3), f32(2, 3), out(2, 3)}, "'a' has 3 columns, but 'b' has 2 rows");
  refused("matmul", {f32(2, 3), f32(3, 4), out(2, 5)}, "it must be 2 x 4");
  refused("matmul", {{memory, DType::int8, 2, 3}, {memory, DType::int8, 3, 4}, out(2, 4, i32)}, "alpha is 2",
          {0, 0, 2.0});
  refused("l2_squared", {f32(2, 3), f32(2, 4), out(2, 2)}, "'q' has 3 columns, but 'x' has 4");
  refused("dot_product", {f32(2, 3), f32(4, 3), out(4, 2)}, "it must be 2 x 4");
  refused("top_k", {f32(2, 3), out(2, 4), {memory, i32, 2, 4, 100, 4}}, "k is 4", {});
  refused("top_k", {f32(2, 3), out(2, 0), {memory, i32, 2, 0, 100, 0}}, "k is 0", {});
  refused("top_k", {f32(2, 3), out(2, 2), {memory, i32, 2, 1, 100, 1}}, "'index' is 2 x 1, it must be 2 x 2", {});
  refused("prefix_sum", {f32(2, 3), out(3, 2)}, "it must be 2 x 3");
}

TEST_F(OperationRules, EmptyViewsAreCheckedAndDoNothing) {
  run(stream, "copy", {f32(0, 3), out(0, 3)});
  run(stream, "fill", {f32(3, 0)}, {1});
  run(stream, "l2_squared", {f32(2, 0), f32(3, 0), out(2, 3)});
  run(stream, "top_k", {f32(0, 3), out(0, 2), View(other, DType::int32, 0, 2, 50, 2)});
  run(stream, "mean_rows", {f32(0, 3), out(0, 1)});
  EXPECT_ERROR(run(stream, "copy", {f32(0, 3), out(0, 4)}), ErrorCode::invalid_input, "it must be 0 x 3");
}

class EmptyOperations : public OperationsTest, public testing::WithParamInterface<std::string> {};

TEST_P(EmptyOperations, SumsOfNothingAreZeroAndProductsOfNothingScale) {
  context(GetParam());
  HostMatrix nothing(DType::float32, {3, 0, 0, 0});
  HostMatrix sums(DType::float32, {3, 1, 1, 1});
  HostMatrix zeros = sums;
  zeros.fill([](auto, auto) { return 0; });
  run_on("norm_rows", {&nothing, &sums});
  EXPECT_EQ(sums.bytes(), zeros.bytes());
  HostMatrix sum(DType::float32, {1, 1, 2, 0});
  run_on("sum", {&nothing, &sum});
  EXPECT_EQ(sum.get(0, 0), 0);
  HostMatrix none(DType::float32, {0, 2, 0, 0});
  for (const double beta : {0.0, 1.0, -0.5}) {
    HostMatrix c(DType::float32, {3, 2, 1, 3});
    c.randomize(random);
    HostMatrix expected = c;
    expected.fill([&](auto r, auto column) { return beta == 0 ? 0 : beta * c.get(r, column); });
    run_on("matmul", {&nothing, &none, &c}, {0, 0, 3.0, beta});
    expect_equal(c, expected);
  }
}

#if defined(VECTIS_HAS_OPENCL)
INSTANTIATE_TEST_SUITE_P(Devices, EmptyOperations, testing::Values("cpu", "opencl"), case_name);
#else
INSTANTIATE_TEST_SUITE_P(Devices, EmptyOperations, testing::Values("cpu"), case_name);
#endif

TEST_F(OperationRules, ADeviceWithoutCompilerThrowsNoCompiler) {
  const std::vector<View> views = {f32(2, 2)};
  const std::vector<ParameterValue> parameters = {0.0};
  EXPECT_ERROR(detail::run_portable(stream, {find_operation("fill"), views, parameters}), ErrorCode::no_compiler,
               "[fill] cpu:0", "use another device");
}

// Kernels count in 32 bits; only the view's end is looked at.
TEST_F(OperationRules, PortableKernelsIndexUpTo32Bits) {
  const std::vector<View> views = {View(memory, DType::int8, 2, 2, 0, UINT32_MAX - 1)};
  EXPECT_ERROR(detail::check_portable({find_operation("fill"), views, {}}), ErrorCode::invalid_input,
               "[fill] 'out' reaches to element 4294967296, portable kernels reach 4294967295");
}

}  // namespace
}  // namespace vectis::test
