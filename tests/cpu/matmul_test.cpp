// matmul by oneDNN and by register tiles, compared with sums in float64; int8 must be exact.
#include <limits>

#include "tests/cpu/fixture.hpp"

namespace vectis {
namespace {

using test::number;
using test::Sheet;

struct Case {
  std::uint64_t m;
  std::uint64_t n;
  std::uint64_t k;
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 0;
};

class CpuMatmul : public test::CpuTest {
 protected:
  explicit CpuMatmul(const char* onednn = "off") : CpuTest({{"backends.cpu.onednn", onednn}}) {}

  void check(DType type, const Case& shape, test::Layout layout) {
    const Sheet a =
        random_sheet(type, shape.transpose_a ? shape.k : shape.m, shape.transpose_a ? shape.m : shape.k, layout);
    const Sheet b = random_sheet(type, shape.transpose_b ? shape.n : shape.k, shape.transpose_b ? shape.k : shape.n,
                                 {layout.gap, layout.before});
    Sheet c = random_sheet(type == DType::int8 ? DType::int32 : DType::float32, shape.m, shape.n, layout);
    std::vector<double> before(shape.m * shape.n);
    for (std::uint64_t i = 0; i < before.size(); ++i) {
      if (shape.beta == 0 && type != DType::int8) c.set(i / shape.n, i % shape.n, std::nan(""));  // must not be read
      before[i] = c.get(i / shape.n, i % shape.n);
    }
    ASSERT_TRUE(run("matmul", {&a, &b, &c},
                    {number(shape.transpose_a ? 1 : 0), number(shape.transpose_b ? 1 : 0), number(shape.alpha),
                     number(shape.beta)}));
    for (std::uint64_t i = 0; i < shape.m; ++i) {
      for (std::uint64_t j = 0; j < shape.n; ++j) {
        double sum = 0;
        double magnitude = 0;
        for (std::uint64_t k = 0; k < shape.k; ++k) {
          const double term =
              (shape.transpose_a ? a.get(k, i) : a.get(i, k)) * (shape.transpose_b ? b.get(j, k) : b.get(k, j));
          sum += term;
          magnitude += std::abs(term);
        }
        const double old = shape.beta == 0 ? 0 : shape.beta * before[i * shape.n + j];
        const double wanted = shape.alpha * sum + old;
        const double limit = (std::abs(shape.alpha) * magnitude + std::abs(old)) * 0x1.0p-20;
        ASSERT_NEAR(c.get(i, j), wanted, type == DType::int8 ? 0 : limit)
            << name(type) << " " << shape.m << " x " << shape.n << " x " << shape.k << " at " << i << ", " << j;
      }
    }
  }

  void check_all() {
    for (const DType type : test::numbers) {
      for (const Case& shape :
           {Case{1, 1, 1}, {3, 5, 7}, {1, 40, 33}, {40, 1, 33}, {13, 34, 300}, {65, 129, 31}, {30, 70, 64}}) {
        for (const int transposed : {0, 1, 2, 3}) {
          Case tried = shape;
          tried.transpose_a = (transposed & 1) != 0;
          tried.transpose_b = (transposed & 2) != 0;
          check(type, tried, test::layouts[random.below(std::size(test::layouts))]);
          if (type == DType::int8) continue;
          tried.alpha = -0.75;
          tried.beta = transposed % 2 == 0 ? 1 : 2.5;
          check(type, tried, test::layouts[random.below(std::size(test::layouts))]);
        }
      }
    }
  }

  void check_extreme_int8() {
    Sheet a = sheet(DType::int8, 2, 100'000);
    Sheet b = sheet(DType::int8, 100'000, 2);
    for (std::uint64_t k = 0; k < 100'000; ++k) {
      for (const std::uint64_t i : {0UL, 1UL}) {
        a.set(i, k, i == 0 ? -128 : 127);
        b.set(k, i, -128);
      }
    }
    const Sheet c = sheet(DType::int32, 2, 2);
    ASSERT_TRUE(run("matmul", {&a, &b, &c}, {}));
    EXPECT_EQ(c.get(0, 0), 128.0 * 128 * 100'000);
    EXPECT_EQ(c.get(1, 1), 127.0 * -128 * 100'000);
  }
};

TEST_P(CpuMatmul, EveryTypeShapeAndLayout) { check_all(); }
TEST_P(CpuMatmul, ExtremeInt8IsExact) { check_extreme_int8(); }

TEST_P(CpuMatmul, Large) {
  check(DType::float32, {211, 203, 190}, {1, 3});
  check(DType::float32, {450, 64, 300, true, true}, {});
}

TEST_P(CpuMatmul, OtherTypesAreUnsupported) {
  const Sheet a = random_sheet(DType::float32, 2, 2);
  const Sheet b = random_sheet(DType::float16, 2, 2);
  const Sheet bytes = random_sheet(DType::int8, 2, 2);
  const Sheet c = sheet(DType::float32, 2, 2);
  const Sheet integers = sheet(DType::int32, 2, 2);
  EXPECT_FALSE(run("matmul", {&a, &b, &c}));
  EXPECT_FALSE(run("matmul", {&bytes, &bytes, &c}));
  EXPECT_FALSE(run("matmul", {&bytes, &bytes, &integers}, {number(0), number(0), number(2), number(0)}));
}

VECTIS_ON_EVERY_SET(CpuMatmul);

// oneDNN detects the CPU itself, whatever instruction set our code uses.
class CpuMatmulByOneDnn : public CpuMatmul {
 protected:
  CpuMatmulByOneDnn() : CpuMatmul("on") {}
};

TEST_P(CpuMatmulByOneDnn, EveryTypeShapeAndLayout) { check_all(); }
TEST_P(CpuMatmulByOneDnn, ExtremeInt8IsExact) { check_extreme_int8(); }
TEST_P(CpuMatmulByOneDnn, Large) {
  for (const DType type : test::numbers) check(type, {150, 131, 260, false, true}, {1, 3});
}

INSTANTIATE_TEST_SUITE_P(Sets, CpuMatmulByOneDnn, testing::Values(test::instruction_sets().back()), test::set_name);

}  // namespace
}  // namespace vectis
