// Several threads record and evaluate arrays that they share.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/support/runs.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

template <class Body>
void in_threads(int threads, const Body& body) {
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread) running.emplace_back([&, thread] { body(thread); });
}

}  // namespace

TEST(ArrayConcurrent, ThreadsEvaluateOneGraph) {
  for (std::uint64_t round = 0; round < runs_wanted(100); ++round) {
    const Tensor x = ones({1000});
    const Tensor shared = exp(x) + 1;
    const Tensor total = sum(shared * 2);
    std::atomic<int> right = 0;
    in_threads(4, [&](int thread) {
      const Tensor mine = thread % 2 == 0 ? total : sum(shared) + total * 0;
      const double expected = (std::exp(1.0) + 1) * 1000 * (thread % 2 == 0 ? 2 : 1);
      if (std::fabs(mine.item() - expected) < 1e-2) ++right;
    });
    ASSERT_EQ(right, 4) << "round " << round;
  }
}

TEST(ArrayConcurrent, ThreadsTakeGradientsOfSharedArrays) {
  const Tensor x = arange(0, 64, 1, DType::float32);
  const Tensor features = sin(x);  // pending, and shared by all threads
  std::atomic<int> right = 0;
  in_threads(4, [&](int thread) {
    for (std::uint64_t round = 0; round < runs_wanted(50); ++round) {
      const Tensor weights = full({64}, thread + 1);
      const Tensor gradient = grad([&](const Tensor& w) { return sum(square(w) * features); }, weights);
      const Tensor expected = features * (2 * (thread + 1));
      if (max(absolute(gradient - expected)).item() < 1e-5) ++right;
    }
  });
  EXPECT_EQ(static_cast<std::uint64_t>(right), 4 * runs_wanted(50));
}

TEST(ArrayConcurrent, HandlesAreDroppedWhileOthersEvaluate) {
  for (std::uint64_t round = 0; round < runs_wanted(200); ++round) {
    Tensor middle = ones({100}) * 3;
    const Tensor end = middle + 1;
    in_threads(2, [&](int thread) {
      if (thread == 0) {
        EXPECT_EQ(end.to_cpu<float>()[0], 4);
      } else {
        middle = Tensor();
      }
    });
  }
}

}  // namespace vectis::test
