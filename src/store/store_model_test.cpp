// Random sequences of operations compared with a map, for every metric and index kind.
#include "tests/support/store_model.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <limits>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/store.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::Floats;
using test::Ids;

class StoreModel {
 public:
  StoreModel(Runtime& runtime, const std::string& kind, Metric metric, std::uint64_t seed)
      : runtime_(runtime),
        store_(runtime),
        random_(seed),
        dim_(1 + random_.below(24)),
        model_(dim_, metric),
        other_(2, Metric::l2) {
    store_.create_collection("other", {.dim = 2, .index = "flat"});
    store_.create_collection("vectors", {.dim = dim_, .metric = metric, .index = kind});
  }

  void step() {
    switch (random_.below(10)) {
      case 0:
      case 1:
        return add();
      case 2:
        return add_with_ids();
      case 3:
      case 4:
        return upsert();
      case 5:
      case 6:
        return remove();
      case 7:
        return reject();
      case 8:
        return change_other();
      default:
        return reload();
    }
  }

  void check() {
    SearchOptions options;
    const std::vector<std::uint64_t> words{random_.next(), random_.next()};
    if (random_.below(3) == 0) options.filter = IdFilter::bitmap(words, random_.below(100));
    if (random_.below(3) == 0) options.radius = random_.unit() * 3;
    test::expect_collection(vectors(), model_, rows(2), random_.below(20), options);
    test::expect_collection(store_.collection("other"), other_, test::random_rows(random_, 1, 2), 3);
    const Ids ids = test::some_ids(random_, 4, next_ + 4);
    const auto found = vectors().get(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(found[i].has_value(), model_.rows().contains(ids[i]));
    ASSERT_EQ(vectors().metadata().vector_count, model_.rows().size());
  }

 private:
  Collection vectors() { return store_.collection("vectors"); }
  Floats rows(std::size_t count) { return test::random_rows(random_, count, dim_); }
  std::size_t count() { return random_.below(random_.below(6) == 0 ? 200 : 8); }
  Ids used_or_new(std::size_t count) { return test::some_ids(random_, count, next_ + 2 * count + 1); }
  void remember(const Ids& ids, const Floats& values) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      model_.put(ids[i], std::span(values).subspan(i * dim_, dim_));
      next_ = std::max(next_, ids[i] + 1);
    }
  }

  void add() {
    const Floats values = rows(count());
    ASSERT_EQ(vectors().add(values), next_);
    model_.put_all(next_, values);
    next_ += values.size() / dim_;
  }
  void add_with_ids() {
    const Ids ids = used_or_new(count());
    const Floats values = rows(ids.size());
    const bool taken = std::ranges::any_of(ids, [&](auto id) { return model_.rows().contains(id); });
    if (taken) {
      EXPECT_ERROR(vectors().add(ids, values), ErrorCode::invalid_input, "exists already");
    } else {
      vectors().add(ids, values);
      remember(ids, values);
    }
  }
  void upsert() {
    const Ids ids = used_or_new(count());
    const Floats values = rows(ids.size());
    vectors().upsert(ids, values);
    remember(ids, values);
  }
  void remove() {
    const Ids ids = used_or_new(count());
    std::size_t removed = 0;
    for (const std::uint64_t id : ids) removed += static_cast<std::size_t>(model_.remove(id));
    ASSERT_EQ(vectors().remove(ids), removed);
  }
  // Rejected calls have no effect.
  void reject() {
    const Ids ids = used_or_new(3);
    Floats values = rows(3);
    values[random_.below(values.size())] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_ERROR(vectors().upsert(ids, values), ErrorCode::invalid_input, "finite");
    EXPECT_ERROR(vectors().upsert(ids, rows(2)), ErrorCode::invalid_input, "2 vectors, but 3 ids");
    EXPECT_ERROR(vectors().upsert(Ids{7, 7}, rows(2)), ErrorCode::invalid_input, "twice");
    EXPECT_ERROR(vectors().add(ids, values), ErrorCode::invalid_input, "");
    EXPECT_ERROR(store_.create_collection("vectors", {.dim = 1}), ErrorCode::invalid_input, "already");
  }
  void change_other() {
    const Floats values = test::random_rows(random_, 1, 2);
    const Ids id{random_.below(10)};
    store_.collection("other").upsert(id, values);
    other_.put(id[0], values);
  }
  void reload() {
    MemoryWriter writer;
    store_.save(writer);
    MemoryReader reader(writer.bytes());
    VectorStore again = VectorStore::load(reader, runtime_);
    ASSERT_EQ(reader.remaining(), 0U);
    ASSERT_EQ(again.list_collections(), store_.list_collections());
    ASSERT_EQ(again.collection("vectors").config(), vectors().config());
    store_ = std::move(again);
  }

  Runtime& runtime_;
  VectorStore store_;
  Random random_;
  std::size_t dim_;
  BruteForce model_;
  BruteForce other_;
  std::uint64_t next_ = 0;
};

TEST(StoreModel, AgreesWithAMapForEveryMetricAndKind) {
  Runtime runtime;
  constexpr int rounds = 3;
  constexpr int steps = 40;
  int operations = 0;
  for (const Metric metric : all_metrics()) {
    for (const std::string& kind : test::kinds_for(runtime, metric)) {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE(std::string(name(metric)) + " " + kind + " round " + std::to_string(round));
        StoreModel model(runtime, kind, metric, test::seed() * 1000 + round);
        for (int i = 0; i < steps; ++i) {
          model.step();
          model.check();
          ++operations;
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
  std::cout << operations << " operations agree with the model\n";
}

}  // namespace
}  // namespace vectis
