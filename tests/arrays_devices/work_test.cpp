// What arrays make a device do: launches, copies and allocations of typical programs, and threads that share a device.

#include <thread>

#include "tests/arrays_devices/fixture.hpp"
#include "vectis/memory.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

struct Work {
  std::uint64_t launches;
  std::uint64_t to_device;
  std::uint64_t to_host;
  std::uint64_t allocations;
  bool operator==(const Work&) const = default;
};

void PrintTo(const Work& work, std::ostream* out) {
  *out << work.launches << " launches, " << work.to_device << " copies to the device, " << work.to_host
       << " to the host, " << work.allocations << " allocations";
}

template <class Program>
Work work_of(const Device& device, const Program& program) {
  const LaneStatistics before = statistics(device);
  program();
  const LaneStatistics after = statistics(device);
  return {after.launches - before.launches, after.copies_to_device - before.copies_to_device,
          after.copies_to_host - before.copies_to_host, after.allocations - before.allocations};
}

}  // namespace

TEST_P(EveryArrayDevice, ComputesAChainInOneLaunch) {
  const Tensor x = random_on_target({100, 10}).eval();
  const Tensor bias = random_on_target({10}).eval();
  // Parts of an expression that the program still holds are stored: a name ends their lives.
  const Tensor chain = tanh((x + bias) * 2 - exp(x) / 3);
  EXPECT_EQ(work_of(target(), [&] { (void)chain.eval(); }), (Work{1, 0, 0, 1}));
  const Tensor turned = relu(x.transpose() + 1);
  EXPECT_EQ(work_of(target(), [&] { (void)turned.to_cpu<float>(); }), (Work{1, 0, 1, 1}));
}

TEST_P(EveryArrayDevice, CopiesOnlyWhatItIsGiven) {
  const std::vector<float> values(1000, 1.5F);
  EXPECT_EQ(work_of(target(), [&] { (void)Tensor::from_cpu(values, {10, 100}, on_target()); }), (Work{0, 1, 0, 1}));
  // Single numbers are arguments of kernels, views are strides.
  EXPECT_EQ(work_of(target(),
                    [&] {
                      const Tensor x = full({10, 100}, 2, DType::float32, on_target());
                      const Tensor one = Tensor::from_cpu(std::vector<float>{3}, {1}, on_target());
                      (void)slice(x.transpose(), 0, {.step = 2}).eval();
                      EXPECT_EQ(one.item(), 3);
                    }),
            (Work{0, 0, 0, 0}));
  const Tensor x = Tensor::from_cpu(values, {10, 100}, on_target());
  EXPECT_EQ(work_of(target(), [&] { (void)sum(square(x), {1}).eval(); }), (Work{2, 0, 0, 2}));
  EXPECT_EQ(work_of(target(), [&] { (void)matmul(x, x.transpose()).eval(); }), (Work{1, 0, 0, 1}));
}

TEST_P(EveryArrayDevice, TrainsWithoutCopies) {
  const Tensor x = random_on_target({64, 8}).eval();
  const Tensor y = random_on_target({64, 1}).eval();
  Tensor w = random_on_target({8, 1}).eval();
  const auto loss = [&](const Tensor& v) { return mean(square(matmul(x, v) - y)); };
  const double before = loss(w).item();
  const Work work = work_of(target(), [&] {
    for (int step = 0; step < 20; ++step) w = (w - grad(loss, w) * 0.05).eval();
  });
  EXPECT_EQ(work.to_device, 0U);
  EXPECT_EQ(work.to_host, 0U);
  EXPECT_EQ(work.launches, 20U * 5);  // two products, the difference, its gradient, the step
  EXPECT_LT(loss(w).item(), before);
}

TEST_P(EveryArrayDevice, BindsFewBuffersInOneKernel) {
  std::vector<Tensor> inputs;
  Tensor total = random_on_target({50}).eval();
  Tensor expected = total.on(host());
  for (int i = 0; i < 30; ++i) {
    inputs.push_back(random_on_target({50}).eval());
    total = total + inputs.back() * 2;
    expected = expected + inputs.back().on(host()) * 2;
  }
  expect_same(total, expected, 1e-4, "a sum of many arrays");
}

TEST_P(EveryArrayDevice, ServesSeveralThreads) {
  const Tensor x = random_on_target({50, 20}).eval();
  const Tensor shared = softmax(x);
  const std::vector<float> expected = softmax(x.on(host())).to_cpu<float>();
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> found(4);
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const Tensor own = tanh(x + static_cast<double>(t)) + i;
        (void)sum(own).item();
      }
      found[t] = shared.to_cpu<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& one : found) {
    ASSERT_EQ(one, found[0]);
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], expected[i], 1e-5);
  }
}

// A reclaimer runs while the device looks for memory, and frees arrays of that device.
TEST_P(EveryArrayDevice, AReclaimerReleasesArrays) {
  constexpr std::int64_t elements = std::int64_t{1} << 18;
  std::vector<Tensor> cached;
  MemoryPool& pool = memory_pool(runtime());
  ASSERT_TRUE(pool.set_max_pool_size(target().id(), 8 * elements * sizeof(float)));
  const int id = pool.add_reclaimer({"cache", 50, [&](int, std::uint64_t) {
                                       const std::uint64_t bytes = cached.size() * elements * sizeof(float);
                                       cached.clear();
                                       return bytes;
                                     }});
  for (int i = 0; i < 20; ++i) {
    cached.push_back((ones({elements}, DType::float32, on_target()) * i).eval());
    ASSERT_LT(cached.size(), 9U);
    EXPECT_EQ(cached.back()[5].item(), i);
  }
  pool.remove_reclaimer(id);
}

}  // namespace vectis::test
