// Compares a collection with its model: a map, searched by brute force in double precision.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/brute_force.hpp"
#include "tests/support/store_kinds.hpp"
#include "vectis/store/collection.hpp"

namespace vectis::test {

// Expects the size and every vector of the model, and the hits of the queries: identical ones from exact kinds,
// existing ids with their exact distances from approximate ones.
inline void expect_collection(const Collection& collection, const BruteForce& model, std::span<const float> queries,
                              std::size_t k, const SearchOptions& options = {}) {
  ASSERT_EQ(collection.size(), model.rows().size());
  for (const auto& [id, vector] : model.rows()) ASSERT_EQ(collection.get(id), vector) << "id " << id;
  const SearchResult found = collection.search(queries, k, options);
  ASSERT_EQ(found.queries(), queries.size() / model.dim());
  for (std::size_t query = 0; query < found.queries(); ++query) {
    const auto values = queries.subspan(query * model.dim(), model.dim());
    const auto hits = hits_of(found, query);
    if (is_exact(collection.config().index)) {
      ASSERT_EQ(hits, model.search(values, k, options)) << "query " << query;
      continue;
    }
    ASSERT_LE(hits.size(), model.search(values, k, options).size());
    for (const Hit& hit : hits) {
      const auto row = model.rows().find(hit.id);
      ASSERT_NE(row, model.rows().end()) << "id " << hit.id << " was found but does not exist";
      ASSERT_NEAR(hit.distance, exact_distance(collection.config().metric, values, row->second), 1e-4);
    }
  }
}

// Returns distinct random ids below `limit`.
inline Ids some_ids(Random& random, std::size_t count, std::uint64_t limit) {
  Ids ids;
  while (ids.size() < count) {
    const std::uint64_t id = random.below(limit);
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

}  // namespace vectis::test
