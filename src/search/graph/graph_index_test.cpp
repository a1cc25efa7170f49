// The graph index against brute force: what it finds is true, and it finds enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::Floats;
using test::Ids;

constexpr std::array graph_distances{Distance::euclidean, Distance::cosine, Distance::inner_product};

// Hits that could have been found, and hits that were.
struct Tally {
  std::size_t wanted = 0;
  std::size_t found = 0;
  [[nodiscard]] double recall() const {
    return wanted == 0 ? 1 : static_cast<double>(found) / static_cast<double>(wanted);
  }
};

// Whatever is found is there, allowed, at its true distance, in order and once; counts what is as near as the truth.
void expect_sound(const Index& index, const BruteForce& truth, Distance distance, std::span<const float> queries,
                  std::size_t k, const SearchOptions& options, Tally& tally) {
  ASSERT_EQ(index.size(), truth.rows().size());
  const SearchResult result = index.search(queries, k, options);
  for (std::size_t i = 0; i < result.queries(); ++i) {
    const auto query = queries.subspan(i * truth.dim(), truth.dim());
    const auto expected = truth.search(query, k, options);
    const auto actual = test::hits_of(result, i);
    ASSERT_LE(actual.size(), expected.size());
    for (std::size_t hit = 0; hit < actual.size(); ++hit) {
      const auto row = truth.rows().find(actual[hit].id);
      ASSERT_NE(row, truth.rows().end()) << "id " << actual[hit].id << " is not there";
      ASSERT_EQ(actual[hit].distance, exact_distance(distance, query, row->second));
      ASSERT_TRUE(!options.filter || options.filter->allows(actual[hit].id));
      if (hit > 0) {
        ASSERT_TRUE(actual[hit - 1].distance < actual[hit].distance ||
                    (actual[hit - 1].distance == actual[hit].distance && actual[hit - 1].id < actual[hit].id));
      }
      tally.found += static_cast<std::size_t>(actual[hit].distance <= expected.back().distance);
    }
    tally.wanted += expected.size();
  }
}

// Overlapping clusters of different width in a few dimensions, seen in more.
Floats clustered_rows(Random& random, std::size_t rows, std::size_t dim) {
  constexpr std::size_t inner = 8;
  constexpr std::size_t clusters = 40;
  Random law(7);  // the same clusters for vectors and queries
  Floats centres(clusters * inner);
  for (float& x : centres) x = static_cast<float>(law.unit() * 4 - 2);
  Floats projection(inner * dim);
  for (float& x : projection) x = static_cast<float>(law.unit() * 2 - 1);
  Floats numbers(rows * dim);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t cluster = random.below(clusters);
    const double width = std::exp2(static_cast<double>(cluster % 4) - 2.0);
    for (std::size_t i = 0; i < inner; ++i) {
      const double x = double{centres[cluster * inner + i]} + width * (random.unit() * 2 - 1);
      for (std::size_t j = 0; j < dim; ++j) {
        numbers[row * dim + j] += static_cast<float>(x) * projection[i * dim + j];
      }
    }
  }
  return numbers;
}

class GraphIndexTest : public testing::Test {
 protected:
  Runtime runtime;
  Random random{test::seed()};
};

class GraphModel {
 public:
  GraphModel(Runtime& runtime, std::uint64_t seed) : runtime_(runtime), random_(seed) {
    distance_ = graph_distances[random_.below(graph_distances.size())];
    dim_ = 1 + random_.below(40);
    index_ = make_index("hnsw", dim_, distance_, runtime);
    truth_ = BruteForce(dim_, distance_);
  }
  void step() {
    change_something();
    // Once compacted, the truth is what is stored.
    if (!compacted_) return;
    for (const auto& [id, vector] : std::map(truth_.rows())) truth_.put(id, index_->get(id).value());
  }
  void check(Tally& tally) {
    const Floats queries = test::random_rows(random_, 2, dim_);
    SearchOptions options;
    const std::vector<std::uint64_t> words{random_.next(), random_.next(), random_.next(), random_.next()};
    if (random_.below(3) == 0) options.filter = IdFilter{words, random_.below(200)};
    if (random_.below(3) == 0) options.radius = random_.unit() * 3;
    expect_sound(*index_, truth_, distance_, queries, random_.below(30), options, tally);
    const std::uint64_t id = random_.below(next_id_ + 5);
    const auto row = truth_.rows().find(id);
    ASSERT_EQ(index_->get(id), row == truth_.rows().end() ? std::nullopt : std::optional(row->second));
  }

 private:
  void change_something() {
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
        return add();
      case 3:
      case 4:
        return remove();
      case 5:
        return update();
      case 6:
        return change();
      default:
        return reload();
    }
  }
  std::size_t count() { return random_.below(random_.below(3) == 0 ? 900 : 8); }
  void add() {
    const Floats vectors = test::random_rows(random_, count(), dim_);
    ASSERT_EQ(index_->add(vectors), next_id_);
    truth_.put_all(next_id_, vectors);
    next_id_ += vectors.size() / dim_;
  }
  void remove() {
    Ids ids(count());
    const std::uint64_t first = random_.below(next_id_ + 1);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + i;
    std::size_t removed = 0;
    for (const std::uint64_t id : ids) removed += static_cast<std::size_t>(truth_.remove(id));
    ASSERT_EQ(index_->remove(ids), removed);
  }
  void update() {
    const std::uint64_t id = random_.below(next_id_ + 1);
    const Floats vector = test::random_rows(random_, 1, dim_);
    if (!truth_.rows().contains(id)) {
      EXPECT_ERROR(index_->update(id, vector), ErrorCode::invalid_input, "is not there");
      EXPECT_NO_THROW(index_->add_with_ids(vector, Ids{id}));
    } else {
      EXPECT_ERROR(index_->add_with_ids(vector, Ids{id}), ErrorCode::invalid_input, "is there already");
      index_->update(id, vector);
    }
    truth_.put(id, vector);
    next_id_ = std::max(next_id_, id + 1);
  }
  void change() {
    if (random_.below(6) > 0) return;
    index_->compact();
    compacted_ = true;
  }
  void reload() {
    MemoryWriter writer;
    index_->save(writer);
    MemoryReader reader(writer.bytes());
    index_ = load_index(reader, runtime_);
    ASSERT_EQ(reader.left(), 0U);
  }

  Runtime& runtime_;
  Random random_;
  Distance distance_ = Distance::euclidean;
  std::size_t dim_ = 1;
  std::unique_ptr<Index> index_;
  BruteForce truth_{1, Distance::euclidean};
  std::uint64_t next_id_ = 0;
  bool compacted_ = false;
};

TEST_F(GraphIndexTest, RandomSequencesDoWhatAMapDoes) {
  Tally tally;
  for (std::uint64_t round = 0; round < 8 && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    GraphModel model(runtime, test::seed() * 1000 + round);
    for (int step = 0; step < 40 && !HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      model.step();
      model.check(tally);
    }
  }
  std::cout << "recall " << tally.recall() << " of " << tally.wanted << " hits\n";
  EXPECT_GE(tally.recall(), 0.93);
}

class GraphRecallTest : public GraphIndexTest, public testing::WithParamInterface<Distance> {};

TEST_P(GraphRecallTest, WhatIsAskedForIsReached) {
  constexpr std::size_t dim = 24;
  const auto index = make_index("hnsw", dim, GetParam(), runtime);
  const Floats vectors = clustered_rows(random, 4000, dim);
  index->add(vectors);
  BruteForce truth(dim, GetParam());
  truth.put_all(0, vectors);
  const Floats queries = clustered_rows(random, 300, dim);
  for (const double asked : {0.8, 0.9, 0.95, 0.99}) {
    Tally tally;
    expect_sound(*index, truth, GetParam(), queries, 10, {.recall = asked}, tally);
    std::cout << "asked " << asked << ", found " << tally.recall() << "\n";
    EXPECT_GE(tally.recall(), asked - 0.05);
  }
}

INSTANTIATE_TEST_SUITE_P(Distances, GraphRecallTest, testing::ValuesIn(graph_distances),
                         [](const auto& given) { return std::string(name(given.param)); });

TEST_F(GraphIndexTest, TheGraphIsTheSameForAnyNumberOfThreads) {
  constexpr std::size_t dim = 16;
  const Floats vectors = clustered_rows(random, 3000, dim);
  std::vector<std::vector<std::byte>> files;
  for (const std::size_t threads : {1U, 4U}) {
    RuntimeOptions options;
    options.threads = threads;
    Runtime own(std::move(options));
    const auto index = make_index("hnsw", dim, Distance::euclidean, own);
    index->add(vectors);
    index->remove(Ids{1, 5, 9});
    MemoryWriter writer;
    index->save(writer);
    files.emplace_back(writer.bytes().begin(), writer.bytes().end());
  }
  EXPECT_TRUE(files[0] == files[1]);
}

TEST_F(GraphIndexTest, RemovedVectorsGiveTheirMemoryBack) {
  constexpr std::size_t dim = 16;
  const auto index = make_index("hnsw", dim, Distance::euclidean, runtime);
  const Floats vectors = clustered_rows(random, 5000, dim);
  index->add(vectors);
  BruteForce truth(dim, Distance::euclidean);
  truth.put_all(0, vectors);
  const std::uint64_t before = index->statistics().bytes;
  Ids ids(3500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  for (const std::uint64_t id : ids) truth.remove(id);
  EXPECT_EQ(index->remove(ids), ids.size());
  EXPECT_LT(index->statistics().bytes, before / 2);
  Tally tally;
  expect_sound(*index, truth, Distance::euclidean, clustered_rows(random, 100, dim), 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.9);
}

TEST_F(GraphIndexTest, StreamsKeepRecallAndMemory) {
  constexpr std::size_t dim = 16;
  constexpr std::size_t rows = 4000;
  const auto index = make_index("hnsw", dim, Distance::euclidean, runtime);
  BruteForce truth(dim, Distance::euclidean);
  const Floats vectors = clustered_rows(random, rows, dim);
  index->add(vectors);
  truth.put_all(0, vectors);
  const std::uint64_t before = index->statistics().bytes;
  for (std::uint64_t round = 0; round < 10; ++round) {
    Ids ids(rows / 10);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = round * ids.size() + i;
    for (const std::uint64_t id : ids) truth.remove(id);
    ASSERT_EQ(index->remove(ids), ids.size());
    const Floats fresh = clustered_rows(random, ids.size(), dim);
    truth.put_all(index->add(fresh), fresh);
  }
  EXPECT_LE(static_cast<double>(index->statistics().bytes), 1.1 * static_cast<double>(before));
  Tally tally;
  expect_sound(*index, truth, Distance::euclidean, clustered_rows(random, 200, dim), 10, {}, tally);
  std::cout << "recall " << tally.recall() << " after ten rounds, asked 0.95\n";
  EXPECT_GE(tally.recall(), 0.9);
}

TEST_F(GraphIndexTest, FiltersAreRespectedOnTheWay) {
  constexpr std::size_t dim = 16;
  constexpr std::size_t rows = 6000;
  const auto index = make_index("hnsw", dim, Distance::euclidean, runtime);
  const Floats vectors = clustered_rows(random, rows, dim);
  index->add(vectors);
  BruteForce truth(dim, Distance::euclidean);
  truth.put_all(0, vectors);
  const Floats queries = clustered_rows(random, 60, dim);
  for (const std::size_t part : {1U, 2U, 10U, 100U}) {
    std::vector<std::uint64_t> words((rows + 63) / 64);
    for (std::size_t id = 0; id < rows; ++id) {
      if (random.below(part) == 0) words[id / 64] |= std::uint64_t{1} << (id % 64);
    }
    Tally tally;
    expect_sound(*index, truth, Distance::euclidean, queries, 10, {.filter = IdFilter{words}}, tally);
    std::cout << "one in " << part << ": recall " << tally.recall() << "\n";
    EXPECT_GE(tally.recall(), 0.9);
  }
  // Only what is far from the query.
  const auto query = std::span(queries).first(dim);
  const auto nearest = truth.search(query, rows / 2);
  std::vector<std::uint64_t> words((rows + 63) / 64, ~std::uint64_t{0});
  for (const Hit& hit : nearest) words[hit.id / 64] &= ~(std::uint64_t{1} << (hit.id % 64));
  Tally tally;
  expect_sound(*index, truth, Distance::euclidean, query, 10, {.filter = IdFilter{words}}, tally);
  EXPECT_GE(tally.recall(), 0.9);
}

TEST_F(GraphIndexTest, StrangeVectorsAreFoundToo) {
  for (const double scale : {1e-30, 1e-12, 1e15, 1e30}) {
    SCOPED_TRACE(testing::Message() << "scale " << scale);
    constexpr std::size_t dim = 12;
    Floats vectors = clustered_rows(random, 1500, dim);
    for (float& x : vectors) x = static_cast<float>(double{x} * scale);
    std::copy_n(vectors.begin(), dim, vectors.begin() + dim);             // twice
    std::fill_n(vectors.begin() + 5 * dim, 300 * dim, vectors[5 * dim]);  // 300 times the same
    for (const Distance distance : graph_distances) {
      const auto index = make_index("hnsw", dim, distance, runtime);
      index->add(vectors);
      BruteForce truth(dim, distance);
      truth.put_all(0, vectors);
      Tally tally;
      expect_sound(*index, truth, distance, std::span(vectors).subspan(400 * dim, 50 * dim), 10, {}, tally);
      EXPECT_GE(tally.recall(), 0.9) << name(distance);
    }
  }
}

TEST_F(GraphIndexTest, NothingAndOne) {
  const auto index = make_index("hnsw", 3, Distance::cosine, runtime);
  const Floats one{1, 2, 3};
  EXPECT_EQ(index->search(one, 5)[0].size(), 0U);
  EXPECT_EQ(index->search({}, 5).queries(), 0U);
  EXPECT_EQ(index->remove(Ids{7}), 0U);
  EXPECT_EQ(index->get(0), std::nullopt);
  EXPECT_EQ(index->add({}), 0U);
  EXPECT_EQ(index->add(one), 0U);
  EXPECT_EQ(index->search(one, 0)[0].size(), 0U);
  ASSERT_EQ(index->search(one, 5)[0].size(), 1U);
  EXPECT_EQ(index->remove(Ids{0}), 1U);
  EXPECT_EQ(index->search(one, 5)[0].size(), 0U);
  EXPECT_EQ(index->add(one), 1U);
  EXPECT_EQ(index->search(one, 5)[0][0].id, 1U);
  index->compact();
  EXPECT_EQ(index->search(one, 5)[0][0].id, 1U);
  EXPECT_THAT(index->explain(), testing::HasSubstr("1 vectors of 3 numbers"));
}

TEST_F(GraphIndexTest, WrongInputIsRefused) {
  const auto index = make_index("hnsw", 2, Distance::euclidean, runtime);
  const Floats two{1, 2};
  EXPECT_ERROR(index->add(Floats{1}), ErrorCode::invalid_input, "whole rows");
  EXPECT_ERROR(index->add(Floats{1, NAN}), ErrorCode::invalid_input, "row 0, coordinate 1");
  EXPECT_ERROR(index->add_with_ids(two, Ids{1, 2}), ErrorCode::invalid_input, "1 vectors and 2 ids");
  EXPECT_ERROR(static_cast<void>(index->search(two, 1, {.recall = 0.0})), ErrorCode::invalid_input, "a recall of 0");
  EXPECT_ERROR(static_cast<void>(index->search(two, 1, {.recall = 1.5})), ErrorCode::invalid_input, "at most 1");
  EXPECT_ERROR(static_cast<void>(index->search(two, 1, {.recall = NAN})), ErrorCode::invalid_input, "recall");
  EXPECT_ERROR(index->set_precision(Precision::fp16), ErrorCode::unsupported, "int8");
  EXPECT_ERROR(make_index("hnsw", 2, Distance::hamming, runtime), ErrorCode::unsupported, "hamming");
  EXPECT_ERROR(make_index("hnsw", 0, Distance::cosine, runtime), ErrorCode::invalid_input, "dimension of 0");
  EXPECT_ERROR(make_graph_index(2, Distance::cosine, {.degree = 1}, runtime), ErrorCode::invalid_input, "degree of 1");
  EXPECT_ERROR(make_graph_index(2, Distance::cosine, {.build_width = 5}, runtime), ErrorCode::invalid_input, "width");
  EXPECT_EQ(index->size(), 0U);
}

// Whatever is changed in a file, it is refused by an error, or what was read can be searched.
TEST_F(GraphIndexTest, DamagedFilesAreRefused) {
  constexpr std::size_t dim = 5;
  const auto index = make_index("hnsw", dim, Distance::inner_product, runtime);
  index->add(test::random_rows(random, 40, dim));
  MemoryWriter writer;
  index->save(writer);
  const std::vector<std::byte> whole(writer.bytes().begin(), writer.bytes().end());
  const auto load = [&](std::span<const std::byte> bytes) {
    MemoryReader reader(bytes);
    return load_index(reader, runtime);
  };
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_ERROR(load(std::span(whole).first(length)), ErrorCode::corrupt_data, "");
  }
  std::size_t refused = 0;
  for (std::size_t place = 0; place < whole.size(); ++place) {
    auto changed = whole;
    changed[place] ^= static_cast<std::byte>(1U + random.below(255));
    try {
      static_cast<void>(load(changed)->search(Floats(dim, 1), 5));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::unsupported) << error.what();
      ++refused;
    }
  }
  EXPECT_EQ(refused, whole.size());
}

}  // namespace
}  // namespace vectis
