// transpose, gather, scatter and prefix_sum, compared with plain loops.
#include "tests/cpu/fixture.hpp"

namespace vectis {
namespace {

using test::number;
using test::Sheet;

class CpuMove : public test::CpuTest {
 protected:
  static bool equal(const Sheet& a, std::uint64_t a_row, std::uint64_t a_column, const Sheet& b, std::uint64_t b_row,
                    std::uint64_t b_column) {
    return std::memcmp(a.at(a_row, a_column), b.at(b_row, b_column), size_of(a.type())) == 0;
  }
  // Indices of which some are equal and some lie outside [0, rows).
  Sheet indices(std::uint64_t count, std::uint64_t rows) {
    Sheet made = sheet(DType::int32, 1, count, {2, 0});
    for (std::uint64_t m = 0; m < count; ++m) {
      made.set(0, m, static_cast<double>(random.below(rows + 4)) - 2);
      if (random.below(50) == 0) made.set(0, m, random.below(2) == 0 ? INT32_MIN : INT32_MAX);
    }
    return made;
  }
};

class CpuTranspose : public CpuMove {};

TEST_P(CpuTranspose, EveryTypeShapeAndLayout) {
  for (const DType type : test::all_types) {
    for (const test::Shape shape : {test::Shape{1, 1}, {1, 100}, {33, 31}, {64, 64}, {200, 133}}) {
      for (const test::Layout layout : test::layouts) {
        const Sheet x = random_sheet(type, shape.rows, shape.columns, layout);
        const Sheet out = sheet(type, shape.columns, shape.rows, {layout.gap, layout.before});
        ASSERT_TRUE(run("transpose", {&x, &out}));
        for (std::uint64_t row = 0; row < shape.rows; ++row) {
          for (std::uint64_t column = 0; column < shape.columns; ++column) {
            ASSERT_TRUE(equal(x, row, column, out, column, row)) << row << ", " << column;
          }
        }
      }
    }
  }
}

TEST_P(CpuMove, Gather) {
  for (const DType type : test::all_types) {
    for (const test::Shape shape : {test::Shape{1, 1}, {7, 3}, {100, 65}}) {
      for (const std::uint64_t count : {1UL, 9UL, 5000UL}) {
        const Sheet x = random_sheet(type, shape.rows, shape.columns, {1, 2});
        const Sheet index = indices(count, shape.rows);
        const Sheet out = sheet(type, count, shape.columns, {3, 1});
        ASSERT_TRUE(run("gather", {&x, &index, &out}));
        for (std::uint64_t m = 0; m < count; ++m) {
          const auto row = index.raw<std::int32_t>(0, m);
          const bool is_inside = row >= 0 && static_cast<std::uint64_t>(row) < shape.rows;
          for (std::uint64_t column = 0; column < shape.columns; ++column) {
            ASSERT_TRUE(is_inside ? equal(out, m, column, x, static_cast<std::uint64_t>(row), column)
                                  : out.get(m, column) == 0);
          }
        }
      }
    }
  }
}

TEST_P(CpuMove, ScatterKeepsTheLastOfEqualIndices) {
  for (const DType type : test::all_types) {
    for (const test::Shape shape : {test::Shape{1, 1}, {7, 3}, {100, 65}, {1000, 130}}) {
      for (const std::uint64_t count : {1UL, 9UL, 3000UL}) {
        const Sheet x = random_sheet(type, count, shape.columns, {1, 2});
        const Sheet index = indices(count, shape.rows);
        const Sheet out = random_sheet(type, shape.rows, shape.columns, {3, 1});
        Sheet before = sheet(type, shape.rows, shape.columns);
        for (std::uint64_t row = 0; row < shape.rows; ++row) {
          std::memcpy(before.at(row, 0), out.at(row, 0), shape.columns * size_of(type));
        }
        ASSERT_TRUE(run("scatter", {&x, &index, &out}));
        for (std::uint64_t m = 0; m < count; ++m) {
          const auto row = index.raw<std::int32_t>(0, m);
          if (row < 0 || static_cast<std::uint64_t>(row) >= shape.rows) continue;
          std::memcpy(before.at(static_cast<std::uint64_t>(row), 0), x.at(m, 0), shape.columns * size_of(type));
        }
        for (std::uint64_t row = 0; row < shape.rows; ++row) {
          ASSERT_EQ(std::memcmp(before.at(row, 0), out.at(row, 0), shape.columns * size_of(type)), 0) << row;
        }
      }
    }
  }
}

TEST_P(CpuMove, PrefixSum) {
  for (const DType type : {DType::float32, DType::int32}) {
    for (const test::Shape shape : {test::Shape{1, 1}, {3, 2}, {5, 1001}, {2, 100'003}, {300, 37}}) {
      for (const int exclusive : {0, 1}) {
        Sheet x = random_sheet(type, shape.rows, shape.columns, {1, 3});
        if (type == DType::int32) x.set(0, shape.columns / 2, INT32_MAX);  // what comes after wraps
        const Sheet out = sheet(type, shape.rows, shape.columns, {2, 1});
        ASSERT_TRUE(run("prefix_sum", {&x, &out}, {number(exclusive)}));
        for (std::uint64_t row = 0; row < shape.rows; ++row) {
          double sum = 0;
          double magnitude = 0;
          std::uint32_t wrapped = 0;
          for (std::uint64_t column = 0; column < shape.columns; ++column) {
            const double value = x.get(row, column);
            const double inclusive = sum + value;
            const auto inclusive_wrapped = wrapped + x.raw<std::uint32_t>(row, column);
            magnitude += std::abs(value);
            if (type == DType::int32) {
              ASSERT_EQ(out.raw<std::uint32_t>(row, column), exclusive == 1 ? wrapped : inclusive_wrapped) << column;
            } else {
              ASSERT_NEAR(out.get(row, column), exclusive == 1 ? sum : inclusive, magnitude * 0x1.0p-24) << column;
            }
            sum = inclusive;
            wrapped = inclusive_wrapped;
          }
        }
      }
    }
  }
}

VECTIS_ON_EVERY_SET(CpuTranspose);

// The other operations here are compiled for one instruction set.
INSTANTIATE_TEST_SUITE_P(Sets, CpuMove, testing::Values(HWY_STATIC_TARGET), test::set_name);

}  // namespace
}  // namespace vectis
