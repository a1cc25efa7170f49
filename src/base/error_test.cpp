#include "vectis/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace vectis {
namespace {

TEST(ErrorCatalog, CodesCountUpFromOneWithoutGapsAndNamesAreUnique) {
  std::set<std::string_view> names;
  unsigned expected = 1;
  for (const ErrorEntry& entry : error_catalog()) {
    EXPECT_EQ(static_cast<unsigned>(entry.code), expected++) << entry.name;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(&describe(entry.code), &entry);
  }
  EXPECT_EQ(expected - 1, static_cast<unsigned>(ErrorCode::corrupt_data)) << "a code without an entry";
}

TEST(ErrorCatalog, EveryEntryHasADescriptionAndARemedy) {
  for (const ErrorEntry& entry : error_catalog()) {
    for (const std::string_view text : {entry.description, entry.remedy}) {
      ASSERT_FALSE(text.empty()) << entry.name;
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(text.front())) != 0) << text;
      EXPECT_EQ(text.back(), '.') << text;
      EXPECT_EQ(text.find(". "), std::string_view::npos) << "more than one sentence: " << text;
    }
  }
}

TEST(ErrorCatalog, NamesAreTheStableOnes) {
  EXPECT_EQ(describe(ErrorCode::invalid_input).name, "InvalidInput");
  EXPECT_EQ(describe(ErrorCode::device_lost).name, "DeviceLost");
  EXPECT_EQ(describe(ErrorCode::deadline_exceeded).name, "DeadlineExceeded");
}

TEST(ErrorCatalog, AnUnknownCodeIsDescribedAsUnknown) {
  EXPECT_EQ(describe(static_cast<ErrorCode>(0)).name, "Unknown");
  EXPECT_EQ(describe(static_cast<ErrorCode>(999)).name, "Unknown");
}

TEST(Error, CarriesCodeOperationMessageAndDetail) {
  const Error error(ErrorCode::allocation, "allocate", "no room, 8 of 4 bytes; free some", "the driver's words");
  EXPECT_EQ(error.code(), ErrorCode::allocation);
  EXPECT_EQ(error.op(), "allocate");
  EXPECT_STREQ(error.what(), "[allocate] no room, 8 of 4 bytes; free some");
  EXPECT_EQ(error.detail(), "the driver's words");
  EXPECT_EQ(Error(ErrorCode::io, "x", "y").detail(), "");
}

TEST(Error, BracesInAMessageAreKept) {
  EXPECT_STREQ(Error(ErrorCode::io, "open", "{} {0} %s").what(), "[open] {} {0} %s");
}

TEST(Error, CopiesShareTheTextAndNeverThrow) {
  static_assert(std::is_nothrow_copy_constructible_v<Error>);
  static_assert(std::is_nothrow_copy_assignable_v<Error>);
  const Error original(ErrorCode::io, "open", "gone");
  const Error copy = original;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.what(), original.what());
}

}  // namespace
}  // namespace vectis
