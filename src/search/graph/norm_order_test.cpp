// Scans of rows by length against brute force, through changes of every kind.
#include "search/graph/norm_order.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "search/graph/exact_scan.hpp"
#include "search/graph/store.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::graph {
namespace {

using test::Floats;
using test::Ids;

class NormOrderTest : public testing::Test {
 protected:
  static constexpr std::size_t dim = 12;

  // Rows whose lengths differ by orders of magnitude.
  Floats varied_rows(std::size_t count) {
    Floats rows = test::random_rows(random, count, dim);
    for (std::size_t i = 0; i < count; ++i) {
      const float length = std::exp(6 * static_cast<float>(random.unit()));
      for (std::size_t j = 0; j < dim; ++j) rows[i * dim + j] *= length;
    }
    return rows;
  }

  // Queries like the rows, one of them zero, one short and one opposite to a row.
  Floats queries_like(const Floats& rows) {
    Floats queries = varied_rows(6);
    for (std::size_t j = 0; j < dim; ++j) {
      queries[j] = 0;
      queries[dim + j] *= 1e-30F;
      queries[2 * dim + j] = -rows[j];
    }
    return queries;
  }

  // Compares scans of the present rows with brute force, and returns the share of the rows that they read.
  double expect_exact(const Floats& queries, std::optional<double> radius = std::nullopt) {
    const std::shared_ptr<const Epoch> now = store.now();
    if (!now->norm_order) return 1;
    SearchParams params{.storage = now->storage.get(), .entry_points = {}, .epoch = now->number, .rows = now->rows};
    params.radius = radius;
    params.norm_order = now->norm_order.get();
    const ScannedSlots rows = rows_by_norm(params);
    std::vector<ExactQuery> asked(queries.size() / dim);
    for (std::size_t i = 0; i < asked.size(); ++i) asked[i].vector = queries.data() + i * dim;
    std::vector<std::vector<Hit>> hits(asked.size());
    std::uint64_t scored = 0;
    for (const std::size_t k : {std::size_t{1}, std::size_t{10}, now->live}) {
      params.k = k;
      exact_scan(params, rows, asked, hits);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto expected = truth.search(std::span(queries).subspan(i * dim, dim), k, {.radius = radius});
        EXPECT_EQ(hits[i], expected) << "query " << i << ", k " << k;
        std::vector<Hit> alone;
        const auto counts = exact_scan(params, rows, std::span(asked).subspan(i, 1), {&alone, 1});
        EXPECT_EQ(alone, expected) << "query " << i << " alone, k " << k;
        if (k == 1) scored += counts.scored;
      }
    }
    return static_cast<double>(scored) / static_cast<double>(asked.size() * rows.count);
  }

  // Adds rows, or stops when almost all are linked: then the call may end in time or fail.
  void add(std::size_t count, bool stopped = false) {
    const Floats rows = varied_rows(count);
    std::uint64_t first = 0;
    if (change(count, stopped, [&](const Context& context) { first = store.add(rows, context); })) {
      truth.put_all(first, rows);
    }
  }
  Ids some_ids(std::size_t count) {
    Ids ids;
    for (const auto& [id, vector] : truth.rows()) {
      if (ids.size() < count && random.below(3) == 0) ids.push_back(id);
    }
    return ids;
  }
  void upsert(std::size_t count, bool stopped = false) {
    const Ids ids = some_ids(count);
    const Floats rows = varied_rows(ids.size());
    if (!change(ids.size(), stopped, [&](const Context& context) { store.upsert(ids, rows, context); })) return;
    for (std::size_t i = 0; i < ids.size(); ++i) truth.put(ids[i], std::span(rows).subspan(i * dim, dim));
  }
  void remove(std::size_t count) {
    const Ids ids = some_ids(count);
    store.remove(ids, {});
    for (const std::uint64_t id : ids) truth.remove(id);
  }
  // Returns whether the change was made.
  bool change(std::size_t rows, bool stopped, const std::function<void(const Context&)>& work) {
    CancelSource source;
    const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
      if (stopped && 10 * progress.done >= 9 * rows) source.cancel();
    });
    try {
      work(context);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::cancelled);
      return false;
    }
  }

  Runtime runtime;
  Random random{test::seed()};
  GraphStore store{runtime.executor(), Metric::inner_product, dim, {}};
  test::BruteForce truth{dim, Metric::inner_product};
};

TEST_F(NormOrderTest, ScansEndEarly) {
  const Floats rows = varied_rows(3000);
  truth.put_all(store.add(rows, {}), rows);
  EXPECT_LT(expect_exact(varied_rows(20)), 0.3);
  expect_exact(queries_like(rows));
  expect_exact(queries_like(rows), -100.0);
  expect_exact(queries_like(rows), 100.0);
}

TEST_F(NormOrderTest, HoldsForRowsOfOneLengthAndForZeros) {
  Floats rows(500 * dim);
  for (std::size_t i = 0; i < 400; ++i) rows[i * dim + i % dim] = i % 2 == 0 ? 1.0F : -1.0F;
  truth.put_all(store.add(rows, {}), rows);
  expect_exact(queries_like(rows));
}

TEST_F(NormOrderTest, HoldsThroughEveryChange) {
  add(600);
  std::size_t ordered = 0;
  for (int round = 0; round < 60; ++round) {
    switch (random.below(6)) {
      case 0:
        add(1 + random.below(200));
        break;
      case 1:
        upsert(1 + random.below(60));
        break;
      case 2:
        remove(random.below(100));
        break;
      case 3:
        store.compact({});
        break;
      case 4:
        add(120, true);
        break;
      default:
        upsert(100, true);
    }
    ordered += store.now()->norm_order ? 1U : 0U;
    expect_exact(varied_rows(4));
    ASSERT_FALSE(HasFailure()) << "after round " << round;
  }
  EXPECT_GT(ordered, 20U);
}

// The rows are ordered without those that are replaced, which come back when the call is stopped after that.
TEST_F(NormOrderTest, HoldsWhenACallIsStoppedAfterRowsAreOrdered) {
  constexpr std::size_t before = 2000;
  constexpr std::size_t replaced = 40;
  Floats present = varied_rows(before);
  for (std::size_t i = (before - replaced) * dim; i < present.size(); ++i) present[i] *= 1000;
  truth.put_all(store.add(present, {}), present);
  Ids ids(500);
  std::iota(ids.begin(), ids.end(), before - replaced);
  const Floats rows = varied_rows(ids.size());
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    if (10 * progress.done >= 9 * progress.total) source.cancel();
  });
  EXPECT_ERROR(store.upsert(ids, rows, context), ErrorCode::cancelled, "[upsert]");
  EXPECT_NE(store.now()->norm_order, nullptr);
  expect_exact(varied_rows(50));
}

TEST_F(NormOrderTest, ScansEndEarlyWhenSlotsAreReused) {
  add(3000);
  upsert(300);  // enough to be consolidated
  constexpr int changes = 40;
  double read = 0;  // a query of zeros reads all rows
  for (int i = 0; i < changes; ++i) {
    upsert(1 + random.below(60));
    ASSERT_NE(store.now()->norm_order, nullptr);
    read += expect_exact(varied_rows(3)) / changes;
    ASSERT_FALSE(HasFailure()) << "after change " << i;
  }
  EXPECT_LT(read, 0.7);
}

// A scan for all probes at once would hold up the change that ends a calibration.
TEST_F(NormOrderTest, ProbesAreMadeInStepsOfAScanEach) {
  store.add(varied_rows(1500), {});
  const auto now = store.now();
  const SearchParams params{.storage = now->storage.get(),
                            .entry_points = now->entry_points,
                            .epoch = now->number,
                            .rows = now->rows,
                            .norm_order = now->norm_order.get()};
  std::vector<Slot> sample(100);
  std::iota(sample.begin(), sample.end(), Slot{0});
  const AnswerProbes expected = make_probes(params, sample);
  AnswerProbes probes;
  Steps steps = make_probes_in_steps(params, sample, 1, &probes);
  std::size_t count = 0;
  for (; !steps.done(); ++count) steps.step();
  EXPECT_GE(count, expected.limits.size());
  EXPECT_EQ(expected.limits.size(), 64U);
  EXPECT_EQ(probes.limits, expected.limits);
  EXPECT_EQ(probes.queries, expected.queries);
}

TEST_F(NormOrderTest, OtherMetricsHaveNone) {
  GraphStore other(runtime.executor(), Metric::l2, dim, {});
  other.add(varied_rows(100), {});
  EXPECT_EQ(other.now()->norm_order, nullptr);
}

}  // namespace
}  // namespace vectis::graph
