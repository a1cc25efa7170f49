#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis {
namespace {

using Crc = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t) noexcept;

class Crc32cTest : public testing::TestWithParam<Crc> {};

std::vector<std::byte> counting(std::size_t count, int first, int step) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + step * static_cast<int>(i));
  return bytes;
}

// RFC 3720, appendix B.4, and the check value of the catalog of parametrized CRC algorithms.
TEST_P(Crc32cTest, MatchesThePublishedVectors) {
  const auto of = [](std::span<const std::byte> bytes) { return GetParam()(bytes, 0); };
  EXPECT_EQ(of({}), 0U);
  EXPECT_EQ(of(counting(32, 0x00, 0)), 0x8a9136aaU);
  EXPECT_EQ(of(counting(32, 0xff, 0)), 0x62a8ab43U);
  EXPECT_EQ(of(counting(32, 0x00, 1)), 0x46dd794eU);
  EXPECT_EQ(of(counting(32, 0x1f, -1)), 0x113fdb5cU);
  constexpr std::string_view digits = "123456789";
  EXPECT_EQ(of(std::as_bytes(std::span(digits))), 0xe3069283U);
}

TEST_P(Crc32cTest, ContinuesAtAnyOffset) {
  const auto bytes = counting(41, 7, 5);
  const std::span<const std::byte> all(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(GetParam()(all.subspan(cut), GetParam()(all.first(cut), 0)), GetParam()(all, 0)) << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(Implementations, Crc32cTest, testing::Values(&detail::crc32c, &detail::crc32c_portable),
                         [](const auto& info) { return info.index == 0 ? "Chosen" : "Portable"; });

TEST(Crc32c, BothImplementationsAgree) {
  Random random(test::seed());
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> bytes(random.below(200));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    const auto previous = static_cast<std::uint32_t>(random.next());
    ASSERT_EQ(detail::crc32c(bytes, previous), detail::crc32c_portable(bytes, previous)) << bytes.size();
  }
}

}  // namespace
}  // namespace vectis
