// A collection beside its oracle: a map, searched row by row in double precision.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/store_kinds.hpp"
#include "vectis/store/collection.hpp"

namespace vectis::test {

// Size, every vector, and answers: to the last bit for exact kinds, else true distances of vectors that are there.
inline void expect_collection(const Collection& collection, const BruteForce& truth, std::span<const float> queries,
                              std::size_t k, const SearchOptions& options = {}) {
  ASSERT_EQ(collection.size(), truth.rows().size());
  for (const auto& [id, vector] : truth.rows()) ASSERT_EQ(collection.get(id), vector) << "id " << id;
  const SearchResult found = collection.search(queries, k, options);
  ASSERT_EQ(found.queries(), queries.size() / truth.dim());
  for (std::size_t query = 0; query < found.queries(); ++query) {
    const auto numbers = queries.subspan(query * truth.dim(), truth.dim());
    const auto hits = hits_of(found, query);
    if (is_exact(collection.config().index)) {
      ASSERT_EQ(hits, truth.search(numbers, k, options)) << "query " << query;
      continue;
    }
    ASSERT_LE(hits.size(), truth.search(numbers, k, options).size());
    for (const Hit& hit : hits) {
      const auto row = truth.rows().find(hit.id);
      ASSERT_NE(row, truth.rows().end()) << "id " << hit.id << " was found and is not there";
      ASSERT_NEAR(hit.distance, exact_distance(collection.config().metric, numbers, row->second), 1e-4);
    }
  }
}

// Ids below `limit`, each its own.
inline Ids some_ids(Random& random, std::size_t count, std::uint64_t limit) {
  Ids ids;
  while (ids.size() < count) {
    const std::uint64_t id = random.below(limit);
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

}  // namespace vectis::test
