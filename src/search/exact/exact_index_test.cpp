#include "search/exact/exact_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::expect_same;
using test::fill_index;
using test::Floats;
using test::Ids;
using test::random_rows;
using testing::HasSubstr;

using Sizes = std::vector<std::size_t>;
constexpr Precision all_precisions[] = {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8};

struct Case {
  Metric metric;
  Precision precision;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Metric metric : all_metrics()) {
    for (const Precision precision : all_precisions) {
      if (exact::can_scan(metric, precision)) cases.push_back({metric, precision});
    }
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return std::string(name(info.param.metric)) + "_" + std::string(name(info.param.precision));
}

class ExactAnswers : public testing::TestWithParam<Case> {
 protected:
  void expect_truth(std::size_t rows, std::size_t dim, std::size_t queries, std::size_t k) {
    SCOPED_TRACE(testing::Message() << rows << " rows of " << dim << ", k = " << k);
    const auto index = make_index("flat", dim, GetParam().metric, {.runtime = &runtime});
    index->set_precision(GetParam().precision);
    const Floats vectors = random_rows(random, rows, dim);
    EXPECT_EQ(index->add(vectors), 0U);
    BruteForce truth(dim, GetParam().metric);
    truth.put_all(0, vectors);
    Floats asked = random_rows(random, queries, dim);
    if (rows > 0) std::copy_n(vectors.begin(), dim, asked.begin());  // a query that is there
    expect_same(*index, truth, asked, k);
  }

  Runtime runtime;
  Random random{test::seed()};
};

TEST_P(ExactAnswers, AreTheTruthAtEverySize) {
  for (const std::size_t rows : Sizes{0, 1, 15, 16, 17, 1000}) {
    for (const std::size_t dim : Sizes{1, 3, 31, 64}) expect_truth(rows, dim, 5, 10);
  }
  expect_truth(3000, 100, 20, 10);
  expect_truth(1500, 128, 40, 3);
}

TEST_P(ExactAnswers, AreTheTruthInEveryDimension) {
  for (const std::size_t dim : Sizes{1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 1000}) {
    expect_truth(200, dim, 3, 7);
  }
  expect_truth(40, 20'000, 2, 5);
}

TEST_P(ExactAnswers, AreAllThereIsForALargeK) {
  for (const std::size_t rows : Sizes{1, 17, 300}) {
    expect_truth(rows, 8, 2, rows);
    expect_truth(rows, 8, 2, rows + 1);
    expect_truth(rows, 8, 2, std::numeric_limits<std::size_t>::max());
  }
}

TEST_P(ExactAnswers, FollowRadiusAndFilter) {
  const std::size_t dim = 24;
  const auto index = make_index("flat", dim, GetParam().metric, {.runtime = &runtime});
  index->set_precision(GetParam().precision);
  const BruteForce truth = fill_index(*index, random_rows(random, 700, dim));
  const Floats queries = random_rows(random, 4, dim);
  const double middle = truth.search(std::span(queries).first(dim), 50).back().distance;
  std::vector<std::uint64_t> words(8);
  for (auto& word : words) word = random.next() & random.next();
  for (const std::optional<double> radius : {std::optional<double>(), std::optional(middle), std::optional(-1e300)}) {
    for (const std::uint64_t first : Ids{0, 100, 640, 5000}) {
      for (const bool filtered : {true, false}) {
        SearchOptions options{.radius = radius};
        if (filtered) options.filter = IdFilter::bitmap(words, first);
        expect_same(*index, truth, queries, 20, options);
        expect_same(*index, truth, queries, 1000, options);
      }
    }
  }
  expect_same(*index, truth, queries, 5, {.filter = IdFilter{}});
}

TEST_P(ExactAnswers, StayWhenThePrecisionChanges) {
  const std::size_t dim = 40;
  const auto index = make_index("flat", dim, GetParam().metric, {.runtime = &runtime});
  const Floats vectors = random_rows(random, 500, dim);
  BruteForce truth = fill_index(*index, vectors);
  index->set_precision(GetParam().precision);
  EXPECT_EQ(index->precision(), GetParam().precision);
  index->add(vectors);
  truth.put_all(500, vectors);
  expect_same(*index, truth, random_rows(random, 4, dim), 10);
}

// What is stored is the truth then, so get() is the oracle's source.
TEST_P(ExactAnswers, AfterCompactingAreThoseOfWhatIsStored) {
  for (const std::size_t dim : Sizes{1, 40, 130}) {
    const auto index = make_index("flat", dim, GetParam().metric, {.runtime = &runtime});
    index->set_precision(GetParam().precision);
    const Floats vectors = random_rows(random, 333, dim);
    index->add(vectors);
    index->remove(Ids{0, 5, 332});
    index->drop_full_precision();
    EXPECT_EQ(index->statistics().removed, 0U);
    const auto stored = [&] {
      BruteForce truth(dim, GetParam().metric);
      for (std::uint64_t id = 0; id < 2000; ++id) {
        if (const auto vector = index->get(id)) truth.put(id, *vector);
      }
      return truth;
    };
    BruteForce truth = stored();
    const Floats queries = random_rows(random, 4, dim);
    expect_same(*index, truth, queries, 10);

    index->remove(Ids{7, 8, 9});
    index->add(vectors);
    for (const std::uint64_t id : Ids{7, 8, 9}) truth.remove(id);
    truth.put_all(333, vectors);
    expect_same(*index, truth, queries, 10);
    index->drop_full_precision();
    EXPECT_EQ(index->statistics().removed, 0U);
    for (std::uint64_t id = 10; id < 300; ++id) EXPECT_EQ(index->get(id), truth.rows().at(id)) << "rounded twice";
    expect_same(*index, stored(), queries, 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Exact, ExactAnswers, testing::ValuesIn(all_cases()), case_name);

class ExactIndexTest : public testing::Test {
 protected:
  Runtime runtime;
  Random random{test::seed()};
};

TEST_F(ExactIndexTest, ReportsItsProperties) {
  const auto index = make_index("flat", 3, Metric::cosine, {.runtime = &runtime});
  EXPECT_EQ(index->kind(), "flat");
  EXPECT_EQ(index->dim(), 3U);
  EXPECT_EQ(index->metric(), Metric::cosine);
  EXPECT_EQ(index->size(), 0U);
  EXPECT_EQ(index->precision(), Precision::int8);
  EXPECT_EQ(make_index("flat", 3, Metric::hamming, {.runtime = &runtime})->precision(), Precision::fp32);
  EXPECT_EQ(index->statistics().bytes_per_vector, 0.0);
  index->add(Floats(300, 1.0F));
  const SearchResult found = index->search(Floats{1, 1, 1}, 2);
  EXPECT_EQ(found.explanation().device, "cpu");
  EXPECT_EQ(found.explanation().precision, Precision::int8);
  EXPECT_THAT(found.explanation().text(), HasSubstr("cpu"));
  const IndexStatistics statistics = index->statistics();
  EXPECT_EQ(statistics.vectors, 100U);
  EXPECT_EQ(statistics.segments, 1U);
  EXPECT_EQ(statistics.searches, 1U);
  EXPECT_EQ(statistics.queries, 1U);
  EXPECT_GE(statistics.bytes, 100U * (3 * 4 + 3));
  EXPECT_THAT(index->explain(), HasSubstr("flat: 100 vectors of dimension 3, metric cosine"));
  EXPECT_THAT(index->explain(5, 7), HasSubstr("5 queries for the 7 nearest"));
}

TEST_F(ExactIndexTest, ManySmallAddsEqualOneLarge) {
  const std::size_t dim = 5;
  const auto index = make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  BruteForce truth(dim, Metric::l2);
  ASSERT_NO_FATAL_FAILURE(add_in_small_batches(*index, truth, random, 6000));
  EXPECT_EQ(index->statistics().segments, 1U);
  expect_same(*index, truth, random_rows(random, 3, dim), 10);
}

TEST_F(ExactIndexTest, LargeDataGoesIntoSeveralSegments) {
  const std::size_t dim = 10'000;
  const std::size_t full = exact::segment_rows_max(dim);
  const auto index = make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  BruteForce truth(dim, Metric::l2);
  std::uint64_t added = 0;
  for (const std::size_t count : {full + 3, std::size_t{5}, 2 * full}) {
    const Floats vectors = random_rows(random, count, dim);
    ASSERT_EQ(index->add(vectors), added);
    truth.put_all(added, vectors);
    added += count;
  }
  EXPECT_EQ(index->statistics().segments, 4U);
  for (std::uint64_t id = 0; id < full; ++id) {
    truth.remove(id);
    ASSERT_EQ(index->remove(Ids{id}), 1U);
  }
  EXPECT_LE(index->statistics().segments, 4U);
  EXPECT_LT(index->statistics().removed, full / 2 + 1);
  expect_same(*index, truth, random_rows(random, 2, dim), 10);
}

TEST_F(ExactIndexTest, PrecisionChangesBytes) {
  const auto index = make_index("flat", 128, Metric::l2, {.runtime = &runtime});
  index->add(random_rows(random, 2000, 128));
  std::uint64_t before = 0;
  for (const Precision precision : {Precision::int8, Precision::bf16, Precision::fp32}) {
    index->set_precision(precision);
    const IndexStatistics statistics = index->statistics();
    EXPECT_GT(statistics.scanned_bytes_per_vector, before);
    before = statistics.scanned_bytes_per_vector;
    EXPECT_NEAR(static_cast<double>(statistics.bytes) / 2000, statistics.bytes_per_vector, 1e-9);
  }
  index->set_precision(Precision::int8);
  const double kept = index->statistics().bytes_per_vector;
  index->drop_full_precision();
  EXPECT_LT(index->statistics().bytes_per_vector, kept / 3);
  const auto other = make_index("flat", 4, Metric::l1, {.runtime = &runtime});
  EXPECT_ERROR(other->set_precision(Precision::int8), ErrorCode::unsupported, "l1", "int8");
  other->set_precision(Precision::fp32);
}

TEST_F(ExactIndexTest, FailedAddsLeaveNoMemoryBehind) {
  const std::size_t dim = 5;
  const auto index = make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  const auto undisturbed = make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  BruteForce truth(dim, Metric::l2);
  const Context failing = Context{}.with_progress([](const Progress&) { throw std::runtime_error("stop"); });
  for (std::uint64_t id = 0; id < 60; ++id) {
    const Floats vector = random_rows(random, 1, dim);
    EXPECT_EQ(index->add(vector), id);
    undisturbed->add(vector);
    truth.put(id, vector);
    EXPECT_THROW(index->add(random_rows(random, 3, dim), failing), std::runtime_error);
    if (id % 10 == 9) {  // publishes without appending
      index->remove(id);
      undisturbed->remove(id);
      truth.remove(id);
    }
    if (id == 30) {
      index->set_precision(Precision::bf16);
      undisturbed->set_precision(Precision::bf16);
    }
  }
  const Floats vector = random_rows(random, 1, dim);
  truth.put(index->add(vector), vector);
  undisturbed->add(vector);
  EXPECT_EQ(index->statistics().segments, 1U);
  EXPECT_LE(index->statistics().bytes, undisturbed->statistics().bytes);
  expect_same(*index, truth, random_rows(random, 3, dim), 10);
}

TEST_F(ExactIndexTest, ChangesOfAllRowsReportTheirEnd) {
  const auto index = make_index("flat", 3, Metric::l2, {.runtime = &runtime});
  index->add(random_rows(random, 100, 3));
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  const Context context = Context{}.with_progress([&](const Progress& progress) {
    done = progress.done;
    total = progress.total;
  });
  const auto expect_end = [&] {
    EXPECT_GT(total, 0U);
    EXPECT_EQ(std::exchange(done, 0), std::exchange(total, 0));
  };
  index->set_precision(Precision::bf16, context);
  expect_end();
  index->remove(7);
  index->compact(context);
  expect_end();
  index->drop_full_precision(context);
  expect_end();
}

// Cancels when it is given the first bytes after the header.
class CancellingWriter final : public ByteWriter {
 public:
  void write(std::span<const std::byte> bytes) override {
    written += bytes.size();
    if (written > header_bytes) source.cancel();
  }

  static constexpr std::size_t header_bytes = 8 + 4 + 48;  // magic, version, fields with their checksum
  CancelSource source;
  std::size_t written = 0;
};

// A block of codes, and one of rows.
TEST_F(ExactIndexTest, ASaveStopsBetweenBlocks) {
  const auto index = make_index("flat", 3, Metric::l2, {.runtime = &runtime});
  index->add(random_rows(random, 50, 3));
  index->drop_full_precision();
  index->add(random_rows(random, 20, 3));
  index->remove(7);
  std::vector<std::uint64_t> done;
  MemoryWriter whole;
  index->save(whole, Context{}.with_progress([&](const Progress& progress) {
    EXPECT_EQ(progress.total, 69U);
    done.push_back(progress.done);
  }));
  EXPECT_EQ(done, (std::vector<std::uint64_t>{49, 69}));
  CancellingWriter writer;
  EXPECT_ERROR(index->save(writer, Context{}.with_cancel(writer.source)), ErrorCode::cancelled, "[save]");
  EXPECT_GT(writer.written, CancellingWriter::header_bytes);
  EXPECT_LT(writer.written, whole.bytes().size() - 20 * 3 * sizeof(float));
}

TEST_F(ExactIndexTest, CompactingKeepsWhatCodesCannotHold) {
  const auto index = make_index("flat", 2, Metric::l2, {.runtime = &runtime});
  index->add(Floats{1, 2, 2, 1, 1e38F, -1e38F, 1.5F, 1.5F});
  index->drop_full_precision();
  const Floats far = index->get(2).value();
  EXPECT_NEAR(far[0], 1e38F, 1e36F);
  EXPECT_NEAR(far[1], -1e38F, 1e36F);
}

}  // namespace
}  // namespace vectis
