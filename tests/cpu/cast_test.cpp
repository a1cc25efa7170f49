// fill, copy and cast, compared with arithmetic on doubles.
#include <bit>
#include <limits>

#include "tests/cpu/fixture.hpp"

namespace vectis {
namespace {

using test::infinity;
using test::number;
using test::Sheet;

// The nearest value with `bits` bits of mantissa, exponents from `least`, and a largest value; ties to even.
double rounded(double value, int bits, int least, double largest) {
  if (value == 0 || std::isnan(value) || std::isinf(value)) return value;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), least) - bits);
  const double result = std::nearbyint(value / step) * step;
  return std::abs(result) > largest ? std::copysign(infinity, value) : result;
}

double expected(DType to, double value) {
  switch (to) {
    case DType::float32:
      return rounded(value, 23, -126, std::numeric_limits<float>::max());
    case DType::float16:
      return rounded(value, 10, -14, 65504);
    case DType::bfloat16:
      return rounded(value, 7, -126, 0x1.fep127);
    case DType::int8:
      return std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), -128.0, 127.0);
    default:
      return std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), -2147483648.0, 2147483647.0);
  }
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

class CpuCast : public test::CpuTest {
 protected:
  // Fills with random bits, and with what lies around the places where rounding turns.
  void fill_bits(Sheet& x) {
    for (std::uint64_t row = 0; row < x.rows(); ++row) {
      for (std::uint64_t column = 0; column < x.columns(); ++column) {
        const std::uint64_t bits = random.next();
        for (std::size_t byte = 0; byte < size_of(x.type()); ++byte) {
          x.at(row, column)[byte] = static_cast<std::byte>(bits >> (8 * byte));
        }
        if (x.type() == DType::float32 && bits % 3 != 0) x.set_raw(row, column, near_a_turn());
        if (x.type() == DType::int32 && bits % 3 != 0) x.set_raw(row, column, integer_near_a_turn());
      }
    }
  }
  float near_a_turn() {
    static constexpr float turns[] = {
        0.0F,      0x1.0p-25F, 0x1.8p-25F, 0x1.0p-24F,  0x1.8p-24F,  0x1.ffcp-15F, 65504.0F,    65520.0F,   0.5F,
        1.5F,      2.5F,       126.5F,     127.5F,      -128.5F,     0x1.0p31F,    -0x1.0p31F,  0x1.0p24F,  0x1.01p0F,
        0x1.03p0F, 0x1.002p0F, 0x1.006p0F, 0x1.0p-126F, 0x1.0p-133F, 0x1.8p-134F,  0x1.fep127F, 0x1.ffp127F};
    float value = turns[random.below(std::size(turns))];
    const auto steps = static_cast<std::int64_t>(random.below(5)) - 2;
    for (std::int64_t i = 0; i < std::abs(steps); ++i)
      value = std::nextafter(value, steps > 0 ? HUGE_VALF : -HUGE_VALF);
    return random.below(2) == 0 ? value : -value;
  }
  // A power of two, half a step of bfloat16 or float32 above it, and one more or less.
  std::int32_t integer_near_a_turn() {
    const int power = static_cast<int>(random.below(31));
    std::int64_t value = std::int64_t{1} << power;
    const int half_step = power - (random.below(2) == 0 ? 8 : 24);
    if (half_step >= 0) value += static_cast<std::int64_t>(1 + 2 * random.below(2)) << half_step;
    value += static_cast<std::int64_t>(random.below(3)) - 1;
    if (random.below(2) == 0) value = -value;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
  }
};

TEST_P(CpuCast, EveryPairOfTypesAndLayouts) {
  for (const DType from : test::all_types) {
    for (const DType to : test::all_types) {
      for (const test::Shape shape : {test::Shape{1, 1}, {3, 7}, {5, 1031}, {70, 33}}) {
        for (const test::Layout layout : test::layouts) {
          Sheet x = sheet(from, shape.rows, shape.columns, layout);
          const Sheet out = sheet(to, x.rows(), x.columns(), {layout.gap, layout.before});
          fill_bits(x);
          ASSERT_TRUE(run("cast", {&x, &out}));
          for (std::uint64_t row = 0; row < x.rows(); ++row) {
            for (std::uint64_t column = 0; column < x.columns(); ++column) {
              const double value = x.get(row, column);
              const double wanted = from == to ? value : expected(to, value);
              const bool is_integer = to == DType::int8 || to == DType::int32;
              ASSERT_TRUE(is_integer ? out.get(row, column) == wanted : same(out.get(row, column), wanted))
                  << name(from) << " " << value << " to " << name(to) << ": " << out.get(row, column) << ", not "
                  << wanted << " at " << row << ", " << column;
            }
          }
        }
      }
    }
  }
}

// All 65,536 bit patterns of both types.
TEST_P(CpuCast, EveryFloat16AndBfloat16) {
  for (const DType type : {DType::float16, DType::bfloat16}) {
    Sheet x = sheet(type, 256, 256);
    const Sheet wide = sheet(DType::float32, 256, 256);
    const Sheet back = sheet(type, 256, 256);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      x.set_raw(bits / 256, bits % 256, static_cast<std::uint16_t>(bits));
    }
    ASSERT_TRUE(run("cast", {&x, &wide}));
    ASSERT_TRUE(run("cast", {&wide, &back}));
    const int mantissa = type == DType::float16 ? 10 : 7;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const int exponent = static_cast<int>((bits & 0x7fffU) >> mantissa);
      const int top = (1 << (15 - mantissa)) - 1;
      const int fraction = static_cast<int>(bits & ((1U << mantissa) - 1));
      const int bias = top / 2;
      double value = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                                   : std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
      if (exponent == top) value = fraction == 0 ? infinity : std::numeric_limits<double>::quiet_NaN();
      if (bits >> 15 != 0) value = -value;
      const double got = wide.get(bits / 256, bits % 256);
      ASSERT_TRUE(same(got, value)) << bits << ": " << got << ", not " << value;
      if (!std::isnan(value)) {
        ASSERT_EQ(back.raw<std::uint16_t>(bits / 256, bits % 256), bits);
      } else {
        ASSERT_TRUE(std::isnan(back.get(bits / 256, bits % 256)));
      }
    }
  }
}

TEST_P(CpuCast, FillAndCopyWriteOnlyTheirView) {
  for (const DType type : test::all_types) {
    for (const test::Layout layout : test::layouts) {
      Sheet x = sheet(type, 13, 1057, layout);
      const Sheet out = sheet(type, 13, 1057, {layout.gap, layout.before});
      fill_bits(x);
      ASSERT_TRUE(run("copy", {&x, &out}));
      for (std::uint64_t row = 0; row < 13; ++row) {
        ASSERT_EQ(std::memcmp(out.at(row, 0), x.at(row, 0), 1057 * size_of(type)), 0);
      }
      // Four lie beside a tie of float16 or bfloat16, which float would round them to.
      for (const double value : {0.0, -2.5, 2.5 + 0x1.0p-40, 100.0, 1e9 + 1, -infinity, std::nan(""),
                                 0x1.002p0 + 0x1p-40, -0x1.002p0 - 0x1p-40, 0x1.01p0 + 0x1p-40, 0x1.8p-24 - 0x1p-60}) {
        ASSERT_TRUE(run("fill", {&x}, {number(value)}));
        for (const std::uint64_t column : {0UL, 1UL, 600UL, 1056UL}) {
          const double wanted = expected(type, value);
          ASSERT_TRUE(same(x.get(12, column), wanted)) << x.get(12, column) << ", not " << wanted;
        }
      }
    }
  }
}

// Large enough to run in parallel.
TEST_P(CpuCast, LargeViews) {
  Sheet x = random_sheet(DType::float32, 1, 1'500'007);
  const Sheet out = sheet(DType::bfloat16, 1, x.columns());
  const Sheet copy = sheet(DType::float32, 1, x.columns());
  ASSERT_TRUE(run("cast", {&x, &out}));
  ASSERT_TRUE(run("copy", {&x, &copy}));
  EXPECT_EQ(std::memcmp(copy.at(0, 0), x.at(0, 0), x.columns() * 4), 0);
  for (std::uint64_t column = 0; column < x.columns(); ++column) {
    ASSERT_EQ(out.get(0, column), expected(DType::bfloat16, x.get(0, column))) << column;
  }
  ASSERT_TRUE(run("fill", {&x}, {number(7)}));
  for (std::uint64_t column = 0; column < x.columns(); ++column) ASSERT_EQ(x.get(0, column), 7) << column;
}

TEST_P(CpuCast, UnknownOperationsAndTypesAreUnsupported) {
  const Sheet x = random_sheet(DType::float32, 2, 2);
  const Sheet out = sheet(DType::float64, 2, 2);
  EXPECT_FALSE(run("no_such_operation", {&x, &out}));
  EXPECT_FALSE(run("cast", {&x, &out}));
  EXPECT_FALSE(run("fill", {&out}, {number(1)}));
}

VECTIS_ON_EVERY_SET(CpuCast);

}  // namespace
}  // namespace vectis
