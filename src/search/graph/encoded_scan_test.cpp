// The scan that encodes rows against brute force in double precision: metrics, dimensions, sizes, tombstones, radius.
#include "search/graph/encoded_scan.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "search/graph/search_costs.hpp"
#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::graph {
namespace {

class EncodedScanTest : public testing::TestWithParam<Metric> {
 protected:
  static SearchParams params_of(const Epoch& now, std::size_t k) {
    return {.storage = now.storage.get(),
            .entry_points = now.entry_points,
            .epoch = now.number,
            .rows = now.rows,
            .no_tombstones = now.removed == 0,
            .k = std::min(k, now.live)};
  }

  // Compares the scan with brute force, with one thread and with all.
  void expect_exact(const GraphStore& store, const test::BruteForce& truth, const test::Floats& queries,
                    std::optional<double> radius = std::nullopt) {
    const auto now = store.now();
    const std::size_t dim = truth.dim();
    ASSERT_TRUE(can_encode(*now->storage));
    SimulatedExecutor alone(1);
    for (const std::size_t k : {std::size_t{1}, std::size_t{10}, now->live + 3}) {
      SearchParams params = params_of(*now, k);
      params.radius = radius;
      SearchOptions options;
      options.radius = radius;
      for (Executor* const executor : {&runtime.executor(), static_cast<Executor*>(&alone)}) {
        std::vector<std::vector<Hit>> hits(queries.size() / dim);
        const ExactScanCounts counts = encoded_scan(*executor, params, queries, {}, hits);
        EXPECT_EQ(counts.scored, hits.size() * now->rows);
        for (std::size_t i = 0; i < hits.size(); ++i) {
          const auto expected = truth.search(std::span(queries).subspan(i * dim, dim), params.k, options);
          ASSERT_EQ(hits[i], expected) << "query " << i << ", k " << k << ", dim " << dim;
        }
      }
    }
  }
  void expect_exact(const test::Floats& rows, const test::Floats& queries, std::size_t dim) {
    GraphStore store(runtime.executor(), GetParam(), dim, {});
    store.add(rows, {});
    test::BruteForce truth(dim, GetParam());
    truth.put_all(0, rows);
    expect_exact(store, truth, queries);
  }

  static test::Floats scaled(test::Floats rows, float factor) {
    for (float& x : rows) x *= factor;
    return rows;
  }

  Runtime runtime;
  Random random{test::seed()};
};

TEST_P(EncodedScanTest, EqualsBruteForceInEveryDimension) {
  for (const std::size_t dim : {1U, 2U, 3U, 15U, 16U, 17U, 63U, 64U, 65U, 256U, 257U}) {
    ASSERT_NO_FATAL_FAILURE(expect_exact(test::random_rows(random, 300, dim), test::random_rows(random, 5, dim), dim));
    ASSERT_NO_FATAL_FAILURE(
        expect_exact(test::clustered_rows(random, 617, dim), test::clustered_rows(random, 17, dim), dim));
  }
}

TEST_P(EncodedScanTest, EqualsBruteForceAtEdgeSizes) {
  constexpr std::size_t dim = 33;
  for (const std::size_t rows : {1U, 2U, 15U, 16U, 17U, 31U, 4096U, 4113U}) {
    ASSERT_NO_FATAL_FAILURE(
        expect_exact(test::clustered_rows(random, rows, dim), test::clustered_rows(random, 1 + rows % 17, dim), dim))
        << rows << " rows";
  }
}

TEST_P(EncodedScanTest, EqualsBruteForceAtEveryMagnitude) {
  constexpr std::size_t dim = 24;
  for (const float factor : {1e-38F, 1e-37F, 1e-18F, 1e15F, 1e36F, 1e37F}) {
    const test::Floats rows = scaled(test::clustered_rows(random, 600, dim), factor);
    ASSERT_NO_FATAL_FAILURE(expect_exact(rows, scaled(test::clustered_rows(random, 9, dim), factor), dim)) << factor;
  }
}

TEST_P(EncodedScanTest, EqualsBruteForceWithOutliersAndTies) {
  constexpr std::size_t dim = 40;
  test::Floats rows = test::random_rows(random, 1000, dim);
  for (std::size_t i = 0; i < 1000; ++i) {
    const float factor = i % 50 == 0 ? std::ldexp(1.0F, static_cast<int>(random.below(160)) - 80) : 1.0F;
    for (std::size_t j = 0; j < dim; ++j) rows[i * dim + j] = std::round(rows[i * dim + j] * 2) * factor;
    if (i % 3 == 0) std::copy_n(rows.begin() + dim, dim, rows.begin() + static_cast<std::ptrdiff_t>(i * dim));
  }
  test::Floats queries(rows.begin(), rows.begin() + 8 * dim);
  queries.resize(10 * dim);  // and two zeros
  for (std::size_t j = 0; j < dim; ++j) queries[5 * dim + j] *= 1e25F;
  ASSERT_NO_FATAL_FAILURE(expect_exact(rows, queries, dim));
}

TEST_P(EncodedScanTest, FindsNoRemovedRows) {
  constexpr std::size_t dim = 20;
  const test::Floats rows = test::clustered_rows(random, 5000, dim);
  GraphStore store(runtime.executor(), GetParam(), dim, {});
  store.add(rows, {});
  test::BruteForce truth(dim, GetParam());
  truth.put_all(0, rows);
  test::Ids removed;
  for (std::uint64_t id = 0; id < 5000; ++id) {
    if (random.below(40) == 0) removed.push_back(id);
  }
  store.remove(removed, {});
  for (const std::uint64_t id : removed) truth.remove(id);
  ASSERT_GT(store.now()->removed, 0U);
  ASSERT_NO_FATAL_FAILURE(expect_exact(store, truth, test::clustered_rows(random, 20, dim)));
}

TEST_P(EncodedScanTest, FindsRowsWithinARadius) {
  constexpr std::size_t dim = 12;
  const test::Floats rows = test::random_rows(random, 700, dim);
  GraphStore store(runtime.executor(), GetParam(), dim, {});
  store.add(rows, {});
  test::BruteForce truth(dim, GetParam());
  truth.put_all(0, rows);
  for (const double radius : {-1.0, 0.0, 0.3, 2.0}) {
    ASSERT_NO_FATAL_FAILURE(expect_exact(store, truth, test::random_rows(random, 6, dim), radius)) << radius;
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, EncodedScanTest,
                         testing::Values(Metric::l2, Metric::l2_squared, Metric::cosine, Metric::inner_product),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(EncodedScan, NeedsFullPrecision) {
  Runtime runtime;
  GraphStore store(runtime.executor(), Metric::l2, 4, {});
  Random random{test::seed()};
  store.add(test::random_rows(random, 100, 4), {});
  EXPECT_TRUE(can_encode(*store.now()->storage));
  store.drop_full_precision({});
  EXPECT_FALSE(can_encode(*store.now()->storage));
}

// Encoding a row costs more than a scan of codes for one query, and less than one for many.
TEST(EncodedScan, IsCheaperForManyQueries) {
  const SearchCosts costs{.scanned = 10e-9, .scanned_in_batch = 2e-9, .encoded = 100e-9, .encoded_in_batch = 2e-9};
  EXPECT_FALSE(costs.encodes(1));
  EXPECT_FALSE(costs.encodes(16));
  EXPECT_TRUE(costs.encodes(1000));
  EXPECT_NEAR(costs.scan_seconds(1000, 1), 1e-5, 1e-12);
  EXPECT_LT(costs.scan_seconds(1000, 1000), 1e-6);
  EXPECT_NEAR(costs.without_encoding().scan_seconds(1000, 1000), 2e-6, 1e-12);
  EXPECT_FALSE(SearchCosts().encodes(1000));
}

}  // namespace
}  // namespace vectis::graph
