#include "search/graph/beam_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/approximate.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis {

namespace {

using test::clustered_rows;
using test::Floats;

// Rows that lie in clusters; every fourth is a copy of the first.
Floats rows_with_copies(Random& random, std::size_t rows, std::size_t dim) {
  Floats vectors = clustered_rows(random, rows, dim);
  for (std::size_t i = 4; i < rows; i += 4)
    std::copy_n(vectors.begin(), dim, vectors.begin() + static_cast<long>(i * dim));
  return vectors;
}

TEST(BeamSearch, DoesNotExpandAllCopiesOfAVector) {
  constexpr std::size_t rows = 12'000;
  constexpr std::size_t dim = 24;
  Runtime runtime;
  Random random(test::seed());
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  const Floats vectors = rows_with_copies(random, rows, dim);
  index->add(vectors);
  for (int query = 0; query < 20; ++query) {
    Floats near(vectors.begin(), vectors.begin() + dim);
    for (float& x : near) x += static_cast<float>(random.unit() - 0.5) * 1e-3F;
    const SearchResult found = index->search(near, 10, {.ef = 40});
    ASSERT_EQ(found[0].size(), 10U);
    // Ten of the 3,000 copies are the nearest: all as far, and as near as any of them.
    EXPECT_EQ(found[0].front().distance, found[0].back().distance);
    EXPECT_EQ(found[0].front().distance, exact_distance(Metric::l2, near, {vectors.data(), dim}));
    EXPECT_LE(found.explanation().rows_scanned, 1500U);
  }
}

}  // namespace

}  // namespace vectis
