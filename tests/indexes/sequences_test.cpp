// Random sequences of operations against a map. VECTIS_TEST_ROUNDS says how many of each kind.
#include <algorithm>
#include <iostream>

#include "tests/indexes/kinds.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis::test {
namespace {

std::uint64_t rounds_wanted() {
  const char* text = std::getenv("VECTIS_TEST_ROUNDS");
  return text == nullptr ? 6 : std::strtoull(text, nullptr, 10);
}

class IndexModel {
 public:
  IndexModel(const IndexKind& kind, Runtime& runtime, std::uint64_t seed)
      : kind_(kind), runtime_(runtime), random_(seed) {
    const auto distances = metrics_of(kind);
    const Metric metric = distances[random_.below(distances.size())];
    dim_ = 1 + random_.below(40);
    index_ = made(kind, dim_, metric, runtime);
    truth_ = BruteForce(dim_, metric);
  }

  void step() {
    switch (random_.below(14)) {
      case 0:
      case 1:
      case 2:
        add();
        break;
      case 3:
      case 4:
        add_ids();
        break;
      case 5:
      case 6:
      case 7:
        remove();
        break;
      case 8:
      case 9:
        update();
        break;
      case 10:
        change_precision();
        break;
      case 11:
      case 12:
        upsert();
        break;
      default:
        reload();
    }
    // Once compacted, the truth is what is stored.
    if (!compacted_) return;
    for (const auto& [id, vector] : std::map(truth_.rows())) truth_.put(id, index_->get(id).value());
  }

  void check(Tally& tally) {
    const Floats queries = random_rows(random_, 2, dim_);
    SearchOptions options;
    const std::vector<std::uint64_t> words{random_.next(), random_.next(), random_.next(), random_.next()};
    if (random_.below(3) == 0) options.filter = IdFilter::bitmap(words, random_.below(200));
    if (random_.below(3) == 0) options.radius = random_.unit() * 3;
    expect_answers(kind_, *index_, truth_, queries, random_.below(30), options, tally);
    const std::uint64_t id = any_id();
    const auto row = truth_.rows().find(id);
    ASSERT_EQ(index_->get(id), row == truth_.rows().end() ? std::nullopt : std::optional(row->second));
  }

 private:
  // One that is there, half of the time.
  std::uint64_t any_id() {
    if (truth_.rows().empty() || random_.below(2) == 0) return random_.below(next_id_ + 5);
    const auto place = truth_.rows().lower_bound(random_.below(next_id_));
    return place == truth_.rows().end() ? truth_.rows().begin()->first : place->first;
  }
  // Graphs are looked through as a whole while they are small.
  std::size_t count() { return random_.below(random_.below(4) > 0 ? 8 : kind_.exact ? 400 : 900); }
  Ids mixed_ids() {
    Ids ids(1 + count());
    for (auto& id : ids) id = any_id() + random_.below(3) * random_.below(1000);
    return ids;
  }
  void put_all(const Ids& ids, const Floats& vectors) {
    for (std::size_t i = 0; i < ids.size(); ++i) truth_.put(ids[i], std::span(vectors).subspan(i * dim_, dim_));
    next_id_ = std::max(next_id_, *std::ranges::max_element(ids) + 1);
  }

  void add() {
    const Floats vectors = random_rows(random_, count(), dim_);
    ASSERT_EQ(index_->add(vectors), next_id_);
    truth_.put_all(next_id_, vectors);
    next_id_ += vectors.size() / dim_;
  }
  void add_ids() {
    const Ids ids = mixed_ids();
    const Floats vectors = random_rows(random_, ids.size(), dim_);
    Ids sorted = ids;
    std::ranges::sort(sorted);
    const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
    const bool there = std::ranges::any_of(ids, [&](std::uint64_t id) { return truth_.rows().contains(id); });
    if (twice || there) {
      EXPECT_ERROR(index_->add(ids, vectors), ErrorCode::invalid_input, "id ");
      return;
    }
    index_->add(ids, vectors);
    put_all(ids, vectors);
  }
  void remove() {
    Ids ids(count());
    for (auto& id : ids) id = any_id();
    if (random_.below(4) == 0) {  // a long run, so that rows are reclaimed
      const std::uint64_t first = any_id();
      for (std::uint64_t i = 0; i < (kind_.exact ? 150U : 600U); ++i) ids.push_back(first + i);
    }
    std::size_t removed = 0;
    for (const std::uint64_t id : ids) removed += static_cast<std::size_t>(truth_.remove(id));
    ASSERT_EQ(index_->remove(ids), removed);
  }
  void update() {
    const std::uint64_t id = any_id();
    const Floats vector = random_rows(random_, 1, dim_);
    if (!truth_.rows().contains(id)) {
      EXPECT_ERROR(index_->update(id, vector), ErrorCode::invalid_input, "does not exist");
      return;
    }
    index_->update(id, vector);
    truth_.put(id, vector);
  }
  void upsert() {
    Ids ids = mixed_ids();
    std::ranges::sort(ids);
    if (random_.below(2) == 0) ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    const Floats vectors = random_rows(random_, ids.size(), dim_);
    if (std::ranges::adjacent_find(ids) != ids.end()) {
      EXPECT_ERROR(index_->upsert(ids, vectors), ErrorCode::invalid_input, "twice");
      return;
    }
    index_->upsert(ids, vectors);
    put_all(ids, vectors);
  }
  void change_precision() {
    const auto precision = static_cast<Precision>(1 + random_.below(4));
    try {
      index_->set_precision(precision);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
    if (random_.below(3) > 0) return;
    index_->drop_full_precision();
    compacted_ = true;
  }
  void reload() { index_ = index_of(kind_, file_of(*index_), runtime_); }

  const IndexKind& kind_;
  Runtime& runtime_;
  Random random_;
  std::size_t dim_ = 1;
  std::unique_ptr<Index> index_;
  BruteForce truth_{1, Metric::l2};
  std::uint64_t next_id_ = 0;
  bool compacted_ = false;
};

class IndexSequences : public IndexKinds {};

TEST_P(IndexSequences, DoWhatAMapDoes) {
  Tally tally;
  std::uint64_t round = 0;
  for (; round < rounds_wanted() && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    IndexModel model(kind(), runtime, seed() * 100'000 + round);
    for (int step = 0; step < 50 && !HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      model.step();
      model.check(tally);
    }
  }
  std::cout << kind().label << ": " << round << " random sequences, recall " << tally.recall() << "\n";
  EXPECT_GE(tally.recall(), 0.9);
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexSequences, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(More, IndexSequences, testing::Values(planned_kind, growing_kind), kind_name);

}  // namespace
}  // namespace vectis::test
