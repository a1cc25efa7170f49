// Checks of approximate search: invariants of every result, and recall.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <span>

#include "tests/support/brute_force.hpp"

namespace vectis::test {

// Number of ground-truth hits and of those that were found.
struct Tally {
  std::size_t wanted = 0;
  std::size_t found = 0;
  [[nodiscard]] double recall() const {
    return wanted == 0 ? 1 : static_cast<double>(found) / static_cast<double>(wanted);
  }
};

// Every hit must exist, be allowed by the filter, have its exact distance, and be sorted and unique. Adds the hits that
// are at least as near as the k-th exact neighbor to `tally`.
inline void expect_sound(const Index& index, const BruteForce& truth, std::span<const float> queries, std::size_t k,
                         const SearchOptions& options, Tally& tally) {
  ASSERT_EQ(index.size(), truth.rows().size());
  const SearchResult result = index.search(queries, k, options);
  ASSERT_EQ(result.queries(), queries.size() / truth.dim());
  for (std::size_t i = 0; i < result.queries(); ++i) {
    const auto query = queries.subspan(i * truth.dim(), truth.dim());
    const auto expected = truth.search(query, k, options);
    const auto actual = hits_of(result, i);
    ASSERT_LE(actual.size(), expected.size());
    for (std::size_t hit = 0; hit < actual.size(); ++hit) {
      const auto row = truth.rows().find(actual[hit].id);
      ASSERT_NE(row, truth.rows().end()) << "id " << actual[hit].id << " does not exist";
      ASSERT_EQ(actual[hit].distance, exact_distance(index.metric(), query, row->second));
      ASSERT_TRUE(!options.filter || options.filter->allows(actual[hit].id));
      if (hit > 0) {
        ASSERT_TRUE(actual[hit - 1].distance < actual[hit].distance ||
                    (actual[hit - 1].distance == actual[hit].distance && actual[hit - 1].id < actual[hit].id));
      }
      tally.found += static_cast<std::size_t>(actual[hit].distance <= expected.back().distance);
    }
    tally.wanted += expected.size();
  }
}

// Overlapping clusters of different width in 8 dimensions, projected into `dim`.
inline Floats clustered_rows(Random& random, std::size_t rows, std::size_t dim) {
  constexpr std::size_t inner = 8;
  constexpr std::size_t clusters = 40;
  Random law(7);  // the same clusters for vectors and queries
  Floats centers(clusters * inner);
  for (float& x : centers) x = static_cast<float>(law.unit() * 4 - 2);
  Floats projection(inner * dim);
  for (float& x : projection) x = static_cast<float>(law.unit() * 2 - 1);
  Floats numbers(rows * dim);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t cluster = random.below(clusters);
    const double width = std::exp2(static_cast<double>(cluster % 4) - 2.0);
    for (std::size_t i = 0; i < inner; ++i) {
      const double x = double{centers[cluster * inner + i]} + width * (random.unit() * 2 - 1);
      for (std::size_t j = 0; j < dim; ++j) {
        numbers[row * dim + j] += static_cast<float>(x) * projection[i * dim + j];
      }
    }
  }
  return numbers;
}

}  // namespace vectis::test
