// Ids that collide under a fixed hash take no longer than other ids in the tables of either index.
#include "search/common/id_hash.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <unordered_set>
#include <vector>

#include "search/exact/id_lookup.hpp"
#include "search/graph/format.hpp"
#include "search/graph/id_table.hpp"

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

// Quadratic time is a thousand times longer. This is the time of the process, which other processes do not change.
template <class Work>
void expect_as_fast(const std::vector<std::uint64_t>& colliding, const Work& work) {
  const auto seconds = [&](const std::vector<std::uint64_t>& ids) {
    const std::clock_t begin = std::clock();
    work(ids);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double expected = seconds(spread_ids());
  EXPECT_LT(seconds(colliding), 30 * expected + 0.1);
}

TEST(IdHash, TablesOfGraphsResistChosenIds) {
  expect_as_fast(colliding_ids(), [](const std::vector<std::uint64_t>& ids) {
    graph::IdTable table;
    table.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) table.insert(ids[i], static_cast<graph::Slot>(i));
    for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(table.find(ids[i]), static_cast<graph::Slot>(i));
  });
}

TEST(IdHash, LookupsOfSegmentsResistChosenIds) {
  expect_as_fast(colliding_ids(), [](const std::vector<std::uint64_t>& ids) {
    const exact::IdLookup lookup(ids, ids.size());
    exact::SegmentView view;
    view.ids = ids.data();
    view.rows = ids.size();
    for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(lookup.find(view, ids[i]), i);
  });
}

// The ids of a file are compared with each other, too.
TEST(IdHash, LoadsOfGraphsResistChosenIds) {
  std::unordered_set<std::uint64_t> set;
  for (std::uint64_t i = 0; i < flooded_ids; ++i) set.insert(i);
  std::vector<std::uint64_t> chosen(flooded_ids);
  // The hash of the set is the identity: multiples of its size share a bucket.
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = set.bucket_count() * i;
  for (const std::vector<std::uint64_t>& colliding : {chosen, colliding_ids()}) {
    expect_as_fast(colliding, [](const std::vector<std::uint64_t>& ids) {
      graph::RowVersions versions;
      versions.reserve(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i) versions.create(static_cast<graph::Slot>(i), ids[i], 1);
      ASSERT_NO_THROW(graph::validate_unique_ids(versions, ids.size()));
    });
  }
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
