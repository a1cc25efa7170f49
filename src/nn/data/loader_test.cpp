#include "vectis/nn/loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <set>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;

std::shared_ptr<const Dataset> numbers(std::int64_t count) {
  const Tensor x = array::arange(0, static_cast<double>(count));
  return std::make_shared<TensorDataset>(x.reshape({count, 1}), x * 10);
}

std::vector<std::int32_t> read_epoch(Loader& loader) {
  std::vector<std::int32_t> seen;
  for (const Batch& batch : loader) {
    const std::vector<std::int32_t> inputs = batch[0].to_cpu<std::int32_t>();
    const std::vector<std::int32_t> labels = batch[1].to_cpu<std::int32_t>();
    EXPECT_EQ(batch[0].shape(), Shape({static_cast<std::int64_t>(labels.size()), 1}));
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(labels[i], 10 * inputs[i]);
    seen.insert(seen.end(), inputs.begin(), inputs.end());
  }
  return seen;
}

TEST(TensorDatasetTest, TakesRowsOfViewsAndConstants) {
  const Tensor x = array::arange(0, 12).reshape({3, 4});
  const std::vector<Tensor> fields = {x.transpose(), array::full({4, 2}, 7), array::zeros({4, 0})};
  const TensorDataset dataset(fields);
  EXPECT_EQ(dataset.size(), 4);
  const std::vector<Tensor> rows = dataset.examples(std::vector<std::int64_t>{3, 0});
  EXPECT_THAT(rows[0].to_cpu<std::int32_t>(), ElementsAre(3, 7, 11, 0, 4, 8));
  EXPECT_THAT(rows[1].to_cpu<float>(), ElementsAre(7, 7, 7, 7));
  EXPECT_EQ(rows[2].shape(), Shape({2, 0}));
  EXPECT_EQ(dataset.examples({})[0].shape(), Shape({0, 3}));
  EXPECT_ERROR(static_cast<void>(dataset.examples(std::vector<std::int64_t>{4})), ErrorCode::invalid_input,
               "example 4");
  EXPECT_ERROR(TensorDataset(x, array::zeros({4})), ErrorCode::invalid_input, "(3, 4)", "(4,)");
  EXPECT_ERROR(TensorDataset(x, array::zeros({})), ErrorCode::invalid_input, "scalar");
}

TEST(DatasetRangeTest, HasAPart) {
  const DatasetRange part(numbers(10), 6, 9);
  EXPECT_EQ(part.size(), 3);
  EXPECT_THAT(part.examples(std::vector<std::int64_t>{0, 2})[1].to_cpu<std::int32_t>(), ElementsAre(60, 80));
  EXPECT_ERROR(static_cast<void>(part.examples(std::vector<std::int64_t>{3})), ErrorCode::invalid_input, "example 3");
  EXPECT_ERROR(DatasetRange(numbers(10), 6, 11), ErrorCode::invalid_input, "[6, 11)");
}

// Returns a field that does not have a row for each index.
struct WrongRows final : Dataset {
  explicit WrongRows(Shape wrong) : shape(wrong) {}
  [[nodiscard]] std::int64_t size() const override { return 8; }
  [[nodiscard]] std::vector<Tensor> examples(std::span<const std::int64_t> indices) const override {
    return {array::zeros({static_cast<std::int64_t>(indices.size()), 2}), array::zeros(shape)};
  }
  Shape shape;
};

TEST(LoaderTest, RefusesBatchesOfOtherRows) {
  for (const std::size_t prefetch : {0U, 2U}) {
    Loader more(std::make_shared<WrongRows>(Shape{5, 2}), {.batch_size = 4, .prefetch = prefetch});
    EXPECT_ERROR(static_cast<void>(more.next()), ErrorCode::invalid_input, "asked for 4 examples",
                 "field 1 has shape (5, 2)");
    Loader scalar(std::make_shared<WrongRows>(Shape{}), {.batch_size = 4, .prefetch = prefetch});
    EXPECT_ERROR(static_cast<void>(scalar.next()), ErrorCode::invalid_input, "field 1 has shape ()");
  }
}

TEST(LoaderTest, ReadsEachExampleOncePerEpochInAnOrderOfTheSeed) {
  for (const std::int64_t size : {0, 1, 7, 64, 100}) {
    Loader loader(numbers(size), {.batch_size = 8, .seed = test::seed()});
    Loader same(numbers(size), {.batch_size = 8, .seed = test::seed(), .prefetch = 0});
    std::vector<std::int32_t> sorted(static_cast<std::size_t>(size));
    std::iota(sorted.begin(), sorted.end(), 0);
    std::vector<std::int32_t> previous;
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::int32_t> seen = read_epoch(loader);
      EXPECT_EQ(seen, read_epoch(same));
      if (size > 8) {
        EXPECT_NE(seen, previous);
        EXPECT_NE(seen, sorted);
      }
      previous = seen;
      std::ranges::sort(seen);
      EXPECT_EQ(seen, sorted);
    }
  }
}

TEST(LoaderTest, AnOrderIsTheSameOnEveryPlatform) {
  Loader loader(numbers(8), {.batch_size = 8, .seed = 42});
  EXPECT_THAT(read_epoch(loader), ElementsAre(0, 2, 6, 5, 7, 1, 3, 4));
}

TEST(LoaderTest, DropsOrKeepsTheLastBatch) {
  Loader keeping(numbers(10), {.batch_size = 4, .shuffle = false});
  EXPECT_EQ(keeping.batches(), 3);
  EXPECT_EQ(read_epoch(keeping).size(), 10U);
  Loader dropping(numbers(10), {.batch_size = 4, .shuffle = false, .drop_last = true});
  EXPECT_EQ(dropping.batches(), 2);
  EXPECT_THAT(read_epoch(dropping), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(LoaderTest, ContinuesAtAPosition) {
  for (const std::size_t prefetch : {0U, 1U, 3U}) {
    const LoaderOptions options{.batch_size = 3, .seed = test::seed(), .prefetch = prefetch};
    Loader loader(numbers(10), options);
    std::vector<LoaderPosition> positions;
    std::vector<std::vector<std::int32_t>> batches;
    for (int i = 0; i < 12; ++i) {
      positions.push_back(loader.position());
      const std::optional<Batch> batch = loader.next();
      batches.push_back(batch ? (*batch)[0].to_cpu<std::int32_t>() : std::vector<std::int32_t>{});
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
      Loader resumed(numbers(10), options);
      resumed.seek(positions[i]);
      EXPECT_EQ(resumed.position(), positions[i]);
      for (std::size_t j = i; j < batches.size(); ++j) {
        const std::optional<Batch> batch = resumed.next();
        EXPECT_EQ(batch ? (*batch)[0].to_cpu<std::int32_t>() : std::vector<std::int32_t>{}, batches[j]);
      }
    }
    EXPECT_ERROR(loader.seek({.epoch = 0, .batch = 5}), ErrorCode::invalid_input, "batch 5");
  }
}

// Fails at its second reading.
class FailingDataset final : public Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 4; }
  [[nodiscard]] std::vector<Tensor> examples(std::span<const std::int64_t> indices) const override {
    if (indices[0] == 1 && !failed.exchange(true)) throw Error(ErrorCode::io, "read", "the disk is gone");
    return {array::full({1}, indices[0], DType::int32)};
  }
  mutable std::atomic<bool> failed = false;
};

TEST(LoaderTest, AFailedBatchIsReadAgain) {
  for (const std::size_t prefetch : {0U, 2U}) {
    Loader loader(std::make_shared<FailingDataset>(), {.batch_size = 1, .shuffle = false, .prefetch = prefetch});
    EXPECT_EQ(loader.next().value()[0].item<int>(), 0);
    EXPECT_ERROR(static_cast<void>(loader.next()), ErrorCode::io, "the disk is gone");
    EXPECT_EQ(loader.next().value()[0].item<int>(), 1);
    EXPECT_EQ(loader.next().value()[0].item<int>(), 2);
  }
}

TEST(LoaderTest, RunsInASimulation) {
  RuntimeOptions options;
  options.executor = std::make_shared<SimulatedExecutor>(test::seed());
  Runtime runtime(options);
  Loader loader(numbers(10), {.batch_size = 4, .seed = 3, .runtime = &runtime});
  Loader threaded(numbers(10), {.batch_size = 4, .seed = 3});
  EXPECT_EQ(read_epoch(loader), read_epoch(threaded));
}

TEST(LoaderTest, RejectsWrongOptions) {
  EXPECT_ERROR(Loader(nullptr), ErrorCode::invalid_input, "null");
  EXPECT_ERROR(Loader(numbers(3), {.batch_size = 0}), ErrorCode::invalid_input, "batch size is 0");
  EXPECT_ERROR(Loader(numbers(3), {.prefetch = 2000}), ErrorCode::invalid_input, "2000", "1024");
}

TEST(LoaderConcurrent, LoadersShareADataset) {
  const std::shared_ptr<const Dataset> dataset = numbers(1000);
  Loader first(dataset, {.batch_size = 10, .seed = 1, .prefetch = 8});
  Loader second(dataset, {.batch_size = 10, .seed = 1, .prefetch = 8});
  for (int i = 0; i < 250; ++i) {
    const std::optional<Batch> a = first.next();
    const std::optional<Batch> b = second.next();
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a) {
      ASSERT_EQ((*a)[0].to_cpu<std::int32_t>(), (*b)[0].to_cpu<std::int32_t>());
    }
  }
}

}  // namespace
}  // namespace vectis::nn
