// top_k, compared with a full sort of the indices.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/cpu/fixture.hpp"

namespace vectis {
namespace {

using test::infinity;
using test::number;
using test::Sheet;

class CpuTopK : public test::CpuTest {
 protected:
  void check(const Sheet& x, std::uint64_t k, bool largest) {
    const Sheet values = sheet(DType::float32, x.rows(), k, {1, 3});
    const Sheet index = sheet(DType::int32, x.rows(), k, {2, 1});
    ASSERT_TRUE(run("top_k", {&x, &values, &index}, {number(largest ? 1 : 0)}));
    std::vector<std::uint32_t> order(x.columns());
    for (std::uint64_t row = 0; row < x.rows(); ++row) {
      std::iota(order.begin(), order.end(), 0U);
      std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const double first = x.get(row, a);
        const double second = x.get(row, b);
        if (std::isnan(first) != std::isnan(second)) return std::isnan(second);
        if (std::isnan(first) || first == second) return a < b;
        return largest ? first > second : first < second;
      });
      for (std::uint64_t i = 0; i < k; ++i) {
        ASSERT_EQ(index.raw<std::uint32_t>(row, i), order[i]) << "place " << i << " of " << k << " in " << x.columns();
        ASSERT_EQ(values.raw<std::uint32_t>(row, i), x.raw<std::uint32_t>(row, order[i]));
      }
    }
  }

  // kind 0: all different; 1: many ties; 2: with NaN, infinities and both zeros; 3: rising; 4: falling.
  Sheet values(std::uint64_t rows, std::uint64_t columns, int kind) {
    Sheet x = random_sheet(DType::float32, rows, columns, {1, 2});
    static const double specials[] = {std::nan(""), infinity, -infinity, 0.0, -0.0, 1.0};
    for (std::uint64_t i = 0; i < rows * columns && kind > 0; ++i) {
      double value = static_cast<double>(i) * (kind == 3 ? 1 : -1);
      if (kind == 1) value = static_cast<double>(random.below(5));
      if (kind == 2) value = specials[random.below(std::size(specials))];
      x.set(i / columns, i % columns, value);
    }
    return x;
  }
};

TEST_P(CpuTopK, AgreesWithASort) {
  for (const int kind : {0, 1, 2, 3, 4}) {
    for (const test::Shape shape : {test::Shape{1, 1}, {3, 17}, {2, 100}, {40, 333}, {2, 5000}}) {
      for (const std::uint64_t k : {1UL, 2UL, 10UL, 64UL, 100UL, 1024UL}) {
        if (k > shape.columns) continue;
        const Sheet x = values(shape.rows, shape.columns, kind);
        check(x, k, true);
        check(x, k, false);
      }
    }
  }
}

TEST_P(CpuTopK, KeepsAllElements) {
  for (const std::uint64_t columns : {1UL, 16UL, 33UL, 1024UL}) check(values(2, columns, 2), columns, true);
}

TEST_P(CpuTopK, LongRowsInChunks) {
  for (const int kind : {0, 2, 3}) {
    check(values(1, 70'003, kind), 1000, true);
    check(values(2, 66'000, kind), 7, false);
  }
}

TEST_P(CpuTopK, OnlyNan) {
  Sheet x = sheet(DType::float32, 1, 300);
  for (std::uint64_t i = 0; i < 300; ++i) x.set(0, i, std::nan(""));
  check(x, 100, true);
  x.set(0, 299, -infinity);
  x.set(0, 250, -infinity);
  check(x, 2, true);
  check(x, 100, true);
}

VECTIS_ON_EVERY_SET(CpuTopK);

}  // namespace
}  // namespace vectis
