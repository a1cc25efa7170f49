// Random sequences of operations against a map.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "search/exact/exact_index.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::Floats;
using test::Ids;

class ExactModel {
 public:
  ExactModel(Runtime& runtime, std::uint64_t seed) : runtime_(runtime), random_(seed) {
    const auto distances = all_distances();
    distance_ = distances[random_.below(distances.size())];
    dim_ = 1 + random_.below(40);
    index_ = make_index("brute", dim_, distance_, runtime);
    truth_ = BruteForce(dim_, distance_);
  }

  void step() {
    switch (random_.below(14)) {
      case 0:
      case 1:
      case 2:
        return add();
      case 3:
      case 4:
        return add_with_ids();
      case 5:
      case 6:
      case 7:
        return remove();
      case 8:
      case 9:
        return update();
      case 10:
        return change_precision();
      case 11:
      case 12:
        return upsert();
      default:
        return reload();
    }
  }

  void check() {
    const Floats queries = test::random_rows(random_, 2, dim_);
    SearchOptions options;
    const std::vector<std::uint64_t> words{random_.next(), random_.next(), random_.next()};
    if (random_.below(3) == 0) options.filter = IdFilter{words, random_.below(200)};
    if (random_.below(3) == 0) options.radius = random_.unit() * 3;
    test::expect_same(*index_, truth_, queries, random_.below(30), options);
    const std::uint64_t id = any_id();
    const auto vector = index_->get(id);
    const auto row = truth_.rows().find(id);
    ASSERT_EQ(vector, row == truth_.rows().end() ? std::nullopt : std::optional(row->second));
  }

 private:
  // One that is there, half of the time.
  std::uint64_t any_id() {
    if (truth_.rows().empty() || random_.below(2) == 0) return random_.below(next_id_ + 5);
    const auto place = truth_.rows().lower_bound(random_.below(next_id_));
    return place == truth_.rows().end() ? truth_.rows().begin()->first : place->first;
  }
  std::size_t count() { return random_.below(random_.below(4) == 0 ? 400 : 8); }

  void add() {
    const Floats vectors = test::random_rows(random_, count(), dim_);
    ASSERT_EQ(index_->add(vectors), next_id_);
    truth_.put_all(next_id_, vectors);
    next_id_ += vectors.size() / dim_;
  }
  void add_with_ids() {
    Ids ids(1 + count());
    for (auto& id : ids) id = any_id() + random_.below(3) * random_.below(1000);
    const Floats vectors = test::random_rows(random_, ids.size(), dim_);
    Ids sorted = ids;
    std::ranges::sort(sorted);
    const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
    const bool there = std::ranges::any_of(ids, [&](std::uint64_t id) { return truth_.rows().contains(id); });
    if (twice || there) {
      EXPECT_ERROR(index_->add_with_ids(vectors, ids), ErrorCode::invalid_input, "id ");
      return;
    }
    index_->add_with_ids(vectors, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) truth_.put(ids[i], std::span(vectors).subspan(i * dim_, dim_));
    next_id_ = std::max(next_id_, sorted.back() + 1);
  }
  void remove() {
    Ids ids(count());
    for (auto& id : ids) id = any_id();
    if (random_.below(4) == 0) {  // a long run, so that segments are reclaimed
      const std::uint64_t first = any_id();
      for (std::uint64_t i = 0; i < 150; ++i) ids.push_back(first + i);
    }
    std::size_t removed = 0;
    for (const std::uint64_t id : ids) removed += static_cast<std::size_t>(truth_.remove(id));
    ASSERT_EQ(index_->remove(ids), removed);
  }
  void update() {
    const std::uint64_t id = any_id();
    const Floats vector = test::random_rows(random_, 1, dim_);
    if (!truth_.rows().contains(id)) {
      EXPECT_ERROR(index_->update(id, vector), ErrorCode::invalid_input, "is not there");
      return;
    }
    index_->update(id, vector);
    truth_.put(id, vector);
  }
  void upsert() {
    Ids ids(1 + count());
    for (auto& id : ids) id = any_id() + random_.below(3) * random_.below(1000);
    std::ranges::sort(ids);
    if (random_.below(2) == 0) ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    const Floats vectors = test::random_rows(random_, ids.size(), dim_);
    if (std::ranges::adjacent_find(ids) != ids.end()) {
      EXPECT_ERROR(index_->upsert(vectors, ids), ErrorCode::invalid_input, "twice");
      return;
    }
    index_->upsert(vectors, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) truth_.put(ids[i], std::span(vectors).subspan(i * dim_, dim_));
    next_id_ = std::max(next_id_, ids.back() + 1);
  }
  void change_precision() {
    const auto precision = static_cast<Precision>(1 + random_.below(4));
    if (!exact::can_scan(distance_, precision)) return;
    const bool compacts = random_.below(3) == 0;
    index_->set_precision(precision);
    if (compacts) index_->compact();
    // Once compacted, the truth is what is stored.
    compacted_ = compacted_ || compacts;
    if (!compacted_) return;
    for (const auto& [id, vector] : std::map(truth_.rows())) truth_.put(id, index_->get(id).value());
  }
  void reload() {
    MemoryWriter writer;
    index_->save(writer);
    MemoryReader reader(writer.bytes());
    index_ = load_index(reader, runtime_);
  }

  Runtime& runtime_;
  Random random_;
  Distance distance_ = Distance::euclidean;
  std::size_t dim_ = 1;
  std::unique_ptr<Index> index_;
  BruteForce truth_{1, Distance::euclidean};
  std::uint64_t next_id_ = 0;
  bool compacted_ = false;
};

TEST(ExactModelTest, RandomSequencesDoWhatAMapDoes) {
  Runtime runtime;
  for (std::uint64_t round = 0; round < 40 && !testing::Test::HasFatalFailure(); ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    ExactModel model(runtime, test::seed() * 1000 + round);
    for (int step = 0; step < 60 && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      model.step();
      model.check();
    }
  }
}

}  // namespace
}  // namespace vectis
