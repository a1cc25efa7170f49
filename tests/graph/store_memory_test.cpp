// Lets each allocation of a change fail once: the change is made as a whole, or not at all.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "search/graph/store.hpp"
#include "tests/support/allocation_faults.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/error.hpp"

namespace vectis::graph {
namespace {

constexpr std::size_t dim = 3;

Executor& executor() {
  static const auto one_thread = make_thread_executor({.threads = 1});
  return *one_thread;
}

// A store, the vectors that it must have, and the arguments of the next change.
struct Fixture {
  explicit Fixture(std::size_t rows) {
    set_arguments(0, rows);
    store.add(ids, vectors, {});
    put();
  }
  void set_arguments(std::uint64_t first_id, std::size_t rows) {
    ids.resize(rows);
    std::iota(ids.begin(), ids.end(), first_id);
    vectors = test::random_rows(random, rows, dim);
  }
  void remove(std::uint64_t first_id, std::size_t rows) {
    set_arguments(first_id, rows);
    store.remove(ids, {});
    erase();
  }
  void put() {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto vector = std::span(vectors).subspan(i * dim, dim);
      present[ids[i]] = {vector.begin(), vector.end()};
    }
  }
  void erase() {
    for (const std::uint64_t id : ids) present.erase(id);
  }

  Random random{test::seed()};
  GraphStore store{executor(), Metric::l2, dim, {}};
  std::map<std::uint64_t, std::vector<float>> present;
  std::vector<std::uint64_t> ids;
  std::vector<float> vectors;
};

using Step = std::function<void(Fixture&)>;

struct Change {
  const char* name;
  std::size_t rows;  // of the store before
  Step prepare;
  Step act;             // changes the store
  Step follow;          // changes the model in the same way
  bool rounds = false;  // later vectors
};

std::vector<Change> changes() {
  const Step nothing = [](Fixture&) {};
  const Step put = [](Fixture& fixture) { fixture.put(); };
  const Step erase = [](Fixture& fixture) { fixture.erase(); };
  const Step add = [](Fixture& fixture) { fixture.store.add(fixture.ids, fixture.vectors, {}); };
  const Step upsert = [](Fixture& fixture) { fixture.store.upsert(fixture.ids, fixture.vectors, {}); };
  const Step remove = [](Fixture& fixture) { fixture.store.remove(fixture.ids, {}); };
  const auto with = [](std::uint64_t first_id, std::size_t rows) {
    return [=](Fixture& fixture) { fixture.set_arguments(first_id, rows); };
  };
  const Step leave_tombstones = [](Fixture& fixture) { fixture.remove(0, 20); };
  return {
      {"add", 30, with(100, 2), add, put},
      {"add that retrains the encoding", 10, with(100, 30), add, put},
      {"upsert", 30, with(28, 4), upsert, put},
      {"upsert that consolidates", 90,
       [&](Fixture& fixture) {
         fixture.remove(0, 60);
         fixture.set_arguments(70, 10);
       },
       upsert, put},
      {"remove", 30, with(3, 2), remove, erase},
      {"remove that consolidates", 90, with(0, 80), remove, erase},
      {"compact", 60, leave_tombstones, [](Fixture& fixture) { fixture.store.compact({}); }, nothing},
      {"drop_full_precision", 60, leave_tombstones, [](Fixture& fixture) { fixture.store.drop_full_precision({}); },
       [](Fixture& fixture) {
         for (auto& [id, vector] : fixture.present) vector = fixture.store.get(id).value();
       },
       true},
  };
}

void expect_present(const Fixture& fixture) {
  const auto now = fixture.store.now();
  ASSERT_EQ(now->live, fixture.present.size());
  for (const auto& [id, vector] : fixture.present) ASSERT_EQ(fixture.store.get(id), vector) << "id " << id;
  std::size_t visible = 0;
  for (Slot slot = 0; slot < now->rows; ++slot) {
    if (!now->storage->versions.visible(slot, now->number)) continue;
    ++visible;
    ASSERT_TRUE(fixture.present.contains(now->storage->versions.id(slot)));
  }
  ASSERT_EQ(visible, fixture.present.size());
}

// Returns whether the change made as many as `nth` allocations on this thread.
bool try_fault(const Change& change, std::uint32_t nth, std::size_t& errors) {
  Fixture fixture(change.rows);
  change.prepare(fixture);
  test::arm_allocation_fault(reinterpret_cast<const void*>(&try_fault), test::NewForm::throwing, nth);
  std::optional<ErrorCode> failed;
  try {
    change.act(fixture);
  } catch (const Error& error) {
    failed = error.code();
  }
  const bool occurred = test::disarm_allocation_fault() >= nth;
  if (failed) {
    EXPECT_EQ(*failed, ErrorCode::allocation);
    ++errors;
  } else {
    change.follow(fixture);
  }
  expect_present(fixture);
  if (testing::Test::HasFailure()) return false;
  fixture.set_arguments(1000, 1);
  fixture.store.add(fixture.ids, fixture.vectors, {});
  fixture.put();
  if (!failed && change.rounds) fixture.present[1000] = fixture.store.get(1000).value();
  expect_present(fixture);
  fixture.store.compact({});
  expect_present(fixture);
  EXPECT_EQ(fixture.store.now()->removed, 0U);
  return occurred;
}

TEST(GraphStoreMemory, AFailedChangeChangesNothing) {
  for (const Change& change : changes()) {
    std::size_t errors = 0;
    std::uint32_t nth = 1;
    // All of the first ones, then fewer and fewer: linking makes the same ones for each row.
    while (try_fault(change, nth, errors)) nth += 1 + nth / 50;
    if (HasFailure()) FAIL() << change.name << ", allocation " << nth;
    std::cout << change.name << ": " << nth << " allocations, " << errors << " failures ended the change\n";
  }
}

}  // namespace
}  // namespace vectis::graph
