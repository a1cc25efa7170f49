#include "search/exact/exact_format.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "search/exact/exact_index.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis {
namespace {

using test::BruteForce;
using test::expect_same;
using test::Floats;
using test::Ids;
using test::random_rows;

using Bytes = std::vector<std::byte>;
constexpr std::size_t sum_bytes = 8;
constexpr std::size_t features_at = 12;  // behind magic and version
constexpr std::size_t header_end = features_at + 40;

class ExactFormatTest : public testing::Test {
 protected:
  static Bytes saved(const Index& index) {
    MemoryWriter writer;
    index.save(writer);
    return {writer.bytes().begin(), writer.bytes().end()};
  }
  std::unique_ptr<Index> loaded(std::span<const std::byte> bytes) {
    MemoryReader reader(bytes);
    auto index = load_index(reader, {.runtime = &runtime});
    EXPECT_EQ(reader.remaining(), 0U);
    return index;
  }
  // Everything users can see is the same, now and after the next add.
  void expect_round_trip(Index& index) {
    const Bytes bytes = saved(index);
    const auto copy = loaded(bytes);
    EXPECT_EQ(copy->kind(), index.kind());
    EXPECT_EQ(copy->dim(), index.dim());
    EXPECT_EQ(copy->metric(), index.metric());
    EXPECT_EQ(copy->precision(), index.precision());
    EXPECT_EQ(copy->size(), index.size());
    EXPECT_EQ(copy->statistics().removed, 0U);
    EXPECT_EQ(saved(*copy), bytes);
    const Floats queries = random_rows(random, 3, index.dim());
    const SearchResult expected = index.search(queries, 20);
    const SearchResult found = copy->search(queries, 20);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(test::hits_of(found, i), test::hits_of(expected, i));
    for (const Hit& hit : expected[0]) EXPECT_EQ(copy->get(hit.id), index.get(hit.id));
    const Floats more = random_rows(random, 2, index.dim());
    EXPECT_EQ(copy->add(more), index.add(more));
    EXPECT_EQ(test::hits_of(copy->search(more, 5), 1), test::hits_of(index.search(more, 5), 1));
  }
  // A small index that has everything: codes, rows, ids out of order.
  Bytes small_file() {
    const auto index = make_index("flat", 3, Metric::l2, {.runtime = &runtime});
    index->add(random_rows(random, 18, 3));
    index->drop_full_precision();
    index->add(Ids{100, 50, 200, 51, 52}, random_rows(random, 5, 3));
    index->remove(Ids{1, 51});
    return saved(*index);
  }
  static void fix_header_checksum(Bytes& bytes) {
    const auto sum = checksum(std::span(bytes).subspan(features_at, header_end - features_at));
    std::memcpy(bytes.data() + header_end, &sum, sum_bytes);
  }

  Runtime runtime;
  Random random{test::seed()};
};

TEST_F(ExactFormatTest, ComesBackInEveryState) {
  for (const Metric metric : all_metrics()) {
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
      if (!exact::can_scan(metric, precision)) continue;
      SCOPED_TRACE(testing::Message() << name(metric) << " " << name(precision));
      for (const std::size_t dim : Ids{1, 33, 130}) {
        const auto index = make_index("flat", dim, metric, {.runtime = &runtime});
        index->set_precision(precision);
        expect_round_trip(*index);
        index->add(random_rows(random, 100, dim));
        expect_round_trip(*index);
        index->remove(Ids{3, 4, 101});
        expect_round_trip(*index);
        index->drop_full_precision();
        expect_round_trip(*index);
        index->add(Ids{5000, 4000, 4500}, random_rows(random, 3, dim));
        index->remove(Ids{10, 20, 4000});
        expect_round_trip(*index);
        index->remove(Ids{5000, 4500});
        for (std::uint64_t id = 0; id < 90; ++id) index->remove(Ids{id});
        expect_round_trip(*index);
      }
    }
  }
}

TEST_F(ExactFormatTest, LargeDataComesBackInSeveralBlocks) {
  const std::size_t dim = 20'000;
  const auto index = make_index("flat", dim, Metric::l2, {.runtime = &runtime});
  index->add(random_rows(random, 2 * exact::segment_rows_max(dim) + 5, dim));
  index->remove(Ids{0, 7, 500});
  expect_round_trip(*index);
}

TEST_F(ExactFormatTest, EveryChangedBitIsNoticed) {
  const Bytes file = small_file();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    Bytes changed = file;
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      static_cast<void>(loaded(changed));
      ADD_FAILURE() << "bit " << bit << " is not detected";
    } catch (const Error& error) {
      const bool version = bit / 8 >= 8 && bit / 8 < features_at;
      EXPECT_EQ(error.code(), version ? ErrorCode::unsupported : ErrorCode::corrupt_data) << bit;
    }
  }
}

TEST_F(ExactFormatTest, UnknownFeaturesAreUnsupported) {
  for (const std::size_t at : {features_at, features_at + 8}) {
    Bytes bytes = small_file();
    bytes[at + 5] = std::byte{1};
    fix_header_checksum(bytes);
    EXPECT_ERROR(static_cast<void>(loaded(bytes)), ErrorCode::unsupported, "0x10000000000");
  }
}

TEST_F(ExactFormatTest, HeadersWithInvalidFieldsAreCorrupt) {
  const auto expect_corrupt = [&](std::size_t at, std::uint8_t value, const std::string& message) {
    Bytes bytes = small_file();
    bytes[at] = std::byte{value};
    fix_header_checksum(bytes);
    EXPECT_ERROR(static_cast<void>(loaded(bytes)), ErrorCode::corrupt_data, message);
  };
  expect_corrupt(features_at + 16, 0, "0 is no kind");
  expect_corrupt(features_at + 16, 4, "4 is no kind");
  expect_corrupt(features_at + 17, 8, "8 is no metric");
  expect_corrupt(features_at + 18, 5, "5 is no precision");
  expect_corrupt(features_at + 17, 4, "4 is no precision for metric l1");
  expect_corrupt(features_at + 19, 0, "without a largest id");
  expect_corrupt(features_at + 20, 0, "a dimension of 0");
  expect_corrupt(features_at + 23, 1, "a dimension of 16777219");
  expect_corrupt(features_at + 24, 199, "id 200 is above the largest, 199");
  expect_corrupt(features_at, 0, "a block of kind 2");
  expect_corrupt(features_at + 32, 5, "a block of 17 vectors, at most 5");
}

// A header may promise any number of vectors; nothing is allocated for them before they come.
TEST_F(ExactFormatTest, AllocatesOnlyForBytesThatExist) {
  Bytes bytes = small_file();
  for (std::size_t i = 0; i < 8; ++i) bytes[features_at + 32 + i] = std::byte{0xff};
  bytes[features_at + 22] = std::byte{1};  // dimension 65,539 is refused, 65,536 not
  bytes[features_at + 20] = std::byte{0};
  fix_header_checksum(bytes);
  EXPECT_ERROR(static_cast<void>(loaded(bytes)), ErrorCode::corrupt_data, "");
}

}  // namespace
}  // namespace vectis
