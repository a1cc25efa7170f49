// Adjacency lists with slots of every width, in memory and serialized.
#include "search/graph/storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis::graph {
namespace {

using testing::ElementsAreArray;

class AdjacencyListsTest : public testing::TestWithParam<std::size_t> {};

TEST_P(AdjacencyListsTest, ReadReturnsTheLastWrite) {
  Random random(test::seed());
  constexpr std::size_t degree = 30;
  constexpr std::size_t rows = 5000;  // more than one block
  AdjacencyLists links(degree, GetParam());
  const std::uint64_t slots = std::uint64_t{1} << (8 * GetParam());
  links.reserve(rows);
  std::vector<std::vector<Slot>> expected(rows);
  for (std::size_t change = 0; change < 3 * rows; ++change) {
    const std::size_t row = random.below(rows);
    expected[row].resize(random.below(degree + 1));
    for (Slot& link : expected[row]) link = static_cast<Slot>(random.below(slots));
    links.write(static_cast<Slot>(row), expected[row]);
  }
  std::vector<std::byte> bytes(links.row_bytes());
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<Slot> list(AdjacencyLists::degree_max);
    list.resize(links.read(static_cast<Slot>(row), list.data()));
    EXPECT_THAT(list, ElementsAreArray(expected[row]));
    links.encode(list, bytes.data());
    std::vector<Slot> decoded(AdjacencyLists::degree_max);
    decoded.resize(links.decode(bytes.data(), decoded.data()));
    EXPECT_THAT(decoded, ElementsAreArray(expected[row]));
  }
}

INSTANTIATE_TEST_SUITE_P(SlotBytes, AdjacencyListsTest, testing::Values(2, 3, 4), testing::PrintToStringParamName());

TEST(SlotBytesTest, AreMinimal) {
  EXPECT_EQ(AdjacencyLists::slot_bytes_for(0), 2U);
  EXPECT_EQ(AdjacencyLists::slot_bytes_for(1U << 16U), 2U);
  EXPECT_EQ(AdjacencyLists::slot_bytes_for((1U << 16U) + 1), 3U);
  EXPECT_EQ(AdjacencyLists::slot_bytes_for(1U << 24U), 3U);
  EXPECT_EQ(AdjacencyLists::slot_bytes_for((1U << 24U) + 1), 4U);
  EXPECT_EQ(AdjacencyLists(30, 3).row_bytes(), 96U);
}

// Byte codes of vectors at the ends of the range of floats: decoded values are within half a step and finite.
TEST(VectorRowsTest, ByteCodesOfExtremeVectorsAreFiniteAndNear) {
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float smallest = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> vectors{{-largest, largest, 0, 1e38F},
                                                {largest, largest, largest, largest},
                                                {-largest, -1e38F, 1, 2},
                                                {0, smallest, 200 * smallest, 1000 * smallest},
                                                {-300 * smallest, 0, 0, 300 * smallest},
                                                {1, 2, 3, 4}};
  VectorRows rows(4, false);
  rows.reserve(1);
  for (const std::vector<float>& vector : vectors) {
    rows.write(0, vector.data());
    std::vector<float> decoded(4);
    ASSERT_EQ(rows.read(0, decoded.data()), decoded.data());
    const auto [min, max] = std::ranges::minmax(vector);
    const double step = (double{max} - double{min}) / 255;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(std::isfinite(decoded[i]));
      EXPECT_NEAR(double{decoded[i]}, double{vector[i]}, step * 0.51 + 255 * double{smallest}) << vector[i];
    }
  }
}

// Whatever a file holds, as long as minimum and scale are finite.
TEST(VectorRowsTest, DecodedValuesAreFinite) {
  constexpr float largest = std::numeric_limits<float>::max();
  VectorRows rows(2, false);
  rows.reserve(1);
  for (const auto& [min, scale] :
       {std::pair(largest, largest), std::pair(-largest, -largest), std::pair(1.0F, largest)}) {
    std::memcpy(rows.bytes(0).data(), &min, sizeof min);
    std::memcpy(rows.bytes(0).data() + sizeof min, &scale, sizeof scale);
    rows.bytes(0)[8] = std::byte{0};
    rows.bytes(0)[9] = std::byte{255};
    std::vector<float> decoded(2);
    EXPECT_TRUE(
        std::ranges::all_of(std::span(rows.read(0, decoded.data()), 2), [](float x) { return std::isfinite(x); }));
  }
}

}  // namespace
}  // namespace vectis::graph
