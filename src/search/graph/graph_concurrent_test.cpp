// Searches beside changes: rows are reused, lists replaced and bodies moved under walks.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis {
namespace {

using test::Floats;
using test::Ids;

constexpr std::size_t moving_dim = 8;

// The vector of an id, for ever: whoever finds the id can compute its distance.
Floats vector_of(std::uint64_t id) {
  Random random(id * 977 + 3);
  Floats vector(moving_dim);
  for (float& x : vector) x = static_cast<float>(random.unit() * 2 - 1);
  return vector;
}

TEST(GraphConcurrent, SearchesSeeWholeVectorsThatAreThere) {
  RuntimeOptions options;
  options.threads = 2;
  Runtime runtime(std::move(options));
  const auto index = make_index("hnsw", moving_dim, Distance::euclidean, runtime);
  std::atomic<std::uint64_t> first = 0;  // ids below it were removed
  std::atomic<bool> done = false;
  constexpr std::uint64_t window = 1500;
  constexpr std::uint64_t batch = 100;
  std::uint64_t next = 0;
  const auto add = [&] {
    Floats vectors;
    for (std::uint64_t i = 0; i < batch; ++i) {
      const Floats one = vector_of(next + i);
      vectors.insert(vectors.end(), one.begin(), one.end());
    }
    next = index->add(vectors) + batch;
  };
  while (next < window) add();
  std::vector<std::thread> readers;
  std::atomic<std::uint64_t> answered = 0;
  for (std::uint64_t reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] {
      Random random(test::seed() + reader);
      while (!done) {
        Floats query(moving_dim);
        for (float& x : query) x = static_cast<float>(random.unit() * 2 - 1);
        const std::uint64_t removed = first.load();
        const SearchResult found = index->search(query, 10);
        for (const Hit& hit : found[0]) {
          ASSERT_GE(hit.id, removed) << "found after it was removed";
          ASSERT_EQ(hit.distance, exact_distance(Distance::euclidean, query, vector_of(hit.id)));
        }
        ASSERT_GE(found[0].size(), 5U);
        ++answered;
        const auto vector = index->get(removed + 700);
        if (vector) {
          ASSERT_EQ(*vector, vector_of(removed + 700));
        }
      }
    });
  }
  for (int round = 0; round < 30; ++round) {
    Ids ids(batch);
    const std::uint64_t begin = first.load();
    for (std::uint64_t i = 0; i < batch; ++i) ids[i] = begin + i;
    EXPECT_EQ(index->remove(ids), batch);
    first.store(begin + batch);
    add();
    index->update(begin + batch + 50, vector_of(begin + batch + 50));
    if (round == 20) {
      MemoryWriter writer;
      index->save(writer);
      MemoryReader reader(writer.bytes());
      EXPECT_EQ(load_index(reader, runtime)->size(), index->size());
    }
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(index->size(), window);
  EXPECT_GT(answered.load(), 0U);
  std::cout << answered.load() << " answers beside 30 rounds of changes\n";
}

}  // namespace
}  // namespace vectis
