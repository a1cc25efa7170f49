#include <algorithm>
#include <cmath>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

bool flag(std::span<const ParameterValue> parameters, std::size_t place) {
  return parameters.size() > place && parameters[place].integer != 0;
}
double real(std::span<const ParameterValue> parameters, std::size_t place, double standard) {
  return parameters.size() > place ? parameters[place].real : standard;
}

// Dimensions: M, N, K.
Subject product() {
  Subject made;
  made.operation = "matmul";
  made.shapes = [](const Dimensions& d, std::span<const ParameterValue> parameters) {
    const Shape a = flag(parameters, 0) ? Shape{d[2], d[0]} : Shape{d[0], d[2]};
    const Shape b = flag(parameters, 1) ? Shape{d[1], d[2]} : Shape{d[2], d[1]};
    return std::vector<Shape>{a, b, {d[0], d[1]}};
  };
  made.small = {{0, 3, 4},    {3, 0, 4},    {1, 1, 1},     {1, 1, 7},    {1, 5, 3},   {5, 1, 3},
                {2, 3, 1},    {7, 5, 3},    {3, 4, 0},     {4, 3, 0},    {8, 8, 8},   {15, 17, 16},
                {33, 31, 65}, {64, 64, 64}, {65, 63, 129}, {1, 130, 70}, {130, 1, 70}};
  made.medium = {37, 41, 131};
  made.timed = {1024, 1024, 1024};
  made.large = {{16, 16, 4099}, {129, 131, 257}, {3, 3, 20011}, {257, 65, 33}};
  made.random_max = {150, 150, 600};
  made.outputs = {2};
  return made;
}

Subject floats() {
  Subject made = product();
  made.error_of = "the sum of magnitudes of the products, times the root of their number";
  made.type_sets = reducing_types(2, DType::float32,
                                  {{DType::float32, 1.6e-7}, {DType::float16, 1.6e-7}, {DType::bfloat16, 1.4e-7}});
  made.parameters = {{0, 0, 1, 0},      {1, 0, 1, 0},    {0, 1, 1, 0},       {1, 1, 1, 0},     {},
                     {0, 0, -2.5, 0.5}, {1, 0, 0.75, 1}, {0, 1, 1.0, -3.25}, {1, 1, -1.0, 2.5}};
  made.data = {Data::uniform, Data::positive, Data::wide, Data::special, Data::infinities, Data::zeros};
  made.prepare = [](Problem& problem, Random& random) {
    Operand& c = problem.operands[2];
    if (real(problem.parameters, 3, 0) != 0) {
      c.fill(Data::uniform, random);
    } else {  // what was there is not looked at, so a NaN must go
      for (std::uint64_t row = 0; row < c.rows(); ++row) {
        for (std::uint64_t column = 0; column < c.columns(); ++column) c.set(row, column, NAN);
      }
    }
  };
  made.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    const Operand& a = before.operands[0];
    const Operand& b = before.operands[1];
    const bool turned_a = flag(before.parameters, 0);
    const bool turned_b = flag(before.parameters, 1);
    const double alpha = real(before.parameters, 2, 1);
    const double beta = real(before.parameters, 3, 0);
    const std::uint64_t depth = turned_a ? a.rows() : a.columns();
    std::vector<double> left(depth);
    for (std::uint64_t k = 0; k < depth; ++k) left[k] = turned_a ? a.value(k, row) : a.value(row, k);
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      double sum = 0;
      double magnitude = 0;
      for (std::uint64_t k = 0; k < depth; ++k) {
        const double term = left[k] * (turned_b ? b.value(column, k) : b.value(k, column));
        sum += term;
        magnitude += std::fabs(term);
      }
      const double before_it = beta == 0 ? 0 : beta * before.operands[2].value(row, column);
      const double value = depth == 0 ? before_it : alpha * sum + before_it;
      const auto terms = static_cast<double>(depth + 1);
      out[column] = Expectation::near(value, std::sqrt(terms) * (std::fabs(alpha) * magnitude + std::fabs(before_it)),
                                      (terms + 1) * flushed * std::max(1.0, std::fabs(alpha)));
    }
  };
  return made;
}

Subject integers() {
  Subject made = product();
  made.type_sets = {{"int8", {DType::int8, DType::int8, DType::int32}, 0}};
  made.parameters = {{0, 0, 1, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}, {1, 1, 1, 0}, {}};
  made.data = {Data::uniform, Data::positive, Data::special, Data::zeros};
  made.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    const Operand& a = before.operands[0];
    const Operand& b = before.operands[1];
    const bool turned_a = flag(before.parameters, 0);
    const bool turned_b = flag(before.parameters, 1);
    const std::uint64_t depth = turned_a ? a.rows() : a.columns();
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      std::int64_t sum = 0;
      for (std::uint64_t k = 0; k < depth; ++k) {
        const auto left = static_cast<std::int8_t>(turned_a ? a.bits(k, row) : a.bits(row, k));
        const auto right = static_cast<std::int8_t>(turned_b ? b.bits(column, k) : b.bits(k, column));
        sum += std::int64_t{left} * right;
      }
      out[column] = Expectation::exactly(static_cast<std::uint32_t>(sum));
    }
  };
  return made;
}

}  // namespace

void add_matmul(Suite& suite) {
  suite.subjects.push_back(floats());
  suite.subjects.push_back(integers());
}

}  // namespace vectis::inline v0_1::conformance
