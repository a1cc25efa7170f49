// Scores of codes against distances in double precision, and every way to compute them against the plain one.
#include "search/graph/scores.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "search/graph/rows.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::graph {
namespace {

class ScoresTest : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(ScoresTest, AreSquaredDistancesNearly) {
  Random random(test::seed());
  const auto [dim, bits] = GetParam();
  constexpr std::size_t count = 37;
  const test::Floats vectors = test::random_rows(random, count, dim);
  const test::Floats query = test::random_rows(random, 1, dim);
  const auto executor = make_thread_executor({.threads = 1});
  Frame frame = make_frame(*executor, Metric::l2, dim, vectors);  // so few vectors keep all coordinates
  set_codes(frame, dim, bits);
  Rows rows(frame.row_bytes);
  rows.reserve(count, 0);
  std::vector<const std::byte*> asked(count);
  for (Slot i = 0; i < count; ++i) {
    asked[i] = rows[i];
    encode_row(frame, vectors.data() + i * dim, rows[i]);
  }
  CodedQuery coded(frame);
  coded.set_vector(frame, query.data());
  std::vector<float> scores(count);
  score_rows_plain(frame, coded, asked.data(), count, scores.data());
  const double unit = std::ldexp(1.0, -2 * frame.exponent);
  for (std::size_t i = 0; i < count; ++i) {
    const double truth = exact_distance(Metric::l2, query, std::span(vectors).subspan(i * dim, dim));
    const double found = double{scores[i]} + double{coded.square()};
    // Steps are 1/255 or 1/15 of a row's range and 1/127 of the query's largest number, both at most about 3 before
    // scaling.
    EXPECT_NEAR(found, truth * truth * unit, (bits == 8 ? 0.05 : 0.5) * static_cast<double>(dim) * unit) << i;
  }
  std::vector<float> best(count + 1, -1);
  const auto expect_as_plain = [&] {
    best_score_rows()(frame, coded, asked.data(), count, best.data());
    for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(best[i], scores[i], 1e-4 * static_cast<double>(dim)) << i;
    EXPECT_EQ(best[count], -1) << "written behind the end";
  };
  expect_as_plain();
  // A row in the place of the query.
  coded.set_row(frame, rows[3]);
  score_rows_plain(frame, coded, asked.data(), count, scores.data());
  EXPECT_NEAR(scores[3] + coded.square(), 0, (bits == 8 ? 0.02 : 0.3) * static_cast<double>(dim) * unit);
  expect_as_plain();
}

INSTANTIATE_TEST_SUITE_P(Dimensions, ScoresTest,
                         testing::Combine(testing::Values(1, 3, 55, 56, 57, 63, 64, 112, 113, 128, 130, 384),
                                          testing::Values(8, 4)));

}  // namespace
}  // namespace vectis::graph
