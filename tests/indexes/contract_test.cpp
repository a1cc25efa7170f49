// What include/vectis/search/index.hpp promises of every kind: sizes, wrong input, ids, changes, filters, limits.
#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "tests/indexes/kinds.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/seed.hpp"

namespace vectis::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

constexpr std::uint64_t last_id = std::numeric_limits<std::uint64_t>::max();

class IndexContract : public IndexKinds {};

TEST_P(IndexContract, ReportsItsProperties) {
  const auto index = make(3, Metric::cosine);
  EXPECT_EQ(index->kind(), kind().name);
  EXPECT_EQ(index->dim(), 3U);
  EXPECT_EQ(index->metric(), Metric::cosine);
  EXPECT_EQ(index->statistics().vectors, 0U);
  EXPECT_EQ(index->statistics().bytes_per_vector, 0);
  EXPECT_THAT(index->explain(), HasSubstr(kind().name));
  index->add(random_rows(random, 10, 3));
  EXPECT_EQ(index->size(), 10U);
  EXPECT_EQ(index->statistics().vectors, 10U);
  EXPECT_GT(index->statistics().bytes, 10U * 3U);
  const SearchResult found = index->search(random_rows(random, 2, 3), 4);
  EXPECT_FALSE(found.explanation().device.empty());
  EXPECT_FALSE(found.explanation().kernel.empty());
  EXPECT_FALSE(found.explanation().reason.empty());
  EXPECT_EQ(index->statistics().queries, 2U);
}

TEST_P(IndexContract, EmptyInputGivesEmptyResults) {
  const auto index = make(2);
  EXPECT_THAT(index->search(Floats{1, 2}, 3)[0], IsEmpty());
  EXPECT_EQ(index->get(0), std::nullopt);
  EXPECT_EQ(index->remove(Ids{7}), 0U);
  index->drop_full_precision();
  EXPECT_EQ(index->add(Floats{0, 0}), 0U);
  EXPECT_EQ(index->search(Floats{}, 3).queries(), 0U);
  const SearchResult none = index->search(Floats{1, 2, 3, 4}, 0);
  EXPECT_EQ(none.queries(), 2U);
  EXPECT_THAT(none[1], IsEmpty());
  EXPECT_ERROR(static_cast<void>(none[2]), ErrorCode::invalid_input, "query 2 does not exist, the result has 2");
  EXPECT_EQ(index->add(Floats{}), 1U);
  index->add(Ids{}, Floats{});
  index->upsert(Ids{}, Floats{});
  EXPECT_EQ(index->remove({}), 0U);
  EXPECT_EQ(index->size(), 1U);
}

TEST_P(IndexContract, AddsAndRemovesOneVector) {
  const auto index = make(3, Metric::cosine);
  const Floats one{1, 2, 3};
  EXPECT_EQ(index->add(one), 0U);
  EXPECT_EQ(index->search(one, 5)[0].size(), 1U);
  EXPECT_EQ(index->remove(Ids{0}), 1U);
  EXPECT_THAT(index->search(one, 5)[0], IsEmpty());
  EXPECT_EQ(index->add(one), 1U);
  EXPECT_EQ(index->search(one, 5)[0][0].id, 1U);
  index->drop_full_precision();
  EXPECT_EQ(index->search(one, 5)[0][0].id, 1U);
}

TEST_P(IndexContract, ListsTheIdsThatExist) {
  const auto index = make(2);
  EXPECT_THAT(index->ids(), IsEmpty());
  Random random(test::seed());
  const std::size_t rows = 2000;
  Ids ids(rows);
  for (std::size_t i = 0; i < rows; ++i) ids[i] = UINT64_MAX - 3 * i;
  index->add(ids, random_rows(random, rows, 2));
  EXPECT_THAT(index->ids(), UnorderedElementsAreArray(ids));
  index->remove(std::span(ids).first(1500));
  index->upsert(std::span(ids).subspan(1400, 200), random_rows(random, 200, 2));
  const Ids left(ids.begin() + 1400, ids.end());
  EXPECT_THAT(index->ids(), UnorderedElementsAreArray(left));
  index->compact();
  EXPECT_THAT(index->ids(), UnorderedElementsAreArray(left));
}

TEST_P(IndexContract, RejectsWrongSizes) {
  const auto index = make(3);
  index->add(Floats{1, 2, 3});
  EXPECT_ERROR(index->add(Floats{1, 2}), ErrorCode::invalid_input, "[add]", "2 floats", "dimension 3");
  EXPECT_ERROR(static_cast<void>(index->search(Floats{1, 2, 3, 4}, 1)), ErrorCode::invalid_input, "[search]");
  EXPECT_ERROR(index->update(0, Floats{1, 2}), ErrorCode::invalid_input, "2 floats, but the index has dimension 3");
  EXPECT_ERROR(index->update(0, Floats{1, 2, 3, 4, 5, 6}), ErrorCode::invalid_input,
               "6 floats, but the index has dimension 3");
  EXPECT_ERROR(index->add(Ids{1, 2}, Floats{1, 2, 3}), ErrorCode::invalid_input, "1 vectors, but 2 ids");
  EXPECT_ERROR(index->upsert(Ids{1, 2}, Floats{1, 2, 3}), ErrorCode::invalid_input, "1 vectors, but 2 ids");
  EXPECT_ERROR(index->update(7, Floats{1, 2, 3}), ErrorCode::invalid_input, "id 7 does not exist");
  EXPECT_ERROR(static_cast<void>(index->search(Floats{1, 2, 3}, 1, {.radius = std::nan("")})), ErrorCode::invalid_input,
               "radius");
  EXPECT_EQ(index->size(), 1U);
}

TEST_P(IndexContract, RejectsNaNAndInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), infinity, -infinity}) {
    const auto index = make(100);
    for (const std::size_t place : std::vector<std::size_t>{0, 99, 150, 1023, 1024, 99'999}) {
      Floats vectors(100'000, 1.0F);
      vectors[place] = bad;
      const std::string where = "row " + std::to_string(place / 100) + ", coordinate " + std::to_string(place % 100);
      EXPECT_ERROR(index->add(vectors), ErrorCode::invalid_input, where);
      EXPECT_ERROR(static_cast<void>(index->search(vectors, 1)), ErrorCode::invalid_input, where);
    }
    EXPECT_EQ(index->size(), 0U);
    index->add(Floats(100));
    EXPECT_ERROR(index->update(0, Floats(100, bad)), ErrorCode::invalid_input, "row 0, coordinate 0");
    EXPECT_ERROR(index->upsert(Ids{0}, Floats(100, bad)), ErrorCode::invalid_input, "row 0, coordinate 0");
    EXPECT_EQ(index->get(0), Floats(100));
  }
}

TEST_P(IndexContract, DimensionsAndMetricsHaveLimits) {
  EXPECT_ERROR(make(0), ErrorCode::invalid_input, "dimension of 0");
  EXPECT_ERROR(make(65'537), ErrorCode::invalid_input, "65537");
  const auto widest = make(65'536);
  widest->add(random_rows(random, 3, 65'536));
  EXPECT_EQ(widest->search(Floats(65'536, 0.5F), 5)[0].size(), 3U);
  for (const Metric metric : all_metrics()) {
    const auto known = metrics_of(kind());
    if (std::ranges::find(known, metric) != known.end()) {
      EXPECT_EQ(make(2, metric)->metric(), metric);
    } else {
      EXPECT_ERROR(make(2, metric), ErrorCode::unsupported, std::string(name(metric)), "'flat'");
    }
  }
}

TEST_P(IndexContract, TiesGoToTheLowerId) {
  const auto index = make(1);
  index->add(Ids{9, 3, last_id, 0}, Floats{1, 1, 1, 1});
  EXPECT_THAT(hits_of(index->search(Floats{0}, 3), 0), ElementsAre(Hit{0, 1.0}, Hit{3, 1.0}, Hit{9, 1.0}));
}

TEST_P(IndexContract, ZeroIsAtOneFromEverythingUnderCosine) {
  const auto index = make(2, Metric::cosine);
  index->add(Floats{0, 0, 1, 0, -1, 0});
  EXPECT_THAT(hits_of(index->search(Floats{2, 0}, 3), 0), ElementsAre(Hit{1, 0.0}, Hit{0, 1.0}, Hit{2, 2.0}));
  EXPECT_THAT(hits_of(index->search(Floats{0, 0}, 3), 0), ElementsAre(Hit{0, 1.0}, Hit{1, 1.0}, Hit{2, 1.0}));
}

TEST_P(IndexContract, IdsGoUpToTheLast) {
  const auto index = make(1);
  index->add(Ids{last_id - 3, last_id - 2}, Floats{1, 2});
  EXPECT_EQ(index->add(Floats{3, 4}), last_id - 1);
  EXPECT_EQ(index->get(last_id), Floats{4});
  EXPECT_THAT(hits_of(index->search(Floats{4}, 1), 0), ElementsAre(Hit{last_id, 0.0}));
  EXPECT_ERROR(index->add(Floats{5}), ErrorCode::invalid_input, "18446744073709551615");
  index->add(Ids{0, 1}, Floats{6, 7});
  EXPECT_EQ(index->get(0), Floats{6});
  EXPECT_EQ(index->remove(Ids{last_id}), 1U);
  EXPECT_ERROR(index->add(Floats{5}), ErrorCode::invalid_input, "largest id");
  EXPECT_EQ(index->size(), 5U);
}

TEST_P(IndexContract, IdsAreUsedOnce) {
  const auto index = make(1);
  index->add(Ids{5, 1, 4}, Floats{1, 2, 3});
  EXPECT_ERROR(index->add(Ids{7, 4}, Floats{1, 2}), ErrorCode::invalid_input, "id 4 exists already");
  EXPECT_ERROR(index->add(Ids{8, 7, 8}, Floats{1, 2, 3}), ErrorCode::invalid_input, "id 8 is given twice");
  EXPECT_EQ(index->size(), 3U);
  EXPECT_EQ(index->get(7), std::nullopt);
  EXPECT_EQ(index->add(Floats{9}), 6U);
  EXPECT_EQ(index->remove(Ids{6, 6, 99}), 1U);
  EXPECT_EQ(index->add(Floats{9}), 7U) << "an id is not used again by itself";
  index->add(Ids{6}, Floats{10});
  EXPECT_EQ(index->get(6), Floats{10});
}

TEST_P(IndexContract, AnUpdateReplaces) {
  const auto index = make(2);
  index->add(Floats{0, 0, 1, 1, 2, 2});
  index->update(1, Floats{5, 5});
  EXPECT_EQ(index->size(), 3U);
  EXPECT_EQ(index->get(1), (Floats{5, 5}));
  EXPECT_THAT(hits_of(index->search(Floats{5, 5}, 1), 0), ElementsAre(Hit{1, 0.0}));
  for (int i = 0; i < 2000; ++i) index->update(2, Floats{static_cast<float>(i), 0});
  EXPECT_EQ(index->get(2), (Floats{1999, 0}));
  EXPECT_LT(index->statistics().removed, 100U) << "what is removed is reclaimed";
}

TEST_P(IndexContract, AnUpsertAddsAndReplaces) {
  const auto index = make(1);
  index->add(Floats{1, 2, 3});
  index->upsert(Ids{1, 9}, Floats{20, 90});
  EXPECT_EQ(index->size(), 4U);
  EXPECT_THAT(hits_of(index->search(Floats{20}, 1), 0), ElementsAre(Hit{1, 0.0}));
  EXPECT_THAT(hits_of(index->search(Floats{90}, 1), 0), ElementsAre(Hit{9, 0.0}));
  EXPECT_ERROR(index->upsert(Ids{2, 2}, Floats{5, 6}), ErrorCode::invalid_input, "twice");
  EXPECT_EQ(index->get(2), Floats{3});
  EXPECT_EQ(index->add(Floats{7}), 10U);
}

// More neighbors than there are, duplicates, and queries that are there.
TEST_P(IndexContract, ALargeKReturnsEverything) {
  constexpr std::size_t dim = 7;
  for (const Metric metric : metrics_of(kind())) {
    SCOPED_TRACE(name(metric));
    const auto index = make(dim, metric);
    Floats vectors = random_rows(random, 300, dim);
    std::copy_n(vectors.begin(), 40 * dim, vectors.begin() + 100 * dim);
    const BruteForce truth = fill_index(*index, vectors);
    const auto queries = std::span(vectors).first(3 * dim);
    Tally tally;
    for (const std::size_t k : {1U, 299U}) expect_answers(kind(), *index, truth, queries, k, {}, tally);
    EXPECT_GE(tally.recall(), 0.98);
    for (const std::size_t k : {300U, 5000U}) expect_same(*index, truth, queries, k);
  }
}

TEST_P(IndexContract, AppliesRadiusAndFilter) {
  constexpr std::size_t dim = 8;
  constexpr std::size_t rows = 2500;
  for (const Metric metric : metrics_of(kind())) {
    SCOPED_TRACE(name(metric));
    const auto index = make(dim, metric);
    const Floats vectors = clustered_rows(random, rows, dim);
    index->add(
        [&] {
          Ids ids(rows);
          for (std::size_t i = 0; i < rows; ++i) ids[i] = 100 + 2 * i;
          return ids;
        }(),
        vectors);
    BruteForce truth(dim, metric);
    for (std::size_t i = 0; i < rows; ++i) truth.put(100 + 2 * i, std::span(vectors).subspan(i * dim, dim));
    const Floats queries = clustered_rows(random, 10, dim);
    Tally tally;
    for (const std::size_t part : {1U, 2U, 10U, 200U}) {
      std::vector<std::uint64_t> words((2 * rows + 63) / 64);
      for (std::uint64_t& word : words) {
        for (int bit = 0; bit < 64; ++bit) word |= std::uint64_t{random.below(part) == 0} << bit;
      }
      for (const std::uint64_t first : {0U, 100U, 301U}) {
        SearchOptions options{.filter = IdFilter::bitmap(words, first)};
        expect_answers(kind(), *index, truth, queries, 10, options, tally);
        options.radius = truth.search(std::span(queries).first(dim), 40).back().distance;
        expect_answers(kind(), *index, truth, queries, 10, options, tally);
      }
    }
    const SearchOptions nobody{.filter = IdFilter{}};
    EXPECT_THAT(index->search(queries, 10, nobody)[0], IsEmpty());
    EXPECT_GE(tally.recall(), 0.9);
  }
}

TEST_P(IndexContract, RemovedVectorsGiveTheirMemoryBack) {
  constexpr std::size_t dim = 16;
  const auto index = make(dim);
  BruteForce truth = fill_index(*index, clustered_rows(random, 4000, dim));
  const std::uint64_t before = index->statistics().bytes;
  for (std::uint64_t first = 0; first < 3000; first += 500) {
    Ids ids(500);
    for (std::size_t i = 0; i < ids.size(); ++i) truth.remove(ids[i] = first + i);
    EXPECT_EQ(index->remove(ids), ids.size());
  }
  index->drop_full_precision();
  for (const auto& [id, vector] : std::map(truth.rows())) truth.put(id, index->get(id).value());
  EXPECT_LT(index->statistics().bytes, before / 2);
  Tally tally;
  expect_answers(kind(), *index, truth, clustered_rows(random, 50, dim), 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.88);
}

TEST_P(IndexContract, ManySmallAddsEqualOneLarge) {
  constexpr std::size_t dim = 5;
  const auto index = make(dim);
  BruteForce truth(dim, Metric::l2);
  ASSERT_NO_FATAL_FAILURE(add_in_small_batches(*index, truth, random, 3000));
  Tally tally;
  expect_answers(kind(), *index, truth, random_rows(random, 100, dim), 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.88);
}

TEST_P(IndexContract, SearchesCanBeCancelled) {
  const auto index = make(2);
  index->add(Floats{1, 2});
  CancelSource source;
  source.cancel();
  EXPECT_ERROR(static_cast<void>(index->search(Floats{1, 2}, 1, {.context = Context{}.with_cancel(source)})),
               ErrorCode::cancelled, "[search]");
}

TEST_P(IndexContract, TakesMatricesWithAStride) {
  const auto index = make(2);
  const Floats padded{1, 2, -9, 3, 4, -9, 5, 6, -9};
  EXPECT_EQ(index->add(MatrixView(padded.data(), 3, 2, 3)), 0U);
  EXPECT_EQ(index->get(1), (Floats{3, 4}));
  index->add(Ids{7}, MatrixView(Floats{7, 8}, 2));
  index->upsert(Ids{7, 9}, MatrixView(padded.data(), 2, 2, 3));
  EXPECT_EQ(index->get(7), (Floats{1, 2}));
  EXPECT_EQ(index->get(9), (Floats{3, 4}));
  EXPECT_THAT(hits_of(index->search(MatrixView(padded.data() + 6, 1, 2, 3), 1), 0), ElementsAre(Hit{2, 0.0}));
  EXPECT_EQ(index->add(MatrixView()), 10U) << "a view without rows adds nothing";
  EXPECT_EQ(index->add(MatrixView(padded.data(), 1, 2, SIZE_MAX)), 10U) << "one row needs no more than its floats";
}

TEST_P(IndexContract, MatricesTooLargeToCopyAreAnAllocationError) {
  if (address_sanitizer) GTEST_SKIP() << "AddressSanitizer ends the program instead of throwing std::bad_alloc";
  const auto index = make(2);
  const Floats vector{1, 2};
  const MatrixView huge(vector.data(), std::size_t{1} << 46U, 2, 3);  // 2^49 bytes: more than the address space
  EXPECT_ERROR(index->add(huge), ErrorCode::allocation, "[add]", "stride of 3");
  EXPECT_ERROR(static_cast<void>(index->search(huge, 1)), ErrorCode::allocation, "[search]", "70368744177664 rows");
  EXPECT_ERROR(index->add(MatrixView(vector.data(), SIZE_MAX / 16, 2, 3)), ErrorCode::invalid_input, "memory");
}

TEST_P(IndexContract, RejectsMatricesOfAnotherShape) {
  const auto index = make(2);
  const Floats vector{1, 2, 3, 4};
  EXPECT_ERROR(index->add(MatrixView(vector, 4)), ErrorCode::invalid_input, "[add]", "dimension 4", "dimension 2");
  EXPECT_ERROR(static_cast<void>(index->search(MatrixView(vector, 1), 1)), ErrorCode::invalid_input, "[search]");
  EXPECT_ERROR(index->add(MatrixView(vector.data(), 2, 2, 1)), ErrorCode::invalid_input, "stride of 1");
  EXPECT_ERROR(index->add(MatrixView(nullptr, 2, 2)), ErrorCode::invalid_input, "null");
  EXPECT_ERROR(index->add(MatrixView(vector.data(), SIZE_MAX / 2, 2)), ErrorCode::invalid_input, "memory");
  EXPECT_ERROR(MatrixView(vector, 3), ErrorCode::invalid_input, "4 floats", "dimension 3");
  EXPECT_ERROR(MatrixView(vector, 0), ErrorCode::invalid_input, "dimension of 0");
  EXPECT_EQ(index->size(), 0U);
}

// Sparse ids over all 64 bits, as hashes are, up to the last.
TEST_P(IndexContract, FiltersSparseIds) {
  constexpr std::size_t dim = 4;
  constexpr std::size_t rows = 1500;
  const auto index = make(dim);
  Ids ids(rows);
  for (std::size_t i = 0; i < rows; ++i)
    ids[i] = i * (last_id / (rows - 1)) + (i == rows - 1 ? last_id % (rows - 1) : 0);
  ASSERT_EQ(ids.back(), last_id);
  const Floats vectors = random_rows(random, rows, dim);
  index->add(ids, vectors);
  BruteForce truth(dim, Metric::l2);
  for (std::size_t i = 0; i < rows; ++i) truth.put(ids[i], std::span(vectors).subspan(i * dim, dim));
  const Floats queries = random_rows(random, 10, dim);
  Ids listed{5, 6, 7};  // that do not exist
  for (std::size_t i = 0; i < rows; i += 1 + random.below(5)) listed.push_back(ids[i]);
  std::ranges::sort(listed);
  const std::vector<std::uint64_t> words(3, ~std::uint64_t{0});
  Tally tally;
  for (const IdFilter& filter :
       {IdFilter::sorted_list(listed), IdFilter::range(ids[rows / 2], last_id), IdFilter::range(last_id, last_id),
        IdFilter::bitmap(words, last_id - 10), IdFilter::predicate([](std::uint64_t id) { return id % 3 == 0; })}) {
    expect_answers(kind(), *index, truth, queries, 10, {.filter = filter}, tally);
  }
  EXPECT_GE(tally.recall(), 0.9);
  EXPECT_THAT(index->search(queries, 10, {.filter = IdFilter::range(9, 8)})[0], IsEmpty());
  EXPECT_THAT(index->search(queries, 10, {.filter = IdFilter::sorted_list({})})[0], IsEmpty());
  EXPECT_THROW(
      static_cast<void>(index->search(
          queries, 10, {.filter = IdFilter::predicate([](std::uint64_t) -> bool { throw std::bad_function_call(); })})),
      std::bad_function_call);
}

TEST_P(IndexContract, FillsTheCallersArrays) {
  const auto index = make(1);
  index->add(Floats{1, 2, 4});
  const Floats queries{0, 4};
  Ids ids(8);
  std::vector<double> distances(8);
  const SearchExplanation how = index->search_into(queries, 4, ids, distances);
  EXPECT_FALSE(how.device.empty());
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, Index::missing_id, 2, 1, 0, Index::missing_id));
  EXPECT_THAT(distances, ElementsAre(1, 2, 4, infinity, 0, 2, 3, infinity));
  index->search_into(MatrixView(queries, 1), 4, ids, distances);
  EXPECT_ERROR(index->search_into(queries, 3, ids, distances), ErrorCode::invalid_input, "2 * 3", "ids has 8");
  EXPECT_ERROR(index->search_into(queries, SIZE_MAX, ids, distances), ErrorCode::invalid_input, "ids has 8");
}

TEST_P(IndexContract, ChecksRecallAndBeamWidth) {
  const auto index = make(1);
  index->add(Floats{1, 2, 4});
  for (const double recall : {0.0, -0.5, 1.5, 2.0, std::nan("")}) {
    EXPECT_ERROR(static_cast<void>(index->search(Floats{1}, 1, {.recall = recall})), ErrorCode::invalid_input,
                 "recall of");
  }
  EXPECT_ERROR(static_cast<void>(index->search(Floats{1}, 1, {.recall = 0.9, .ef = 10})), ErrorCode::invalid_input,
               "ef 10", "recall 0.9");
  if (kind().name == std::string_view("flat") || kind().name == std::string_view("gpu")) {
    EXPECT_ERROR(static_cast<void>(index->search(Floats{1}, 1, {.ef = 10})), ErrorCode::invalid_input, "no beam");
  } else {
    EXPECT_ERROR(static_cast<void>(index->search(Floats{1}, 1, {.ef = 0})), ErrorCode::invalid_input, "ef is 0");
    EXPECT_THAT(hits_of(index->search(Floats{1}, 1, {.ef = 10}), 0), ElementsAre(Hit{0, 0.0}));
  }
}

TEST_P(IndexContract, CompactingKeepsFullPrecision) {
  constexpr std::size_t dim = 16;
  const auto index = make(dim);
  BruteForce truth = fill_index(*index, clustered_rows(random, 4000, dim));
  Ids gone;
  for (std::uint64_t id = 0; id < 4000; id += 3) {
    gone.push_back(id);
    truth.remove(id);
  }
  EXPECT_EQ(index->remove(gone), gone.size());
  index->compact();
  EXPECT_EQ(index->statistics().removed, 0U);
  EXPECT_EQ(index->size(), 4000 - gone.size());
  for (const auto& [id, vector] : truth.rows()) ASSERT_EQ(index->get(id), vector);
  Tally tally;
  expect_answers(kind(), *index, truth, clustered_rows(random, 50, dim), 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.88);
  EXPECT_EQ(index->add(Floats(dim)), 4000U);
}

TEST_P(IndexContract, SquaredL2OrdersAsL2) {
  constexpr std::size_t dim = 12;
  const Floats vectors = clustered_rows(random, 1500, dim);
  const Floats queries = clustered_rows(random, 10, dim);
  const auto squared = make(dim, Metric::l2_squared);
  squared->add(vectors);
  const auto rooted = make(dim, Metric::l2);
  rooted->add(vectors);
  const SearchOptions all{.recall = 1.0};  // whatever the planner chooses
  const SearchResult left = squared->search(queries, 10, all);
  const SearchResult right = rooted->search(queries, 10, all);
  for (std::size_t query = 0; query < 10; ++query) {
    ASSERT_EQ(left[query].size(), right[query].size());
    for (std::size_t i = 0; i < left[query].size(); ++i) {
      EXPECT_EQ(left[query][i].id, right[query][i].id);
      EXPECT_EQ(std::sqrt(left[query][i].distance), right[query][i].distance);
    }
  }
  const double middle = right[0][4].distance;
  EXPECT_GE(squared->search(queries, 1500, {.radius = middle * middle * 1.0001, .recall = 1.0})[0].size(), 4U);
}

TEST_P(IndexContract, LongCallsStopWhenTheContextSaysSo) {
  const auto index = make(2);
  index->add(Floats{1, 2});
  CancelSource source;
  source.cancel();
  const Context cancelled = Context{}.with_cancel(source);
  EXPECT_ERROR(index->add(Floats{1, 2}, cancelled), ErrorCode::cancelled, "[add]");
  EXPECT_ERROR(index->upsert(Ids{0}, Floats{3, 4}, cancelled), ErrorCode::cancelled, "[upsert]");
  EXPECT_ERROR(index->remove(Ids{0}, cancelled), ErrorCode::cancelled, "[remove]");
  EXPECT_ERROR(index->compact(cancelled), ErrorCode::cancelled, "[compact]");
  EXPECT_ERROR(index->drop_full_precision(cancelled), ErrorCode::cancelled, "[drop_full_precision]");
  MemoryWriter writer;
  EXPECT_ERROR(index->save(writer, cancelled), ErrorCode::cancelled, "[save]");
  EXPECT_EQ(index->get(0), (Floats{1, 2}));
  EXPECT_EQ(index->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexContract, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(Growing, IndexContract, testing::Values(growing_kind), kind_name);

}  // namespace
}  // namespace vectis::test
