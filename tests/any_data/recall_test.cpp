// The recall that graphs find against the recall asked for, in random worlds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "tests/any_data/worlds.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis {
namespace {

constexpr std::array asked_recalls{0.8, 0.9, 0.95, 0.98, 0.99, 0.999};
constexpr std::size_t queries_per_world = 1000;
constexpr std::size_t k = 10;

// A recall that was found, and how far below the one asked for it is.
struct FoundRecall {
  double mean = 0;
  double errors_below = 0;  // standard errors; negative when more was found
};

// Rows as near as the k-th nearest count as found.
FoundRecall compare(const SearchResult& found, const SearchResult& truth, double asked) {
  const auto queries = static_cast<double>(queries_per_world);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < queries_per_world; ++i) {
    const double limit = truth[i].back().distance;
    const auto hits = std::ranges::count_if(
        found[i], [&](const Hit& hit) { return hit.distance <= limit + 1e-12 * std::abs(limit); });
    const double share = std::min(1.0, static_cast<double>(hits) / static_cast<double>(k));
    sum += share;
    squares += share * share;
  }
  const double mean = sum / queries;
  const double error = std::sqrt(std::max(0.0, squares / queries - mean * mean) / queries);
  return {mean, (asked - mean) / std::max(error, 1e-4)};
}

class AnyDataTest : public testing::Test {
 protected:
  Runtime runtime;
};

// The limit is wide, so that no seed fails by chance; the soak counts how many cells are within two standard errors.
TEST_F(AnyDataTest, GraphsFindTheRecallAskedFor) {
  constexpr double errors_max = 5;
  const std::uint64_t worlds = test::runs_wanted(8);
  std::size_t cells = 0;
  std::size_t within_two = 0;
  std::size_t scanned = 0;
  double worst = -1e9;
  for (std::uint64_t run = 0; run < worlds; ++run) {
    const test::World world = test::random_world(test::seed() + run);
    const test::WorldData data = test::make_data(world, queries_per_world);
    const auto graph = make_index("graph", world.dim, world.metric, {.device = "cpu", .runtime = &runtime});
    const auto flat = make_index("flat", world.dim, world.metric, {.device = "cpu", .runtime = &runtime});
    test::live_through(world, data.rows, *graph);
    test::live_through(world, data.rows, *flat);
    const SearchResult truth = flat->search(data.queries, k);
    for (const double asked : asked_recalls) {
      const SearchResult found = graph->search(data.queries, k, {.recall = asked});
      const FoundRecall recall = compare(found, truth, asked);
      ++cells;
      within_two += recall.errors_below <= 2 ? 1U : 0U;
      scanned += found.explanation().kernel == "exact scan" ? 1U : 0U;
      worst = std::max(worst, recall.errors_below);
      if (recall.errors_below > 2) {
        std::cout << world.describe() << ": found " << recall.mean << " for " << asked << ", " << recall.errors_below
                  << " standard errors below\n";
      }
      EXPECT_LE(recall.errors_below, errors_max) << world.describe() << ", asked for " << asked;
    }
  }
  std::cout << "worlds: " << worlds << "\ncells: " << cells << "\nwithin two standard errors: " << within_two
            << "\nanswered by exact scans: " << scanned << "\nworst, standard errors below: " << worst << "\n";
}

}  // namespace
}  // namespace vectis
