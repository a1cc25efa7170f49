#include <algorithm>
#include <cmath>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t exact_columns = 32768;  // of int8: squared differences of so many stay below 2^31

struct Sums {
  double differences = 0;  // squared
  double dot = 0;
  double products = 0;  // magnitudes
  double left = 0;      // squared norms
  double right = 0;
  double terms = 0;
};

Sums sums_of(const Operand& q, std::uint64_t query, const Operand& x, std::uint64_t point) {
  Sums sums;
  for (std::uint64_t d = 0; d < q.columns(); ++d) {
    const double a = q.value(query, d);
    const double b = x.value(point, d);
    sums.differences += (a - b) * (a - b);
    sums.dot += a * b;
    sums.products += std::fabs(a * b);
    sums.left += a * a;
    sums.right += b * b;
  }
  sums.terms = static_cast<double>(q.columns());
  return sums;
}

using Measure = Expectation (*)(const Sums&);

Expectation l2(const Sums& sums) { return Expectation::near(sums.differences, sums.differences, sums.terms * flushed); }

Expectation inner(const Sums& sums) { return Expectation::near(sums.dot, sums.products, sums.terms * flushed); }

Expectation cosine(const Sums& sums) {
  if (sums.left == 0 || sums.right == 0) return Expectation::near(1, 0);
  const double norms = std::sqrt(sums.left) * std::sqrt(sums.right);
  return Expectation::near(1 - sums.dot / norms, 1 + sums.products / norms);
}

struct Kind {
  const char* name;
  Measure measure;
  const char* error_of;
  double limits[4];   // of float32, float16, bfloat16, int8
  double long_limit;  // of int8 vectors too long for sums of 31 bits
};

// Largest where products and sums are rounded apart, as WebGPU allows: measured there over ten seeds, with room.
constexpr Kind kinds[] = {
    {"l2_squared", l2, "the distance", {1.4e-6, 1.4e-6, 1.3e-6, 8e-8}, 1e-7},
    {"dot_product", inner, "the sum of magnitudes of the products", {1.2e-6, 1.3e-6, 1.2e-6, 8e-8}, 1e-7},
    {"cosine_distance", cosine, "one and the cosine of the magnitudes", {5e-7, 6e-7, 5e-7, 1.6e-7}, 1.6e-7},
};

// Dimensions: queries, points, coordinates.
Subject distance(const Kind& kind, std::vector<TypeSet> type_sets) {
  Subject made;
  made.operation = kind.name;
  made.error_of = kind.error_of;
  made.type_sets = std::move(type_sets);
  made.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[2]}, {d[1], d[2]}, {d[0], d[1]}}; };
  made.small = {{0, 3, 4}, {3, 0, 4},  {1, 1, 1},    {1, 1, 3},    {1, 7, 5},     {7, 1, 5},   {2, 3, 4},
                {5, 5, 7}, {8, 9, 16}, {17, 15, 31}, {33, 65, 64}, {65, 33, 129}, {1, 200, 96}};
  made.medium = {21, 37, 131};
  made.timed = {256, 16384, 128};
  made.large = {{3, 7, 4099}, {5, 1000, 128}, {64, 64, 960}, {2, 3, 20011}};
  made.data = {Data::uniform, Data::positive, Data::wide, Data::special, Data::infinities};
  if (kind.measure != cosine) made.data.push_back(Data::zeros);
  made.random_max = {100, 300, 1000};
  made.repair = [](Dimensions& d) { d[2] = std::max<std::uint64_t>(d[2], 1); };
  if (kind.measure == cosine) {
    made.prepare = [](Problem& problem, Random&) {  // a query and a point of norm zero
      for (Operand* operand : {&problem.operands[0], &problem.operands[1]}) {
        if (operand->rows() < 3) continue;
        for (std::uint64_t d = 0; d < operand->columns(); ++d) operand->set(1, d, 0);
      }
    };
  }
  made.outputs = {2};
  made.reference = [measure = kind.measure](const Problem& before, std::size_t, std::uint64_t row,
                                            std::span<Expectation> out) {
    for (std::uint64_t point = 0; point < out.size(); ++point) {
      out[point] = measure(sums_of(before.operands[0], row, before.operands[1], point));
    }
  };
  return made;
}

}  // namespace

void add_distances(Suite& suite) {
  for (const Kind& kind : kinds) {
    const auto& limits = kind.limits;
    suite.subjects.push_back(distance(kind, reducing_types(2, DType::float32,
                                                           {{DType::float32, limits[0]},
                                                            {DType::float16, limits[1]},
                                                            {DType::bfloat16, limits[2]},
                                                            {DType::int8, limits[3]}})));
    Subject longer = distance(kind, reducing_types(2, DType::float32, {{DType::int8, kind.long_limit}}));
    longer.type_sets.front().label = "int8 (long)";
    longer.small = {{1, 1, 32769}, {3, 5, 33001}};
    longer.medium = {2, 3, 40013};
    longer.large = {{3, 2, 150001}};
    longer.timed = {16, 64, 65536};
    longer.random_max = {3, 5, 150000};
    longer.repair = [](Dimensions& d) { d[2] = std::max(d[2], exact_columns + 1); };
    suite.subjects.push_back(std::move(longer));
  }
}

}  // namespace vectis::inline v0_1::conformance
