// Adjacency lists with slots of every width, in memory and serialized.
#include "search/graph/storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace vectis::graph
