// What include/vectis/search/index.hpp promises of every kind: sizes, wrong input, ids, changes, filters, limits.
#include <gmock/gmock.h>

#include <limits>

#include "tests/indexes/kinds.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t last_id = std::numeric_limits<std::uint64_t>::max();

class IndexContract : public IndexKinds {};

TEST_P(IndexContract, SaysWhatItIs) {
  const auto index = make(3, Metric::cosine);
  EXPECT_EQ(index->kind(), kind().name);
  EXPECT_EQ(index->dim(), 3U);
  EXPECT_EQ(index->distance(), Metric::cosine);
  EXPECT_EQ(index->statistics().vectors, 0U);
  EXPECT_EQ(index->statistics().bytes_per_vector, 0);
  EXPECT_THAT(index->explain(), HasSubstr(kind().name));
  index->add(random_rows(random, 10, 3));
  EXPECT_EQ(index->size(), 10U);
  EXPECT_EQ(index->statistics().vectors, 10U);
  EXPECT_GT(index->statistics().bytes, 10U * 3U);
  const SearchResult found = index->search(random_rows(random, 2, 3), 4);
  EXPECT_FALSE(found.explanation().device.empty());
  EXPECT_FALSE(found.explanation().way.empty());
  EXPECT_FALSE(found.explanation().reason.empty());
  EXPECT_EQ(index->statistics().queries, 2U);
}

TEST_P(IndexContract, EmptyQuestionsHaveEmptyAnswers) {
  const auto index = make(2);
  EXPECT_THAT(index->search(Floats{1, 2}, 3)[0], IsEmpty());
  EXPECT_EQ(index->get(0), std::nullopt);
  EXPECT_EQ(index->remove(Ids{7}), 0U);
  index->compact();
  EXPECT_EQ(index->add(Floats{0, 0}), 0U);
  EXPECT_EQ(index->search(Floats{}, 3).queries(), 0U);
  const SearchResult none = index->search(Floats{1, 2, 3, 4}, 0);
  EXPECT_EQ(none.queries(), 2U);
  EXPECT_THAT(none[1], IsEmpty());
  EXPECT_ERROR(static_cast<void>(none[2]), ErrorCode::invalid_input, "query 2 of an answer to 2");
  EXPECT_EQ(index->add(Floats{}), 1U);
  index->add_with_ids({}, {});
  index->upsert({}, {});
  EXPECT_EQ(index->remove({}), 0U);
  EXPECT_EQ(index->size(), 1U);
}

TEST_P(IndexContract, OneVectorComesAndGoes) {
  const auto index = make(3, Metric::cosine);
  const Floats one{1, 2, 3};
  EXPECT_EQ(index->add(one), 0U);
  EXPECT_EQ(index->search(one, 5)[0].size(), 1U);
  EXPECT_EQ(index->remove(Ids{0}), 1U);
  EXPECT_THAT(index->search(one, 5)[0], IsEmpty());
  EXPECT_EQ(index->add(one), 1U);
  EXPECT_EQ(index->search(one, 5)[0][0].id, 1U);
  index->compact();
  EXPECT_EQ(index->search(one, 5)[0][0].id, 1U);
}

TEST_P(IndexContract, RefusesWhatIsNoVector) {
  const auto index = make(3);
  index->add(Floats{1, 2, 3});
  EXPECT_ERROR(index->add(Floats{1, 2}), ErrorCode::invalid_input, "[add]", "2 numbers", "rows of 3");
  EXPECT_ERROR(static_cast<void>(index->search(Floats{1, 2, 3, 4}, 1)), ErrorCode::invalid_input, "[search]");
  EXPECT_ERROR(index->update(0, Floats{1, 2}), ErrorCode::invalid_input, "2 numbers, the index has 3");
  EXPECT_ERROR(index->update(0, Floats{1, 2, 3, 4, 5, 6}), ErrorCode::invalid_input, "6 numbers, the index has 3");
  EXPECT_ERROR(index->add_with_ids(Floats{1, 2, 3}, Ids{1, 2}), ErrorCode::invalid_input, "1 vectors and 2 ids");
  EXPECT_ERROR(index->upsert(Floats{1, 2, 3}, Ids{1, 2}), ErrorCode::invalid_input, "1 vectors and 2 ids");
  EXPECT_ERROR(index->update(7, Floats{1, 2, 3}), ErrorCode::invalid_input, "id 7 is not there");
  EXPECT_ERROR(static_cast<void>(index->search(Floats{1, 2, 3}, 1, {.radius = std::nan("")})), ErrorCode::invalid_input,
               "radius");
  EXPECT_EQ(index->size(), 1U);
}

TEST_P(IndexContract, RefusesNumbersThatAreNotFinite) {
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
    EXPECT_ERROR(index->upsert(Floats(100, bad), Ids{0}), ErrorCode::invalid_input, "row 0, coordinate 0");
    EXPECT_EQ(index->get(0), Floats(100));
  }
}

TEST_P(IndexContract, DimensionsAndDistancesHaveLimits) {
  EXPECT_ERROR(make(0), ErrorCode::invalid_input, "dimension of 0");
  EXPECT_ERROR(make(65'537), ErrorCode::invalid_input, "65537");
  const auto widest = make(65'536);
  widest->add(random_rows(random, 3, 65'536));
  EXPECT_EQ(widest->search(Floats(65'536, 0.5F), 5)[0].size(), 3U);
  for (const Metric distance : all_metrics()) {
    const auto known = distances_of(kind());
    if (std::ranges::find(known, distance) != known.end()) {
      EXPECT_EQ(make(2, distance)->distance(), distance);
    } else {
      EXPECT_ERROR(make(2, distance), ErrorCode::unsupported, std::string(name(distance)), "'brute'");
    }
  }
}

TEST_P(IndexContract, TiesGoToTheLowerId) {
  const auto index = make(1);
  index->add_with_ids(Floats{1, 1, 1, 1}, Ids{9, 3, last_id, 0});
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
  index->add_with_ids(Floats{1, 2}, Ids{last_id - 3, last_id - 2});
  EXPECT_EQ(index->add(Floats{3, 4}), last_id - 1);
  EXPECT_EQ(index->get(last_id), Floats{4});
  EXPECT_THAT(hits_of(index->search(Floats{4}, 1), 0), ElementsAre(Hit{last_id, 0.0}));
  EXPECT_ERROR(index->add(Floats{5}), ErrorCode::invalid_input, "18446744073709551615");
  index->add_with_ids(Floats{6, 7}, Ids{0, 1});
  EXPECT_EQ(index->get(0), Floats{6});
  EXPECT_EQ(index->remove(Ids{last_id}), 1U);
  EXPECT_ERROR(index->add(Floats{5}), ErrorCode::invalid_input, "largest id");
  EXPECT_EQ(index->size(), 5U);
}

TEST_P(IndexContract, IdsAreUsedOnce) {
  const auto index = make(1);
  index->add_with_ids(Floats{1, 2, 3}, Ids{5, 1, 4});
  EXPECT_ERROR(index->add_with_ids(Floats{1, 2}, Ids{7, 4}), ErrorCode::invalid_input, "id 4 is there already");
  EXPECT_ERROR(index->add_with_ids(Floats{1, 2, 3}, Ids{8, 7, 8}), ErrorCode::invalid_input, "id 8 is given twice");
  EXPECT_EQ(index->size(), 3U);
  EXPECT_EQ(index->get(7), std::nullopt);
  EXPECT_EQ(index->add(Floats{9}), 6U);
  EXPECT_EQ(index->remove(Ids{6, 6, 99}), 1U);
  EXPECT_EQ(index->add(Floats{9}), 7U) << "an id is not used again by itself";
  index->add_with_ids(Floats{10}, Ids{6});
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
  index->upsert(Floats{20, 90}, Ids{1, 9});
  EXPECT_EQ(index->size(), 4U);
  EXPECT_THAT(hits_of(index->search(Floats{20}, 1), 0), ElementsAre(Hit{1, 0.0}));
  EXPECT_THAT(hits_of(index->search(Floats{90}, 1), 0), ElementsAre(Hit{9, 0.0}));
  EXPECT_ERROR(index->upsert(Floats{5, 6}, Ids{2, 2}), ErrorCode::invalid_input, "twice");
  EXPECT_EQ(index->get(2), Floats{3});
  EXPECT_EQ(index->add(Floats{7}), 10U);
}

// More neighbours than there are, duplicates, and queries that are there.
TEST_P(IndexContract, AllThereIsForALargeK) {
  constexpr std::size_t dim = 7;
  for (const Metric distance : distances_of(kind())) {
    SCOPED_TRACE(name(distance));
    const auto index = make(dim, distance);
    Floats vectors = random_rows(random, 300, dim);
    std::copy_n(vectors.begin(), 40 * dim, vectors.begin() + 100 * dim);
    index->add(vectors);
    BruteForce truth(dim, distance);
    truth.put_all(0, vectors);
    const auto queries = std::span(vectors).first(3 * dim);
    Tally tally;
    for (const std::size_t k : {1U, 299U}) expect_answers(kind(), *index, truth, queries, k, {}, tally);
    EXPECT_GE(tally.recall(), 0.98);
    for (const std::size_t k : {300U, 5000U}) expect_same(*index, truth, queries, k);
  }
}

TEST_P(IndexContract, FollowsRadiusAndFilter) {
  constexpr std::size_t dim = 8;
  constexpr std::size_t rows = 2500;
  for (const Metric distance : distances_of(kind())) {
    SCOPED_TRACE(name(distance));
    const auto index = make(dim, distance);
    const Floats vectors = clustered_rows(random, rows, dim);
    index->add_with_ids(vectors, [&] {
      Ids ids(rows);
      for (std::size_t i = 0; i < rows; ++i) ids[i] = 100 + 2 * i;
      return ids;
    }());
    BruteForce truth(dim, distance);
    for (std::size_t i = 0; i < rows; ++i) truth.put(100 + 2 * i, std::span(vectors).subspan(i * dim, dim));
    const Floats queries = clustered_rows(random, 10, dim);
    Tally tally;
    for (const std::size_t part : {1U, 2U, 10U, 200U}) {
      std::vector<std::uint64_t> words((2 * rows + 63) / 64);
      for (std::uint64_t& word : words) {
        for (int bit = 0; bit < 64; ++bit) word |= std::uint64_t{random.below(part) == 0} << bit;
      }
      for (const std::uint64_t first : {0U, 100U, 301U}) {
        SearchOptions options{.filter = IdFilter{words, first}};
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
  const Floats vectors = clustered_rows(random, 4000, dim);
  index->add(vectors);
  BruteForce truth(dim, Metric::l2);
  truth.put_all(0, vectors);
  const std::uint64_t before = index->statistics().bytes;
  for (std::uint64_t first = 0; first < 3000; first += 500) {
    Ids ids(500);
    for (std::size_t i = 0; i < ids.size(); ++i) truth.remove(ids[i] = first + i);
    EXPECT_EQ(index->remove(ids), ids.size());
  }
  index->compact();
  for (const auto& [id, vector] : std::map(truth.rows())) truth.put(id, index->get(id).value());
  EXPECT_LT(index->statistics().bytes, before / 2);
  Tally tally;
  expect_answers(kind(), *index, truth, clustered_rows(random, 50, dim), 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.88);
}

TEST_P(IndexContract, ManySmallAddsAreAsOneLarge) {
  constexpr std::size_t dim = 5;
  const auto index = make(dim);
  BruteForce truth(dim, Metric::l2);
  for (std::size_t added = 0; added < 3000;) {
    const std::size_t count = 1 + random.below(90);
    const Floats vectors = random_rows(random, count, dim);
    ASSERT_EQ(index->add(vectors), added);
    truth.put_all(added, vectors);
    added += count;
  }
  Tally tally;
  expect_answers(kind(), *index, truth, random_rows(random, 100, dim), 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.88);
}

TEST_P(IndexContract, StopsWhenItIsTold) {
  const auto index = make(2);
  index->add(Floats{1, 2});
  CancelSource source;
  source.cancel();
  EXPECT_ERROR(static_cast<void>(index->search(Floats{1, 2}, 1, {.context = Context{}.with_cancel(source)})),
               ErrorCode::cancelled, "[search]");
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexContract, testing::ValuesIn(index_kinds), kind_name);
INSTANTIATE_TEST_SUITE_P(Growing, IndexContract, testing::Values(growing_kind), kind_name);

}  // namespace
}  // namespace vectis::test
