// What a repeated call costs: nothing compiled, nothing allocated.
#if defined(VECTIS_HAS_OPENCL)

#include "tests/operations/fixture.hpp"
#include "vectis/kernel/cache.hpp"
#include "vectis/memory.hpp"

namespace vectis::test {
namespace {

TEST_F(OperationsTest, RepeatedCallsCompileAndAllocateNothing) {
  const int id = device("opencl").id();
  MemoryPool& pool = memory_pool(runtime());
  ManagedBuffer x = pool.get_managed_buffer(id, 300000, Precision::fp32);
  ManagedBuffer out = pool.get_managed_buffer(id, 300000, Precision::fp32);
  Stream stream(x.memory().context());
  const auto calls = [&] {
    run(stream, "fill", {{x.memory(), DType::float32, 3, 100000}}, {1});
    run(stream, "sum", {{x.memory(), DType::float32, 3, 100000}, {out.memory(), DType::float32, 1, 1}});
    run(stream, "argmax_rows", {{x.memory(), DType::float32, 3, 100000}, {out.memory(), DType::int32, 3, 1}});
    run(stream, "prefix_sum", {{x.memory(), DType::float32, 3, 100000}, {out.memory(), DType::float32, 3, 100000}});
    stream.synchronize();
  };
  calls();
  const CacheStatistics compiled = kernel_cache(runtime()).statistics();
  const MemoryStats before = pool.get_memory_stats(id).value();
  for (int i = 0; i < 20; ++i) calls();
  const CacheStatistics after = kernel_cache(runtime()).statistics();
  EXPECT_EQ(after.compiled + after.disk_hits, compiled.compiled + compiled.disk_hits);
  EXPECT_EQ(pool.get_memory_stats(id)->device_allocations, before.device_allocations);
  EXPECT_EQ(pool.get_memory_stats(id)->live_buffers, 2U);
}

// Packed elements at the very end of a memory whose size is not a multiple of 4 bytes.
TEST_F(OperationsTest, TheLastWordOfAMemoryMayBePartial) {
  const DeviceMemory x(context(), 5);
  const DeviceMemory out(context(), 7);
  Stream stream(context());
  run(stream, "fill", {{x, DType::int8, 1, 5}}, {-7});
  run(stream, "fill", {{out, DType::int8, 1, 7}}, {1});
  run(stream, "copy", {{x, DType::int8, 1, 5}, {out, DType::int8, 1, 5, 2, 5}});
  std::vector<std::byte> bytes(7);
  stream.copy_to_host(bytes, out, 0);
  stream.synchronize();
  const auto one = std::byte{1};
  const auto seven = std::byte{0xf9};
  EXPECT_EQ(bytes, (std::vector<std::byte>{one, one, seven, seven, seven, seven, seven}));
}

// One kernel, many streams.
TEST(OperationsConcurrent, StreamsShareKernels) {
  Runtime runtime;
  const DeviceContext context(runtime.service<DeviceRegistry>().find("opencl").value());
  runtime.executor().parallel_for(8, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) {
      Stream stream(context);
      const DeviceMemory x(context, 4000);
      const DeviceMemory sum(context, 4);
      for (int round = 0; round < 10; ++round) {
        run(stream, "fill", {{x, DType::float32, 10, 100}}, {static_cast<double>(task)});
        run(stream, "sum", {{x, DType::float32, 10, 100}, {sum, DType::float32, 1, 1}});
      }
      float result = -1;
      stream.copy_to_host(std::as_writable_bytes(std::span(&result, 1)), sum, 0);
      stream.synchronize();
      EXPECT_EQ(result, 1000.0F * static_cast<float>(task));
    }
  });
}

}  // namespace
}  // namespace vectis::test

#endif
