// Many streams at once, and a host of contract version 1.0, which offers no threads.
#include <thread>

#include "tests/cpu/fixture.hpp"

extern "C" const VectisBackend* vectis_cpu_backend_entry(void);

namespace vectis {
namespace {

using test::number;
using test::Sheet;

// Results do not depend on concurrent work: every thread gets the same bits as a single one.
TEST(CpuOperationsConcurrent, StreamsOfManyThreadsAreIndependent) {
  Runtime runtime;
  const DeviceContext context(*runtime.service<DeviceRegistry>().find("cpu"));
  const auto compute = [&](std::uint64_t seed) {
    Random random(seed);
    Stream stream(context);
    Sheet x(context, DType::float32, 300, 400);
    Sheet y(context, DType::float32, 300, 400);
    Sheet pairs(context, DType::float32, 300, 300);
    Sheet product(context, DType::float32, 300, 300);
    Sheet values(context, DType::float32, 300, 5);
    Sheet index(context, DType::int32, 300, 5);
    Sheet norm(context, DType::float32, 1, 1);
    x.fill_random(random);
    y.fill_random(random);
    const auto run = [&](const char* name, std::vector<detail::OpView> views, std::vector<VectisNumber> numbers = {}) {
      EXPECT_TRUE(detail::run_op(stream, name, views, numbers)) << name;
    };
    run("l2_squared", {x.view(), y.view(), pairs.view()});
    run("matmul", {x.view(), y.view(), product.view()}, {number(0), number(1)});
    run("top_k", {product.view(), values.view(), index.view()}, {number(1)});
    run("norm", {pairs.view(), norm.view()});
    stream.synchronize();
    std::vector<std::uint32_t> bits{norm.raw<std::uint32_t>(0, 0)};
    for (std::uint64_t row = 0; row < 300; ++row) {
      bits.push_back(index.raw<std::uint32_t>(row, 0));
      bits.push_back(values.raw<std::uint32_t>(row, 4));
    }
    return bits;
  };
  constexpr std::uint64_t threads = 4;
  std::vector<std::vector<std::uint32_t>> alone;
  for (std::uint64_t i = 0; i < threads; ++i) alone.push_back(compute(test::seed() + i));
  std::vector<std::vector<std::uint32_t>> together(threads);
  std::vector<std::thread> workers;
  for (std::uint64_t i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] { together[i] = compute(test::seed() + i); });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(alone, together);
}

TEST(CpuOperations, RunInTheCallingThreadOnAHostWithoutThreads) {
  VectisHost host{};
  host.size = offsetof(VectisHost, parallel_for);
  const VectisBackend& backend = *vectis_cpu_backend_entry();
  char text[256] = "";
  VectisMessage message{sizeof(message), text, sizeof(text), VECTIS_REASON_NONE};
  VectisBackendState* state = nullptr;
  VectisContext* context = nullptr;
  VectisStream* stream = nullptr;
  VectisMemory* memory = nullptr;
  ASSERT_EQ(backend.open(&host, &state, &message), VECTIS_OK);
  ASSERT_EQ(backend.context_create(state, 0, &context, &message), VECTIS_OK);
  ASSERT_EQ(backend.stream_create(context, &stream, &message), VECTIS_OK);
  constexpr std::uint64_t count = 1'000'000;
  ASSERT_EQ(backend.memory_allocate(context, (count + 1) * sizeof(float), &memory, &message), VECTIS_OK);
  const VectisView views[] = {{memory, 0, 1, count, count, VECTIS_FLOAT32}, {memory, count, 1, 1, 1, VECTIS_FLOAT32}};
  const VectisNumber one{1, 1};
  const VectisOpCall fill{sizeof(fill), "fill", views, 1, &one, 1};
  const VectisOpCall sum{sizeof(sum), "sum", views, 2, nullptr, 0};
  EXPECT_EQ(backend.run_op(stream, &fill, &message), VECTIS_OK);
  EXPECT_EQ(backend.run_op(stream, &sum, &message), VECTIS_OK);
  float total = 0;
  EXPECT_EQ(backend.copy_to_host(stream, &total, memory, count * sizeof(float), sizeof(float), &message), VECTIS_OK);
  EXPECT_EQ(total, static_cast<float>(count));
  backend.memory_free(context, memory);
  backend.stream_destroy(stream);
  backend.context_destroy(context);
  backend.close(state);
}

}  // namespace
}  // namespace vectis
