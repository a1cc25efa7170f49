// Random sequences of operations against a map, for every distance and kind.
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
  StoreModel(Runtime& runtime, const std::string& kind, Metric distance, std::uint64_t seed)
      : runtime_(runtime),
        store_(runtime),
        random_(seed),
        dim_(1 + random_.below(24)),
        truth_(dim_, distance),
        neighbor_(2, Metric::l2) {
    store_.create_collection("neighbor", {.dim = 2, .index = "flat"});
    store_.create_collection("vectors", {.dim = dim_, .metric = distance, .index = kind});
  }

  void step() {
    switch (random_.below(10)) {
      case 0:
      case 1:
        return insert();
      case 2:
        return insert_with_ids();
      case 3:
      case 4:
        return upsert();
      case 5:
      case 6:
        return erase();
      case 7:
        return refuse();
      case 8:
        return change_neighbor();
      default:
        return reload();
    }
  }

  void check() {
    SearchOptions options;
    const std::vector<std::uint64_t> words{random_.next(), random_.next()};
    if (random_.below(3) == 0) options.filter = IdFilter::bitmap(words, random_.below(100));
    if (random_.below(3) == 0) options.radius = random_.unit() * 3;
    test::expect_collection(vectors(), truth_, rows(2), random_.below(20), options);
    test::expect_collection(store_.collection("neighbor"), neighbor_, test::random_rows(random_, 1, 2), 3);
    const Ids ids = test::some_ids(random_, 4, next_ + 4);
    const auto found = vectors().get(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(found[i].has_value(), truth_.rows().contains(ids[i]));
    ASSERT_EQ(vectors().metadata().vector_count, truth_.rows().size());
  }

 private:
  Collection vectors() { return store_.collection("vectors"); }
  Floats rows(std::size_t count) { return test::random_rows(random_, count, dim_); }
  std::size_t count() { return random_.below(random_.below(6) == 0 ? 200 : 8); }
  Ids used_or_new(std::size_t count) { return test::some_ids(random_, count, next_ + 2 * count + 1); }
  void remember(const Ids& ids, const Floats& numbers) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      truth_.put(ids[i], std::span(numbers).subspan(i * dim_, dim_));
      next_ = std::max(next_, ids[i] + 1);
    }
  }

  void insert() {
    const Floats numbers = rows(count());
    ASSERT_EQ(vectors().add(numbers), next_);
    truth_.put_all(next_, numbers);
    next_ += numbers.size() / dim_;
  }
  void insert_with_ids() {
    const Ids ids = used_or_new(count());
    const Floats numbers = rows(ids.size());
    const bool taken = std::ranges::any_of(ids, [&](auto id) { return truth_.rows().contains(id); });
    if (taken) {
      EXPECT_ERROR(vectors().add(ids, numbers), ErrorCode::invalid_input, "exists already");
    } else {
      vectors().add(ids, numbers);
      remember(ids, numbers);
    }
  }
  void upsert() {
    const Ids ids = used_or_new(count());
    const Floats numbers = rows(ids.size());
    vectors().upsert(ids, numbers);
    remember(ids, numbers);
  }
  void erase() {
    const Ids ids = used_or_new(count());
    std::size_t there = 0;
    for (const std::uint64_t id : ids) there += static_cast<std::size_t>(truth_.remove(id));
    ASSERT_EQ(vectors().remove(ids), there);
  }
  // What is refused changes nothing.
  void refuse() {
    const Ids ids = used_or_new(3);
    Floats numbers = rows(3);
    numbers[random_.below(numbers.size())] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_ERROR(vectors().upsert(ids, numbers), ErrorCode::invalid_input, "finite");
    EXPECT_ERROR(vectors().upsert(ids, rows(2)), ErrorCode::invalid_input, "2 vectors, but 3 ids");
    EXPECT_ERROR(vectors().upsert(Ids{7, 7}, rows(2)), ErrorCode::invalid_input, "twice");
    EXPECT_ERROR(vectors().add(ids, numbers), ErrorCode::invalid_input, "");
    EXPECT_ERROR(store_.create_collection("vectors", {.dim = 1}), ErrorCode::invalid_input, "already");
  }
  void change_neighbor() {
    const Floats numbers = test::random_rows(random_, 1, 2);
    const Ids id{random_.below(10)};
    store_.collection("neighbor").upsert(id, numbers);
    neighbor_.put(id[0], numbers);
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
  BruteForce truth_;
  BruteForce neighbor_;
  std::uint64_t next_ = 0;
};

TEST(StoreModel, AgreesWithAMapForEveryDistanceAndKind) {
  Runtime runtime;
  constexpr int rounds = 3;
  constexpr int steps = 40;
  int operations = 0;
  for (const Metric distance : all_metrics()) {
    for (const std::string& kind : test::kinds_for(runtime, distance)) {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        SCOPED_TRACE(std::string(name(distance)) + " " + kind + " round " + std::to_string(round));
        StoreModel model(runtime, kind, distance, test::seed() * 1000 + round);
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
