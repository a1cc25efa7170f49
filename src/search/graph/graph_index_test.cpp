// The graph index against brute force: hits have exact distances, and recall is as requested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "tests/support/approximate.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::clustered_rows;
using test::expect_sound;
using test::fill_index;
using test::Floats;
using test::Ids;
using test::Tally;
using testing::HasSubstr;

constexpr std::array graph_metrics{Metric::l2, Metric::cosine, Metric::inner_product};

class GraphIndexTest : public testing::Test {
 protected:
  Runtime runtime;
  Random random{test::seed()};
};

class GraphRecallTest : public GraphIndexTest, public testing::WithParamInterface<Metric> {};

TEST_P(GraphRecallTest, ReachesTheRequestedRecall) {
  constexpr std::size_t dim = 24;
  const auto index = make_index("graph", dim, GetParam(), {.runtime = &runtime});
  const BruteForce truth = fill_index(*index, clustered_rows(random, 4000, dim));
  const Floats queries = clustered_rows(random, 600, dim);
  for (const double asked : {0.8, 0.9, 0.95, 0.99}) {
    Tally tally;
    expect_sound(*index, truth, queries, 10, {.recall = asked}, tally);
    std::cout << "requested recall " << asked << ", measured " << tally.recall() << "\n";
    // Narrow searches miss almost everything for a few queries, so the mean of a few hundred queries varies. Also, the
    // graph was calibrated before the last vectors were linked.
    EXPECT_GE(tally.recall(), asked - 0.03 - 0.3 * (1 - asked));
  }
}

INSTANTIATE_TEST_SUITE_P(Metrics, GraphRecallTest, testing::ValuesIn(graph_metrics),
                         [](const auto& given) { return std::string(name(given.param)); });

TEST_F(GraphIndexTest, BuildsTheSameGraphWithAnyNumberOfThreads) {
  constexpr std::size_t dim = 16;
  const Floats vectors = clustered_rows(random, 3000, dim);
  std::vector<std::vector<std::byte>> files;
  for (const std::size_t threads : {1U, 4U}) {
    RuntimeOptions options;
    options.threads = threads;
    Runtime own(std::move(options));
    const auto index = make_index("graph", dim, Metric::l2, {.runtime = &own});
    index->add(vectors);
    index->remove(Ids{1, 5, 9});
    MemoryWriter writer;
    index->save(writer);
    files.emplace_back(writer.bytes().begin(), writer.bytes().end());
  }
  EXPECT_TRUE(files[0] == files[1]);
}

// The encoding is retrained, with shorter codes, once there are enough vectors for a PCA basis.
TEST_F(GraphIndexTest, RetrainsTheEncodingWhileGrowing) {
  constexpr std::size_t dim = 150;
  for (const Metric distance : graph_metrics) {
    SCOPED_TRACE(name(distance));
    const auto index = make_index("graph", dim, distance, {.runtime = &runtime});
    BruteForce truth(dim, distance);
    const Floats queries = clustered_rows(random, 60, dim);
    for (const std::size_t count : {5U, 700U, 2500U}) {
      const Floats more = clustered_rows(random, count, dim);
      truth.put_all(index->add(more), more);
      const Floats other = clustered_rows(random, 1, dim);
      index->update(count / 2, other);
      truth.put(count / 2, other);
      Tally tally;
      expect_sound(*index, truth, queries, 10, {.recall = 0.98}, tally);
      EXPECT_GE(tally.recall(), 0.9) << index->explain();
    }
    MemoryWriter writer;
    index->save(writer);
    MemoryReader reader(writer.bytes());
    const auto copy = load_index(reader, {.runtime = &runtime});
    Tally tally;
    expect_sound(*copy, truth, queries, 10, {.recall = 0.98}, tally);
    EXPECT_GE(tally.recall(), 0.9);
  }
}

TEST_F(GraphIndexTest, RemovingReclaimsMemory) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  BruteForce truth = fill_index(*index, clustered_rows(random, 5000, dim));
  const std::uint64_t before = index->statistics().bytes;
  Ids ids(3500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  for (const std::uint64_t id : ids) truth.remove(id);
  EXPECT_EQ(index->remove(ids), ids.size());
  EXPECT_LT(index->statistics().bytes, before / 2);
  Tally tally;
  expect_sound(*index, truth, clustered_rows(random, 100, dim), 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.9);
}

TEST_F(GraphIndexTest, RebuildingChecksItsContextAndReportsProgress) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(clustered_rows(random, 3000, dim));
  const auto rebuild = [&](bool compacts, const Context& context) {
    compacts ? index->compact(context) : index->drop_full_precision(context);
  };
  Ids ids(100);  // too few to be consolidated by remove()
  for (const bool compacts : {true, false}) {
    const std::string op = compacts ? "compact" : "drop_full_precision";
    SCOPED_TRACE(op);
    std::iota(ids.begin(), ids.end(), compacts ? 0 : 100);
    ASSERT_EQ(index->remove(ids), ids.size());
    const std::size_t live = index->size();
    const auto vector = index->get(500);
    CancelSource source;
    const auto cancelling = Context{}.with_cancel(source).with_progress([&](const Progress&) { source.cancel(); });
    EXPECT_ERROR(rebuild(compacts, cancelling), ErrorCode::cancelled, "[" + op + "]");
    EXPECT_EQ(index->size(), live);
    EXPECT_EQ(index->get(500), vector);
    EXPECT_EQ(index->statistics().removed, ids.size());

    std::vector<Progress> reports;
    rebuild(compacts, Context{}.with_progress([&](const Progress& progress) {
      EXPECT_EQ(progress.operation, op);
      reports.push_back(progress);
    }));
    ASSERT_GE(reports.size(), 4U);
    for (std::size_t i = 1; i < reports.size(); ++i) EXPECT_GT(reports[i].done, reports[i - 1].done);
    EXPECT_EQ(reports.back().done, reports.back().total);
    EXPECT_EQ(index->statistics().removed, 0U);
  }
}

TEST_F(GraphIndexTest, AStoppedRemovalRemovesNothing) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(clustered_rows(random, 500, dim));
  Ids ids(200'000);  // most are absent
  std::iota(ids.begin(), ids.end(), 0);
  CancelSource source;
  const auto cancelling = Context{}.with_cancel(source).with_progress([&](const Progress&) { source.cancel(); });
  EXPECT_ERROR(index->remove(ids, cancelling), ErrorCode::cancelled, "[remove]");
  EXPECT_EQ(index->size(), 500U);
  const auto throwing = Context{}.with_progress([](const Progress& progress) {
    if (progress.done == progress.total) throw 7;
  });
  EXPECT_THROW(index->remove(ids, throwing), int);
  EXPECT_EQ(index->size(), 500U);
  EXPECT_EQ(index->remove(ids), 500U);
}

TEST_F(GraphIndexTest, KeepsRecallAndMemoryUnderChurn) {
  constexpr std::size_t dim = 16;
  constexpr std::size_t rows = 4000;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  BruteForce truth = fill_index(*index, clustered_rows(random, rows, dim));
  const std::uint64_t before = index->statistics().bytes;
  for (std::uint64_t round = 0; round < 10; ++round) {
    Ids ids(rows / 10);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = round * ids.size() + i;
    for (const std::uint64_t id : ids) truth.remove(id);
    ASSERT_EQ(index->remove(ids), ids.size());
    const Floats added = clustered_rows(random, ids.size(), dim);
    truth.put_all(index->add(added), added);
  }
  EXPECT_LE(static_cast<double>(index->statistics().bytes), 1.1 * static_cast<double>(before));
  Tally tally;
  expect_sound(*index, truth, clustered_rows(random, 200, dim), 10, {}, tally);
  std::cout << "recall " << tally.recall() << " after ten rounds, requested 0.95\n";
  EXPECT_GE(tally.recall(), 0.9);
}

TEST_F(GraphIndexTest, AppliesFilters) {
  constexpr std::size_t dim = 16;
  constexpr std::size_t rows = 6000;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  const BruteForce truth = fill_index(*index, clustered_rows(random, rows, dim));
  const Floats queries = clustered_rows(random, 60, dim);
  for (const std::size_t part : {1U, 2U, 10U, 100U}) {
    std::vector<std::uint64_t> words((rows + 63) / 64);
    for (std::size_t id = 0; id < rows; ++id) {
      if (random.below(part) == 0) words[id / 64] |= std::uint64_t{1} << (id % 64);
    }
    Tally tally;
    expect_sound(*index, truth, queries, 10, {.filter = IdFilter::bitmap(words)}, tally);
    std::cout << "one in " << part << ": recall " << tally.recall() << "\n";
    EXPECT_GE(tally.recall(), 0.9);
  }
  // Only rows far from the query are allowed.
  const auto query = std::span(queries).first(dim);
  const auto nearest = truth.search(query, rows / 2);
  std::vector<std::uint64_t> words((rows + 63) / 64, ~std::uint64_t{0});
  for (const Hit& hit : nearest) words[hit.id / 64] &= ~(std::uint64_t{1} << (hit.id % 64));
  Tally tally;
  expect_sound(*index, truth, query, 10, {.filter = IdFilter::bitmap(words)}, tally);
  EXPECT_GE(tally.recall(), 0.9);
}

TEST_F(GraphIndexTest, ExplanationsCallTheSelectivityOfAFilterAnEstimate) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  const BruteForce truth = fill_index(*index, clustered_rows(random, 6000, dim));
  const SearchOptions options{.filter = IdFilter::predicate([](std::uint64_t id) { return id % 60 == 1; })};
  const SearchResult found = index->search(clustered_rows(random, 1, dim), 10, options);
  EXPECT_EQ(found[0].size(), 10U);
  EXPECT_THAT(found.explanation().reason,
              testing::ContainsRegex("an estimated [0-9]+ of 6000 vectors pass the filter"));
}

TEST_F(GraphIndexTest, TheIndexsOwnRecallIsUsed) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.recall = 0.875, .runtime = &runtime});
  index->add(clustered_rows(random, 4000, dim));
  EXPECT_THAT(index->search(clustered_rows(random, 1, dim), 10).explanation().reason, HasSubstr("a recall of 0.875"));
}

TEST_F(GraphIndexTest, LongAdditionsAreLogged) {
  constexpr std::size_t dim = 4;
  std::vector<std::string> logged;
  runtime.set_log_handler([&](const LogRecord& record) { logged.emplace_back(record.message); }, LogLevel::info);
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(clustered_rows(random, 10'000, dim));
  runtime.set_log_handler(nullptr);
  EXPECT_THAT(logged,
              testing::IsSupersetOf({HasSubstr("linking 10000 vectors"), HasSubstr("linked 10000 vectors in")}));
}

TEST_F(GraphIndexTest, EfSetsTheBeamWidth) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  const BruteForce truth = fill_index(*index, clustered_rows(random, 6000, dim));
  const Floats queries = clustered_rows(random, 50, dim);
  std::uint64_t scanned = 0;
  double recall = 0;
  for (const std::size_t ef : {10U, 40U, 150U}) {
    Tally tally;
    expect_sound(*index, truth, queries, 10, {.ef = ef}, tally);
    const SearchExplanation explanation = index->search(queries, 10, {.ef = ef}).explanation();
    EXPECT_EQ(explanation.kernel, "graph");
    EXPECT_GT(explanation.rows_scanned, scanned);
    EXPECT_GE(explanation.reranked, 50U * 10);
    EXPECT_LE(explanation.reranked, 50U * std::max<std::size_t>(2 * 10 + 12, ef / 4));
    EXPECT_GE(tally.recall(), recall - 0.01);
    scanned = explanation.rows_scanned;
    recall = tally.recall();
  }
  EXPECT_GE(recall, 0.95);
}

// A wide beam is not limited by the precision of the codes, and takes no more memory than there are vectors.
TEST_F(GraphIndexTest, WideBeamsFindAll) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  const BruteForce truth = fill_index(*index, clustered_rows(random, 6000, dim));
  const Floats queries = clustered_rows(random, 50, dim);
  Tally tally;
  expect_sound(*index, truth, queries, 10, {.ef = 1000}, tally);
  EXPECT_EQ(tally.recall(), 1);
  for (const std::size_t ef : {std::size_t{6000}, std::numeric_limits<std::size_t>::max()}) {
    test::expect_same(*index, truth, queries, 10, {.ef = ef});
    EXPECT_EQ(index->search(queries, 10, {.ef = ef}).explanation().kernel, "exact scan");
  }
}

TEST_F(GraphIndexTest, HandlesExtremeScalesAndDuplicates) {
  for (const double scale : {1e-30, 1e-12, 1e15, 1e30}) {
    SCOPED_TRACE(testing::Message() << "scale " << scale);
    constexpr std::size_t dim = 12;
    Floats vectors = clustered_rows(random, 1500, dim);
    for (float& x : vectors) x = static_cast<float>(double{x} * scale);
    std::copy_n(vectors.begin(), dim, vectors.begin() + dim);             // a duplicate
    std::fill_n(vectors.begin() + 5 * dim, 300 * dim, vectors[5 * dim]);  // 300 duplicates
    for (const Metric distance : graph_metrics) {
      const auto index = make_index("graph", dim, distance, {.runtime = &runtime});
      const BruteForce truth = fill_index(*index, vectors);
      Tally tally;
      expect_sound(*index, truth, std::span(vectors).subspan(400 * dim, 1000 * dim), 10, {}, tally);
      EXPECT_GE(tally.recall(), 0.93) << name(distance);
    }
  }
}

// Two clusters so far apart that the vectors of one have almost the same codes.
TEST_F(GraphIndexTest, ReachesTheRecallWhereVectorsDifferByLessThanTheErrorOfTheirCodes) {
  constexpr std::size_t dim = 16;
  for (const Metric distance : {Metric::l2, Metric::inner_product}) {
    for (const float offset : {30.0F, 300.0F}) {
      const auto rows_of = [&](std::size_t rows) {
        Floats vectors(rows * dim);
        for (float& x : vectors) x = static_cast<float>(random.unit());
        for (std::size_t i = 0; i < rows; ++i) vectors[i * dim] += i % 2 == 0 ? offset : -offset;
        return vectors;
      };
      for (const std::size_t rows : {900U, 2500U}) {
        SCOPED_TRACE(testing::Message() << name(distance) << ", " << rows << " rows at " << offset);
        const auto index = make_index("graph", dim, distance, {.runtime = &runtime});
        const BruteForce truth = fill_index(*index, rows_of(rows));
        Tally tally;
        expect_sound(*index, truth, rows_of(600), 10, {}, tally);
        EXPECT_GE(tally.recall(), 0.93);
      }
    }
  }
}

// Equal vectors prune each other's links, so that a beam search does not reach all of them.
TEST_F(GraphIndexTest, FindsKOfManyEqualVectors) {
  constexpr std::size_t dim = 8;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  const Floats query(dim, 0.3F);
  for (int i = 0; i < 3; ++i) index->add(Floats(1000 * dim, 0.3F));
  EXPECT_THAT(index->search(query, 10).explanation().reason, testing::Not(HasSubstr("no beam search reaches")))
      << "any of equally near vectors counts as found";
  for (const std::size_t k : {10U, 50U, 100U, 150U}) {
    EXPECT_EQ(index->search(query, k)[0].size(), k);
    EXPECT_EQ(index->search(query, k, {.ef = k})[0].size(), k);
    EXPECT_EQ(index->search(query, k, {.filter = IdFilter::range(500, 2900)})[0].size(), k);
  }
}

// Bytes are too coarse where one dimension is far wider than the others, and in few dimensions.
TEST_F(GraphIndexTest, ReachesItsRecallWhereBytesAreTooCoarse) {
  constexpr std::size_t rows = 6000;
  for (const std::size_t dim : {2U, 3U, 40U}) {
    Floats vectors = random_rows(random, rows + 200, dim);
    for (std::size_t i = 0; i < vectors.size() && dim == 40; i += dim) vectors[i] *= 2000;
    const std::span<const float> all(vectors);
    const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
    index->add(all.first(rows * dim));
    EXPECT_THAT(index->explain(), HasSubstr("coordinates of 32 bits"));
    const std::span<const float> queries = all.subspan(rows * dim);
    const SearchResult found = index->search(queries, 10, {.ef = 100});
    const SearchResult scanned = index->search(queries, 10, {.recall = 1});
    ASSERT_EQ(scanned.explanation().kernel, "exact scan");
    std::size_t hits = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      for (const Hit& hit : found[i]) hits += hit.distance <= scanned[i][9].distance ? 1U : 0U;
    }
    EXPECT_GE(hits, 1980U) << dim;
  }
}

// Cosines that differ by less than floats resolve are ordered by their exact distances.
TEST_F(GraphIndexTest, OrdersAlmostParallelVectorsExactly) {
  constexpr std::size_t rows = 4000;
  constexpr std::size_t dim = 32;
  const Floats centers = test::random_rows(random, 50, dim);
  Floats vectors((rows + 100) * dim);
  for (std::size_t i = 0; i < rows + 100; ++i) {
    const std::size_t group = random.below(50);
    for (std::size_t j = 0; j < dim; ++j) {
      vectors[i * dim + j] = centers[group * dim + j] + 1e-4F * static_cast<float>(random.unit() - 0.5);
    }
  }
  const std::span<const float> all(vectors);
  const auto index = make_index("graph", dim, Metric::cosine, {.runtime = &runtime});
  index->add(all.first(rows * dim));
  const std::span<const float> queries = all.subspan(rows * dim);
  const SearchResult truth = index->search(queries, 10, {.recall = 1});
  const SearchResult found = index->search(queries, 10, {.ef = 400});
  std::size_t hits = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    for (const Hit& hit : found[i]) hits += hit.distance <= truth[i][9].distance ? 1U : 0U;
  }
  EXPECT_GE(hits, 900U);
}

// Groups of almost equal vectors: epsilon times the distances inside a group is less than a step of the codes.
TEST_F(GraphIndexTest, FindsNeighborsAmongAlmostEqualVectors) {
  constexpr std::size_t rows = 8000;
  constexpr std::size_t groups = 200;
  constexpr std::size_t dim = 64;
  const Floats centers = random_rows(random, groups, dim);
  Floats vectors((rows + 300) * dim);
  for (std::size_t i = 0; i < rows + 300; ++i) {
    const std::size_t group = random.below(groups);
    const float width = group % 2 == 0 ? 1e-4F : 0.3F;
    for (std::size_t j = 0; j < dim; ++j) {
      vectors[i * dim + j] = centers[group * dim + j] + width * static_cast<float>(random.unit() - 0.5);
    }
  }
  const std::span<const float> all(vectors);
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(all.first(rows * dim));
  const std::span<const float> queries = all.subspan(rows * dim);
  const SearchResult truth = index->search(queries, 10, {.recall = 1});
  for (const double recall : {0.9, 0.98}) {
    const SearchResult found = index->search(queries, 10, {.recall = recall});
    double hits = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      for (const Hit& hit : found[i]) hits += hit.distance <= truth[i][9].distance ? 1 : 0;
    }
    EXPECT_GE(hits / 3000, recall - 0.03) << found.explanation().reason;
  }
}

// Vectors and queries far longer or shorter than those that the encoding was trained on.
TEST_F(GraphIndexTest, FindsVectorsOfEveryLength) {
  for (const Metric distance : graph_metrics) {
    SCOPED_TRACE(name(distance));
    const auto index = make_index("graph", 2, distance, {.runtime = &runtime});
    BruteForce truth(2, distance);
    const Floats vectors{1e-30F, 2e-30F, 1e10F, 2e10F, 3e38F, -3e38F, 1e-44F, 3e-45F, 0, 0, -5, 7};
    for (std::size_t at = 0; at < vectors.size(); at += 2) {  // each alone, so that the first ones train the encoding
      const auto vector = std::span(vectors).subspan(at, 2);
      truth.put(index->add(vector), vector);
      test::expect_same(*index, truth, vectors, 10);
      test::expect_same(*index, truth, vectors, 2, {.ef = 10});
    }
    MemoryWriter writer;
    index->save(writer);
    MemoryReader reader(writer.bytes());
    test::expect_same(*load_index(reader, {.runtime = &runtime}), truth, vectors, 10);
    index->drop_full_precision();
    const SearchResult found = index->search(vectors, 10);
    for (std::size_t i = 0; i < found.queries(); ++i) EXPECT_EQ(found[i].size(), 6U) << "query " << i;
  }
}

TEST_F(GraphIndexTest, LongAndShortQueriesFindVectors) {
  constexpr std::size_t dim = 12;
  for (const Metric distance : graph_metrics) {
    SCOPED_TRACE(name(distance));
    const auto index = make_index("graph", dim, distance, {.runtime = &runtime});
    const BruteForce truth = fill_index(*index, clustered_rows(random, 3000, dim));
    for (const double scale : {1e-40, 1e12, 1e37}) {
      SCOPED_TRACE(scale);
      Floats queries = clustered_rows(random, 20, dim);
      for (float& x : queries) x = static_cast<float>(double{x} * scale);
      Tally tally;
      expect_sound(*index, truth, queries, 10, {.ef = 200}, tally);
      const SearchResult found = index->search(queries, 10, {.ef = 200});
      for (std::size_t i = 0; i < found.queries(); ++i) EXPECT_EQ(found[i].size(), 10U);
      // The length of a query does not change the order of products and angles.
      if (distance != Metric::l2) {
        EXPECT_GE(tally.recall(), 0.9);
      }
    }
  }
}

// Products of a short query with scaled vectors would vanish in single precision.
TEST_F(GraphIndexTest, ShortQueriesFindTheLargestProductsOfLongVectors) {
  constexpr std::size_t dim = 12;
  const auto index = make_index("graph", dim, Metric::inner_product, {.runtime = &runtime});
  Floats vectors = clustered_rows(random, 3000, dim);
  for (float& x : vectors) x *= 1e30F;
  const BruteForce truth = fill_index(*index, vectors);
  Floats queries = clustered_rows(random, 20, dim);
  for (float& x : queries) x *= 1e-20F;
  Tally tally;
  expect_sound(*index, truth, queries, 10, {.ef = 200}, tally);
  EXPECT_GE(tally.recall(), 0.9);
  // Codes whose scores are all equal would leave the choice to the exact distances of all rows.
  EXPECT_LE(index->search(queries, 10, {.ef = 200}).explanation().reranked, 20U * 100);
}

// One corrupt vector must not take the codes of all others.
TEST_F(GraphIndexTest, OutliersDoNotCostRecall) {
  constexpr std::size_t dim = 12;
  for (const Metric distance : {Metric::l2, Metric::inner_product}) {
    SCOPED_TRACE(name(distance));
    Floats vectors = clustered_rows(random, 3000, dim);
    for (std::size_t i = 0; i < dim; ++i) vectors[1234 * dim + i] *= 1e30F;
    const auto index = make_index("graph", dim, distance, {.runtime = &runtime});
    BruteForce truth = fill_index(*index, vectors);
    Floats later = clustered_rows(random, 1, dim);
    for (float& x : later) x *= -1e35F;
    truth.put_all(index->add(later), later);
    for (const SearchOptions& options : {SearchOptions{.recall = 0.98}, SearchOptions{.ef = 100}}) {
      Tally tally;
      expect_sound(*index, truth, clustered_rows(random, 60, dim), 10, options, tally);
      EXPECT_GE(tally.recall(), 0.9) << "ef " << options.ef.value_or(0);
    }
    // The outliers themselves have codes that can be compared and loaded.
    MemoryWriter writer;
    index->save(writer);
    MemoryReader reader(writer.bytes());
    const auto copy = load_index(reader, {.runtime = &runtime});
    const Ids some{7, 1234, 2000, 3000};
    const SearchOptions among{.filter = IdFilter::sorted_list(some)};
    for (const auto query : {std::span(vectors).subspan(1234 * dim, dim), std::span(later)}) {
      test::expect_same(*index, truth, query, 4, among);
      test::expect_same(*copy, truth, query, 4, among);
    }
  }
}

// Searches from the callback of a large insert around the query, whose rows nobody sees yet.
TEST_F(GraphIndexTest, SearchesBesideALargeAddFindTheVectorsOfBefore) {
  constexpr std::size_t dim = 16;
  constexpr std::size_t rows = 3000;
  constexpr std::size_t k = 10;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(clustered_rows(random, rows, dim));
  const Floats query = clustered_rows(random, 1, dim);
  Floats near(2500 * dim);
  for (std::size_t i = 0; i < near.size(); ++i) near[i] = query[i % dim] + static_cast<float>(random.unit() - 0.5) / 10;
  // The beam passes a few rows that nobody sees yet; it gives up among as many as there are others, and scans.
  const auto expect_old_hits = [&](std::size_t unseen) {
    const SearchResult found = index->search(query, k, {.ef = 60});
    ASSERT_EQ(found[0].size(), k);
    for (const Hit& hit : found[0]) EXPECT_LT(hit.id, rows);
    EXPECT_LT(found.explanation().rows_scanned, unseen < rows / 10 ? rows : 2 * rows + 1000) << unseen << " rows added";
  };
  expect_old_hits(0);
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    expect_old_hits(progress.done);
    if (progress.done > 2000) source.cancel();
  });
  EXPECT_ERROR(index->add(near, context), ErrorCode::cancelled, "[add]");
  expect_old_hits(2500);  // the rows of the failed insert are still linked
  index->remove(0);       // and now there are tombstones
  const Context searching = Context{}.with_progress([&](const Progress& progress) {
    if (progress.done < progress.total) expect_old_hits(2500);
  });
  index->add(near, searching);
  const SearchResult found = index->search(query, k);
  for (const Hit& hit : found[0]) EXPECT_GE(hit.id, rows);
}

// The predicate of the outer search searches, too.
TEST_F(GraphIndexTest, ExplanationsCountTheRowsOfTheirOwnSearch) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  index->add(clustered_rows(random, 2000, dim));
  const Floats query = clustered_rows(random, 1, dim);
  const Floats others = clustered_rows(random, 20, dim);
  const auto scan = [&](const std::optional<SearchOptions>& nested) {
    bool first = nested.has_value();
    const auto predicate = [&](std::uint64_t /*id*/) {
      if (std::exchange(first, false)) {
        EXPECT_GT(index->search(others, 10, *nested).explanation().rows_scanned, 0U);
      }
      return true;
    };
    return index->search(query, 10, {.filter = IdFilter::predicate(predicate), .recall = 1}).explanation();
  };
  const SearchExplanation alone = scan(std::nullopt);
  for (const SearchOptions& nested : {SearchOptions{.recall = 1}, SearchOptions{.ef = 60}}) {
    const SearchExplanation outer = scan(nested);
    EXPECT_EQ(outer.rows_scanned, alone.rows_scanned);
    EXPECT_EQ(outer.reranked, alone.reranked);
  }
  EXPECT_GE(index->statistics().reranked, 3 * alone.reranked + 2 * 20U * 10);
}

// A predicate may look ids up in a table of its own.
TEST_F(GraphIndexTest, PredicatesAreAskedForPresentIdsOnly) {
  const auto index = make_index("graph", 4, Metric::l2, {.runtime = &runtime});
  index->add(clustered_rows(random, 500, 4));
  Ids gone(50);
  std::iota(gone.begin(), gone.end(), 100);
  index->remove(gone);
  const auto predicate = [](std::uint64_t id) {
    EXPECT_FALSE(id >= 100 && id < 150) << "id " << id << " was removed";
    return id % 7 == 0;
  };
  EXPECT_EQ(index->search(clustered_rows(random, 1, 4), 10, {.filter = IdFilter::predicate(predicate)})[0].size(), 10U);
}

TEST_F(GraphIndexTest, RejectsInvalidOptions) {
  const auto index = make_index("graph", 2, Metric::l2, {.runtime = &runtime});
  const Floats two{1, 2};
  EXPECT_ERROR(static_cast<void>(index->search(two, 1, {.recall = 0.0})), ErrorCode::invalid_input, "a recall of 0");
  EXPECT_ERROR(static_cast<void>(index->search(two, 1, {.recall = 1.5})), ErrorCode::invalid_input, "at most 1");
  EXPECT_ERROR(static_cast<void>(index->search(two, 1, {.recall = NAN})), ErrorCode::invalid_input, "recall");
  EXPECT_ERROR(index->set_precision(Precision::fp16), ErrorCode::unsupported, "int8");
  EXPECT_ERROR(make_index("graph", 2, Metric::cosine, {.graph = GraphOptions{.degree = 1}, .runtime = &runtime}),
               ErrorCode::invalid_input, "degree of 1");
  EXPECT_ERROR(
      make_index("graph", 2, Metric::cosine, {.graph = GraphOptions{.ef_construction = 5}, .runtime = &runtime}),
      ErrorCode::invalid_input, "ef_construction");
  EXPECT_EQ(index->size(), 0U);
}

}  // namespace
}  // namespace vectis
