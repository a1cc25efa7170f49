// Several threads record and evaluate arrays that they share.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
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

// The thread whose evaluation fails does not touch arrays that another thread computes after it released them.
TEST(ArrayConcurrent, AnotherThreadComputesAfterAFailure) {
  static thread_local int steps_left = -1;  // until this thread's evaluation fails
  struct Failing final : EvaluationObserver {
    void* begin() noexcept override { return nullptr; }
    void end(void*) noexcept override {}
    void step(void*) override {
      if (steps_left-- == 0) throw std::runtime_error("stopped");
    }
  } observer;
  Runtime runtime;
  set_evaluation_observer(runtime, &observer);
  for (std::uint64_t round = 0; round < runs_wanted(200); ++round) {
    Tensor y = ones({4, 4}, DType::float32, {.runtime = &runtime});
    for (int i = 0; i < 4; ++i) y = matmul(y, y) / 4;
    in_threads(2, [&](int thread) {
      steps_left = thread == 0 ? 2 : -1;
      try {
        y.eval();
      } catch (const std::runtime_error&) {
      }
    });
    ASSERT_EQ(y.to_cpu<float>()[0], 1);
  }
  set_evaluation_observer(runtime, nullptr);
}

}  // namespace vectis::test
