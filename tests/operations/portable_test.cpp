// The portable kernels on PoCL against loops on the host.
#if defined(VECTIS_HAS_OPENCL)

#include <limits>

#include "tests/operations/fixture.hpp"

namespace vectis::test {
namespace {

const std::vector<DType> numbers = {DType::float32, DType::float16, DType::bfloat16, DType::int8};
const std::vector<DType> all_types = {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int32};

// Tight, with gaps, in the middle of words, rows that share words, one element, long rows.
const std::vector<Layout> layouts = {{3, 8, 0, 0}, {4, 7, 0, 0}, {5, 9, 3, 4},    {7, 3, 1, 0},  {9, 1, 5, 2},
                                     {1, 1, 2, 0}, {6, 2, 1, 1}, {2, 1023, 7, 1}, {301, 5, 0, 3}};

std::string describe(DType type, const Layout& layout) {
  return std::string(name(type)) + " " + std::to_string(layout.rows) + "x" + std::to_string(layout.columns) + "+" +
         std::to_string(layout.offset) + " gap " + std::to_string(layout.gap);
}

class PortableTest : public OperationsTest {
 protected:
  // Every type and layout; `visit` gets a random matrix.
  void each(const std::vector<DType>& types, const std::function<void(HostMatrix x, const Layout& layout)>& visit) {
    for (const DType type : types) {
      for (const Layout& layout : layouts) {
        SCOPED_TRACE(describe(type, layout));
        HostMatrix x(type, layout);
        visit(x.randomize(random), layout);
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_F(PortableTest, FillWritesOnlyTheView) {
  each(all_types, [&](HostMatrix x, const Layout&) {
    HostMatrix expected = x;
    expected.fill([](auto, auto) { return -3; });
    run_on("fill", {&x}, {-3});
    expect_equal(x, expected);
  });
}

// Float would round the values to a tie, which then goes to even.
TEST_F(PortableTest, FillRoundsOnce) {
  const auto filled = [&](DType type, double value) {
    HostMatrix x(type, {1, 3, 1, 0});
    run_on("fill", {&x}, {value});
    return x.get(0, 2);
  };
  EXPECT_EQ(filled(DType::float16, 0x1.002p0 + 0x1p-40), 0x1.004p0);
  EXPECT_EQ(filled(DType::float16, 0x1.002p0), 1.0);
  EXPECT_EQ(filled(DType::float16, 0x1.8p-24 - 0x1p-60), 0x1p-24);
  EXPECT_EQ(filled(DType::bfloat16, 0x1.01p0 + 0x1p-40), 0x1.02p0);
  EXPECT_EQ(filled(DType::bfloat16, 0x1.01p0), 1.0);
}

TEST_F(PortableTest, CopyConvertsBetweenLayouts) {
  each(all_types, [&](HostMatrix x, const Layout& layout) {
    for (const Layout& other : {Layout{layout.rows, layout.columns, 1, 2}, Layout{layout.rows, layout.columns, 0, 0}}) {
      HostMatrix out(x.type(), other);
      HostMatrix expected = out;
      expected.fill([&](auto r, auto c) { return x.get(r, c); });
      run_on("copy", {&x, &out});
      expect_equal(out, expected);
    }
  });
}

TEST_F(PortableTest, CastRoundsSaturatesAndKeepsNan) {
  const float infinity = INFINITY;
  const std::vector<float> values = {
      0,        -0.0F,    0.5F,   1.5F,         2.5F,         -0.5F,         127.5F,      128,        -128.5F, -129,
      65504,    65519.9F, 65520,  1e30F,        -1e30F,       infinity,      -infinity,   NAN,        6.1e-5F, 5.96e-8F,
      2.98e-8F, 2.99e-8F, 1e-40F, 2147483520.F, 2147483648.F, -2147483648.F, 1.00390625F, 1.01171875F};
  HostMatrix x(DType::float32, {1, values.size(), 1, 0});
  x.fill([&](auto, auto c) { return values[c]; });
  for (const DType type : {DType::float16, DType::bfloat16, DType::int8, DType::int32}) {
    SCOPED_TRACE(name(type));
    const bool whole = type == DType::int8 || type == DType::int32;
    const double most = type == DType::int8 ? 127 : INT32_MAX;
    HostMatrix out(type, {1, values.size(), 3, 0});
    HostMatrix expected = out;
    expected.fill([&](auto, auto c) {
      if (!whole) return static_cast<double>(values[c]);
      return std::isnan(values[c]) ? 0.0 : std::clamp<double>(std::nearbyint(values[c]), -most - 1, most);
    });
    run_on("cast", {&x, &out});
    expect_equal(out, expected);
  }
}

TEST_F(PortableTest, CastOfIntegersRoundsOnce) {
  // Beside a tie of bfloat16 by less than float32 resolves.
  const std::vector<double> values = {0,        1,        -1,        127,        -128,         300,
                                      16842753, 16842752, -16842753, 2147483647, -2147483648.0};
  HostMatrix x(DType::int32, {1, values.size(), 0, 0});
  x.fill([&](auto, auto c) { return values[c]; });
  HostMatrix out(DType::bfloat16, {1, values.size(), 1, 0});
  run_on("cast", {&x, &out});
  EXPECT_EQ(out.get(0, 6), 16908288);  // 0x1010001 lies above the tie 0x1010000
  EXPECT_EQ(out.get(0, 7), 16777216);  // the tie goes to even
  EXPECT_EQ(out.get(0, 8), -16908288);
  EXPECT_EQ(out.get(0, 9), 2147483648.0);
  HostMatrix small(DType::int8, {1, values.size(), 1, 0});
  run_on("cast", {&x, &small});
  EXPECT_EQ(small.get(0, 5), 127);
  EXPECT_EQ(small.get(0, 10), -128);
}

TEST_F(PortableTest, CastConvertsBetweenEveryPairOfTypes) {
  each(all_types, [&](HostMatrix x, const Layout& layout) {
    for (const DType type : all_types) {
      HostMatrix out(type, {layout.rows, layout.columns, 2, 1});
      HostMatrix expected = out;
      expected.fill([&](auto r, auto c) {
        const bool whole = type == DType::int8 || type == DType::int32;
        return whole ? std::nearbyint(x.get(r, c)) : x.get(r, c);
      });
      run_on("cast", {&x, &out});
      expect_equal(out, expected);
    }
  });
}

double reduced(const std::string& name, const std::vector<double>& values) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double result = name == "max" ? -infinity : name == "min" ? infinity : 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    if (name == "sum" || name == "mean") result += v;
    if (name == "norm") result += v * v;
    if (name == "max") result = std::isnan(result) || std::isnan(v) ? NAN : std::max(result, v);
    if (name == "min") result = std::isnan(result) || std::isnan(v) ? NAN : std::min(result, v);
    if (!std::isnan(values[best]) && (std::isnan(v) || v > values[best])) best = i;
  }
  if (name == "mean") return result / static_cast<double>(values.size());
  if (name == "norm") return std::sqrt(result);
  return name == "argmax" ? static_cast<double>(best) : result;
}

void check_reduction(const std::string& name, const HostMatrix& x, const HostMatrix& rows, const HostMatrix& whole) {
  std::vector<double> all;
  for (std::uint64_t r = 0; r < x.rows(); ++r) {
    std::vector<double> row;
    row.reserve(x.columns());
    for (std::uint64_t c = 0; c < x.columns(); ++c) row.push_back(x.get(r, c));
    const double expected = reduced(name, row);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(rows.get(r, 0)));
    } else {
      ASSERT_NEAR(rows.get(r, 0), expected, 1e-5 * std::max(1.0, std::abs(expected))) << name << " row " << r;
    }
    all.insert(all.end(), row.begin(), row.end());
  }
  const double expected = reduced(name, all);
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(whole.get(0, 0)));
  } else {
    ASSERT_NEAR(whole.get(0, 0), expected, 1e-4 * std::max(1.0, std::abs(expected))) << name << " of everything";
  }
}

TEST_F(PortableTest, ReductionsOfRowsAndOfEverything) {
  each(numbers, [&](HostMatrix x, const Layout& layout) {
    if (layout.rows == 5 && x.type() != DType::int8) x.set(2, layout.columns / 2, NAN);
    for (const std::string name : {"sum", "mean", "max", "min", "norm", "argmax"}) {
      const DType type = name == "argmax" ? DType::int32 : DType::float32;
      HostMatrix rows(type, {layout.rows, 1, 1, 2});
      HostMatrix whole(type, {1, 1, 3, 0});
      if (layout.rows == 5 && (name == "sum" || name == "mean" || name == "norm")) continue;
      run_on(name + "_rows", {&x, &rows});
      run_on(name, {&x, &whole});
      check_reduction(name, x, rows, whole);
    }
  });
}

TEST_F(PortableTest, LongRowsAreReducedInSteps) {
  for (const Layout& layout : {Layout{1, 3000001, 0, 0}, Layout{3, 700001, 1, 5}}) {
    HostMatrix x(DType::float32, layout);
    x.randomize(random);
    x.set(layout.rows - 1, layout.columns - 3, 99);
    for (const std::string name : {"sum", "norm", "max", "argmax"}) {
      const DType type = name == "argmax" ? DType::int32 : DType::float32;
      HostMatrix rows(type, {layout.rows, 1, 0, 0});
      HostMatrix whole(type, {1, 1, 0, 0});
      run_on(name + "_rows", {&x, &rows});
      run_on(name, {&x, &whole});
      check_reduction(name, x, rows, whole);
    }
  }
}

TEST_F(PortableTest, TransposeExchangesRowsAndColumns) {
  each(all_types, [&](HostMatrix x, const Layout& layout) {
    HostMatrix out(x.type(), {layout.columns, layout.rows, 1, 3});
    HostMatrix expected = out;
    expected.fill([&](auto r, auto c) { return x.get(c, r); });
    run_on("transpose", {&x, &out});
    expect_equal(out, expected);
  });
}

TEST_F(PortableTest, GatherCopiesRowsAndZeroFillsMissingOnes) {
  each(all_types, [&](HostMatrix x, const Layout& layout) {
    HostMatrix index(DType::int32, {1, 13, 2, 0});
    index.fill([&](auto, auto) { return static_cast<double>(random.next() % (layout.rows + 4)) - 2; });
    HostMatrix out(x.type(), {13, layout.columns, 3, 1});
    HostMatrix expected = out;
    expected.fill([&](auto r, auto c) {
      const double from = index.get(0, r);
      return from < 0 || from >= static_cast<double>(layout.rows) ? 0 : x.get(static_cast<std::uint64_t>(from), c);
    });
    run_on("gather", {&x, &index, &out});
    expect_equal(out, expected);
  });
}

TEST_F(PortableTest, ScatterLetsTheHighestRowWin) {
  each(all_types, [&](HostMatrix x, const Layout& layout) {
    HostMatrix index(DType::int32, {1, layout.rows, 1, 0});
    index.fill([&](auto, auto) { return static_cast<double>(random.next() % 11) - 2; });
    HostMatrix out(x.type(), {7, layout.columns, 3, 1});
    HostMatrix expected = out;
    for (std::uint64_t m = 0; m < layout.rows; ++m) {
      const double to = index.get(0, m);
      if (to < 0 || to >= 7) continue;
      for (std::uint64_t c = 0; c < layout.columns; ++c) expected.set(static_cast<std::uint64_t>(to), c, x.get(m, c));
    }
    run_on("scatter", {&x, &index, &out});
    EXPECT_EQ(out.bytes(), expected.bytes());
  });
}

TEST_F(PortableTest, MatmulWithAllTranspositionsAndScales) {
  for (const DType type : numbers) {
    for (const auto& [m, n, k] :
         std::vector<std::array<std::uint64_t, 3>>{{1, 1, 1}, {7, 9, 5}, {65, 70, 33}, {130, 3, 64}}) {
      for (int turn = 0; turn < 4; ++turn) {
        SCOPED_TRACE(std::string(name(type)) + " " + std::to_string(m) + " " + std::to_string(turn));
        const bool turn_a = (turn & 1) != 0;
        const bool turn_b = (turn & 2) != 0;
        HostMatrix a(type, turn_a ? Layout{k, m, 3, 2} : Layout{m, k, 0, 0});
        HostMatrix b(type, turn_b ? Layout{n, k, 1, 1} : Layout{k, n, 0, 3});
        a.randomize(random);
        b.randomize(random);
        const bool whole = type == DType::int8;
        const double alpha = whole || turn == 0 ? 1 : 0.5;
        const double beta = whole || turn == 0 ? 0 : -2;
        HostMatrix c(whole ? DType::int32 : DType::float32, {m, n, 2, 1});
        if (beta != 0) c.randomize(random);
        HostMatrix expected = c;
        expected.fill([&](auto r, auto col) {
          double sum = 0;
          for (std::uint64_t i = 0; i < k; ++i)
            sum += (turn_a ? a.get(i, r) : a.get(r, i)) * (turn_b ? b.get(col, i) : b.get(i, col));
          return alpha * sum + (beta == 0 ? 0 : beta * c.get(r, col));
        });
        run_on("matmul", {&a, &b, &c}, {turn_a ? 1 : 0, turn_b ? 1 : 0, alpha, beta});
        expect_equal(c, expected, 1e-6);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Large enough for CLBlast's way through temporary matrices, and with c that must not be read.
TEST_F(PortableTest, MatmulIsTheSameWithAndWithoutClblast) {
  constexpr std::uint64_t side = 300;
  HostMatrix a(DType::float32, {side, side, 3, 2});
  HostMatrix b(DType::float32, {side, side, 1, 1});
  a.randomize(random);
  b.randomize(random);
  std::vector<std::vector<std::byte>> results;
  for (const std::string setting : {"on", "off"}) {
    RuntimeOptions options;
    options.settings["backends.opencl.clblast"] = setting;
    Runtime runtime(std::move(options));
    const DeviceContext context(runtime.service<DeviceRegistry>().find("opencl").value());
    Stream stream(context);
    HostMatrix c(DType::float32, {side, side, 5, 7});
    c.fill([](auto, auto) { return NAN; });
    std::vector<View> views;
    for (const HostMatrix* matrix : {&a, &b, &c}) {
      views.push_back(matrix->view(DeviceMemory(context, matrix->bytes().size())));
      stream.copy_to_device(views.back().memory, 0, matrix->bytes());
    }
    run(stream, "matmul", views, std::vector<ParameterValue>{1, 0, 0.5, 0.0});
    stream.copy_to_host(c.bytes(), views[2].memory, 0);
    stream.synchronize();
    results.push_back(c.bytes());
  }
  EXPECT_EQ(results[0], results[1]);  // sums of these numbers are exact in any order
}

TEST_F(PortableTest, DistancesOfEveryPair) {
  for (const DType type : numbers) {
    for (const auto& [q_rows, x_rows, depth] :
         std::vector<std::array<std::uint64_t, 3>>{{1, 1, 1}, {3, 70, 17}, {66, 5, 128}}) {
      HostMatrix q(type, {q_rows, depth, 1, 3});
      HostMatrix x(type, {x_rows, depth, 2, 0});
      q.randomize(random);
      x.randomize(random);
      if (x_rows > 2) x.fill([&](auto r, auto c) { return r == 2 ? 0 : x.get(r, c); });
      for (const std::string name : {"l2_squared", "dot_product", "cosine_distance"}) {
        SCOPED_TRACE(name + " " + std::string(vectis::name(type)) + " " + std::to_string(depth));
        HostMatrix out(DType::float32, {q_rows, x_rows, 1, 2});
        HostMatrix expected = out;
        expected.fill([&](auto r, auto c) {
          double dot = 0;
          double l2 = 0;
          double qq = 0;
          double xx = 0;
          for (std::uint64_t i = 0; i < depth; ++i) {
            const double u = q.get(r, i);
            const double v = x.get(c, i);
            dot += u * v;
            l2 += (u - v) * (u - v);
            qq += u * u;
            xx += v * v;
          }
          if (name == "l2_squared") return l2;
          if (name == "dot_product") return dot;
          return qq == 0 || xx == 0 ? 1 : 1 - dot / std::sqrt(qq * xx);
        });
        run_on(name, {&q, &x, &out});
        expect_equal(out, expected, 1e-6);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Squares and products of these rows overflow or underflow in float32, their cosines do not.
TEST_F(PortableTest, CosinesOfVeryLongAndVeryShortRows) {
  constexpr std::array<double, 6> scales = {1, 1e25, 1e-25, 1e37, 1e-36, 0};
  constexpr std::uint64_t depth = 37;
  for (const DType type : {DType::float32, DType::bfloat16}) {
    HostMatrix q(type, {scales.size(), depth, 1, 3});
    HostMatrix x(type, {scales.size(), depth, 2, 0});
    for (HostMatrix* const rows : {&q, &x}) {
      rows->randomize(random);
      rows->fill([&](auto r, auto c) { return c == 0 ? scales[r] : rows->get(r, c) * scales[r]; });
    }
    HostMatrix out(DType::float32, {scales.size(), scales.size(), 1, 2});
    HostMatrix expected = out;
    expected.fill([&](auto r, auto c) {
      double dot = 0;
      double qq = 0;
      double xx = 0;
      for (std::uint64_t i = 0; i < depth; ++i) {
        dot += q.get(r, i) * x.get(c, i);
        qq += q.get(r, i) * q.get(r, i);
        xx += x.get(c, i) * x.get(c, i);
      }
      return qq == 0 || xx == 0 ? 1 : 1 - dot / (std::sqrt(qq) * std::sqrt(xx));
    });
    run_on("cosine_distance", {&q, &x, &out});
    expect_equal(out, expected, 2e-6);
  }
}

void check_top_k(const HostMatrix& x, const HostMatrix& values, const HostMatrix& index, bool largest) {
  for (std::uint64_t r = 0; r < x.rows(); ++r) {
    std::vector<std::uint64_t> order(x.columns());
    for (std::uint64_t c = 0; c < x.columns(); ++c) order[c] = c;
    std::ranges::sort(order, [&](std::uint64_t left, std::uint64_t right) {
      const double a = x.get(r, left);
      const double b = x.get(r, right);
      if (std::isnan(a) != std::isnan(b)) return std::isnan(b);
      if (std::isnan(a) || a == b) return left < right;
      return largest ? a > b : a < b;
    });
    for (std::uint64_t i = 0; i < values.columns(); ++i) {
      ASSERT_EQ(index.get(r, i), static_cast<double>(order[i])) << "row " << r << " place " << i;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(values.get(r, i))),
                std::bit_cast<std::uint32_t>(static_cast<float>(x.get(r, order[i]))));
    }
  }
}

TEST_F(PortableTest, TopKSortsBestFirst) {
  for (const auto& [rows, columns, k] : std::vector<std::array<std::uint64_t, 3>>{
           {1, 1, 1}, {3, 9, 9}, {5, 1000, 10}, {2, 3000, 1024}, {2, 20000, 100}, {70, 300, 256}}) {
    for (const bool largest : {true, false}) {
      SCOPED_TRACE(std::to_string(columns) + " " + std::to_string(k));
      HostMatrix x(DType::float32, {rows, columns, 3, 2});
      x.randomize(random);  // with many equals
      if (columns > 8) {
        x.set(0, 1, NAN);
        x.set(0, 2, -0.0);
        x.set(0, 3, std::numeric_limits<double>::infinity());
        x.set(rows - 1, 4, -std::numeric_limits<double>::infinity());
      }
      HostMatrix values(DType::float32, {rows, k, 1, 1});
      HostMatrix index(DType::int32, {rows, k, 2, 0});
      run_on("top_k", {&x, &values, &index}, {largest ? 1 : 0});
      check_top_k(x, values, index, largest);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(PortableTest, PrefixSumsRunAlongRows) {
  for (const DType type : {DType::float32, DType::int32}) {
    for (const Layout& layout : {Layout{1, 1, 0, 0}, Layout{5, 9, 3, 4}, Layout{2, 1023, 7, 1}, Layout{3, 5000, 0, 0},
                                 Layout{2, 100003, 1, 1}}) {
      for (const bool exclusive : {false, true}) {
        SCOPED_TRACE(describe(type, layout));
        HostMatrix x(type, layout);
        x.randomize(random);
        HostMatrix out(type, {layout.rows, layout.columns, 2, 3});
        HostMatrix expected = out;
        for (std::uint64_t r = 0; r < layout.rows; ++r) {
          double sum = 0;
          for (std::uint64_t c = 0; c < layout.columns; ++c) {
            const double after = sum + x.get(r, c);
            expected.set(r, c, exclusive ? sum : after);
            sum = after;
          }
        }
        run_on("prefix_sum", {&x, &out}, {exclusive ? 1 : 0});
        expect_equal(out, expected, 1e-6);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(PortableTest, SumsOfIntegersWrap) {
  HostMatrix x(DType::int32, {1, 3, 0, 0});
  x.fill([](auto, auto c) { return c == 0 ? INT32_MAX : 1; });
  HostMatrix out(DType::int32, {1, 3, 0, 0});
  run_on("prefix_sum", {&x, &out});
  EXPECT_EQ(out.get(0, 1), INT32_MIN);
  EXPECT_EQ(out.get(0, 2), INT32_MIN + 1);
}

}  // namespace
}  // namespace vectis::test

#endif
