// The kernels that filter rows of a scan against lower bounds in double precision.
#include "search/graph/scan_filter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "search/graph/row_blocks.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/seed.hpp"

namespace vectis::graph {
namespace {

struct Scan {
  Encoding encoding;
  RowBlocks codes;
  ScannedRows rows;
  ScannedQueries queries;

  Scan(Metric metric, std::size_t dim, std::size_t bits, std::size_t row_count, std::size_t query_count, Random& random)
      : encoding(make_encoding(metric, dim)),
        codes((encoding.set_code_size(encoding.projection.augmented_dim, bits), encoding.quantizer.row_bytes)),
        queries(encoding.quantizer, query_count) {
    codes.reserve(2 * scanned_batch);
    const test::Floats vectors = test::random_rows(random, row_count, dim);
    const test::Floats asked = test::random_rows(random, query_count, dim);
    rows.count = row_count;
    // In the order of memory, but for some in the middle.
    for (std::size_t i = 0; i < row_count; ++i) {
      const auto slot = static_cast<Slot>(i >= 40 && i < 60 ? 500 - 2 * i : i);
      encode_row(encoding, vectors.data() + i * dim, codes[slot]);
      rows.codes[i] = codes[slot];
    }
    rows.read_headers(encoding.quantizer);
    for (std::size_t i = 0; i < query_count; ++i) {
      queries.set_vector(i, encoding, asked.data() + i * dim);
      queries.limit[i] = lower_bound(random.below(row_count), i, 0);  // so that some rows pass
    }
    queries.pack_tiles(encoding.quantizer);
  }

  // In double precision, for rows whose norm is at most `norm`.
  [[nodiscard]] float lower_bound(std::size_t row, std::size_t query, float norm) const {
    float score = 0;
    score_rows_scalar(encoding.quantizer, queries.codes(query), &rows.codes[row], 1, &score);
    return static_cast<float>(double{score} - double{queries.step_factor[query]} * double{rows.step[row]} -
                              double{queries.norm_factor[query]} * double{norm} + double{rows.square_rounding[row]});
  }

  void expect_filtered(FilterRows filter) {
    std::vector<std::uint64_t> passing(rows.count, ~std::uint64_t{0});
    filter(encoding.quantizer, queries, rows, best_score_rows(encoding.quantizer), passing.data());
    for (std::size_t row = 0; row < rows.count; ++row) {
      for (std::size_t query = 0; query < exact_scan_queries; ++query) {
        const bool passes = ((passing[row] >> query) & 1U) != 0;
        if (query >= queries.size()) {
          ASSERT_FALSE(passes) << "there is no query " << query;
          continue;
        }
        const float limit = queries.limit[query];
        const float rounding = 4 * score_rounding * (rows.square[row] + std::abs(limit) + 1);
        const float half_diagonal = 0.5F * std::sqrt(static_cast<float>(encoding.quantizer.dim)) * rows.scale[row];
        const float tightest = lower_bound(row, query, std::sqrt(rows.square[row]) + half_diagonal);
        const float loosest = lower_bound(row, query, rows.norm[row / scanned_group]);
        if (tightest < limit - rounding) {
          ASSERT_TRUE(passes) << "row " << row << ", query " << query << ": " << tightest << " below " << limit;
        } else if (loosest > limit + rounding) {
          ASSERT_FALSE(passes) << "row " << row << ", query " << query << ": " << loosest << " above " << limit;
        }
      }
    }
  }
};

TEST(ScanFilter, PassesRowsWithinTheLimit) {
  Random random(test::seed());
  for (const FilterRows filter : supported_filters()) {
    for (const Metric metric : {Metric::l2, Metric::inner_product}) {
      for (const std::size_t bits : {8U, 4U}) {
        for (const std::size_t dim : {1U, 20U, 56U, 57U, 128U, 200U}) {
          for (const std::size_t rows : {1U, 16U, 47U, 256U}) {
            for (const std::size_t queries : {1U, 5U, 16U, 33U, 64U}) {
              Scan scan(metric, dim, bits, rows, queries, random);
              ASSERT_NO_FATAL_FAILURE(scan.expect_filtered(filter))
                  << name(metric) << ' ' << bits << " bits, " << dim << " x " << rows << ", " << queries << " queries";
            }
          }
        }
      }
    }
  }
}

// Rows that were shortened are left to the exact comparison.
TEST(ScanFilter, PassesRowsWithoutABound) {
  Random random(test::seed());
  for (const FilterRows filter : supported_filters()) {
    Scan scan(Metric::l2, 20, 8, 100, 20, random);
    scan.queries.limit.fill(-std::numeric_limits<float>::infinity());
    const float square = shortened_square_min;
    std::memcpy(scan.codes[33] + 4, &square, sizeof square);
    std::vector<std::uint64_t> passing(scan.rows.count);
    filter(scan.encoding.quantizer, scan.queries, scan.rows, best_score_rows(scan.encoding.quantizer), passing.data());
    constexpr std::uint64_t all = (std::uint64_t{1} << 20U) - 1;
    for (std::size_t row = 0; row < scan.rows.count; ++row) EXPECT_EQ(passing[row], row == 33 ? all : 0) << row;
  }
}

}  // namespace
}  // namespace vectis::graph
