// Vectors of every magnitude that a float has, in one index, against brute force in double precision; the index is
// saved and loaded after each change.
#include <cfloat>
#include <cmath>
#include <iostream>
#include <numeric>

#include "tests/indexes/kinds.hpp"
#include "tests/support/runs.hpp"

namespace vectis::test {
namespace {

enum class Scales : std::uint8_t { one, by_row, by_element, extremes };
constexpr std::array scale_choices{Scales::one, Scales::by_row, Scales::by_element, Scales::extremes};
constexpr std::array scale_names{"one scale", "a scale for each row", "a scale for each element", "extremes"};

float of_magnitude(Random& random, double exponent) {
  const double value = (random.unit() * 2 - 1) * std::pow(10.0, exponent);
  return static_cast<float>(std::clamp(value, -double{FLT_MAX}, double{FLT_MAX}));
}
double some_exponent(Random& random) { return random.unit() * 76 - 38; }

Floats rows_of_scales(Random& random, Scales scales, double exponent, std::size_t rows, std::size_t dim) {
  constexpr std::array extremes{0.0F,    -0.0F,    FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN, -FLT_MIN,
                                FLT_MAX, -FLT_MAX, 1.0F,         -1.0F,         1e19F,   1e-20F};
  Floats floats(rows * dim);
  for (std::size_t row = 0; row < rows; ++row) {
    if (scales == Scales::by_row) exponent = some_exponent(random);
    for (std::size_t i = 0; i < dim; ++i) {
      if (scales == Scales::by_element) exponent = some_exponent(random);
      floats[row * dim + i] =
          scales == Scales::extremes ? extremes[random.below(extremes.size())] : of_magnitude(random, exponent);
    }
  }
  return floats;
}

// The distance by another route than exact_distance: long double, and cosine by normalized vectors.
long double true_distance(Metric metric, std::span<const float> q, std::span<const float> x) {
  using Wide = long double;
  const auto sum = [&](auto&& term) {
    Wide total = 0;
    for (std::size_t i = 0; i < q.size(); ++i) total += term(Wide{q[i]}, Wide{x[i]});
    return total;
  };
  const auto square = [](Wide a, Wide b) { return (a - b) * (a - b); };
  switch (metric) {
    case Metric::l2:
      return std::sqrt(sum(square));
    case Metric::l2_squared:
      return sum(square);
    case Metric::l1:
      return sum([](Wide a, Wide b) { return std::abs(a - b); });
    case Metric::inner_product:
      return -sum([](Wide a, Wide b) { return a * b; });
    case Metric::hamming:
      return sum([](Wide a, Wide b) { return Wide{a != b ? 1.0L : 0.0L}; });
    case Metric::chebyshev: {
      Wide largest = 0;
      for (std::size_t i = 0; i < q.size(); ++i) largest = std::max(largest, std::abs(Wide{q[i]} - Wide{x[i]}));
      return largest;
    }
    case Metric::cosine: {
      const Wide q_norm = std::sqrt(sum([](Wide a, Wide) { return a * a; }));
      const Wide x_norm = std::sqrt(sum([](Wide, Wide b) { return b * b; }));
      if (q_norm == 0 || x_norm == 0) return 1;
      return 1 - sum([&](Wide a, Wide b) { return (a / q_norm) * (b / x_norm); });
    }
  }
  return 0;
}

// How much the distance may differ: the rounding of a sum of `dim` terms in double precision.
long double tolerance(Metric metric, std::span<const float> q, std::span<const float> x, long double truth) {
  constexpr long double unit = 2.3e-16L;
  const auto terms = static_cast<long double>(q.size() + 4);
  if (metric == Metric::cosine) return terms * unit * 4;
  if (metric == Metric::inner_product) {
    long double sizes = 0;
    for (std::size_t i = 0; i < q.size(); ++i) sizes += std::abs(static_cast<long double>(q[i]) * x[i]);
    return terms * unit * sizes;
  }
  return terms * unit * truth;
}

// An index and its ground truth, through changes.
class Magnitudes : public IndexKinds {
 protected:
  void SetUp() override { tally_ = {}; }

  void change(Scales scales) {
    const std::uint64_t fate = random.below(5);
    if (fate < 2 || truth_->rows().size() < 10) {
      const Floats rows = rows_of_scales(random, scales, exponent_, 1 + random.below(60), dim_);
      truth_->put_all(index_->add(rows), rows);
    } else if (fate == 2) {
      for (int i = 0; i < 5; ++i) {
        const std::uint64_t id = some_id();
        EXPECT_TRUE(index_->remove(id));
        truth_->remove(id);
      }
    } else if (fate == 3) {
      const std::uint64_t id = some_id();
      const Floats row = rows_of_scales(random, scales, exponent_, 1, dim_);
      index_->update(id, row);
      truth_->put(id, row);
    } else {
      index_->compact();
    }
  }
  void reload() {
    const FileBytes file = file_of(*index_);
    index_ = index_of(kind(), file, runtime);
    ASSERT_TRUE(file_of(*index_) == file) << "saved again, the file differs";
  }
  void check(Scales scales) {
    for (const auto& [id, vector] : truth_->rows()) ASSERT_EQ(index_->get(id), vector) << "id " << id;
    Floats queries = rows_of_scales(random, scales, exponent_, 3, dim_);
    for (const auto& [id, vector] : truth_->rows()) {
      if (random.below(8) == 0) queries.insert(queries.end(), vector.begin(), vector.end());
    }
    const SearchOptions options{.recall = kind().exact ? std::optional<double>() : std::optional(0.95)};
    ASSERT_NO_FATAL_FAILURE(expect_answers(kind(), *index_, *truth_, queries, 10, options, tally_));
    ASSERT_NO_FATAL_FAILURE(check_distances(queries));
    ASSERT_NO_FATAL_FAILURE(check_alone());
  }

  void run(Scales scales, Metric metric) {
    dim_ = 1 + random.below(20);
    exponent_ = some_exponent(random);
    truth_.emplace(dim_, metric);
    index_ = make(dim_, metric);
    for (int i = 0; i < 6; ++i) {
      ASSERT_NO_FATAL_FAILURE(change(scales));
      ASSERT_NO_FATAL_FAILURE(reload());
      ASSERT_NO_FATAL_FAILURE(check(scales)) << "change " << i;
    }
    index_->drop_full_precision();
    ASSERT_NO_FATAL_FAILURE(check_dropped());
  }

  Tally tally_;

 private:
  std::uint64_t some_id() {
    auto row = truth_->rows().begin();
    std::advance(row, static_cast<std::ptrdiff_t>(random.below(truth_->rows().size())));
    return row->first;
  }
  // Against another computation of the distance than the library's own.
  void check_distances(std::span<const float> queries) {
    for (std::size_t i = 0; i < queries.size() / dim_; ++i) {
      const auto query = queries.subspan(i * dim_, dim_);
      const SearchResult found = index_->search(query, 3);
      for (const Hit& hit : found[0]) {
        const Floats& vector = truth_->rows().at(hit.id);
        const long double expected = true_distance(index_->metric(), query, vector);
        ASSERT_LE(std::abs(hit.distance - expected), tolerance(index_->metric(), query, vector, expected))
            << hit.distance << " instead of " << static_cast<double>(expected);
      }
    }
  }
  // Alone behind a filter every vector is found, by every kind.
  void check_alone() {
    for (const auto& [id, vector] : truth_->rows()) {
      if (random.below(8) != 0) continue;
      const Ids one{id};
      const SearchResult found = index_->search(vector, 1, {.filter = IdFilter::sorted_list(one)});
      ASSERT_EQ(found[0].size(), 1U) << "id " << id;
      ASSERT_EQ(found[0][0].distance, exact_distance(index_->metric(), vector, vector));
    }
  }
  // What is stored is finite, and distances are those of what is stored.
  void check_dropped() {
    reload();
    ASSERT_EQ(index_->size(), truth_->rows().size());
    BruteForce stored(dim_, index_->metric());
    for (const auto& [id, vector] : truth_->rows()) {
      const auto now = index_->get(id);
      ASSERT_TRUE(now.has_value()) << "id " << id;
      ASSERT_TRUE(std::ranges::all_of(*now, [](float x) { return std::isfinite(x); })) << "id " << id;
      stored.put(id, *now);
    }
    Tally ignored;
    const Floats query = rows_of_scales(random, Scales::one, exponent_, 1, dim_);
    ASSERT_NO_FATAL_FAILURE(expect_answers(kind(), *index_, stored, query, 5, {}, ignored));
  }

  std::size_t dim_ = 0;
  double exponent_ = 0;
  std::optional<BruteForce> truth_;
  std::unique_ptr<Index> index_;
};

TEST_P(Magnitudes, AreFoundExactlyAtEveryScale) {
  const std::uint64_t runs = runs_wanted(4);
  std::uint64_t done = 0;
  for (std::size_t which = 0; which < scale_choices.size(); ++which) {
    tally_ = {};
    for (std::uint64_t i = 0; i < runs; ++i) {
      for (const Metric metric : metrics_of(kind())) {
        SCOPED_TRACE(std::string(scale_names[which]) + ", " + std::string(name(metric)));
        ASSERT_NO_FATAL_FAILURE(run(scale_choices[which], metric));
        ++done;
      }
    }
    // All codes of a graph have one scale, so that magnitudes of every order cost it recall.
    EXPECT_GE(tally_.recall(), kind().exact ? 1 : 0.9) << scale_names[which];
  }
  std::cout << kind().label << ": " << done << " sequences over magnitudes from 1e-38 to 1e38\n";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Magnitudes, testing::ValuesIn(index_kinds), kind_name);

}  // namespace
}  // namespace vectis::test
