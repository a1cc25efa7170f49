// Readers beside a writer: every answer is that of one published state.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "search/exact/exact_index.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::Floats;
using test::Ids;

constexpr std::size_t readers = 8;
constexpr std::size_t dim = 6;
constexpr std::size_t k = 5;

// The answer to one query after every change. A reader's answer must be among those published between the moment its
// search began and the moment it ended.
class History {
 public:
  // What will be true with the next change; readers may see it from now on.
  void announce(std::vector<Hit> answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  void published() { published_.store(announced() - 1); }
  [[nodiscard]] std::size_t now() const { return published_.load(); }
  [[nodiscard]] bool has(const std::vector<Hit>& answer, std::size_t from) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = from; i < answers_.size(); ++i) {
      if (answers_[i] == answer) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] std::size_t announced() const {
    const std::lock_guard lock(mutex_);
    return answers_.size();
  }
  mutable std::mutex mutex_;
  std::vector<std::vector<Hit>> answers_;
  std::atomic<std::size_t> published_ = 0;
};

class Scene {
 public:
  explicit Scene(Distance distance)
      : index(make_index("brute", dim, distance, runtime)), truth(dim, distance), query(dim) {
    for (float& number : query) number = static_cast<float>(random.unit());
    history.announce({});
  }

  void write(int changes) {
    for (int i = 0; i < changes; ++i) change();
    done = true;
  }
  void read() {
    std::size_t answers = 0;
    while (!done || answers == 0) {
      const std::size_t from = history.now();
      const auto found = test::hits_of(index->search(query, k), 0);
      ASSERT_TRUE(history.has(found, from)) << "no published state has this answer";
      for (const Hit& hit : found) {
        const auto vector = index->get(hit.id);
        ASSERT_EQ(vector.value_or(query).size(), dim);
      }
      if (++answers % 8 == 0) static_cast<void>(index->statistics());
      if (answers % 32 == 0) {
        MemoryWriter writer;
        index->save(writer);
      }
    }
  }

  Runtime runtime;
  std::unique_ptr<Index> index;
  BruteForce truth;
  Floats query;
  History history;
  Random random{test::seed()};
  std::atomic<bool> done = false;

 private:
  void change() {
    switch (random.below(5)) {
      case 0:
      case 1: {
        const Floats vectors = test::random_rows(random, 1 + random.below(random.below(8) == 0 ? 600 : 20), dim);
        truth.put_all(next, vectors);
        history.announce(truth.search(query, k));
        next += vectors.size() / dim;
        index->add(vectors);
        break;
      }
      case 2: {
        Ids ids(1 + random.below(12));
        for (auto& id : ids) id = random.below(next + 1);
        for (const std::uint64_t id : ids) truth.remove(id);
        history.announce(truth.search(query, k));
        index->remove(ids);
        break;
      }
      case 3: {
        if (truth.rows().empty()) return;
        const auto place = truth.rows().lower_bound(random.below(next));
        const std::uint64_t id = place == truth.rows().end() ? truth.rows().begin()->first : place->first;
        const Floats vector = test::random_rows(random, 1, dim);
        truth.put(id, vector);
        history.announce(truth.search(query, k));
        index->update(id, vector);
        break;
      }
      default: {
        const auto precision = static_cast<Precision>(1 + random.below(4));
        if (exact::can_scan(index->distance(), precision)) index->set_precision(precision);
        return;
      }
    }
    history.published();
  }

  std::uint64_t next = 0;
};

void run_scene(Distance distance, int changes) {
  Scene scene(distance);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < readers; ++i) threads.emplace_back([&] { scene.read(); });
  scene.write(changes);
  for (std::thread& thread : threads) thread.join();
  test::expect_same(*scene.index, scene.truth, scene.query, 50);
}

TEST(IndexConcurrent, ReadersSeePublishedStatesUnderEuclidean) { run_scene(Distance::euclidean, 150); }
TEST(IndexConcurrent, ReadersSeePublishedStatesUnderManhattan) { run_scene(Distance::manhattan, 150); }

TEST(IndexConcurrent, WritersWaitForEachOther) {
  Runtime runtime;
  const auto index = make_index("brute", dim, Distance::cosine, runtime);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Random random(test::seed() + i);
      for (int round = 0; round < 30; ++round) {
        const std::uint64_t first = index->add(test::random_rows(random, 10, dim));
        EXPECT_EQ(index->remove(Ids{first, first + 1, first + 2}), 3U);
        index->update(first + 3, test::random_rows(random, 1, dim));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(index->size(), 4U * 30 * 7);
}

}  // namespace
}  // namespace vectis
