#include "vectis/search/sample_vectors.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <vector>

namespace vectis {
namespace {

TEST(SampleVectors, CallsContinueOneSequence) {
  SampleVectors parts(5, 7);
  std::vector<float> values = parts.draw(2);
  const std::vector<float> more = parts.draw(3);
  values.insert(values.end(), more.begin(), more.end());
  EXPECT_EQ(values, SampleVectors(5, 7).draw(5));
  EXPECT_TRUE(SampleVectors(5, 0).draw(5).empty());
}

// The products of rows and dimension are 2^64 and 2^63.
TEST(SampleVectors, MoreThanMemoryIsBadAlloc) {
  SampleVectors vectors(1, 8);
  EXPECT_THROW((void)vectors.draw(std::size_t{1} << 61), std::bad_alloc);
  EXPECT_THROW((void)vectors.draw(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_THROW(SampleVectors(1, std::size_t{1} << 59), std::bad_alloc);
}

}  // namespace
}  // namespace vectis
