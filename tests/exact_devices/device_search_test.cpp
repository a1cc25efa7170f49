// What devices find is what brute force in double precision finds.
#include <gmock/gmock.h>

#include <cstdlib>
#include <iostream>
#include <limits>

#include "tests/exact_devices/fixture.hpp"
#include "tests/exact_devices/problems.hpp"
#include "vectis/kernel/operation.hpp"

namespace vectis::test {
namespace {

#if defined(VECTIS_HAS_OPENCL)
constexpr const char* computing = "opencl:0";
#else
constexpr const char* computing = "cpu";
#endif

// A slice for every commit; the soak sets VECTIS_TEST_PROBLEMS.
int problem_count() {
  const char* text = std::getenv("VECTIS_TEST_PROBLEMS");
  return text == nullptr ? 200 : std::atoi(text);
}

TEST_F(ExactDevicesTest, RandomProblemsHaveTheirTruth) {
  exact::DeviceSearch devices = on({computing});
  for (int i = 0; i < problem_count(); ++i) {
    Random own(seed() + static_cast<std::uint64_t>(i));
    std::vector<std::uint64_t> words;
    const SearchProblem problem = random_problem(own, words);
    expect_truth(problem, search(devices, problem));
    if (HasFatalFailure()) FAIL() << "problem " << i;
  }
  EXPECT_EQ(devices.labels(), device(computing).label());
  std::cout << problem_count() << " random problems on " << devices.labels() << '\n';
}

TEST_F(ExactDevicesTest, TheProcessorAsADeviceFindsTheSame) {
  exact::DeviceSearch devices = on({"cpu"});
  for (std::uint64_t i = 0; i < 20; ++i) {
    Random own(seed() + 1000 + i);
    std::vector<std::uint64_t> words;
    const SearchProblem problem = random_problem(own, words);
    expect_truth(problem, search(devices, problem));
  }
}

std::vector<SearchProblem> hard_problems(Random& random, std::size_t rows, std::size_t dim) {
  const std::size_t count = rows * dim;
  std::vector<SearchProblem> problems(8);
  for (SearchProblem& problem : problems) {
    problem.dim = dim;
    problem.corpus = cloud(random, count);
    problem.queries = cloud(random, 9 * dim);
  }
  problems[0].corpus = cloud(random, count, 1, 1000);
  problems[0].queries = cloud(random, 9 * dim, 1, 1000);
  problems[1].corpus = cloud(random, count, 1e18);
  problems[1].queries = cloud(random, 9 * dim, 1e18);
  problems[2].corpus = cloud(random, count, 1e-40);
  problems[2].queries = cloud(random, 9 * dim, 1e-40);
  problems[3].queries = cloud(random, 9 * dim, 1e15);
  for (std::size_t i = 0; i < count; ++i) {
    problems[4].corpus[i] *= std::ldexp(1.0F, static_cast<int>(i / dim % 60) - 30);
  }
  for (std::size_t i = 0; i < dim; ++i) problems[5].corpus[count / 2 / dim * dim + i] = 1e30F;
  for (std::size_t i = dim; i < count; ++i) {
    problems[6].corpus[i] = std::nextafter(problems[6].corpus[i % dim], random.below(2) == 0 ? 10.0F : -10.0F);
  }
  for (float& value : problems[7].corpus) value = random.below(2) == 0 ? std::numeric_limits<float>::max() : -1e38F;
  return problems;
}

TEST_F(ExactDevicesTest, AdversarialDataHasItsTruth) {
  exact::DeviceSearch devices = on({computing});
  for (SearchProblem& problem : hard_problems(random, 500, 37)) {
    problem.segment_rows = 300;
    for (const Metric metric : products) {
      for (const Precision precision : precisions) {
        problem.metric = metric;
        problem.precision = precision;
        expect_truth(problem, search(devices, problem));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Distances of rows that are far smaller than the query are equal after rounding; then the lowest ids count.
TEST_F(ExactDevicesTest, MagnitudesOfEveryOrderHaveTheirTruth) {
  exact::DeviceSearch devices = on({computing});
  for (int i = 0; i < 30; ++i) {
    SearchProblem problem;
    problem.dim = 1 + random.below(20);
    const auto row = [&](std::vector<float>& rows) {
      const double size = std::pow(10.0, -38 + 76 * random.unit());
      for (std::size_t j = 0; j < problem.dim; ++j) {
        rows.push_back(static_cast<float>(size * (2 * random.unit() - 1)));
      }
    };
    for (int j = 0; j < 60; ++j) row(problem.corpus);
    for (int j = 0; j < 9; ++j) row(problem.queries);
    for (const Metric metric : products) {
      for (const Precision precision : precisions) {
        problem.metric = metric;
        problem.precision = precision;
        expect_truth(problem, search(devices, problem));
        if (HasFatalFailure()) FAIL() << "problem " << i;
      }
    }
  }
}

TEST_F(ExactDevicesTest, WhatDoesNotFitIsScannedAgainAndNothingIsLost) {
  SearchProblem problem;
  problem.dim = 8;
  problem.segment_rows = 30000;
  problem.corpus.assign(20000 * problem.dim, 1.0F);  // all equally far: no bound rules anything out
  problem.queries = cloud(random, 3 * problem.dim);
  exact::DeviceSearch devices = on({computing});
  for (const Precision precision : precisions) {
    problem.precision = precision;
    const auto answer = search(devices, problem);
    expect_truth(problem, answer);
    EXPECT_EQ(answer.counts.overflown_queries, 3U);
  }
}

TEST_F(ExactDevicesTest, RadiusAndManyNeighboursAndFewRows) {
  SearchProblem problem;
  problem.dim = 5;
  problem.corpus = cloud(random, 700 * problem.dim);
  problem.queries = cloud(random, 4 * problem.dim);
  exact::DeviceSearch devices = on({computing});
  problem.options.radius = 0.7;
  expect_truth(problem, search(devices, problem));
  problem.options.radius.reset();
  for (const std::size_t k : {0U, 1U, 699U, 700U, 5000U}) {
    problem.k = k;
    expect_truth(problem, search(devices, problem));
  }
  const std::vector<std::uint64_t> none(11, 0);
  problem.options.filter = IdFilter::bitmap(none, 0);
  expect_truth(problem, search(devices, problem));
}

TEST_F(ExactDevicesTest, OtherDistancesAreRefused) {
  SearchProblem problem;
  problem.dim = 3;
  problem.metric = Metric::l1;
  problem.precision = Precision::fp32;
  problem.corpus = cloud(random, 30);
  problem.queries = cloud(random, 3);
  exact::DeviceSearch devices = on({computing});
  EXPECT_ERROR((void)search(devices, problem), ErrorCode::unsupported, "not l1; use 'flat'");
}

// Scores of int8 codes are integers, equal on every device.
TEST_F(ExactDevicesTest, ScoresOfInt8AreTheHostsToTheLastBit) {
  const DeviceContext context(device(computing));
  for (const std::size_t dim : {1U, 3U, 4U, 130U, 1041U, 20000U}) {
    constexpr std::size_t rows = 70;
    std::vector<std::int8_t> codes((rows + 1) * dim);
    for (std::int8_t& code : codes)
      code = static_cast<std::int8_t>(dim > 10000 ? 127 - random.below(9) : random.next());
    std::vector<float> terms(4 * (rows + 1));
    for (std::size_t i = 0; i < rows; ++i) terms[4 * i + 1] = 1;
    terms[4 * rows] = 1;
    terms[4 * rows + 3] = std::numeric_limits<float>::infinity();
    Stream stream(context);
    const auto there = [&](std::span<const std::byte> bytes) {
      DeviceMemory memory(context, bytes.size() + 4);
      stream.copy_to_device(memory, 0, bytes);
      return memory;
    };
    const DeviceMemory code_memory = there(std::as_bytes(std::span(codes)));
    const DeviceMemory term_memory = there(std::as_bytes(std::span(terms)));
    const DeviceMemory found(context, rows * 4);
    const DeviceMemory bounds(context, rows * 8);
    const DeviceMemory count(context, 4);
    stream.fill(count, 0, 4, 0);
    run(stream, "scan_bounds",
        {View(code_memory, DType::int8, rows, dim), View(code_memory, DType::int8, 1, dim, rows * dim, dim),
         View(term_memory, DType::float32, rows, 4), View(term_memory, DType::float32, 1, 4, 4 * rows, 4),
         View(found, DType::int32, 1, rows), View(bounds, DType::float32, 1, 2 * rows), View(count, DType::int32, 1, 1),
         View(term_memory, DType::int32, 1, 1)});
    std::vector<std::int32_t> row(rows);
    std::vector<float> bound(2 * rows);
    stream.copy_to_host(std::as_writable_bytes(std::span(row)), found, 0);
    stream.copy_to_host(std::as_writable_bytes(std::span(bound)), bounds, 0);
    stream.synchronize();
    for (std::size_t i = 0; i < rows; ++i) {
      std::int32_t sum = 0;
      for (std::size_t d = 0; d < dim; ++d) {
        sum += codes[static_cast<std::size_t>(row[i]) * dim + d] * codes[rows * dim + d];
      }
      ASSERT_EQ(bound[2 * i], static_cast<float>(sum)) << "dim " << dim << ", row " << row[i];
    }
  }
}

}  // namespace
}  // namespace vectis::test
