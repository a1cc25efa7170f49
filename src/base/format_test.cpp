#include "vectis/base/format.hpp"

#include <gtest/gtest.h>

namespace vectis {
namespace {

TEST(FormatBytes, HasOneDecimalAndABinaryUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(std::uint64_t{3} << 20U), "3.0 MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{5} << 29U), "2.5 GiB");
}

TEST(FormatBytes, HasNoUnitAboveTebibytes) {
  EXPECT_EQ(format_bytes(std::uint64_t{1} << 40U), "1.0 TiB");
  EXPECT_EQ(format_bytes(std::uint64_t{1} << 60U), "1048576.0 TiB");
}

}  // namespace
}  // namespace vectis
