// Upkeep in steps: every change of a row takes a bounded amount of work, and the graph stays whole all the time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "search/graph/exact_scan.hpp"
#include "search/graph/reachability.hpp"
#include "search/graph/steps.hpp"
#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::graph {
namespace {

class StoreUpkeepTest : public testing::Test {
 protected:
  static constexpr std::size_t dim = 24;

  test::Floats one_row() { return test::clustered_rows(random, 1, dim); }

  void add_one() {
    ids.push_back(store.add(one_row(), {}));
    note();
  }
  void remove_one() {
    const std::size_t place = random.below(ids.size());
    EXPECT_EQ(store.remove(std::span(&ids[place], 1), {}), 1U);
    ids[place] = ids.back();
    ids.pop_back();
    note();
  }
  void note() {
    most = std::max(most, store.upkeep_of_last_change());
    sum += store.upkeep_of_last_change();
    ++changes;
    const auto now = store.now();
    calibrated += now->calibration != nullptr ? 1U : 0U;
    ASSERT_EQ(now->live, ids.size());
  }
  // No list leads to a slot that is free, and all live rows can be found.
  void expect_whole() {
    store.compact({});
    const auto now = store.now();
    const auto all = [](Slot) { return true; };
    EXPECT_EQ(unreachable_rows(now->storage->graph, now->entry_points, now->rows, all).size(), 0U);
  }

  Random random{test::seed()};
  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 2});
  GraphStore store{*executor, Metric::l2, dim, {}};
  std::vector<std::uint64_t> ids;
  double most = 0;
  double sum = 0;
  std::size_t changes = 0;
  std::size_t calibrated = 0;
};

TEST_F(StoreUpkeepTest, EveryChangeOfARowTakesABoundedAmountOfWork) {
  constexpr std::size_t rows = 3000;
  for (std::size_t i = 0; i < 40; ++i) ids.push_back(store.add(one_row(), {}));  // few rows: all at once
  std::shared_ptr<const Epoch> before = store.now();
  while (ids.size() < rows) add_one();
  EXPECT_GT(store.now()->storage->graph.encoding.projection.trained_rows,
            before->storage->graph.encoding.projection.trained_rows)
      << "the encoding was trained in steps";
  before.reset();
  while (ids.size() > rows / 2) remove_one();
  EXPECT_LT(store.now()->rows - ids.size(), rows / 4) << "tombstones were consolidated, and their slots freed";
  for (std::size_t i = 0; i < rows / 2; ++i) {
    add_one();
    remove_one();
  }
  std::cout << "upkeep of a change, in costs of linking a row: mean " << sum / static_cast<double>(changes) << ", most "
            << most << "; calibrated after " << calibrated << " of " << changes << " changes\n";
  EXPECT_LE(most, 2 * GraphStore::steps_per_row) << "at most a step more than the change pays for";
  EXPECT_GT(calibrated, changes / 8) << "few rows are scanned for most of the time";
  expect_whole();
}

// The steps depend on counted work, not on threads or time.
TEST_F(StoreUpkeepTest, TheSameChangesMakeTheSameGraph) {
  const test::Floats vectors = test::clustered_rows(random, 2500, dim);
  std::vector<std::vector<Slot>> lists[2];
  for (const std::size_t threads : {1UL, 3UL}) {
    const auto own = make_thread_executor({.threads = threads});
    GraphStore other(*own, Metric::l2, dim, {});
    for (std::size_t i = 0; i < 2500; ++i) {
      other.add(std::span(vectors).subspan(i * dim, dim), {});
      if (i % 3 == 0) other.remove(std::vector<std::uint64_t>{i / 2}, {});
    }
    const auto now = other.now();
    for (Slot slot = 0; slot < now->rows; ++slot) {
      std::vector<Slot> list(now->storage->graph.links.degree());
      list.resize(now->storage->graph.links.read(slot, list.data()));
      lists[threads == 1 ? 0 : 1].push_back(std::move(list));
    }
  }
  EXPECT_EQ(lists[0], lists[1]);
}

// A search of before goes on while the encoding is trained again and slots are freed and reused.
TEST_F(StoreUpkeepTest, SearchesOfEarlierEpochsStayExact) {
  for (std::size_t i = 0; i < 300; ++i) ids.push_back(store.add(one_row(), {}));
  const auto before = store.now();
  const test::Floats query = one_row();
  const auto found = [&](const Epoch& epoch) {
    const SearchParams params{.storage = epoch.storage.get(),
                              .entry_points = epoch.entry_points,
                              .epoch = epoch.number,
                              .rows = epoch.rows,
                              .k = 5,
                              .beam = beam_for({.epsilon = 1.5F, .reranked = 128}, 5),
                              .reranked = 128};
    SearchScratch scratch(epoch.storage->graph);
    scratch.query.set_vector(epoch.storage->graph.encoding, query.data());
    std::vector<Hit> hits;
    EXPECT_TRUE(search_graph(params, query.data(), scratch, hits));
    return hits;
  };
  const std::vector<Hit> expected = found(*before);
  while (store.now()->storage == before->storage) add_one();
  for (std::size_t i = 0; i < 6000; ++i) add_one();  // beyond the blocks of rows of before
  for (std::size_t i = 0; i < 200; ++i) remove_one();
  const std::vector<Hit> hits = found(*before);
  ASSERT_EQ(hits.size(), expected.size());
  for (std::size_t i = 0; i < hits.size(); ++i) EXPECT_EQ(hits[i].id, expected[i].id);
}

TEST_F(StoreUpkeepTest, AStoppedChangeLeavesTheJobForTheNext) {
  ids.resize(3000);
  std::iota(ids.begin(), ids.end(), 0);
  store.add(test::clustered_rows(random, 3000, dim), {});
  for (std::size_t i = 0; i < 1000; ++i) {
    remove_one();
    CancelSource source;
    const Context context = Context{}.with_cancel(source).with_progress([&](const Progress&) { source.cancel(); });
    EXPECT_ERROR(store.add(one_row(), context), ErrorCode::cancelled, "[add]");
    ASSERT_EQ(store.now()->live, ids.size());
  }
  EXPECT_LE(most, 2 * GraphStore::steps_per_row);
  expect_whole();
  EXPECT_EQ(store.now()->live, ids.size());
}

// A calibration in steps would count changes of before one that a large change made at once.
TEST_F(StoreUpkeepTest, ALargeChangeEndsTheJobUnderWay) {
  constexpr std::size_t rows = 10'000;
  store.add(test::clustered_rows(random, rows, dim), {});
  for (std::size_t i = 0; i < rows / 12 + 100; ++i) store.add(one_row(), {});  // a calibration has begun
  store.add(test::clustered_rows(random, 1500, dim), {});
  for (std::size_t i = 0; i < 500; ++i) {
    store.add(one_row(), {});
    ASSERT_NE(store.now()->calibration, nullptr) << "after " << i << " rows";
  }
}

// Else the encoding would count as outgrown again, and be trained for ever.
TEST_F(StoreUpkeepTest, TrainingUsesAsManyRowsAsThereAreInSpiteOfTombstones) {
  constexpr std::size_t first = training_rows_max / 4 + 100;
  const auto trained_rows = [&] { return store.now()->storage->graph.encoding.projection.trained_rows; };
  store.add(test::clustered_rows(random, first, dim), {});
  std::size_t rows = first;
  for (; trained_rows() == first && rows < 2 * training_rows_max; rows += rows / 20) {
    store.add(test::clustered_rows(random, rows / 20, dim), {});
    const std::vector<std::uint64_t> removed{rows - 1, rows - 7, rows - 50};
    EXPECT_EQ(store.remove(removed, {}), removed.size());
  }
  EXPECT_LT(store.now()->live, rows);
  EXPECT_EQ(trained_rows(), training_rows_max);
}

TEST_F(StoreUpkeepTest, ChangesThatFailDoNotFillTheStoreWithTombstones) {
  constexpr std::size_t rows = 300;
  store.add(test::clustered_rows(random, rows, dim), {});
  for (std::size_t i = 0; i < 10 * rows; ++i) {
    CancelSource source;
    const Context context = Context{}.with_cancel(source).with_progress([&](const Progress&) { source.cancel(); });
    EXPECT_ERROR(store.add(one_row(), context), ErrorCode::cancelled, "[add]");
  }
  EXPECT_EQ(store.now()->live, rows);
  EXPECT_LE(store.now()->rows, 3 * rows);
}

TEST_F(StoreUpkeepTest, FewRowsInManySlotsAreAllEntryPoints) {
  ids.resize(1000);
  std::iota(ids.begin(), ids.end(), 0);
  store.add(test::clustered_rows(random, ids.size(), dim), {});
  while (ids.size() > 100) remove_one();
  const auto now = store.now();
  EXPECT_EQ(now->rows, 1000U) << "too few to move to smaller storage";
  const auto live = std::ranges::count_if(now->entry_points,
                                          [&](Slot slot) { return now->storage->versions.visible(slot, now->number); });
  EXPECT_EQ(live, 100);
}

TEST_F(StoreUpkeepTest, ContentsHaveNoJobUnderWay) {
  ids.resize(2000);
  std::iota(ids.begin(), ids.end(), 0);
  store.add(test::clustered_rows(random, 2000, dim), {});
  for (std::size_t i = 0; i < 130; ++i) remove_one();  // a consolidation has begun
  const GraphContents contents = store.contents({});
  EXPECT_EQ(contents.rows, ids.size());
  EXPECT_EQ(
      unreachable_rows(contents.storage->graph, contents.entry_points, contents.rows, [](Slot) { return true; }).size(),
      0U);
}

Steps count_to(std::vector<int>* seen, int count) {
  for (int i = 0; i < count; ++i) {
    seen->push_back(i);
    co_yield Pause{.done = 2, .next = 3};
  }
}

Steps count_twice(std::vector<int>* seen, bool fails) {
  co_await count_to(seen, 2);
  if (fails) throw std::bad_alloc();
  co_await count_to(seen, 1);
}

TEST(StepsTest, GoFromPauseToPauseThroughNestedSteps) {
  std::vector<int> seen;
  Steps steps = count_twice(&seen, false);
  EXPECT_TRUE(seen.empty()) << "nothing is done before the first step";
  EXPECT_EQ(steps.step(), 2U);
  EXPECT_EQ(steps.next_work(), 3U);
  EXPECT_EQ(seen, std::vector({0}));
  run(std::move(steps));
  EXPECT_EQ(seen, std::vector({0, 1, 0}));
}

TEST(StepsTest, ThrowWhatNestedStepsThrow) {
  std::vector<int> seen;
  EXPECT_THROW(run(count_twice(&seen, true)), std::bad_alloc);
  Steps dropped = count_twice(&seen, false);  // in the middle of nested steps
  dropped.step();
}

}  // namespace
}  // namespace vectis::graph
