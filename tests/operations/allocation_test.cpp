// A repeated launch allocates nothing: operator new is counted on the calling thread, in Vectis and in the plug-in.
#include "tests/operations/fixture.hpp"

namespace vectis::test {

// Defined in allocation_counter.cpp, apart from the code whose allocations it counts.
void start_counting_allocations();
std::size_t stop_counting_allocations();  // calls of operator new on this thread since then

namespace {

template <class Call>
std::size_t count_allocations(const Call& call) {
  start_counting_allocations();
  call();
  return stop_counting_allocations();
}

TEST_F(OperationsTest, ARepeatedLaunchAllocatesNothing) {
  const DeviceMemory x(context("opencl"), 4096);
  const DeviceMemory y(x.context(), 4096);
  const DeviceMemory out(x.context(), 4096);
  Stream stream(x.context());
  const auto calls = [&] {
    run(stream, "fill", {{x, DType::float32, 8, 16}}, {1.5});
    run(stream, "cast", {{x, DType::float32, 8, 16}, {y, DType::float16, 8, 16}});
    run(stream, "transpose", {{x, DType::float32, 8, 16}, {y, DType::float32, 16, 8}});
    run(stream, "l2_squared", {{x, DType::float32, 8, 16}, {y, DType::float32, 8, 16}, {out, DType::float32, 8, 8}});
    run(stream, "sum_rows", {{x, DType::float32, 8, 16}, {out, DType::float32, 8, 1}});
  };
  EXPECT_GT(count_allocations(calls), 0U);  // the first call plans and compiles, so the counter works
  stream.synchronize();
  EXPECT_EQ(count_allocations(calls), 0U);
  stream.synchronize();
}

// Other memories and other streams do not change what a call needs; another shape is planned again, and only once.
TEST_F(OperationsTest, ACallIsPreparedOncePerStreamAndShape) {
  const DeviceMemory x(context("opencl"), 4096);
  const DeviceMemory y(x.context(), 4096);
  Stream stream(x.context());
  const auto fill = [&](const DeviceMemory& memory, std::uint64_t columns) {
    const std::size_t count =
        count_allocations([&] { run(stream, "fill", {{memory, DType::float32, 1, columns}}, {2.0}); });
    stream.synchronize();
    return count;
  };
  EXPECT_GT(fill(x, 100), 0U);
  EXPECT_EQ(fill(y, 100), 0U);
  EXPECT_GT(fill(y, 101), 0U);
  EXPECT_EQ(fill(x, 101), 0U);
  EXPECT_EQ(fill(x, 100), 0U);
}

// What depends on the memory is checked in a repeated call as in the first.
TEST_F(OperationsTest, ARepeatedCallIsCheckedAgain) {
  const DeviceMemory x(context("opencl"), 4096);
  const DeviceMemory small(x.context(), 64);
  const DeviceContext other(device("cpu"));
  const DeviceMemory foreign(other, 4096);
  Stream stream(x.context());
  for (int i = 0; i < 2; ++i) {
    run(stream, "copy", {{x, DType::float32, 1, 100}, {x, DType::float32, 1, 100, 200, 100}});
    EXPECT_ERROR(run(stream, "copy", {{small, DType::float32, 1, 100}, {x, DType::float32, 1, 100, 200, 100}}),
                 ErrorCode::invalid_input, "[copy] 'x'", "its memory holds 16");
    EXPECT_ERROR(run(stream, "copy", {{foreign, DType::float32, 1, 100}, {x, DType::float32, 1, 100, 200, 100}}),
                 ErrorCode::invalid_input, "another context");
    const DeviceMemory slice = x.slice(768, 1024);
    EXPECT_ERROR(run(stream, "copy", {{slice, DType::float32, 1, 100}, {x, DType::float32, 1, 100, 200, 100}}),
                 ErrorCode::invalid_input, "overlaps");
  }
  stream.synchronize();
}

}  // namespace
}  // namespace vectis::test
