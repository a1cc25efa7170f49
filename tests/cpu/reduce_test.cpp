// Reductions, compared with sums in float64 and linear searches.
#include <limits>

#include "tests/cpu/fixture.hpp"

namespace vectis {
namespace {

using test::infinity;
using test::Sheet;

struct Expected {
  double sum = 0;
  double magnitude = 0;  // sum of absolute values
  double squares = 0;
  double max = -infinity;
  double min = infinity;
  std::int64_t argmax = -1;
  std::int64_t count = 0;

  void take(double value) {
    sum += value;
    magnitude += std::abs(value);
    squares += value * value;
    const bool was_nan = std::isnan(max);
    if (argmax < 0 || (!was_nan && (std::isnan(value) || value > max))) argmax = count;
    max = was_nan || std::isnan(value) ? std::nan("") : std::max(max, value);
    min = std::isnan(min) || std::isnan(value) ? std::nan("") : std::min(min, value);
    ++count;
  }
};

void expect_same(double got, double wanted, double error) {
  if (std::isnan(wanted)) {
    ASSERT_TRUE(std::isnan(got)) << got;
  } else if (std::isinf(wanted)) {
    ASSERT_EQ(got, wanted);
  } else {
    ASSERT_LE(std::abs(got - wanted), error) << got << ", not " << wanted;
  }
}

class CpuReduce : public test::CpuTest {
 protected:
  // All operations on x: by row when `suffix` is "_rows". Sums may err by little more than their own rounding.
  void check(const Sheet& x, const std::string& suffix) {
    const std::uint64_t rows = suffix.empty() ? 1 : x.rows();
    std::vector<Expected> expected(rows);
    for (std::uint64_t row = 0; row < x.rows(); ++row) {
      for (std::uint64_t column = 0; column < x.columns(); ++column) {
        expected[suffix.empty() ? 0 : row].take(x.get(row, column));
      }
    }
    const auto output = [&](const char* operation, DType type) {
      Sheet out = sheet(type, rows, 1, {1, 2});
      EXPECT_TRUE(run((operation + suffix).c_str(), {&x, &out}));
      return out;
    };
    const Sheet sum = output("sum", DType::float32);
    const Sheet mean = output("mean", DType::float32);
    const Sheet norm = output("norm", DType::float32);
    const Sheet max = output("max", DType::float32);
    const Sheet min = output("min", DType::float32);
    const Sheet argmax = output("argmax", DType::int32);
    const double step = x.type() == DType::int8 ? 0x1.0p-24 : 0x1.0p-22;  // sums of int8 are rounded once
    for (std::uint64_t row = 0; row < rows; ++row) {
      const Expected& wanted = expected[row];
      const double error = x.type() == DType::int8 ? std::abs(wanted.sum) * step : wanted.magnitude * step;
      expect_same(sum.get(row, 0), wanted.sum, error);
      expect_same(mean.get(row, 0), wanted.sum / static_cast<double>(wanted.count),
                  error / static_cast<double>(wanted.count) + 1e-45);
      expect_same(norm.get(row, 0), std::sqrt(wanted.squares), std::sqrt(wanted.squares) * step);
      expect_same(max.get(row, 0), wanted.max, 0);
      expect_same(min.get(row, 0), wanted.min, 0);
      ASSERT_EQ(argmax.raw<std::int32_t>(row, 0), wanted.argmax) << x.rows() << " x " << x.columns();
    }
  }
};

TEST_P(CpuReduce, EveryTypeShapeAndLayout) {
  for (const DType type : test::numbers) {
    for (const test::Shape shape : {test::Shape{1, 1}, {3, 5}, {2, 64}, {7, 67}, {300, 3}, {3, 2100}, {1, 5000}}) {
      for (const test::Layout layout : test::layouts) {
        const Sheet x = random_sheet(type, shape.rows, shape.columns, layout);
        check(x, "_rows");
        check(x, "");
      }
    }
  }
}

// Several chunks, in parallel; a naive float32 sum would err by 1e-4 of it.
TEST_P(CpuReduce, LargeViews) {
  for (const DType type : {DType::float32, DType::int8}) {
    Sheet x = sheet(type, 3, 150'003, {1, 1});
    for (std::uint64_t row = 0; row < x.rows(); ++row) {
      for (std::uint64_t column = 0; column < x.columns(); ++column) x.set(row, column, 1 + random.unit() * 100);
    }
    x.set(1, 149'999, 127);
    x.set(2, 70'000, 127);
    x.set(2, 140'000, 127);
    check(x, "_rows");
    check(x, "");
  }
}

TEST_P(CpuReduce, NanAndInfinity) {
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::uint64_t columns : {1UL, 5UL, 16UL, 33UL, 2500UL, 70'000UL}) {
      for (const double special : {std::nan(""), infinity, -infinity}) {
        Sheet x = random_sheet(type, 2, columns);
        x.set(1, random.below(columns), special);
        x.set(1, random.below(columns), special);
        check(x, "_rows");
        check(x, "");
      }
      Sheet low = sheet(type, 2, columns);
      for (std::uint64_t i = 0; i < 2 * columns; ++i) low.set(i / columns, i % columns, -infinity);
      check(low, "_rows");
    }
  }
}

// Sums that exceed the range of float32 on the way to a result within it.
TEST_P(CpuReduce, ExtremeMagnitudes) {
  constexpr double close = 0x1.0p-16;  // equal elements round in the same direction
  for (const DType type : {DType::float32, DType::bfloat16}) {
    for (const std::uint64_t columns : {1UL, 16UL, 17UL, 100UL, 2500UL, 70'000UL}) {
      for (const double magnitude : {1e-45, 1e-40, 1e-25, 1e-12, 1e18, 1e25, 3e38}) {
        SCOPED_TRACE(std::to_string(columns) + " of " + std::to_string(std::log10(magnitude)));
        Sheet same = sheet(type, 1, columns);
        Sheet halves = sheet(type, 1, columns);
        for (std::uint64_t i = 0; i < columns; ++i) {
          same.set(0, i, magnitude);
          halves.set(0, i, i < columns / 2 ? magnitude : -magnitude);
        }
        const double element = same.get(0, 0);
        const auto count = static_cast<double>(columns);
        const Sheet out = sheet(DType::float32, 1, 1);
        ASSERT_TRUE(run("mean_rows", {&same, &out}));
        expect_same(out.get(0, 0), element, element * close);
        ASSERT_TRUE(run("sum_rows", {&halves, &out}));
        expect_same(out.get(0, 0), columns % 2 == 0 ? 0 : -element, element * count * close);
        const double norm = element * std::sqrt(count);
        if (norm > 3.4e38) continue;
        ASSERT_TRUE(run("norm_rows", {&same, &out}));
        expect_same(out.get(0, 0), norm, norm * close + 1e-45);
      }
    }
  }
}

TEST_P(CpuReduce, EmptyRowsSumToZero) {
  const Sheet x = sheet(DType::float32, 3, 0, {0, 4});
  Sheet out = sheet(DType::float32, 3, 1);
  for (const char* operation : {"sum_rows", "norm_rows"}) {
    out.set(2, 0, 5);
    ASSERT_TRUE(run(operation, {&x, &out}));
    EXPECT_EQ(out.get(2, 0), 0);
  }
}

TEST_P(CpuReduce, LayoutDoesNotChangeTheBits) {
  for (const DType type : test::numbers) {
    const Sheet tight = random_sheet(type, 37, 211);
    Sheet loose = sheet(type, 37, 211, {3, 9});
    for (std::uint64_t row = 0; row < 37; ++row) {
      std::memcpy(loose.at(row, 0), tight.at(row, 0), 211 * size_of(type));
    }
    const Sheet a = sheet(DType::float32, 1, 1);
    const Sheet b = sheet(DType::float32, 1, 1);
    ASSERT_TRUE(run("norm", {&tight, &a}));
    ASSERT_TRUE(run("norm", {&loose, &b}));
    EXPECT_EQ(a.raw<std::uint32_t>(0, 0), b.raw<std::uint32_t>(0, 0));
  }
}

VECTIS_ON_EVERY_SET(CpuReduce);

}  // namespace
}  // namespace vectis
