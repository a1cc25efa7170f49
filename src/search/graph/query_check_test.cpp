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

// Checks a query of those that come, and returns whether searches go further now.
bool record(QueryCheck& check, double promised, double share) {
  return check.count_due(1, 1).record(promised, check.missed_factor(), std::span(&share, 1));
}

// Returns the recall as which `recall` is searched for; 0 when rows are scanned.
double reached(const QueryCheck& check, double recall) {
  return QueryCheck::recall_for(recall, check.missed_factor()).value_or(0);
}

// Records rounds of a query each, which finds a neighbor with the given probability.
std::size_t rounds_until_short(QueryCheck& check, Random& random, double promised, double probability,
                               std::size_t rounds) {
  for (std::size_t round = 0; round < rounds; ++round) {
    double share = 0;
    for (int i = 0; i < 10; ++i) share += random.unit() < probability ? 0.1 : 0;
    if (record(check, promised, share)) return round + 1;
  }
  return rounds;
}

TEST(QueryCheck, ChecksTheFirstQueriesAndFewLaterOnes) {
  QueryCheck check;
  const auto due = [&](std::size_t queries, std::uint64_t every) {
    QueryCheck::Due checks = check.count_due(queries, every);
    EXPECT_FALSE(checks.record(0.9, 1, std::vector<double>(checks.size(), 1)));
    return checks.size();
  };
  EXPECT_EQ(due(10, 100), 10U);
  EXPECT_EQ(due(1000, 100), QueryCheck::first_queries - 10);
  std::size_t later = 0;
  for (int i = 0; i < 1000; ++i) later += due(1, 100);
  EXPECT_EQ(later, 10U);
  EXPECT_EQ(due(5000, 100), 50U);
  EXPECT_EQ(due(5000, 0), 0U);
  EXPECT_EQ(due(0, 100), 0U);
}

TEST(QueryCheck, ChecksOthersForQueriesThatWereNotRecorded) {
  QueryCheck check;
  EXPECT_EQ(check.count_due(1000, 0).size(), QueryCheck::first_queries) << "as when the search is cancelled";
  {
    const QueryCheck::Due running = check.count_due(40, 0);
    EXPECT_EQ(check.count_due(1000, 0).size(), QueryCheck::first_queries - 40);
  }
  EXPECT_EQ(check.count_due(1000, 100).size(), QueryCheck::first_queries);
}

// Batches that were planned together show the same shortfall, which counts once.
TEST(QueryCheck, IgnoresSearchesThatWereAskedForLess) {
  QueryCheck check;
  QueryCheck::Due first = check.count_due(64, 1);
  QueryCheck::Due second = check.count_due(64, 1);
  const std::vector<double> shares(64, 0.5);
  EXPECT_TRUE(first.record(0.9, 1, shares));
  EXPECT_NEAR(reached(check, 0.9), 0.98, 1e-9);
  EXPECT_TRUE(second.record(0.9, 1, shares)) << "searches go further now";
  EXPECT_NEAR(reached(check, 0.9), 0.98, 1e-9);
  EXPECT_EQ(check.count_due(1000, 0).size(), QueryCheck::first_queries);
}

// What no calibration can promise ends in scans, whichever recall was asked for.
TEST(QueryCheck, GivesUpWhereTooMuchIsMissed) {
  for (const double asked : {0.5, 0.9, 0.99, 0.9999, 1.0}) {
    QueryCheck check;
    int raises = 0;
    for (int query = 0; query < 40 * 64 && reached(check, asked) > 0; ++query) {
      raises += record(check, asked, 0) ? 1 : 0;
    }
    EXPECT_EQ(reached(check, asked), 0) << asked;
    EXPECT_LE(raises, 32) << asked;
  }
}

TEST(QueryCheck, AsksForTheRecallItselfUntilMoreIsMissed) {
  const QueryCheck check;
  for (const double asked : {0.1, 0.3, 0.7, 0.95, 1.0}) EXPECT_EQ(reached(check, asked), asked);
}

TEST(QueryCheck, AsksForMoreWhenLessIsFound) {
  Random random(test::seed());
  QueryCheck check;
  EXPECT_LE(rounds_until_short(check, random, 0.9, 0.5, 1000), QueryCheck::first_queries);
  EXPECT_NEAR(reached(check, 0.9), 1 - 0.1 / 5, 0.012);
  EXPECT_EQ(check.count_due(1000, 0).size(), QueryCheck::first_queries) << "the next show whether that is enough";
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
      if (!record(check, 0.95, share)) continue;
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
          QueryCheck::Due checks = check.count_due(1, 50);
          due += checks.size();
          EXPECT_FALSE(checks.record(0.95, 1, std::vector<double>(checks.size(), 0.95)));
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
