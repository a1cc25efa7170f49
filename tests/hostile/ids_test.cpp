// Adversarial ids: at the ends of their range, and chosen so that hash tables degenerate.
#include <chrono>
#include <iostream>
#include <unordered_set>

#include "tests/indexes/kinds.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/runs.hpp"

namespace vectis::test {
namespace {

constexpr std::uint64_t last_id = ~std::uint64_t{0};
// The usual multiplier of multiplicative hashing, 2^64 over the golden ratio, and its inverse modulo 2^64.
constexpr std::uint64_t golden = 0x9E37'79B9'7F4A'7C15ULL;
constexpr std::uint64_t golden_inverse = [] {
  std::uint64_t inverse = golden;  // Newton's iteration doubles the correct bits, of which there are 3
  for (int i = 0; i < 5; ++i) inverse *= 2 - golden * inverse;
  return inverse;
}();
static_assert(golden * golden_inverse == 1);

// How many ids there are, and how many buckets std::unordered_set has for them.
struct IdCount {
  explicit IdCount(std::uint64_t wanted) : ids(wanted) {
    std::unordered_set<std::uint64_t> set;
    set.reserve(wanted);
    buckets = set.bucket_count();
  }
  std::uint64_t ids;
  std::uint64_t buckets = 0;
};

struct IdFamily {
  const char* name;
  std::uint64_t (*id)(std::uint64_t i, const IdCount& count);
};

constexpr std::array families{
    IdFamily{"dense", [](std::uint64_t i, const IdCount&) { return i; }},
    IdFamily{"dense up to 2^64 - 1", [](std::uint64_t i, const IdCount& count) { return last_id - count.ids + 1 + i; }},
    IdFamily{"descending from 2^64 - 1", [](std::uint64_t i, const IdCount&) { return last_id - i; }},
    IdFamily{"multiples of 2^32", [](std::uint64_t i, const IdCount&) { return i << 32U; }},
    IdFamily{"multiples of 2^40", [](std::uint64_t i, const IdCount&) { return i << 40U; }},
    IdFamily{"products of the golden ratio near 0", [](std::uint64_t i, const IdCount&) { return i * golden_inverse; }},
    IdFamily{"products of the golden ratio near 0, high bits alone",
             [](std::uint64_t i, const IdCount&) { return (i << 20U) * golden_inverse; }},
    IdFamily{"products of the golden ratio with equal middle bits",
             [](std::uint64_t i, const IdCount&) { return ((i % 1024) | (i / 1024) << 50U) * golden_inverse; }},
    IdFamily{"multiples of the buckets of std::unordered_set",
             [](std::uint64_t i, const IdCount& count) { return i * count.buckets; }},
};

Ids family_ids(const IdFamily& family, std::uint64_t count) {
  Ids ids(count);
  const IdCount all(count);
  for (std::uint64_t i = 0; i < count; ++i) ids[i] = family.id(i, all);
  return ids;
}

class HostileIds : public IndexKinds {
 protected:
  static constexpr std::size_t narrow = 2;

  void expect_works(const Ids& ids) {
    const auto index = make(narrow);
    BruteForce truth(narrow, Metric::l2);
    const Floats vectors = random_rows(random, ids.size(), narrow);
    index->add(ids, vectors);
    for (std::size_t i = 0; i < ids.size(); ++i) truth.put(ids[i], std::span(vectors).subspan(i * narrow, narrow));
    check(*index, truth, ids);
    EXPECT_ERROR(index->add(Ids{ids[ids.size() / 2]}, Floats(narrow)), ErrorCode::invalid_input, "");
    EXPECT_EQ(index->remove(std::span(ids).first(ids.size() / 3)), ids.size() / 3);
    for (std::size_t i = 0; i < ids.size() / 3; ++i) truth.remove(ids[i]);
    index->upsert(std::span(ids).first(10), std::span(vectors).last(10 * narrow));
    for (std::size_t i = 0; i < 10; ++i) {
      truth.put(ids[i], std::span(vectors).subspan(vectors.size() - (10 - i) * narrow, narrow));
    }
    check(*index, truth, ids);
    check(*index_of(kind(), file_of(*index), runtime), truth, ids);
  }

 private:
  void check(const Index& index, const BruteForce& truth, const Ids& ids) {
    ASSERT_EQ(index.size(), truth.rows().size());
    for (const std::uint64_t id : ids) {
      const auto row = truth.rows().find(id);
      const auto stored = index.get(id);
      ASSERT_EQ(stored.has_value(), row != truth.rows().end()) << "id " << id;
      if (stored) {
        ASSERT_EQ(*stored, row->second) << "id " << id;
      }
    }
    const std::uint64_t low = std::min(ids.front(), ids[ids.size() / 2]);
    const std::vector<std::uint64_t> words{random.next(), random.next(), ~std::uint64_t{0}, random.next()};
    for (const IdFilter& filter :
         {IdFilter::range(0, last_id), IdFilter::range(low, low + 50), IdFilter::range(last_id - 40, last_id),
          IdFilter::bitmap(words, last_id - 100), IdFilter::bitmap(words, low), IdFilter::bitmap(words, 0)}) {
      const SearchOptions options{.filter = filter};
      // All that are allowed, which every kind finds.
      ASSERT_NO_FATAL_FAILURE(expect_same(index, truth, random_rows(random, 2, narrow), ids.size(), options));
    }
  }
};

TEST_P(HostileIds, WorkInEveryFamily) {
  for (const IdFamily& family : families) {
    SCOPED_TRACE(family.name);
    ASSERT_NO_FATAL_FAILURE(expect_works(family_ids(family, 300)));
  }
}

TEST_P(HostileIds, EndAtTheLargest) {
  const auto index = make(1);
  index->add(Ids{0, last_id, last_id - 1, std::uint64_t{1} << 63U}, Floats{1, 2, 3, 4});
  EXPECT_EQ(index->get(last_id), Floats{2});
  EXPECT_ERROR(static_cast<void>(index->add(Floats{5})), ErrorCode::invalid_input, "");
  EXPECT_EQ(index->size(), 4U);
  EXPECT_TRUE(index->remove(last_id));
  EXPECT_ERROR(static_cast<void>(index->add(Floats{5})), ErrorCode::invalid_input, "");
  index->add(Ids{last_id}, Floats{6});
  EXPECT_EQ(index->search(Floats{6}, 1)[0][0].id, last_id);
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileIds, testing::ValuesIn(index_kinds), kind_name);

// Seconds of adding, looking up, saving, loading and removing all of them.
double seconds_of(const std::string& kind, const Ids& ids, Runtime& runtime) {
  const Floats vectors = [&] {
    Random random(seed());
    Floats floats(ids.size() * 2);
    for (float& x : floats) x = static_cast<float>(random.unit());
    return floats;
  }();
  const auto begin = std::chrono::steady_clock::now();
  const auto index = make_index(kind, 2, Metric::l2, {.runtime = &runtime});
  index->add(ids, vectors);
  for (const std::uint64_t id : ids) EXPECT_TRUE(index->get(id).has_value());
  const FileBytes file = file_of(*index);
  MemoryReader reader(file);
  EXPECT_EQ(load_index(reader, {.runtime = &runtime})->size(), ids.size());
  EXPECT_EQ(index->remove(ids), ids.size());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class HostileIdsTime : public testing::TestWithParam<std::string> {};

// 100,000 for kinds that add quickly, and in a soak. Lookups dominate where a table degenerates: with n ids in one
// bucket they take n^2 / 2 steps.
TEST_P(HostileIdsTime, IsThatOfRandomIds) {
  const bool builds_graphs = GetParam() != "flat";
  const std::uint64_t count = std::getenv("VECTIS_TEST_RUNS") == nullptr && builds_graphs ? 8000 : 100'000;
  Runtime runtime;
  Random random(seed());
  Ids usual(count);
  for (std::uint64_t& id : usual) id = random.next();
  const double expected = std::min(seconds_of(GetParam(), usual, runtime), seconds_of(GetParam(), usual, runtime));
  double worst = 0;
  for (const IdFamily& family : families) {
    double seconds = seconds_of(GetParam(), family_ids(family, count), runtime);
    if (seconds > 5 * expected) seconds = std::min(seconds, seconds_of(GetParam(), family_ids(family, count), runtime));
    EXPECT_LE(seconds, 5 * expected) << family.name;
    worst = std::max(worst, seconds / expected);
  }
  std::cout << GetParam() << ": " << count << " chosen ids take at most " << worst << " times as long as random ones\n";
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileIdsTime, testing::Values("flat", "graph", "auto"),
                         [](const testing::TestParamInfo<std::string>& kind) { return kind.param; });

}  // namespace
}  // namespace vectis::test
