// The exact scan against brute force in double precision: metrics, dimensions, outliers, ties, dropped precision.
#include "search/graph/exact_scan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::graph {
namespace {

class ExactScanTest : public testing::TestWithParam<Metric> {
 protected:
  // Compares the scan with brute force.
  void expect_exact(const test::Floats& rows, const test::Floats& queries, std::size_t dim, bool drop = false) {
    GraphStore store(runtime.executor(), GetParam(), dim, {});
    store.add(rows, {});
    if (drop) store.drop_full_precision({});
    const auto now = store.now();
    test::BruteForce truth(dim, GetParam());
    for (std::uint64_t id = 0; id < rows.size() / dim; ++id) truth.put(id, store.get(id).value());
    std::vector<Slot> slots(now->rows);
    std::iota(slots.begin(), slots.end(), Slot{0});
    const std::size_t count = queries.size() / dim;
    for (const std::size_t k : {std::size_t{1}, std::size_t{10}, now->rows + 3}) {
      const SearchParams params{.storage = now->storage.get(),
                                .entry_points = {},
                                .epoch = now->number,
                                .rows = now->rows,
                                .k = std::min(k, now->rows)};
      std::vector<ExactQuery> asked(count);
      for (std::size_t i = 0; i < count; ++i) asked[i].vector = queries.data() + i * dim;
      std::vector<std::vector<Hit>> hits(count);
      const ExactScanCounts counts = exact_scan(params, {.count = slots.size(), .listed = slots.data()}, asked, hits);
      EXPECT_EQ(counts.scored, count * slots.size());
      for (std::size_t i = 0; i < count; ++i) {
        const auto expected = truth.search(std::span(queries).subspan(i * dim, dim), params.k);
        ASSERT_EQ(hits[i], expected) << "query " << i << ", k " << k << ", dim " << dim;
      }
    }
  }

  static test::Floats scaled(test::Floats rows, float factor) {
    for (float& x : rows) x *= factor;
    return rows;
  }

  Runtime runtime;
  Random random{test::seed()};
};

TEST_P(ExactScanTest, EqualsBruteForceInEveryDimension) {
  for (const std::size_t dim : {1U, 2U, 3U, 17U, 56U, 57U, 130U, 300U}) {
    ASSERT_NO_FATAL_FAILURE(expect_exact(test::random_rows(random, 300, dim), test::random_rows(random, 5, dim), dim));
    ASSERT_NO_FATAL_FAILURE(
        expect_exact(test::clustered_rows(random, 620, dim), test::clustered_rows(random, 5, dim), dim));
  }
}

TEST_P(ExactScanTest, EqualsBruteForceWithOutliers) {
  constexpr std::size_t dim = 40;
  test::Floats rows = test::clustered_rows(random, 1000, dim);
  for (std::size_t i = 0; i < 1000; i += 50) {
    const float factor = std::ldexp(1.0F, static_cast<int>(random.below(80)) - 40);
    for (std::size_t j = 0; j < dim; ++j) rows[i * dim + j] *= factor;
  }
  for (std::size_t i = 0; i < 1000; ++i) rows[i * dim] *= 1000;
  test::Floats queries = test::clustered_rows(random, 20, dim);
  std::copy_n(rows.begin(), 10 * dim, queries.begin());
  for (std::size_t j = 0; j < dim; ++j) queries[5 * dim + j] *= 1e12F;
  ASSERT_NO_FATAL_FAILURE(expect_exact(rows, queries, dim));
}

// The projection drops the coordinate in which two rows are so large that they are shortened.
TEST_P(ExactScanTest, EqualsBruteForceWithOutliersThatTheProjectionDrops) {
  constexpr std::size_t dim = 128;
  test::Floats rows = test::random_rows(random, 2000, dim);
  for (std::size_t i = 0; i < 2000; ++i) {
    for (std::size_t j = 56; j < dim; ++j) rows[i * dim + j] *= 1e-3F;
  }
  test::Floats query(dim);
  query[0] = 0x1p22F;
  query[127] = 0x1p27F;
  std::ranges::copy(query, rows.end() - dim);
  std::ranges::copy(query, rows.begin());
  rows[1] = 0x1p10F;
  ASSERT_NO_FATAL_FAILURE(expect_exact(rows, query, dim));
}

TEST_P(ExactScanTest, EqualsBruteForceAtEveryMagnitude) {
  constexpr std::size_t dim = 24;
  for (const float factor : {1e-37F, 1e-18F, 1e15F, 1e36F}) {
    const test::Floats rows = scaled(test::clustered_rows(random, 600, dim), factor);
    ASSERT_NO_FATAL_FAILURE(expect_exact(rows, scaled(test::clustered_rows(random, 5, dim), factor), dim)) << factor;
  }
}

TEST_P(ExactScanTest, EqualsBruteForceWithTies) {
  constexpr std::size_t dim = 20;
  test::Floats rows = test::random_rows(random, 900, dim);
  for (float& x : rows) x = std::round(x * 2);
  for (std::size_t i = 300; i < 600; ++i)
    std::copy_n(rows.begin(), dim, rows.begin() + static_cast<std::ptrdiff_t>(i * dim));
  test::Floats queries(rows.begin(), rows.begin() + 4 * dim);
  queries.resize(5 * dim);  // and a zero
  ASSERT_NO_FATAL_FAILURE(expect_exact(rows, queries, dim));
}

TEST_P(ExactScanTest, EqualsBruteForceOverWhatDroppedPrecisionKeeps) {
  constexpr std::size_t dim = 70;
  ASSERT_NO_FATAL_FAILURE(
      expect_exact(test::clustered_rows(random, 1200, dim), test::clustered_rows(random, 9, dim), dim, true));
}

TEST_P(ExactScanTest, ComparesFewRowsByTheirVectors) {
  constexpr std::size_t dim = 50;
  constexpr std::size_t rows = 4000;
  GraphStore store(runtime.executor(), GetParam(), dim, {});
  store.add(test::clustered_rows(random, rows, dim), {});
  const auto now = store.now();
  std::vector<Slot> slots(now->rows);
  std::iota(slots.begin(), slots.end(), Slot{0});
  const test::Floats query = test::clustered_rows(random, 1, dim);
  const SearchParams params{
      .storage = now->storage.get(), .entry_points = {}, .epoch = now->number, .rows = now->rows, .k = 10};
  const ExactQuery asked{.vector = query.data()};
  std::vector<Hit> hits;
  EXPECT_LT(exact_scan(params, {.count = slots.size(), .listed = slots.data()}, {&asked, 1}, {&hits, 1}).reranked,
            rows / 4);
}

INSTANTIATE_TEST_SUITE_P(Metrics, ExactScanTest,
                         testing::Values(Metric::l2, Metric::l2_squared, Metric::cosine, Metric::inner_product),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace vectis::graph
