// Every kernel of scanning against brute force in double precision, on data made to break bounds.
#include "search/exact/host_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "search/exact/quantizer.hpp"
#include "search/exact/scan_kernels.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::exact {
namespace {

using Floats = std::vector<float>;
using Random = std::mt19937_64;

struct Problem {
  std::string name;
  std::size_t dim = 0;
  Floats store;
  Floats queries;
};

float normal(Random& random) { return std::normal_distribution<float>()(random); }

Floats normals(Random& random, std::size_t count, float scale = 1, float shift = 0) {
  Floats values(count);
  for (float& value : values) value = shift + scale * normal(random);
  return values;
}

std::vector<Problem> adversarial_problems(Random& random, std::size_t rows, std::size_t dim) {
  const std::size_t count = rows * dim;
  const std::size_t asked = 9 * dim;
  std::vector<Problem> problems;
  const auto add = [&](std::string name, Floats store, Floats queries) {
    problems.push_back({std::move(name), dim, std::move(store), std::move(queries)});
  };
  add("cloud", normals(random, count), normals(random, asked));
  add("off-center cloud", normals(random, count, 1, 1000), normals(random, asked, 1, 1000));
  add("large norms", normals(random, count, 1e18F), normals(random, asked, 1e18F));
  add("denormals", normals(random, count, 1e-40F), normals(random, asked, 1e-40F));
  add("queries far away", normals(random, count), normals(random, asked, 1e15F));

  Floats ties = normals(random, count);
  for (std::size_t i = dim; i < count; ++i) {
    ties[i] = std::nextafter(ties[i % dim], random() % 2 == 0 ? 10.0F : -10.0F);
  }
  add("near ties", std::move(ties), normals(random, asked));

  Floats scales = normals(random, count);
  for (std::size_t i = 0; i < count; ++i) scales[i] *= std::ldexp(1.0F, static_cast<int>(i / dim % 60) - 30);
  add("mixed scales", std::move(scales), normals(random, asked));

  Floats outlier = normals(random, count);
  for (std::size_t i = 0; i < dim; ++i) outlier[count / 2 / dim * dim + i] = 1e30F;
  add("one huge outlier", std::move(outlier), normals(random, asked));

  Floats shell = normals(random, count);
  for (std::size_t row = 0; row < rows; ++row) {  // all rows almost equally far from the center
    float* const x = shell.data() + row * dim;
    double sum = 0;
    for (std::size_t i = 0; i < dim; ++i) sum += double{x[i]} * double{x[i]};
    for (std::size_t i = 0; i < dim; ++i) x[i] = static_cast<float>(x[i] / std::sqrt(sum));
  }
  add("more than a tenth survives", std::move(shell), normals(random, asked, 1e-6F));

  Floats copies(count);
  for (std::size_t i = 0; i < count; ++i) copies[i] = static_cast<float>(i % dim);
  add("duplicates", std::move(copies), normals(random, asked));
  add("zeros", Floats(count), Floats(asked));
  Floats extremes(count);
  for (float& value : extremes) value = random() % 2 == 0 ? std::numeric_limits<float>::max() : -1e38F;
  add("the largest numbers", std::move(extremes), normals(random, asked, 3e37F));
  return problems;
}

std::vector<Hit> brute_force(Metric metric, const Problem& problem, std::size_t query, std::size_t k) {
  std::vector<Hit> hits;
  const std::span<const float> numbers(problem.queries.data() + query * problem.dim, problem.dim);
  for (std::size_t row = 0; row < problem.store.size() / problem.dim; ++row) {
    const std::span<const float> vector(problem.store.data() + row * problem.dim, problem.dim);
    hits.push_back({row, exact_distance(metric, numbers, vector)});
  }
  const auto nearer = [](const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  };
  std::sort(hits.begin(), hits.end(), nearer);
  hits.resize(std::min(k, hits.size()));
  return hits;
}

// The store as segments of at most `rows` rows, the last appended to in two steps.
std::vector<SegmentView> segments_of(Executor& executor, Metric metric, Precision precision, const Problem& problem,
                                     std::size_t rows) {
  std::vector<SegmentView> views;
  const std::size_t all = problem.store.size() / problem.dim;
  std::vector<std::uint64_t> ids(all);
  for (std::size_t i = 0; i < all; ++i) ids[i] = i;
  const std::span<const float> store(problem.store);
  for (std::size_t first = 0; first < all; first += rows) {
    const std::size_t count = std::min(rows, all - first);
    const std::size_t now = (count + 1) / 2;
    Segment segment(executor, metric, precision, problem.dim, count,
                    store.subspan(first * problem.dim, now * problem.dim), std::span(ids).subspan(first, now));
    if (count > now) {
      segment.append(executor, store.subspan((first + now) * problem.dim, (count - now) * problem.dim),
                     std::span(ids).subspan(first + now, count - now));
    }
    views.push_back(segment.view());
  }
  return views;
}

bool can_scan(Metric metric, Precision precision) {
  return precision == Precision::fp32 || is_euclidean(metric) || metric == Metric::cosine ||
         metric == Metric::inner_product;
}

void expect_exact(Executor& executor, Metric metric, Precision precision, const Problem& problem, std::size_t k,
                  std::string_view kernel, std::size_t segment_rows = 300) {
  const SearchOptions options;
  const auto segments = segments_of(executor, metric, precision, problem, segment_rows);
  const SearchTask task{.segments = segments,
                        .dim = problem.dim,
                        .metric = metric,
                        .precision = precision,
                        .queries = problem.queries,
                        .k = k,
                        .options = &options};
  const ExactAnswer answer = host_search(executor, task, kernel);
  for (std::size_t query = 0; query < answer.hits.size(); ++query) {
    ASSERT_EQ(answer.hits[query], brute_force(metric, problem, query, k))
        << problem.name << ", " << name(metric) << ", " << name(precision) << " by " << kernel << ", dim "
        << problem.dim << ", k " << k << ", query " << query;
  }
}

class HostSearchTest : public testing::Test {
 protected:
  std::shared_ptr<Executor> executor_ = make_thread_executor();
  Random random_{test::seed()};
};

TEST_F(HostSearchTest, EveryKernelIsExactOnAdversarialData) {
  for (const std::size_t dim : {std::size_t{3}, std::size_t{100}}) {
    for (const Problem& problem : adversarial_problems(random_, 700, dim)) {
      for (const Metric metric : all_metrics()) {
        for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
          if (!can_scan(metric, precision)) continue;
          for (const std::string_view kernel : usable_scan_kernels(precision)) {
            expect_exact(*executor_, metric, precision, problem, 10, kernel);
          }
        }
      }
    }
  }
}

TEST_F(HostSearchTest, EdgeSizesAreExact) {
  for (const std::size_t rows : {1U, 15U, 16U, 17U, 33U, 601U}) {
    for (const std::size_t dim : {1U, 2U, 31U, 32U, 63U, 64U, 65U, 129U}) {
      const Problem problem{"cloud", dim, normals(random_, rows * dim), normals(random_, (1 + rows % 40) * dim)};
      for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
        for (const std::size_t k : {std::size_t{1}, std::size_t{7}, rows, rows + 5}) {
          expect_exact(*executor_, Metric::l2, precision, problem, k, "auto");
        }
      }
    }
  }
}

// A small segment with rows of all magnitudes: squares of some underflow in the units of its quantizer.
TEST_F(HostSearchTest, RowsOfAllMagnitudesShareSmallSegments) {
  std::uniform_real_distribution<double> exponent(-38, 38);
  for (int round = 0; round < 60; ++round) {
    const std::size_t dim = 1 + random_() % 6;
    Problem problem{"all magnitudes", dim, normals(random_, (2 + random_() % 40) * dim), normals(random_, 3 * dim)};
    for (float& value : problem.store) {
      if (random_() % 3 == 0)
        value = static_cast<float>(std::clamp(value * std::pow(10, exponent(random_)), -3e38, 3e38));
    }
    for (const Metric metric : {Metric::l2, Metric::cosine, Metric::inner_product}) {
      for (const Precision precision : {Precision::fp16, Precision::bf16, Precision::int8}) {
        expect_exact(*executor_, metric, precision, problem, 3, "auto", 2 + random_() % 3);
      }
    }
  }
}

// Segments without codes, as a graph makes them, and rows that must not be read.
TEST_F(HostSearchTest, EveryKernelIsExactOnRowsEncodedDuringTheScan) {
  const float poison = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t dim : {std::size_t{1}, std::size_t{65}, std::size_t{129}}) {
    for (const Problem& problem : adversarial_problems(random_, 1300, dim)) {
      const std::size_t rows = problem.store.size() / dim;
      std::vector<std::uint64_t> ids(rows);
      for (std::size_t i = 0; i < rows; ++i) ids[i] = i;
      for (const Metric metric : {Metric::l2, Metric::l2_squared, Metric::cosine, Metric::inner_product}) {
        const Quantizer quantizer = train_quantizer(metric, Precision::int8, dim, problem.store);
        Floats poisoned = problem.store;
        auto removed = std::make_shared<std::uint64_t[]>(rows / 64 + 1);
        for (std::size_t row = 0; row < rows; row += 1 + random_() % 9) {
          removed.get()[row / 64] |= std::uint64_t{1} << (row % 64);
          for (std::size_t i = 0; i < dim; ++i) poisoned[row * dim + i] = poison;
        }
        SegmentView view;
        view.quantizer = &quantizer;
        view.rows = rows;
        view.originals = poisoned.data();
        view.ids = ids.data();
        view.removed = removed;
        const SearchOptions options;
        const SearchTask task{.segments = {&view, 1},
                              .dim = dim,
                              .metric = metric,
                              .precision = Precision::int8,
                              .queries = problem.queries,
                              .k = 10,
                              .options = &options};
        for (const std::string_view kernel : usable_scan_kernels(Precision::int8)) {
          const ExactAnswer answer = host_search(*executor_, task, kernel);
          for (std::size_t query = 0; query < answer.hits.size(); ++query) {
            std::vector<Hit> expected = brute_force(metric, problem, query, rows);
            std::erase_if(expected, [&](const Hit& hit) { return view.is_removed(hit.id); });
            expected.resize(10);
            ASSERT_EQ(answer.hits[query], expected)
                << problem.name << ", " << name(metric) << " by " << kernel << ", dim " << dim << ", query " << query;
          }
        }
      }
    }
  }
}

TEST_F(HostSearchTest, TwentyThousandDimensions) {
  constexpr std::size_t dim = 20000;
  const Problem problem{"wide", dim, normals(random_, 40 * dim), normals(random_, 6 * dim)};
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    expect_exact(*executor_, Metric::l2, precision, problem, 10, "auto");
  }
}

TEST_F(HostSearchTest, RerankIsRareOnGaussianData) {
  constexpr std::size_t dim = 64;
  const Problem problem{"cloud", dim, normals(random_, 20000 * dim, 1, 50), normals(random_, 20 * dim, 1, 50)};
  const SearchOptions options;
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    const auto segments = segments_of(*executor_, Metric::l2, precision, problem, 16384);
    const SearchTask task{.segments = segments,
                          .dim = dim,
                          .metric = Metric::l2,
                          .precision = precision,
                          .queries = problem.queries,
                          .k = 10,
                          .options = &options};
    const ExactAnswer answer = host_search(*executor_, task);
    EXPECT_LT(answer.explanation.reranked, 20U * 1000U) << name(precision);
    EXPECT_GE(answer.explanation.reranked, 20U * 10U) << name(precision);
    // Whatever order rows are looked at in, those that no bound rules out are the same.
    SimulatedExecutor alone(1);
    EXPECT_EQ(host_search(alone, task).explanation.reranked, answer.explanation.reranked) << name(precision);
    RecordProperty(std::string(name(precision)), std::to_string(answer.explanation.reranked / 20));
  }
}

}  // namespace
}  // namespace vectis::exact
