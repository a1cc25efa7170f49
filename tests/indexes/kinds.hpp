// The kinds of index that the suites test; a new kind is one more line here.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "search/auto_index.hpp"
#include "search/common/checks.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base.hpp"
#include "vectis/search/index.hpp"

namespace vectis::test {

struct IndexKind {
  const char* name;
  const char* label;   // of the test
  const char* device;  // nullptr: its own choice
  bool exact;
  bool any_metric;  // else l2, l2_squared, cosine and inner_product
};

inline void PrintTo(const IndexKind& kind, std::ostream* out) { *out << kind.label; }

inline constexpr std::array index_kinds{
    IndexKind{.name = "flat", .label = "flat", .device = nullptr, .exact = true, .any_metric = true},
    IndexKind{.name = "gpu", .label = "gpu", .device = "failing", .exact = true, .any_metric = false},
    IndexKind{.name = "auto", .label = "auto", .device = nullptr, .exact = true, .any_metric = true},
    IndexKind{.name = "graph", .label = "graph", .device = nullptr, .exact = false, .any_metric = false},
    IndexKind{.name = "graph", .label = "graph_on_device", .device = "failing", .exact = false, .any_metric = false},
};
// Builds a graph once it has a few vectors; loaded from a file without a graph it is an ordinary "auto".
inline constexpr IndexKind growing_kind{
    .name = "auto", .label = "growing", .device = nullptr, .exact = false, .any_metric = true};
// The planner chooses for every search; profiling the device takes longer than most tests.
inline constexpr IndexKind planned_kind{
    .name = "auto", .label = "planned", .device = "failing", .exact = true, .any_metric = true};

inline std::vector<Metric> metrics_of(const IndexKind& kind) {
  if (!kind.any_metric) return {Metric::l2, Metric::cosine, Metric::inner_product, Metric::l2_squared};
  return {all_metrics().begin(), all_metrics().end()};
}

inline IndexOptions options_of(const IndexKind& kind, Runtime& runtime) {
  IndexOptions options;
  options.runtime = &runtime;
  if (kind.device != nullptr) options.device = kind.device;
  return options;
}

inline std::unique_ptr<Index> growing_index(std::size_t dim, Metric metric, Runtime& runtime, std::size_t rows_min) {
  auto corpus = std::make_unique<exact::SegmentStore>(runtime.executor(), metric, dim, Precision::int8);
  auto exact = std::make_unique<exact::ExactIndex>(runtime, "auto", std::move(corpus),
                                                   exact::SearchPlace{nullptr, "no device was asked for"});
  return std::make_unique<AutoIndex>(runtime, std::move(exact), nullptr, default_recall, GraphOptions{},
                                     AutoRules{.rows_min = rows_min, .gain_min = 0, .payback_max = 1e12});
}

inline std::unique_ptr<Index> made(const IndexKind& kind, std::size_t dim, Metric metric, Runtime& runtime) {
  const bool grows = kind.label == growing_kind.label && exact::can_scan(metric, Precision::int8);
  if (grows && dim > 0 && dim <= detail::dim_max) return growing_index(dim, metric, runtime, 1100);
  return make_index(kind.name, dim, metric, options_of(kind, runtime));
}

using FileBytes = std::vector<std::byte>;

inline FileBytes file_of(const Index& index) {
  MemoryWriter writer;
  index.save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

// Loads an index that fills the whole file.
inline std::unique_ptr<Index> index_of(const IndexKind& kind, std::span<const std::byte> file, Runtime& runtime) {
  MemoryReader reader(file);
  auto index = load_index(reader, options_of(kind, runtime));
  EXPECT_EQ(reader.remaining(), 0U);
  return index;
}

// Exact kinds must return the ground truth to the last bit; approximate ones valid hits, whose recall is tallied.
inline void expect_answers(const IndexKind& kind, const Index& index, const BruteForce& truth,
                           std::span<const float> queries, std::size_t k, const SearchOptions& options, Tally& tally) {
  if (kind.exact) {
    expect_same(index, truth, queries, k, options);
  } else {
    expect_sound(index, truth, queries, k, options, tally);
  }
}

// Tests of one kind, in a runtime of their own.
class IndexKinds : public testing::TestWithParam<IndexKind> {
 protected:
  [[nodiscard]] const IndexKind& kind() const { return GetParam(); }
  std::unique_ptr<Index> make(std::size_t dim, Metric metric = Metric::l2) {
    return made(kind(), dim, metric, runtime);
  }

  Runtime runtime;
  Random random{seed()};
};

inline std::string kind_name(const testing::TestParamInfo<IndexKind>& info) { return info.param.label; }

}  // namespace vectis::test
