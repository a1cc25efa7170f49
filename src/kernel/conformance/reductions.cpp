#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/conformance/suite/operand.hpp"
#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// The elements of rows [begin, end), one after another.
struct Rows {
  const Operand& operand;
  std::uint64_t begin;
  std::uint64_t end;

  [[nodiscard]] double count() const { return static_cast<double>((end - begin) * operand.columns()); }
  template <class Take>
  void each(const Take& take) const {
    for (std::uint64_t row = begin; row < end; ++row) {
      for (std::uint64_t column = 0; column < operand.columns(); ++column) take(operand.value(row, column));
    }
  }
};

using Reduce = Expectation (*)(const Rows&);

// The sum of the elements, or their mean.
template <bool divided>
Expectation sum(const Rows& rows) {
  double value = 0;
  double magnitude = 0;
  rows.each([&](double x) {
    value += x;
    magnitude += std::fabs(x);
  });
  const double divisor = divided ? rows.count() : 1;
  return Expectation::near(value / divisor, magnitude / divisor, rows.count() * flushed);
}

Expectation norm(const Rows& rows) {
  double squares = 0;
  rows.each([&](double x) { squares += x * x; });
  const double value = std::sqrt(squares);
  return Expectation::near(value, value, std::sqrt(rows.count() * flushed));
}

template <bool largest>
Expectation extreme(const Rows& rows) {
  double best = largest ? -INFINITY : INFINITY;
  bool nan = false;
  rows.each([&](double x) {
    nan = nan || std::isnan(x);
    if (largest ? x > best : x < best) best = x;
  });
  // Which of two zeros of different sign is open, so no bits are demanded.
  return Expectation::near(nan ? NAN : best, 0);
}

Expectation argmax(const Rows& rows) {
  std::uint32_t best = 0;
  std::uint32_t place = 0;
  double largest = 0;
  bool begun = false;
  bool nan = false;
  rows.each([&](double x) {
    if (!nan && (!begun || std::isnan(x) || x > largest)) {
      best = place;
      largest = x;
      nan = std::isnan(x);
    }
    begun = true;
    ++place;
  });
  return Expectation::exactly(best);
}

struct Kind {
  const char* name;
  Reduce reduce;
  const char* error_of;
  bool of_nothing;  // has a value for no elements
  bool compares;    // and so is exact
  DType output;
  double limits[2][4];  // of rows and of all, for float32, float16, bfloat16, int8
};

constexpr Kind kinds[] = {
    {"sum",
     sum<false>,
     "the sum of magnitudes",
     true,
     false,
     DType::float32,
     {{3e-7, 2.6e-7, 3e-7, 1.2e-7}, {1.8e-7, 1.8e-7, 1.5e-7, 1.3e-7}}},
    {"mean",
     sum<true>,
     "the mean of magnitudes",
     false,
     false,
     DType::float32,
     {{3e-7, 2.6e-7, 3e-7, 1.2e-7}, {2e-7, 2.2e-7, 2e-7, 1.8e-7}}},
    {"norm",
     norm,
     "the norm",
     true,
     false,
     DType::float32,
     {{2.5e-7, 3e-7, 2.3e-7, 1.4e-7}, {2e-7, 2.8e-7, 1.6e-7, 1.4e-7}}},
    {"max", extreme<true>, "", false, true, DType::float32, {}},
    {"min", extreme<false>, "", false, true, DType::float32, {}},
    {"argmax", argmax, "", false, true, DType::int32, {}},
};

Subject reduction(const Kind& kind, bool by_row) {
  Subject made;
  made.operation = std::string(kind.name) + (by_row ? "_rows" : "");
  made.error_of = kind.error_of;
  const auto& limits = kind.limits[by_row ? 0 : 1];
  made.type_sets = reducing_types(1, kind.output,
                                  {{DType::float32, limits[0]},
                                   {DType::float16, limits[1]},
                                   {DType::bfloat16, limits[2]},
                                   {DType::int8, limits[3]}});
  made.shapes = [by_row](const Dimensions& d, auto) {
    return std::vector<Shape>{{d[0], d[1]}, {by_row ? d[0] : 1, 1}};
  };
  made.small = {{1, 1},   {3, 1},   {1, 2},   {1, 7},   {5, 3},    {7, 64},  {33, 65},
                {2, 255}, {3, 256}, {4, 257}, {65, 31}, {2, 1023}, {1, 4099}};
  if (by_row) made.small.push_back({0, 5});
  if (kind.of_nothing) made.small.push_back({3, 0});
  made.medium = {37, 131};
  made.timed = {4096, 4096};
  made.large = {{2, 200003}, {5000, 17}, {3, 100003}, {1, 1000003}};
  made.huge = {{32769, 16385}, {70001, 601}};
  made.data = kind.compares ? std::vector{Data::uniform, Data::ties,      Data::ordered, Data::special,
                                          Data::zeros,   Data::denormals, Data::wide}
                            : std::vector{Data::uniform,    Data::positive, Data::wide,     Data::special,
                                          Data::infinities, Data::zeros,    Data::denormals};
  made.few_results = !kind.compares;
  made.random_max = {2000, 20000};
  made.repair = [of_nothing = kind.of_nothing, by_row](Dimensions& d) {
    if (!of_nothing) d[1] = std::max<std::uint64_t>(d[1], 1);
    if (!by_row) d[0] = std::max<std::uint64_t>(d[0], 1);
  };
  made.outputs = {1};
  made.reference = [reduce = kind.reduce, by_row](const Problem& before, std::size_t, std::uint64_t row,
                                                  std::span<Expectation> out) {
    const Operand& x = before.operands[0];
    out[0] = reduce(by_row ? Rows{x, row, row + 1} : Rows{x, 0, x.rows()});
  };
  made.free_counts = {{0, 'c'}};
  if (!by_row) made.free_counts.push_back({0, 'r'});
  return made;
}

}  // namespace

void add_reductions(Suite& suite) {
  for (const Kind& kind : kinds) {
    suite.subjects.push_back(reduction(kind, true));
    suite.subjects.push_back(reduction(kind, false));
  }
}

}  // namespace vectis::inline v0_1::conformance
