// The ground truth for an index: a map of rows, searched by brute force in double precision.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vectis/base/random.hpp"
#include "vectis/search/index.hpp"

namespace vectis::test {

using Floats = std::vector<float>;
using Ids = std::vector<std::uint64_t>;

// Random rows: some around (0.5, 0.5, ...), some zero, some duplicates, some with small integers.
inline Floats random_rows(Random& random, std::size_t rows, std::size_t dim) {
  Floats numbers(rows * dim);
  for (float& number : numbers) number = static_cast<float>(random.unit() * 2 - 1);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t fate = random.below(16);
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(row * dim);
    const auto end = begin + static_cast<std::ptrdiff_t>(dim);
    if (fate == 0) std::fill(begin, end, 0.0F);
    if (fate == 1 && row > 0) {
      std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(random.below(row) * dim), dim, begin);
    }
    if (fate >= 8) std::for_each(begin, end, [&](float& number) { number = number * 0.1F + 0.5F; });
    if (fate == 2) std::for_each(begin, end, [&](float& number) { number = static_cast<float>(random.below(3)); });
  }
  return numbers;
}

class BruteForce {
 public:
  BruteForce(std::size_t dim, Metric metric) : dim_(dim), metric_(metric) {}

  void put(std::uint64_t id, std::span<const float> vector) { rows_[id] = {vector.begin(), vector.end()}; }
  void put_all(std::uint64_t first, std::span<const float> vectors) {
    for (std::size_t row = 0; row * dim_ < vectors.size(); ++row) put(first + row, vectors.subspan(row * dim_, dim_));
  }
  bool remove(std::uint64_t id) { return rows_.erase(id) > 0; }
  [[nodiscard]] const std::map<std::uint64_t, Floats>& rows() const { return rows_; }
  [[nodiscard]] std::size_t dim() const { return dim_; }

  [[nodiscard]] std::vector<Hit> search(std::span<const float> query, std::size_t k,
                                        const SearchOptions& options = {}) const {
    std::vector<Hit> hits;
    for (const auto& [id, vector] : rows_) {
      if (options.filter && !options.filter->allows(id)) continue;
      const double distance = exact_distance(metric_, query, vector);
      if (!options.radius || distance <= *options.radius) hits.push_back({id, distance});
    }
    std::ranges::sort(hits, [](const Hit& a, const Hit& b) {
      return a.distance < b.distance || (a.distance == b.distance && a.id < b.id);
    });
    hits.resize(std::min(k, hits.size()));
    return hits;
  }

 private:
  std::size_t dim_;
  Metric metric_;
  std::map<std::uint64_t, Floats> rows_;
};

// Adds the vectors to an empty index and returns the ground truth of the index.
inline BruteForce fill_index(Index& index, std::span<const float> vectors) {
  BruteForce truth(index.dim(), index.metric());
  truth.put_all(index.add(vectors), vectors);
  return truth;
}

// Adds at least `rows` random rows to an empty index and its ground truth, by calls that add up to 90 rows each.
inline void add_in_small_batches(Index& index, BruteForce& truth, Random& random, std::size_t rows) {
  for (std::size_t added = 0; added < rows;) {
    const std::size_t count = 1 + random.below(90);
    const Floats vectors = random_rows(random, count, index.dim());
    ASSERT_EQ(index.add(vectors), added);
    truth.put_all(added, vectors);
    added += count;
  }
}

inline std::vector<Hit> hits_of(const SearchResult& result, std::size_t query) {
  return {result[query].begin(), result[query].end()};
}

// Size and results must equal the ground truth bit for bit.
inline void expect_same(const Index& index, const BruteForce& truth, std::span<const float> queries, std::size_t k,
                        const SearchOptions& options = {}) {
  ASSERT_EQ(index.size(), truth.rows().size());
  const SearchResult found = index.search(queries, k, options);
  ASSERT_EQ(found.queries(), queries.size() / truth.dim());
  for (std::size_t query = 0; query < found.queries(); ++query) {
    const auto expected = truth.search(queries.subspan(query * truth.dim(), truth.dim()), k, options);
    const auto actual = hits_of(found, query);
    ASSERT_EQ(actual.size(), expected.size()) << "query " << query;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].id, expected[i].id)
          << "query " << query << ", hit " << i << ": " << actual[i].distance << " instead of " << expected[i].distance;
      ASSERT_EQ(actual[i].distance, expected[i].distance) << "query " << query << ", hit " << i;
    }
  }
}

}  // namespace vectis::test

namespace vectis::inline v0_1 {
inline void PrintTo(const Hit& hit, std::ostream* out) { *out << hit.id << " at " << hit.distance; }
}  // namespace vectis::inline v0_1
