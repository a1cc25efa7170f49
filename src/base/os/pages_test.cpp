#include "vectis/base/pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tests/support/expect_error.hpp"

namespace vectis {
namespace {

TEST(PagesTest, AreZeroedAlignedAndWritable) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{5} << 20U}) {
    const Pages pages(bytes);
    ASSERT_EQ(pages.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages.data()) % 64, 0U);
    EXPECT_TRUE(std::all_of(pages.data(), pages.data() + bytes, [](std::byte b) { return b == std::byte{0}; }));
    pages.data()[bytes - 1] = std::byte{7};
    EXPECT_EQ(pages.as<std::byte>()[bytes - 1], std::byte{7});
  }
}

TEST(PagesTest, NoneIsNothing) {
  const Pages none(0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.bytes(), 0U);
}

TEST(PagesTest, MoveTakesThemAlong) {
  Pages first(8192);
  std::byte* const place = first.data();
  Pages second(std::move(first));
  EXPECT_EQ(second.data(), place);
  Pages third(1);
  third = std::move(second);
  EXPECT_EQ(third.data(), place);
  EXPECT_EQ(third.bytes(), 8192U);
}

TEST(PagesTest, TooManyAreRefusedWithTheNumbers) {
  EXPECT_ERROR(Pages(std::size_t{1} << 60U), ErrorCode::allocation, "1152921504606846976");
}

}  // namespace
}  // namespace vectis
