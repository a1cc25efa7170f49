// Queries of another distribution than the vectors find what they ask for.
#include "search/graph/query_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <thread>

#include "tests/support/approximate.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::graph {
namespace {

using test::Floats;

constexpr std::size_t foreign_dim = 100;

double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

// Records rounds of a query each, which finds a neighbor with the given probability.
std::size_t rounds_until_short(QueryCheck& check, Random& random, double promised, double probability,
                               std::size_t rounds) {
  for (std::size_t round = 0; round < rounds; ++round) {
    double share = 0;
    for (int i = 0; i < 10; ++i) share += random.unit() < probability ? 0.1 : 0;
    if (check.record(promised, std::span(&share, 1))) return round + 1;
  }
  return rounds;
}

TEST(QueryCheck, ChecksTheFirstQueriesAndFewLaterOnes) {
  QueryCheck check;
  EXPECT_EQ(check.count_due(10, 100), 10U);
  EXPECT_EQ(check.count_due(1000, 100), QueryCheck::first_queries - 10);
  std::size_t due = 0;
  for (int i = 0; i < 1000; ++i) due += check.count_due(1, 100);
  EXPECT_EQ(due, 10U);
  EXPECT_EQ(check.count_due(5000, 100), 50U);
  EXPECT_EQ(check.count_due(5000, 0), 0U);
  EXPECT_EQ(check.count_due(0, 100), 0U);
}

TEST(QueryCheck, AsksForMoreWhenLessIsFound) {
  Random random(test::seed());
  QueryCheck check;
  EXPECT_LE(rounds_until_short(check, random, 0.9, 0.5, 1000), QueryCheck::first_queries);
  EXPECT_NEAR(check.recall_for(0.9), 1 - 0.1 / 5, 0.012);
  EXPECT_EQ(check.count_due(1000, 0), QueryCheck::first_queries) << "the next queries show whether that is enough";
  EXPECT_EQ(check.recall_for(1), 1);
}

TEST(QueryCheck, SeesSmallShortfallsLater) {
  Random random(test::seed());
  QueryCheck check;
  EXPECT_LT(rounds_until_short(check, random, 0.95, 0.9, 4096), 4096U);
}

TEST(QueryCheck, TrustsWhatHolds) {
  Random random(test::seed());
  std::size_t wrong = 0;
  for (int i = 0; i < 200; ++i) {
    QueryCheck check;
    wrong += rounds_until_short(check, random, 0.95, 0.955, 4096) < 4096 ? 1U : 0U;
  }
  EXPECT_LE(wrong, 20U);
}

// A few queries that find nothing, as where duplicates are missed, say little.
TEST(QueryCheck, TrustsWhatHoldsWhereFewQueriesFindNothing) {
  Random random(test::seed());
  std::size_t wrong = 0;
  for (int i = 0; i < 200; ++i) {
    QueryCheck check;
    for (int query = 0; query < 4096; ++query) {
      const double share = random.unit() < 0.95 ? 1 : 0;
      if (!check.record(0.95, std::span(&share, 1))) continue;
      ++wrong;
      break;
    }
  }
  EXPECT_LE(wrong, 20U);
}

TEST(QueryCheckConcurrent, CountsEveryQueryOnce) {
  QueryCheck check;
  std::atomic<std::size_t> due{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int query = 0; query < 5000; ++query) {
          const std::size_t count = check.count_due(1, 50);
          due += count;
          const std::array found{0.95};
          for (std::size_t one = 0; one < count; ++one) check.record(0.95, found);
        }
      });
    }
  }
  EXPECT_GE(due, 400U);
  EXPECT_LE(due, 400 + QueryCheck::first_queries);
}

// Vectors, and queries of another distribution.
struct Foreign {
  std::string_view name;
  Metric metric;
  std::function<void(Random&, std::span<float> row)> vector;
  std::function<void(Random&, std::span<float> row)> query;
  std::size_t k = 10;
  bool twice = false;  // a fifth of the vectors is added twice
};

void PrintTo(const Foreign& world, std::ostream* stream) { *stream << world.name; }

void fill_falling(Random& random, std::span<float> row) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    row[j] = static_cast<float>(normal(random) / std::sqrt(static_cast<double>(1 + j)));
  }
}

void fill_cloud(Random& random, std::span<float> row) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    row[j] = static_cast<float>(0.5 * normal(random) + (4 * j < row.size() ? 0.5 : 0));
  }
}

// A hundred tight groups; which one is decided by the first coordinate.
void fill_group(Random& random, std::span<float> row) {
  Random center(random.below(100));
  for (float& x : row) x = static_cast<float>(normal(center) + 0.1 * normal(random));
}

void fill_noise(Random& random, std::span<float> row) {
  for (float& x : row) x = static_cast<float>(normal(random));
}

// A few almost equal vectors.
void fill_almost_equal(Random& random, std::span<float> row) {
  Random center(random.below(20));
  for (float& x : row) x = static_cast<float>(normal(center) + 1e-4 * normal(random));
}

const std::array foreign_worlds{Foreign{"inner_product_cloud", Metric::inner_product, fill_falling, fill_cloud},
                                Foreign{"l2_cloud", Metric::l2, fill_falling, fill_cloud},
                                Foreign{"cosine_cloud", Metric::cosine, fill_falling, fill_cloud},
                                Foreign{"between_groups", Metric::l2, fill_group, fill_cloud},
                                Foreign{"copies", Metric::l2, fill_noise, fill_noise, 10, true},
                                Foreign{"one_neighbor", Metric::l2, fill_almost_equal, fill_almost_equal, 1}};

class ForeignQueries : public testing::TestWithParam<Foreign> {
 protected:
  static constexpr std::size_t vectors = 8000;
  static constexpr std::size_t queries = 400;

  static Floats rows(Random& random, std::size_t count, const auto& fill) {
    Floats result(count * foreign_dim);
    for (std::size_t i = 0; i < count; ++i) fill(random, std::span(result).subspan(i * foreign_dim, foreign_dim));
    return result;
  }
  ForeignQueries() {
    Floats added = rows(random, vectors, GetParam().vector);
    if (GetParam().twice)
      std::copy_n(added.begin(), added.size() / 5, added.begin() + static_cast<std::ptrdiff_t>(added.size() / 5));
    graph->add(added);
    flat->add(added);
  }
  // Returns the share of the nearest neighbors of a query that a search found.
  static double share_found(std::span<const Hit> found, std::span<const Hit> truth) {
    const auto hits =
        std::ranges::count_if(found, [&](const Hit& hit) { return hit.distance <= truth.back().distance; });
    return std::min(1.0, static_cast<double>(hits) / static_cast<double>(truth.size()));
  }
  // Expects the shares that queries found to be `asked` in the mean, within three standard errors and `less`.
  static void expect_found(const std::vector<double>& shares, double asked, double less) {
    double sum = 0;
    double squares = 0;
    for (const double share : shares) {
      sum += share;
      squares += share * share;
    }
    const auto count = static_cast<double>(shares.size());
    const double mean = sum / count;
    const double error = std::sqrt(std::max(0.0, squares / count - mean * mean) / count);
    std::cout << "asked for " << asked << ", found " << mean << " +- " << error << "\n";
    EXPECT_GE(mean, asked - less - 3 * error);
  }
  // Searches with calls of `together` queries, and expects all but the first ones to find what they ask for. Shortfalls
  // that are small beside what is missed need more queries to be seen.
  void expect_searches(const Index& index, double asked, std::size_t together) {
    const Floats all = rows(random, queries, GetParam().query);
    const SearchResult truth = flat->search(all, GetParam().k);
    std::vector<double> shares;
    for (std::size_t first = 0; first < queries; first += together) {
      const auto some = std::span(all).subspan(first * foreign_dim, together * foreign_dim);
      const SearchResult found = index.search(some, GetParam().k, {.recall = asked});
      for (std::size_t i = 0; i < together; ++i) shares.push_back(share_found(found[i], truth[first + i]));
    }
    if (together == 1) shares.erase(shares.begin(), shares.begin() + queries / 2);
    expect_found(shares, asked, 0.3 * (1 - asked));
  }

  Runtime runtime;
  Random random{test::seed()};
  std::unique_ptr<Index> graph =
      make_index("graph", foreign_dim, GetParam().metric, {.device = "cpu", .runtime = &runtime});
  std::unique_ptr<Index> flat =
      make_index("flat", foreign_dim, GetParam().metric, {.device = "cpu", .runtime = &runtime});
};

TEST_P(ForeignQueries, FindWhatTheyAskFor) {
  MemoryWriter writer;
  graph->save(writer);
  for (const double asked : {0.8, 0.9, 0.95, 0.99}) expect_searches(*graph, asked, queries);
  MemoryReader reader(writer.bytes());
  const auto copy = load_index(reader, {.runtime = &runtime});  // it has checked no queries
  expect_searches(*copy, 0.8, 1);
}

INSTANTIATE_TEST_SUITE_P(Worlds, ForeignQueries, testing::ValuesIn(foreign_worlds),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace vectis::graph
