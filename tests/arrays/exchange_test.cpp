// Memory of other libraries, observers of evaluations, and operations made of others.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Tensor vector_of(const std::vector<double>& values) {
  return Tensor::from_cpu(values, {static_cast<std::int64_t>(values.size())});
}

HostElements memory_of(const std::shared_ptr<std::vector<float>>& values, Shape shape, Shape strides) {
  return {.data = reinterpret_cast<const std::byte*>(values->data()),
          .type = DType::float32,
          .shape = std::move(shape),
          .strides = std::move(strides),
          .owner = values};
}

class CountingObserver final : public EvaluationObserver {
 public:
  void* begin() noexcept override {
    ++begun;
    return this;
  }
  void end(void* token) noexcept override { ended += token == this ? 1 : 0; }
  void step(void*) override {
    if (++steps == throw_at) throw std::runtime_error("stopped");
  }

  int begun = 0;
  int ended = 0;
  int steps = 0;
  int throw_at = -1;
};

}  // namespace

TEST(ArrayExchange, SharesMemoryAndKeepsItsOwner) {
  auto values = std::make_shared<std::vector<float>>(12);
  std::iota(values->begin(), values->end(), 0.0F);
  const std::weak_ptr<std::vector<float>> watched = values;
  Tensor x = from_host_memory(memory_of(values, {3, 4}, {4, 1}));
  Tensor transposed = from_host_memory(memory_of(values, {4, 3}, {1, 4}));
  EXPECT_EQ(host_memory(x).data, reinterpret_cast<const std::byte*>(values->data()));
  EXPECT_EQ(transposed.to_cpu<float>(), x.transpose().to_cpu<float>());
  HostElements reversed = memory_of(values, {12}, {-1});
  reversed.data += 11 * sizeof(float);
  EXPECT_EQ(from_host_memory(reversed)[1].item(), 10);
  reversed = {};
  HostElements kept = host_memory(x[1]);
  EXPECT_EQ(kept.strides, Shape({1}));
  values.reset();
  x = Tensor();
  transposed = Tensor();
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(*reinterpret_cast<const float*>(kept.data), 4);
  kept = {};
  EXPECT_TRUE(watched.expired());
}

TEST(ArrayExchange, CopiesWhatIsNotAligned) {
  auto values = std::make_shared<std::vector<float>>(4, 1.5F);
  std::vector<std::byte> shifted(17);
  std::memcpy(shifted.data() + 1, values->data(), 16);
  HostElements memory = memory_of(values, {4}, {1});
  memory.data = shifted.data() + (reinterpret_cast<std::uintptr_t>(shifted.data()) % 4 == 3 ? 0 : 1);
  const Tensor x = from_host_memory(memory);
  EXPECT_NE(host_memory(x).data, memory.data);
}

TEST(ArrayExchange, RejectsShapesThatDoNotFit) {
  auto values = std::make_shared<std::vector<float>>(4);
  EXPECT_ERROR(from_host_memory(memory_of(values, {4}, {1, 1})), ErrorCode::invalid_input, "2 strides");
  EXPECT_ERROR(from_host_memory(memory_of(values, {-4}, {1})), ErrorCode::invalid_input, "negative");
}

TEST(ArrayExchange, ObserversSeeEvaluations) {
  Runtime runtime(with_threads(1));
  CountingObserver observer;
  set_evaluation_observer(runtime, &observer);
  const TensorOptions options{.device = std::nullopt, .runtime = &runtime};
  EXPECT_EQ(&runtime_of(ones({2}, DType::float32, options)), &runtime);
  const Tensor product = matmul(ones({3, 3}, DType::float32, options), ones({3, 3}, DType::float32, options));
  const Tensor x = product + 1;
  EXPECT_EQ(observer.begun, 0);
  observer.throw_at = 2;
  EXPECT_THROW(x.eval(), std::runtime_error);
  EXPECT_EQ(observer.ended, 1);
  EXPECT_FALSE(x.is_computed());
  EXPECT_EQ(sum(x).item(), 36);
  EXPECT_EQ(observer.begun, observer.ended);
  const int before = observer.begun;
  x.eval();
  EXPECT_EQ(observer.begun, before);  // it is computed
}

TEST(ArrayCompositions, SignsOfZeros) {
  const Tensor x = vector_of({0.0, -0.0, 1, -1, infinite, -infinite, not_a_number});
  EXPECT_EQ(signbit(x).to_cpu<bool>(), std::vector<bool>({false, true, false, true, false, true, false}));
  EXPECT_TRUE(std::signbit(copysign(full({1}, 2.0, DType::float64), vector_of({-0.0})).item()));
  EXPECT_FALSE(std::signbit(copysign(full({1}, -2.0, DType::float64), vector_of({0.0})).item()));
}

TEST(ArrayCompositions, ProductsAndDifferencesAlongAnAxis) {
  std::mt19937_64 random(seed());
  for (int i = 0; i < 20; ++i) {
    const auto extent = static_cast<std::int64_t>(random() % 20);
    const Dense x = random_dense(random, {3, extent, 2});
    const std::vector<double> products = cumulative_prod(x.tensor(), 1).to_cpu<double>();
    const Dense expected = dense(x.shape, [&](const Shape& index) {
      double product = 1;
      for (std::int64_t k = 0; k <= index[1]; ++k) product *= x.at({index[0], k, index[2]});
      return product;
    });
    for (std::size_t k = 0; k < products.size(); ++k) EXPECT_NEAR(products[k], expected.values[k], 1e-12);
    const Tensor differences = diff(x.tensor(), 1, 1);
    EXPECT_EQ(differences.extent(1), std::max<std::int64_t>(extent - 1, 0));
    for_each_index(differences.shape(), [&](const Shape& at) {
      EXPECT_EQ(differences[at[0]][at[1]][at[2]].item(), x.at({at[0], at[1] + 1, at[2]}) - x.at(at));
    });
  }
  EXPECT_ERROR(diff(vector_of({1}), -1), ErrorCode::invalid_input, "-1 times");
}

TEST(ArrayCompositions, Tensordot) {
  std::mt19937_64 random(seed());
  const Dense a = random_dense(random, {2, 3, 4});
  const Dense b = random_dense(random, {4, 5, 2});
  const Tensor found = tensordot(a.tensor(), b.tensor(), {2, 0}, {0, -1});
  ASSERT_EQ(found.shape(), Shape({3, 5}));
  for_each_index(found.shape(), [&](const Shape& at) {
    double sum = 0;
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t k = 0; k < 4; ++k) sum += a.at({i, at[0], k}) * b.at({k, at[1], i});
    }
    EXPECT_NEAR(found[at[0]][at[1]].item(), sum, 1e-12);
  });
  EXPECT_ERROR(tensordot(a.tensor(), b.tensor(), {1}, {1}), ErrorCode::invalid_input, "equal extent");
  EXPECT_ERROR(tensordot(a.tensor(), b.tensor(), {0, 0}, {2, 2}), ErrorCode::invalid_input, "twice");
}

TEST(ArraySearches, PositionsInSortedVectors) {
  const Tensor sorted = vector_of({-infinite, 1, 1, 3, infinite, not_a_number});
  const Tensor values = vector_of({-infinite, 0, 1, 2, 3, infinite, not_a_number});
  EXPECT_EQ(searchsorted(sorted, values).to_cpu<std::int64_t>(), std::vector<std::int64_t>({0, 1, 1, 3, 3, 4, 5}));
  EXPECT_EQ(searchsorted(sorted, values, true).to_cpu<std::int64_t>(),
            std::vector<std::int64_t>({1, 1, 3, 3, 4, 5, 6}));
  EXPECT_EQ(isin(values, sorted).to_cpu<bool>(), std::vector<bool>({true, false, true, false, true, true, false}));
  EXPECT_FALSE(any(isin(values, zeros({0}, DType::float64))).item<bool>());
  EXPECT_ERROR(searchsorted(sorted.reshape({2, 3}), values), ErrorCode::invalid_input, "give a vector");
}

TEST(ArraySearches, NeighborsOfFloatingPointNumbers) {
  std::mt19937_64 random(seed());
  std::vector<float> from = {0.0F, -0.0F, 1.0F, std::numeric_limits<float>::max(),
                             -std::numeric_limits<float>::infinity()};
  std::vector<float> to = {1.0F, -1.0F, 1.0F, std::numeric_limits<float>::infinity(), 0.0F};
  std::normal_distribution<float> normal;
  for (int i = 0; i < 100; ++i) {
    from.push_back(normal(random));
    to.push_back(normal(random));
  }
  const Shape shape = {static_cast<std::int64_t>(from.size())};
  const auto found = nextafter(Tensor::from_cpu(from, shape), Tensor::from_cpu(to, shape)).to_cpu<float>();
  for (std::size_t i = 0; i < from.size(); ++i) EXPECT_EQ(found[i], std::nextafter(from[i], to[i])) << i;
  EXPECT_TRUE(std::isnan(nextafter(vector_of({1}), vector_of({not_a_number})).item()));
  EXPECT_EQ(nextafter(full({1}, 1, DType::float16), 2).item(), 1 + 0x1p-10);
  EXPECT_ERROR(nextafter(zeros({1}, DType::int32), 1), ErrorCode::invalid_input, "floating-point");
}

TEST(ArraySearches, RepetitionsOfEachElement) {
  const Tensor x = vector_of({5, 6, 7});
  const Tensor counts = Tensor::from_cpu(std::vector<std::int64_t>{2, 0, 1}, {3});
  EXPECT_EQ(repeat(x, counts, 0).to_cpu<double>(), std::vector<double>({5, 5, 7}));
  EXPECT_EQ(repeat(x, full({1}, 2, DType::int32), 0).extent(0), 6);
  EXPECT_ERROR(repeat(x, full({3}, -1, DType::int32), 0), ErrorCode::invalid_input, "0 or more");
  EXPECT_ERROR(repeat(x, full({2}, 1, DType::int32), 0), ErrorCode::invalid_input, "one for each");
  EXPECT_ERROR(repeat(x, full({3}, 1.0, DType::float32), 0), ErrorCode::invalid_input, "integers");
  EXPECT_EQ(unstack(x.reshape({1, 3}), 1).size(), 3U);
}

}  // namespace vectis::test
