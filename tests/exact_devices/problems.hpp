// Random problems of exact search on devices.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/exact_devices/fixture.hpp"

namespace vectis::test {

inline constexpr Metric products[] = {Metric::l2, Metric::inner_product, Metric::cosine};
inline constexpr Precision precisions[] = {Precision::int8, Precision::bf16, Precision::fp16, Precision::fp32};

// Sizes whose logarithm is even.
inline std::size_t even_size(Random& random, std::size_t most) {
  return static_cast<std::size_t>(std::exp2(random.unit() * std::log2(static_cast<double>(most))));
}

inline SearchProblem random_problem(Random& random, std::vector<std::uint64_t>& words) {
  SearchProblem problem;
  problem.dim = even_size(random, 200);
  problem.metric = products[random.below(3)];
  problem.precision = precisions[random.below(4)];
  const std::size_t rows = even_size(random, 6000);
  const std::size_t queries = even_size(random, 80);
  const double scale = std::exp2(static_cast<double>(random.below(20)) - 10);
  const double shift = random.below(3) == 0 ? 30 * scale : 0;
  problem.corpus = cloud(random, rows * problem.dim, scale, shift);
  problem.queries = cloud(random, queries * problem.dim, scale, shift);
  problem.k = even_size(random, 50);
  problem.segment_rows = 100 + even_size(random, 6000);
  words.assign(rows / 64 + 1, 0);
  if (random.below(4) == 0) {
    for (std::uint64_t& word : words) word = random.next() & random.next();
    problem.options.filter = IdFilter::bitmap(words, 0);
  }
  if (random.below(4) == 0) {
    problem.removed.resize(rows / 64 + 1);
    for (std::uint64_t& word : problem.removed) word = random.next();
  }
  return problem;
}

}  // namespace vectis::test
