#include "vectis/base/precision.hpp"

#include <gtest/gtest.h>

#include <set>

namespace vectis {
namespace {

TEST(Precision, NamesTypesAndSizesAgree) {
  std::set<std::string_view> names;
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    names.insert(name(precision));
    EXPECT_EQ(size_of(precision), size_of(dtype_of(precision)));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"fp32", "fp16", "bf16", "int8"}));
  EXPECT_EQ(size_of(Precision::fp32), 4U);
  EXPECT_EQ(size_of(Precision::fp16), 2U);
  EXPECT_EQ(size_of(Precision::bf16), 2U);
  EXPECT_EQ(size_of(Precision::int8), 1U);
}

}  // namespace
}  // namespace vectis
