// Searches beside changes of every kind.
#include <atomic>
#include <iostream>
#include <mutex>
#include <numeric>
#include <thread>

#include "tests/indexes/kinds.hpp"

namespace vectis::test {
namespace {

constexpr std::size_t moving_dim = 8;

class IndexesConcurrent : public IndexKinds {};

// The vector of an id, for ever: whoever finds the id can compute its distance.
Floats vector_of(std::uint64_t id) {
  Random random(id * 977 + 3);
  Floats vector(moving_dim);
  for (float& x : vector) x = static_cast<float>(random.unit() * 2 - 1);
  return vector;
}

// A window of ids moves on, a batch at a time, while readers look at it.
class MovingWindow {
 public:
  static constexpr std::uint64_t size = 1300;
  static constexpr std::uint64_t batch = 100;

  MovingWindow(const IndexKind& kind, Runtime& runtime)
      : kind_(kind), runtime_(runtime), index_(made(kind, moving_dim, Metric::l2, runtime)) {
    while (next_ < size) add();
  }

  void read(std::uint64_t seed) {
    Random random(seed);
    do {
      Floats query(moving_dim);
      for (float& x : query) x = static_cast<float>(random.unit() * 2 - 1);
      const std::uint64_t removed = first_.load();
      const SearchResult found = index_->search(query, 10);
      for (const Hit& hit : found[0]) {
        ASSERT_GE(hit.id, removed) << "found after it was removed";
        ASSERT_EQ(hit.distance, exact_distance(Metric::l2, query, vector_of(hit.id)));
      }
      ASSERT_GE(found[0].size(), kind_.exact ? 10U : 5U);
      const auto vector = index_->get(removed + size / 2);
      if (vector) {
        ASSERT_EQ(*vector, vector_of(removed + size / 2));
      }
      static_cast<void>(index_->statistics());
      ++answers_;
    } while (!done_);
  }
  void move() {
    const std::uint64_t begin = first_.load();
    Ids ids(batch);
    for (std::uint64_t i = 0; i < batch; ++i) ids[i] = begin + i;
    EXPECT_EQ(index_->remove(ids), batch);
    first_.store(begin + batch);
    add();
    index_->update(begin + batch + 50, vector_of(begin + batch + 50));
    index_->upsert(Ids{begin + batch + 60}, vector_of(begin + batch + 60));
  }
  void save() { EXPECT_EQ(index_of(kind_, file_of(*index_), runtime_)->size(), index_->size()); }
  void finish() { done_ = true; }
  [[nodiscard]] const Index& index() const { return *index_; }
  [[nodiscard]] std::uint64_t answers() const { return answers_; }

 private:
  void add() {
    Floats vectors;
    for (std::uint64_t i = 0; i < batch; ++i) {
      const Floats one = vector_of(next_ + i);
      vectors.insert(vectors.end(), one.begin(), one.end());
    }
    next_ = index_->add(vectors) + batch;
  }

  const IndexKind& kind_;
  Runtime& runtime_;
  std::unique_ptr<Index> index_;
  std::uint64_t next_ = 0;
  std::atomic<std::uint64_t> first_ = 0;  // ids below it were removed
  std::atomic<bool> done_ = false;
  std::atomic<std::uint64_t> answers_ = 0;
};

TEST_P(IndexesConcurrent, SearchesSeeWholeVectorsThatAreThere) {
  MovingWindow window(kind(), runtime);
  std::vector<std::thread> readers;
  for (std::uint64_t reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] { window.read(seed() + reader); });
  }
  for (int round = 0; round < 20; ++round) {
    window.move();
    if (round == 12) window.save();
    while (window.answers() < 4U * static_cast<unsigned>(round) && !HasFailure()) std::this_thread::yield();
  }
  window.finish();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(window.index().size(), MovingWindow::size);
  std::cout << kind().label << ": " << window.answers() << " answers beside 20 rounds of changes\n";
}

TEST_P(IndexesConcurrent, WritersWaitForEachOther) {
  const auto index = make(6, Metric::cosine);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Random own(seed() + i);
      for (int round = 0; round < 20; ++round) {
        const std::uint64_t first = index->add(random_rows(own, 10, 6));
        EXPECT_EQ(index->remove(Ids{first, first + 1, first + 2}), 3U);
        index->update(first + 3, random_rows(own, 1, 6));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(index->size(), 4U * 20 * 7);
}

// The answer to one query after every change. A reader's answer must be among those published between the moment its
// search began and the moment it ended.
class History {
 public:
  // What will be true with the next change; readers may see it from now on.
  void announce(std::vector<Hit> answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  void published() {
    const std::lock_guard lock(mutex_);
    published_ = answers_.size() - 1;
  }
  [[nodiscard]] std::size_t now() const {
    const std::lock_guard lock(mutex_);
    return published_;
  }
  [[nodiscard]] bool has(const std::vector<Hit>& answer, std::size_t from) const {
    const std::lock_guard lock(mutex_);
    return std::find(answers_.begin() + static_cast<std::ptrdiff_t>(from), answers_.end(), answer) != answers_.end();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::vector<Hit>> answers_{{}};
  std::size_t published_ = 0;
};

// One writer; whatever it does, an exact kind shows all of a change or none.
class Published {
 public:
  static constexpr std::size_t dim = 6;
  static constexpr std::size_t k = 5;

  Published(const IndexKind& kind, Metric metric, Runtime& runtime)
      : index_(made(kind, dim, metric, runtime)), truth_(dim, metric), query_(random_rows(random_, 1, dim)) {}

  void read() {
    do {
      const std::size_t from = history_.now();
      const auto found = hits_of(index_->search(query_, k), 0);
      ASSERT_TRUE(history_.has(found, from)) << "no published state has this answer";
    } while (!done_);
  }
  void write(int changes) {
    for (int i = 0; i < changes; ++i) change();
    done_ = true;
  }
  void expect_truth() const { expect_same(*index_, truth_, query_, 50); }

 private:
  void change() {
    const std::uint64_t fate = random_.below(5);
    if (fate < 2) {
      const Floats vectors = random_rows(random_, 1 + random_.below(random_.below(8) == 0 ? 600 : 20), dim);
      truth_.put_all(next_, vectors);
      history_.announce(truth_.search(query_, k));
      next_ += vectors.size() / dim;
      index_->add(vectors);
    } else if (fate == 2) {
      Ids ids(1 + random_.below(12));
      for (auto& id : ids) truth_.remove(id = random_.below(next_ + 1));
      history_.announce(truth_.search(query_, k));
      index_->remove(ids);
    } else if (fate == 3) {
      const Ids ids{next_, next_ / 2};
      const Floats vectors = random_rows(random_, next_ == 0 ? 1 : 2, dim);
      const auto used = std::span(ids).first(vectors.size() / dim);
      for (std::size_t i = 0; i < used.size(); ++i) truth_.put(used[i], std::span(vectors).subspan(i * dim, dim));
      history_.announce(truth_.search(query_, k));
      index_->upsert(used, vectors);
      ++next_;
    } else {
      index_->set_precision(truth_.rows().size() % 2 == 0 ? Precision::int8 : Precision::bf16);
      return;
    }
    history_.published();
  }

  Random random_{seed()};
  std::unique_ptr<Index> index_;
  BruteForce truth_;
  Floats query_;
  History history_;
  std::atomic<bool> done_ = false;
  std::uint64_t next_ = 0;
};

TEST_P(IndexesConcurrent, ReadersOfExactKindsSeePublishedStates) {
  if (!kind().exact) GTEST_SKIP() << "it may miss what a change is just moving";
  Published scene(kind(), Metric::l2, runtime);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) threads.emplace_back([&] { scene.read(); });
  scene.write(100);
  for (std::thread& thread : threads) thread.join();
  scene.expect_truth();
}

// An id that is there all the time is replaced again and again: a search that allows this id alone must find it.
TEST_P(IndexesConcurrent, FilteredSearchesFindIdsThatAreReplaced) {
  const auto index = make(4);
  index->add(random_rows(random, 800, 4));
  const Ids id{5};
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      do {
        const SearchResult found = index->search(Floats(4, 1.0F), 1, {.filter = IdFilter::sorted_list(id)});
        ASSERT_EQ(found[0].size(), 1U);
        ASSERT_EQ(found[0].front().id, 5U);
      } while (!done);
    });
  }
  for (int i = 0; i < 300 && !HasFailure(); ++i) index->upsert(id, Floats(4, static_cast<float>(i % 7)));
  done = true;
  for (std::thread& reader : readers) reader.join();
}

// The longest rows stay, and all others are replaced, removed and added while readers ask for the largest products.
TEST_P(IndexesConcurrent, ChangesDoNotHideTheLongestRows) {
  constexpr std::size_t dim = 12;
  constexpr std::size_t kept = 10;
  const auto index = made(kind(), dim, Metric::inner_product, runtime);
  Floats rows = random_rows(random, 1500, dim);
  for (std::size_t i = 0; i < kept; ++i) {
    for (std::size_t j = 0; j < dim; ++j) rows[i * dim + j] = 100 + static_cast<float>(i);
  }
  index->add(rows);
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      do {
        const SearchResult found = index->search(Floats(dim, 1), kept, {.recall = 1});
        ASSERT_EQ(found[0].size(), kept);
        for (std::size_t place = 0; place < kept; ++place) ASSERT_EQ(found[0][place].id, kept - 1 - place);
      } while (!done);
    });
  }
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    Ids ids(150);
    std::iota(ids.begin(), ids.end(), kept + random.below(1200));
    if (round % 3 == 2) {
      index->remove(ids);
    } else {
      index->upsert(ids, random_rows(random, ids.size(), dim));
    }
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexesConcurrent, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(More, IndexesConcurrent, testing::Values(planned_kind, growing_kind), kind_name);

}  // namespace
}  // namespace vectis::test
