// Ids that collide under a fixed hash take no longer than other ids in the tables of either index.
#include "search/common/id_hash.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <unordered_set>
#include <vector>

#include "search/exact/id_lookup.hpp"
#include "search/graph/id_table.hpp"
#include "tests/support/sanitizer.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis {
namespace {

constexpr std::size_t flooded_ids = 60'000;
constexpr std::uint64_t fibonacci = 0x9E37'79B9'7F4A'7C15ULL;  // the multiplier of Fibonacci hashing

// Ids whose products with the multiplier are 1, 2, 3, ...: all of them begin at one place of a table that is hashed so.
std::vector<std::uint64_t> colliding_ids() {
  std::uint64_t inverse = 1;  // modulo 2^64, by Newton's method
  for (int i = 0; i < 6; ++i) inverse *= 2 - fibonacci * inverse;
  std::vector<std::uint64_t> ids(flooded_ids);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = inverse * (i + 1);
  return ids;
}

std::vector<std::uint64_t> spread_ids() {
  std::vector<std::uint64_t> ids(flooded_ids);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 3 * i + 1;
  return ids;
}

// Quadratic time is a thousand times longer.
template <class Work>
void expect_as_fast(const Work& work) {
  const auto seconds = [&](const std::vector<std::uint64_t>& ids) {
    const auto begin = std::chrono::steady_clock::now();
    work(ids);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double expected = seconds(spread_ids());
  EXPECT_LT(seconds(colliding_ids()), 30 * expected + 0.1);
}

TEST(IdHash, TablesOfGraphsResistChosenIds) {
  expect_as_fast([](const std::vector<std::uint64_t>& ids) {
    graph::IdTable table;
    table.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) table.insert(ids[i], static_cast<graph::Slot>(i));
    for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(table.find(ids[i]), static_cast<graph::Slot>(i));
  });
}

TEST(IdHash, LookupsOfSegmentsResistChosenIds) {
  expect_as_fast([](const std::vector<std::uint64_t>& ids) {
    const exact::IdLookup lookup(ids, ids.size());
    exact::SegmentView view;
    view.ids = ids.data();
    view.rows = ids.size();
    for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(lookup.find(view, ids[i]), i);
  });
}

// The ids of a file are compared with each other, too.
TEST(IdHash, LoadsOfGraphsResistChosenIds) {
  constexpr std::size_t rows = test::sanitized ? 2'000 : 10'000;
  std::unordered_set<std::uint64_t> set;
  for (std::uint64_t i = 0; i < rows; ++i) set.insert(i);
  const std::uint64_t buckets = set.bucket_count();  // its hash is the identity: multiples share a bucket
  Runtime runtime;
  const auto seconds = [&](std::uint64_t factor) {
    std::vector<std::uint64_t> ids(rows);
    std::vector<float> vectors(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      ids[i] = factor * i;
      vectors[i] = static_cast<float>(i);
    }
    const auto index = make_index("graph", 1, Metric::l2, {.runtime = &runtime});
    index->add(ids, vectors);
    MemoryWriter file;
    index->save(file);
    MemoryReader reader(file.bytes());
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(load_index(reader, {.runtime = &runtime})->size(), rows);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double expected = seconds(3);
  EXPECT_LT(seconds(buckets), 10 * expected + 0.05);
}

TEST(IdHash, EachHasItsOwnKey) {
  std::set<std::uint64_t> values;
  for (int i = 0; i < 100; ++i) values.insert(detail::IdHash()(7));
  EXPECT_EQ(values.size(), 100U);
  const detail::IdHash hash;
  EXPECT_EQ(hash(7), hash(7));
  EXPECT_EQ(detail::IdHash(hash)(7), hash(7)) << "a copy";
}

}  // namespace
}  // namespace vectis
