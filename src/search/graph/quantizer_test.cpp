// Scores of quantized rows against distances in double precision, and the fastest kernel against the scalar one.
#include "search/graph/quantizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "search/graph/row_blocks.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::graph {
namespace {

class QuantizerTest : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(QuantizerTest, ScoresApproximateSquaredDistances) {
  Random random(test::seed());
  const auto [dim, bits] = GetParam();
  constexpr std::size_t count = 37;
  const test::Floats vectors = test::random_rows(random, count, dim);
  const test::Floats query = test::random_rows(random, 1, dim);
  const auto executor = make_thread_executor({.threads = 1});
  Encoding encoding = train_encoding(*executor, Metric::l2, dim, vectors);  // too few vectors for a PCA basis
  encoding.set_code_size(dim, bits);
  const Quantizer& quantizer = encoding.quantizer;
  RowBlocks rows(quantizer.row_bytes);
  rows.reserve(count);
  std::vector<const std::byte*> asked(count);
  for (Slot i = 0; i < count; ++i) {
    asked[i] = rows[i];
    encode_row(encoding, vectors.data() + i * dim, rows[i]);
  }
  QuantizedQuery quantized(quantizer);
  quantized.set_vector(encoding, query.data());
  std::vector<float> scores(count);
  const ScoreRows reference = bits == 32 ? score_float_rows : score_rows_scalar;
  reference(quantizer, quantized, asked.data(), count, scores.data());
  const double unit = std::ldexp(1.0, -2 * encoding.projection.exponent);
  for (std::size_t i = 0; i < count; ++i) {
    const double exact = exact_distance(Metric::l2, query, std::span(vectors).subspan(i * dim, dim));
    const double found = double{scores[i]} + double{quantized.squared_norm()};
    // A code step is 1/255 or 1/15 of the row's range and 1/127 of the query's largest element, both about 3 at most
    // before scaling.
    EXPECT_NEAR(found, exact * exact * unit,
                (bits == 32  ? 1e-5
                 : bits == 8 ? 0.05
                             : 0.5) *
                    static_cast<double>(dim) * unit)
        << i;
  }
  std::vector<ScoreRows> kernels{best_score_rows(quantizer)};
#if defined(__x86_64__)
  if (cpu_info().avx2 && bits != 32) kernels.push_back(score_rows_avx2);
#endif
  const auto expect_as_scalar = [&] {
    for (const ScoreRows kernel : kernels) {
      for (const std::size_t some : {std::size_t{1}, std::size_t{2}, std::size_t{7}, count}) {
        std::vector<float> found(some + 1, -1);
        kernel(quantizer, quantized, asked.data(), some, found.data());
        for (std::size_t i = 0; i < some; ++i) EXPECT_NEAR(found[i], scores[i], 1e-4 * static_cast<double>(dim)) << i;
        EXPECT_EQ(found[some], -1) << "written past the end";
      }
    }
  };
  expect_as_scalar();
  // A row in the role of the query.
  quantized.set_row(quantizer, rows[3]);
  reference(quantizer, quantized, asked.data(), count, scores.data());
  EXPECT_NEAR(scores[3] + quantized.squared_norm(), 0,
              (bits == 32  ? 0
               : bits == 8 ? 0.02
                           : 0.3) *
                  static_cast<double>(dim) * unit);
  expect_as_scalar();
}

TEST(QuantizedRowsTest, ThatEndEarlyTouchNoMoreCacheLines) {
  Encoding encoding = make_encoding(Metric::l2, 1);
  const auto row_bytes = [&](std::size_t dim, std::size_t bits) {
    encoding.set_code_size(dim, bits);
    return encoding.quantizer.row_bytes;
  };
  EXPECT_EQ(row_bytes(1, 8), 64U);
  EXPECT_EQ(row_bytes(56, 8), 64U);
  EXPECT_EQ(row_bytes(57, 8), 80U);
  EXPECT_EQ(row_bytes(72, 8), 80U);
  EXPECT_EQ(row_bytes(73, 8), 128U);
  EXPECT_EQ(row_bytes(128, 4), 128U);
  EXPECT_EQ(row_bytes(14, 32), 64U);
  EXPECT_EQ(row_bytes(15, 32), 128U);
  for (std::size_t dim = 1; dim < 2000; ++dim) {
    const std::size_t bytes = row_bytes(dim, 8);
    const std::size_t lines = (code_header_bytes + dim + cache_line_bytes - 1) / cache_line_bytes;
    EXPECT_GE(bytes, code_header_bytes + dim);
    for (std::size_t row = 0; row < 8; ++row) {
      const std::size_t first = row * bytes / cache_line_bytes;
      const std::size_t last = ((row + 1) * bytes - 1) / cache_line_bytes;
      EXPECT_LE(last - first + 1, lines) << dim << " coordinates, row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dimensions, QuantizerTest,
                         testing::Combine(testing::Values(1, 3, 55, 56, 57, 63, 64, 72, 73, 112, 113, 128, 130, 384),
                                          testing::Values(8, 4, 32)));

}  // namespace
}  // namespace vectis::graph
