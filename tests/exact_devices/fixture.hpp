// Problems, their truth, and searches of them on devices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "search/exact/device/search.hpp"
#include "tests/devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis::test {

struct SearchProblem {
  std::size_t dim = 1;
  Metric metric = Metric::l2;
  Precision precision = Precision::int8;
  std::vector<float> corpus;
  std::vector<float> queries;
  std::size_t k = 10;
  std::size_t segment_rows = 5000;
  SearchOptions options;
  std::vector<std::uint64_t> removed;  // a bit for each row; empty: none

  [[nodiscard]] std::size_t rows() const { return corpus.size() / dim; }
  [[nodiscard]] bool is_removed(std::size_t row) const {
    return !removed.empty() && ((removed[row / 64] >> (row % 64)) & 1U) != 0;
  }
  [[nodiscard]] std::string text() const {
    return std::string(name(metric)) + " " + std::string(name(precision)) + " " + std::to_string(rows()) + " x " +
           std::to_string(dim) + ", " + std::to_string(queries.size() / dim) + " queries, k " + std::to_string(k);
  }
};

inline std::vector<float> cloud(Random& random, std::size_t count, double scale = 1, double shift = 0) {
  std::vector<float> values(count);
  for (float& value : values) {
    const double bell = random.unit() + random.unit() + random.unit() + random.unit() - 2;
    value = static_cast<float>(shift + scale * bell);
  }
  return values;
}

// The folder of plug-ins that compute; the others on the path are for tests and must not be chosen by themselves.
inline std::string computing_backends() {
  const char* const folders = std::getenv("VECTIS_BACKEND_PATH");
  const std::string all = folders == nullptr ? "" : folders;
  return all.substr(0, all.find(':'));
}

// Ids are the rows' numbers through all segments.
inline std::vector<Hit> truth(const SearchProblem& problem, std::size_t query) {
  std::vector<Hit> hits;
  const std::span<const float> numbers(problem.queries.data() + query * problem.dim, problem.dim);
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    if (problem.is_removed(row) || (problem.options.filter && !problem.options.filter->allows(row))) continue;
    const std::span<const float> vector(problem.corpus.data() + row * problem.dim, problem.dim);
    const double distance = exact_distance(problem.metric, numbers, vector);
    if (!problem.options.radius || distance <= *problem.options.radius) hits.push_back({row, distance});
  }
  const auto nearer = [](const Hit& a, const Hit& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  };
  const std::size_t kept = std::min(problem.k, hits.size());
  std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end(), nearer);
  hits.resize(kept);
  return hits;
}

class ExactDevicesTest : public DevicesTest {
 protected:
  explicit ExactDevicesTest(RuntimeOptions options = {}) : DevicesTest(std::move(options)) {}

  std::vector<exact::SegmentView> segments_of(const SearchProblem& problem) {
    std::vector<exact::SegmentView> views;
    std::vector<std::uint64_t> ids(problem.rows());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
    for (std::size_t first = 0; first < ids.size(); first += problem.segment_rows) {
      const std::size_t count = std::min(problem.segment_rows, ids.size() - first);
      const exact::Segment segment(runtime().executor(), problem.metric, problem.precision, problem.dim, count,
                                   std::span(problem.corpus).subspan(first * problem.dim, count * problem.dim),
                                   std::span(ids).subspan(first, count));
      views.push_back(segment.view());
      if (problem.removed.empty()) continue;
      const auto bits = std::make_shared<std::uint64_t[]>(count / 64 + 1);
      for (std::size_t i = 0; i < count; ++i) {
        if (problem.is_removed(first + i)) bits.get()[i / 64] |= std::uint64_t{1} << (i % 64);
      }
      views.back().removed = bits;
    }
    return views;
  }

  exact::SearchTask task(const SearchProblem& problem, const std::vector<exact::SegmentView>& segments) {
    return {.segments = segments,
            .dim = problem.dim,
            .metric = problem.metric,
            .precision = problem.precision,
            .queries = problem.queries,
            .k = problem.k,
            .options = &problem.options};
  }

  void expect_truth(const SearchProblem& problem, const exact::DeviceSearchAnswer& answer) {
    ASSERT_EQ(answer.hits.size(), problem.queries.size() / problem.dim);
    for (std::size_t query = 0; query < answer.hits.size(); ++query) {
      ASSERT_EQ(answer.hits[query], truth(problem, query)) << problem.text() << ", query " << query;
    }
  }

  exact::DeviceSearchAnswer search(exact::DeviceSearch& devices, const SearchProblem& problem,
                                   exact::DeviceSplit split = exact::DeviceSplit::shards) {
    const auto segments = segments_of(problem);
    return devices.search(task(problem, segments), split);
  }

  exact::DeviceSearch on(std::initializer_list<const char*> names) {
    std::vector<Device> devices;
    for (const char* name : names) devices.push_back(device(name));
    return {runtime(), devices};
  }

  Random random{seed()};
};

}  // namespace vectis::test
