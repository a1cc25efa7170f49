// The calibration of graphs that change: recall holds after growth, removals and replacements, for vectors of another
// kind, and where few vectors are near to all queries.
#include "search/graph/recalibrate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <numeric>

#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::graph {
namespace {

using test::Floats;

class RecalibrateTest : public testing::Test {
 protected:
  // Vectors that fill `rank` of `dim` dimensions, of standard deviation `size`.
  Floats rows_of_rank(std::size_t rows, std::size_t dim, std::size_t rank, double size = 1) {
    Random law(11);  // the same directions for vectors and queries
    Floats directions(rank * dim);
    for (float& x : directions) x = static_cast<float>(normal(law));
    Floats result(rows * dim);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < rank; ++j) {
        const auto weight = static_cast<float>(size * normal(random));
        for (std::size_t at = 0; at < dim; ++at) result[i * dim + at] += weight * directions[j * dim + at];
      }
    }
    return result;
  }

  // Independent coordinates: a hard set.
  Floats noise(std::size_t rows, std::size_t dim, double size = 1) {
    Floats result(rows * dim);
    for (float& x : result) x = static_cast<float>(size * normal(random));
    return result;
  }

  static double normal(Random& source) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += source.unit();
    return sum;
  }

  // Whether the recall asked for is found, but for four standard errors of the queries.
  void expect_recall(const Index& index, const Floats& queries, std::initializer_list<double> asked) {
    const std::size_t dim = index.dim();
    const std::size_t count = queries.size() / dim;
    for (const double recall : asked) {
      const SearchResult found = index.search(queries, 10, {.recall = recall});
      const SearchResult truth = index.search(queries, 10, {.recall = 1});
      ASSERT_EQ(truth.explanation().kernel, "exact scan");
      double sum = 0;
      double squares = 0;
      for (std::size_t i = 0; i < count; ++i) {
        double share = 0;
        for (const Hit& hit : found[i]) share += hit.distance <= truth[i].back().distance ? 0.1 : 0;
        sum += share;
        squares += share * share;
      }
      const double mean = sum / static_cast<double>(count);
      const double error =
          std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean * mean) / static_cast<double>(count));
      std::cout << "recall " << recall << ": " << mean << " by " << found.explanation().kernel << "\n";
      EXPECT_GE(mean, recall - 4 * error - 1e-9);
    }
  }

  static std::vector<std::uint64_t> ids_below(std::size_t count) {
    std::vector<std::uint64_t> ids(count);
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
  }

  Runtime runtime;
  Random random{test::seed()};
};

TEST_F(RecalibrateTest, HoldsWhenALittleIsNewAndDifferent) {
  constexpr std::size_t dim = 64;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(rows_of_rank(6000, dim, 5));
  index->add(noise(700, dim, 2));  // less than calibrates again by their number
  Floats queries = rows_of_rank(300, dim, 5);
  const Floats more = noise(35, dim, 2);
  queries.insert(queries.end(), more.begin(), more.end());
  expect_recall(*index, queries, {0.9, 0.99});
}

// A graph has few ways into a group, and one more linked row may close or open the last one.
TEST_F(RecalibrateTest, HoldsWhereHalfOfFewRowsAreInFarGroups) {
  constexpr std::size_t dim = 64;
  constexpr std::size_t groups = 20;
  const Floats centers = noise(groups, dim, 3);
  const auto rows = [&](std::size_t count) {
    Floats vectors = noise(count, dim);
    for (std::size_t i = 0; i < count; i += 2) {
      const std::size_t group = random.below(groups);
      for (std::size_t j = 0; j < dim; ++j) {
        float& x = vectors[i * dim + j];
        x = centers[group * dim + j] + 1e-5F * x;
      }
    }
    return vectors;
  };
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(rows(1200));
  expect_recall(*index, rows(1000), {0.8, 0.9, 0.95});
}

TEST_F(RecalibrateTest, HoldsWhenMuchIsNewAndEasierToFind) {
  constexpr std::size_t dim = 32;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(noise(4000, dim));
  index->add(rows_of_rank(4000, dim, 3));
  Floats queries = rows_of_rank(200, dim, 3);
  const Floats more = noise(200, dim);
  queries.insert(queries.end(), more.begin(), more.end());
  expect_recall(*index, queries, {0.8, 0.9, 0.95});
}

TEST_F(RecalibrateTest, HoldsWhenAFewFarRowsAreNew) {
  constexpr std::size_t dim = 32;
  const auto far_rows = [&](std::size_t rows) {
    Floats vectors = noise(rows, dim, 0.01);
    for (std::size_t i = 0; i < rows; ++i) vectors[i * dim] += 30;
    return vectors;
  };
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(noise(4000, dim));
  for (int i = 0; i < 12; ++i) index->add(far_rows(50));
  Floats queries = noise(348, dim);
  const Floats more = far_rows(52);
  queries.insert(queries.end(), more.begin(), more.end());
  expect_recall(*index, queries, {0.7, 0.8, 0.9});
}

TEST_F(RecalibrateTest, HoldsWhenATwentiethIsReplacedByHarderRows) {
  constexpr std::size_t dim = 48;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(rows_of_rank(5000, dim, 5));
  index->upsert(ids_below(305), noise(305, dim, 2));
  Floats queries = rows_of_rank(376, dim, 5);
  const Floats more = noise(24, dim, 2);
  queries.insert(queries.end(), more.begin(), more.end());
  expect_recall(*index, queries, {0.9, 0.98});
}

TEST_F(RecalibrateTest, HoldsWhenTheEncodingIsTrainedAgainForEasierRows) {
  constexpr std::size_t dim = 32;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(noise(2000, dim));
  index->add(rows_of_rank(6000, dim, 3));
  Floats queries = noise(100, dim);
  const Floats more = rows_of_rank(300, dim, 3);
  queries.insert(queries.end(), more.begin(), more.end());
  expect_recall(*index, queries, {0.8, 0.95});
}

TEST_F(RecalibrateTest, HoldsWhenItIsSavedAfterEverySmallAdd) {
  constexpr std::size_t dim = 48;
  GraphStore first(runtime.executor(), Metric::l2, dim, {});
  first.add(rows_of_rank(3000, dim, 5), {});
  GraphContents contents = first.contents({});
  for (int i = 0; i < 60; ++i) {
    GraphStore store(runtime.executor(), {}, std::move(contents));
    store.add(noise(5, dim, 2), {});
    contents = store.contents({});
  }
  EXPECT_LT(contents.changed_since_calibration, 60U) << "an eighth is 412";
}

TEST_F(RecalibrateTest, AllRowsAreScannedAfterAStoppedRemovalOfMany) {
  constexpr std::size_t dim = 16;
  GraphStore store(runtime.executor(), Metric::l2, dim, {});
  store.add(noise(3000, dim), {});
  ASSERT_NE(store.now()->calibration, nullptr);
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress&) { source.cancel(); });
  EXPECT_EQ(store.remove(ids_below(1500), context), 1500U);
  EXPECT_EQ(store.now()->calibration, nullptr);
  EXPECT_EQ(store.remove(std::vector<std::uint64_t>{1500}, {}), 1U);
  ASSERT_NE(store.now()->calibration, nullptr);
  EXPECT_EQ(store.now()->calibration->vectors, 1499U);
}

TEST_F(RecalibrateTest, AStoppedAddLeavesTheEncodingOfBefore) {
  constexpr std::size_t dim = 40;
  GraphStore store(runtime.executor(), Metric::l2, dim, {});
  store.add(noise(2000, dim), {});
  const auto before = store.now();
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress&) { source.cancel(); });
  EXPECT_ERROR(store.add(noise(6500, dim, 1000), context), ErrorCode::cancelled, "[add]");
  EXPECT_EQ(store.now()->storage, before->storage);
  EXPECT_EQ(store.now()->calibration, before->calibration);
  EXPECT_EQ(store.now()->live, 2000U);
  EXPECT_EQ(store.add(noise(10, dim), {}), 2000U);
  EXPECT_EQ(store.now()->live, 2010U);
  EXPECT_TRUE(store.get(1999).has_value());
}

TEST_F(RecalibrateTest, RowsOfAStoppedAddCountAsChanges) {
  constexpr std::size_t dim = 16;
  GraphStore store(runtime.executor(), Metric::l2, dim, {});
  store.add(noise(3000, dim), {});
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    if (progress.done > 2500) source.cancel();
  });
  EXPECT_ERROR(store.add(noise(3000, dim), context), ErrorCode::cancelled, "[add]");
  EXPECT_EQ(store.now()->calibration, nullptr) << "their links took the places of others: all rows are scanned";
  store.add(noise(1, dim), {});
  EXPECT_EQ(store.now()->calibration->vectors, 3001U);
}

TEST_F(RecalibrateTest, HoldsWhenRowsAreReplacedByRowsBesideThem) {
  constexpr std::size_t dim = 40;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  Floats vectors = noise(4000, dim);
  index->add(vectors);
  for (float& x : vectors) x += static_cast<float>(0.05 * normal(random));
  index->upsert(ids_below(4000), vectors);
  expect_recall(*index, noise(300, dim), {0.8, 0.9});
}

TEST_F(RecalibrateTest, HoldsWhenRowsAreAddedOneByOne) {
  constexpr std::size_t dim = 32;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(noise(2500, dim));
  for (int i = 0; i < 2000; ++i) index->add(noise(1, dim));
  expect_recall(*index, noise(300, dim), {0.8, 0.9, 0.95});
}

TEST_F(RecalibrateTest, HoldsAndStaysCalibratedAfterRemovals) {
  constexpr std::size_t dim = 32;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(noise(9000, dim));
  index->remove(ids_below(3000));
  expect_recall(*index, noise(300, dim), {0.8, 0.9});
  // Whichever is cheaper on this machine, the graph was an option.
  EXPECT_THAT(index->search(noise(1, dim), 10, {.recall = 0.7}).explanation().reason,
              testing::HasSubstr("a beam search with epsilon"));
}

TEST_F(RecalibrateTest, HoldsWhereAFewVectorsAreNearToAllQueries) {
  constexpr std::size_t dim = 16;
  const auto rows_of = [&](std::size_t rows) {
    Floats vectors = noise(rows, dim, 0.3);
    for (std::size_t i = 0; i < rows; ++i) vectors[i * dim] += i % 2 == 0 ? 30.0F : -30.0F;
    return vectors;
  };
  for (int round = 0; round < 3; ++round) {
    const auto index = make_index("graph", dim, Metric::inner_product, {.runtime = &runtime});
    index->add(rows_of(2500));
    expect_recall(*index, rows_of(400), {0.8, 0.9, 0.95});
  }
}

// Rows with one large coordinate in common: under inner product the longest are the answers to all queries.
TEST_F(RecalibrateTest, HoldsWhenTheAnswersToAllQueriesAreRemoved) {
  constexpr std::size_t dim = 32;
  constexpr std::size_t rows = 3000;
  const auto hubs = [&](std::size_t count) {
    Floats vectors = noise(count, dim, 0.2);
    for (std::size_t i = 0; i < count; ++i) vectors[i * dim] += 2;
    return vectors;
  };
  const Floats vectors = hubs(rows);
  std::vector<std::uint64_t> ids = ids_below(rows);
  std::ranges::sort(ids, std::greater<>(), [&](std::uint64_t id) { return vectors[id * dim]; });
  ids.resize(rows / 10);
  const auto index = make_index("graph", dim, Metric::inner_product, {.runtime = &runtime});
  index->add(vectors);
  index->remove(ids);
  expect_recall(*index, hubs(400), {0.8, 0.9, 0.95});
}

TEST_F(RecalibrateTest, HoldsWhenAFewRowsAreAddedThatAnswerAllQueries) {
  constexpr std::size_t dim = 8;
  const auto index = make_index("graph", dim, Metric::inner_product, {.runtime = &runtime});
  index->add(noise(4000, dim));
  for (int i = 0; i < 30; ++i) index->add(noise(1, dim, 8));
  expect_recall(*index, noise(400, dim), {0.8, 0.9, 0.95, 0.99});
}

TEST_F(RecalibrateTest, ProbesCountTheAnswersThatChange) {
  CalibrationState state;
  state.calibration = std::make_shared<const Calibration>();
  state.probes = {.dim = 2, .queries = {1, 0, 0, 1}, .limits = {-3, -5}};
  EXPECT_EQ(state.probes.answered_by(Floats{3, 4}), 1U) << "products 3 and 4 of 3 and 5";
  EXPECT_EQ(state.probes.answered_by(Floats{9, 9}), 2U);
  EXPECT_EQ(state.probes.answered_by(Floats{-9, 0}), 0U);
  state.count_answers(1, 1);
  EXPECT_FALSE(state.due(10'000)) << "one of twenty answers";
  state.count_answers(1, 2);
  EXPECT_TRUE(state.due(10'000));
}

TEST_F(RecalibrateTest, AStoppedAddLeavesTheCalibrationOfBefore) {
  constexpr std::size_t dim = 16;
  GraphStore store(runtime.executor(), Metric::l2, dim, {});
  store.add(noise(3000, dim), {});
  const std::shared_ptr<const Calibration> before = store.now()->calibration;
  ASSERT_NE(before, nullptr);
  CancelSource first;
  const Context stops_few = Context{}.with_cancel(first).with_progress([&](const Progress&) { first.cancel(); });
  EXPECT_ERROR(store.add(rows_of_rank(100, dim, 2), stops_few), ErrorCode::cancelled, "[add]");
  EXPECT_EQ(store.now()->calibration, before);
  CancelSource second;
  const Context stops_many = Context{}.with_cancel(second).with_progress([&](const Progress& progress) {
    if (progress.done > progress.total - 999) second.cancel();  // after 1,000 rows were held out
  });
  EXPECT_ERROR(store.add(rows_of_rank(4000, dim, 2), stops_many), ErrorCode::cancelled, "[add]");
  EXPECT_EQ(store.now()->calibration, nullptr) << "the links of many rows may have changed";
  EXPECT_ERROR(store.upsert(ids_below(3000), noise(3000, dim), stops_many), ErrorCode::cancelled, "[upsert]");
  EXPECT_EQ(store.now()->calibration, nullptr);
  EXPECT_EQ(store.now()->live, 3000U);
  EXPECT_TRUE(store.now()->storage->versions.visible(0, store.now()->number)) << "it was to be replaced";
}

TEST_F(RecalibrateTest, TheNumberOfChangesIsKeptWithTheContents) {
  constexpr std::size_t dim = 8;
  GraphStore store(runtime.executor(), Metric::l2, dim, {});
  store.add(noise(3000, dim), {});
  EXPECT_EQ(store.contents({}).changed_since_calibration, 0U);
  store.add(noise(40, dim), {});
  GraphContents contents = store.contents({});
  EXPECT_EQ(contents.changed_since_calibration, 40U);
  GraphStore loaded(runtime.executor(), {}, std::move(contents));
  loaded.add(noise(50, dim), {});
  contents = loaded.contents({});
  EXPECT_EQ(contents.changed_since_calibration, 90U);
  GraphStore again(runtime.executor(), {}, std::move(contents));
  again.add(noise(1, dim), {});
  EXPECT_EQ(again.contents({}).changed_since_calibration, 0U) << "what was measured since is not in a file";
}

RecallTable table_of(std::initializer_list<double> missed, double queries) {
  RecallTable table;
  table.queries = queries;
  for (const double share : missed) {
    RecallTable::Row row{.epsilon = 1 + 0.1F * static_cast<float>(table.rows.size())};
    row.missed.fill(share * queries);
    row.squares.fill(share * share * queries);
    row.scored = queries * static_cast<double>(100 + 10 * table.rows.size());
    table.rows.push_back(row);
  }
  return table;
}

TEST_F(RecalibrateTest, TablesAddUpAndTheLastEpsilonCountsBeyondATable) {
  RecallTable sum = table_of({0.4, 0.2}, 100);
  sum.add(table_of({0.2, 0.1, 0.0}, 300));
  ASSERT_EQ(sum.rows.size(), 3U);
  EXPECT_EQ(sum.queries, 400);
  EXPECT_NEAR(sum.recall(0, 0).mean, 0.75, 1e-9);
  EXPECT_NEAR(sum.recall(1, 0).mean, 0.875, 1e-9);
  EXPECT_NEAR(sum.recall(2, 0).mean, 0.95, 1e-9) << "0.2 of the first 100 queries";
  EXPECT_NEAR(sum.recall(0, 0).error, std::sqrt((0.25 * 0.16 + 0.75 * 0.04 - 0.0625) / 400), 1e-9);
  sum.scale(0.5, 2);
  EXPECT_EQ(sum.queries, 200);
  EXPECT_NEAR(sum.recall(2, 0).mean, 0.9, 1e-9);
  EXPECT_NEAR(sum.recall(0, 0).error, 2 * std::sqrt((0.25 * 0.16 + 0.75 * 0.04 - 0.0625) / 200), 1e-9);
}

TEST_F(RecalibrateTest, SettingsAreNotInterpolatedWhereRecallJumps) {
  const Calibration smooth = make_calibration(std::array{table_of({0.2, 0.16, 0.12}, 1e9)}, 10'000);
  EXPECT_NEAR(smooth.setting_for(0.82, {}, 1).value().epsilon, 1.05, 0.01);
  const Calibration jumps = make_calibration(std::array{table_of({0.06, 0.01}, 1e9)}, 10'000);
  EXPECT_NEAR(jumps.setting_for(0.95, {}, 1).value().epsilon, 1.1, 1e-6);
  EXPECT_EQ(jumps.setting_for(0.995, {}, 1), std::nullopt);
}

TEST_F(RecalibrateTest, TheLowestRecallOfSeveralTablesCounts) {
  const std::array tables{table_of({0.2, 0.1}, 1e9), table_of({0.1, 0.16, 0.02}, 1e9)};
  const std::vector<CalibrationPoint> points = make_calibration(tables, 10'000).curves.front().points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_NEAR(points[0].recall, 0.8, 1e-3);
  EXPECT_NEAR(points[1].recall, 0.84, 1e-3);
  EXPECT_NEAR(points[2].recall, 0.9, 1e-3) << "the last epsilon of the first table counts";
}

// A search that gives up costs a scan as well, which many queries share.
TEST_F(RecalibrateTest, ScansAfterSearchesThatGiveUpCount) {
  const SearchCosts costs{
      .visited = 50e-9, .visited_late = 50e-9, .reranked = 100e-9, .scanned = 10e-9, .scanned_in_batch = 1e-9};
  const SearchSetting setting{.epsilon = 1, .reranked = 32, .scored = 1000, .scans = 0.5};
  const double search = 1000 * 50e-9 + 32 * 100e-9;
  EXPECT_NEAR(setting.seconds(costs, 100'000, 1), search + 0.5 * 1e-3, 1e-9);
  EXPECT_NEAR(setting.seconds(costs, 100'000, 1000), search + 0.5 * 1e-4, 1e-9);
  EXPECT_NEAR(costs.scan_seconds(100'000, 1), 1e-3, 1e-9);
  EXPECT_NEAR(costs.scan_seconds(100'000, 64), 1e-4, 1e-9);
  EXPECT_LT(costs.scan_seconds(100'000, 16), 3e-4);
}

TEST_F(RecalibrateTest, RowsOfLongSearchesCostMore) {
  const SearchCosts costs{.visited = 50e-9, .visited_late = 150e-9, .late_scored = 10'000};
  EXPECT_NEAR(costs.beam_seconds(100), 100 * 51e-9, 1e-12);
  EXPECT_NEAR(costs.beam_seconds(5000), 5000 * 100e-9, 1e-12);
  EXPECT_NEAR(costs.beam_seconds(20'000), 20'000 * 150e-9, 1e-12);
  const SearchCosts disturbed{.visited = 50e-9, .visited_late = 20e-9};
  EXPECT_NEAR(disturbed.beam_seconds(5000), 5000 * 50e-9, 1e-12) << "rows of long searches never cost less";
}

TEST_F(RecalibrateTest, RowsAreHeldOutInProportionToTheChange) {
  CalibrationState state;
  EXPECT_EQ(state.count_added(999, 999), 0U);
  EXPECT_FALSE(state.due(999));
  EXPECT_TRUE(state.due(1000));
  EXPECT_EQ(state.count_added(2000, 2000), 200U);
  EXPECT_EQ(state.count_added(8000, 8000), 400U);
  EXPECT_EQ(state.count_added(1'000'000, 1'000'000), 1000U);
  EXPECT_EQ(state.count_added(100, 8000), 0U) << "too few to calibrate an index that is not calibrated";
  state = {};
  state.calibration = std::make_shared<const Calibration>();
  std::size_t held_out = 0;
  for (std::size_t i = 0; i < 10'000; ++i) held_out += state.count_added(1, 100'000);
  EXPECT_NEAR(static_cast<double>(held_out), 100, 1) << "1,000 of as many rows as there are";
  EXPECT_EQ(state.changed, 10'000U);
  EXPECT_FALSE(state.due(100'000));
  state.count_removed(2'500);
  EXPECT_TRUE(state.due(100'000));
}

}  // namespace
}  // namespace vectis::graph
