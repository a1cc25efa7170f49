// Evaluations that compute nothing: the memory that they count, in the order of the evaluator.

#include "array/dry_run.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "vectis/array.hpp"
#include "vectis/device.hpp"
#include "vectis/memory.hpp"

namespace vectis::array {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::int64_t side = 512;  // a float32 matrix of 1 MiB

class DryRunTest : public testing::Test {
 protected:
  Device host() { return runtime_.service<DeviceRegistry>().find("cpu").value(); }
  Tensor matrix() { return Tensor::from_cpu(std::vector<float>(side * side, 1.0F), {side, side}, {.device = host()}); }
  static Tensor stand_in(DryRun& run, const Device& device) {
    return run.stand_in({side, side}, DType::float32, device, 1);
  }
  // The bytes in use at most while `compute` evaluates, beyond those before.
  template <class Compute>
  std::uint64_t measured(const Compute& compute) {
    Runtime runtime;  // the high-water mark of a pool cannot be reset
    const Device device = runtime.service<DeviceRegistry>().find("cpu").value();
    const Tensor x = Tensor::from_cpu(std::vector<float>(side * side, 1.0F), {side, side}, {.device = device});
    compute(x).eval();
    return memory_pool(runtime).get_memory_stats(device.id())->peak_in_use_bytes;
  }
  template <class Compute>
  std::uint64_t predicted(const Compute& compute) {
    DryRun run(host());
    compute(stand_in(run, host())).eval();
    const std::vector<std::uint64_t> peak = run.ledger().peak(2);
    return peak[0] + peak[1];
  }

 private:
  Runtime runtime_;
};

}  // namespace

TEST_F(DryRunTest, CountsWhatTheEvaluatorTakes) {
  const std::vector<Tensor (*)(const Tensor&)> functions = {
      [](const Tensor& x) { return x + 1; },
      [](const Tensor& x) { return matmul(matmul(x, x), x); },
      [](const Tensor& x) { return matmul(x, x) + matmul(x.transpose(), x) * 2; },
      [](const Tensor& x) { return sum(x.transpose().reshape({-1, 4}), {1}); },
      [](const Tensor& x) { return softmax(x) - softmax(x.transpose()); },
      [](const Tensor& x) { return concat(std::vector{x, x.transpose(), x + 1}); },
      [](const Tensor& x) { return matmul(slice(x, 1, {0, 100}), slice(x, 0, {0, 100}).astype(DType::bfloat16)); },
      [](const Tensor& x) { return conv(x.reshape({4, 16, 64, 64}), x.reshape({-1, 16, 4, 4}), {}); },
      [](const Tensor& x) { return max(x.astype(DType::float64) * 3, {0}); },
      [](const Tensor& x) { return Generator(1, {.device = x.device()}).normal({side, side}) * x; },
      [](const Tensor& x) { return x.transpose() * (x + 2); },
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    EXPECT_EQ(predicted(functions[i]), measured(functions[i])) << "function " << i;
  }
}

TEST_F(DryRunTest, SaysWhatMemoryIsFor) {
  DryRun run(host());
  const Tensor x = stand_in(run, host());
  run.begin_use(2);
  const Tensor y = matmul(x, x);
  run.begin_use(3);
  const Tensor z = matmul(y, x);
  z.eval();
  EXPECT_EQ(run.ledger().peak(5), (std::vector<std::uint64_t>{0, mib, mib, mib, 0}));
  run.set_use(std::vector{z}, 4);
  EXPECT_EQ(run.ledger().peak(5), (std::vector<std::uint64_t>{0, mib, mib, 0, mib}));
  EXPECT_EQ(run.largest(), mib);
}

TEST_F(DryRunTest, ReadsOnesAndLeavesNoValues) {
  Tensor computed;
  Tensor recorded;
  const Tensor older = matrix() * 3;
  {
    DryRun run(host());
    const Tensor x = stand_in(run, host());
    computed = mean(x);
    EXPECT_EQ(computed.item(), 1);
    EXPECT_EQ((x * 5).astype(DType::int32).to_cpu<std::int32_t>(), std::vector<std::int32_t>(side * side, 1));
    recorded = computed + 1;
    EXPECT_EQ(older.to_cpu<float>()[0], 3) << "what was recorded before is computed";
    EXPECT_ERROR(static_cast<void>(unique(x)), ErrorCode::unsupported, "not computed");
    EXPECT_ERROR(DryRun second(host()), ErrorCode::invalid_input, "already");
  }
  for (const Tensor& lost : {computed, recorded, recorded * 2}) {
    EXPECT_ERROR(static_cast<void>(lost.item()), ErrorCode::invalid_input, "while memory was predicted");
  }
  EXPECT_EQ(sum(matrix()).item(), side * side);
}

TEST_F(DryRunTest, CountsArraysThatWereThereBefore) {
  const Tensor before = matrix().eval();
  DryRun run(host());
  matmul(before, stand_in(run, host())).eval();
  EXPECT_EQ(run.ledger().peak(2), (std::vector<std::uint64_t>{2 * mib, mib})) << "one of the program, one computed";
}

}  // namespace vectis::array
