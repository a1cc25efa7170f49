#include <cmath>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

bool exclusive(const Problem& problem) { return !problem.parameters.empty() && problem.parameters[0].integer != 0; }

Subject scan(DType type, double limit) {
  Subject made;
  made.operation = "prefix_sum";
  made.type_sets = {{std::string(name(type)), {type, type}, limit}};
  made.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}, {d[0], d[1]}}; };
  made.small = {{0, 5},  {5, 0},  {1, 1},   {3, 1},   {1, 2},   {2, 3},    {5, 7},
                {3, 64}, {2, 65}, {4, 255}, {2, 256}, {3, 257}, {2, 1025}, {65, 31}};
  made.medium = {13, 611};
  made.timed = {4096, 4096};
  made.large = {{3, 100003}, {3000, 17}, {1, 1000003}, {70001, 3}};
  made.huge = {{32769, 16385}};
  made.parameters = {{0}, {1}, {}};
  made.random_max = {500, 20000};
  made.outputs = {1};
  return made;
}

Subject floats() {
  Subject made = scan(DType::float32, 9e-7);
  made.error_of = "the sum of magnitudes so far";
  made.data = {Data::uniform, Data::positive, Data::wide, Data::special, Data::infinities, Data::zeros};
  made.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    const Operand& x = before.operands[0];
    double sum = 0;
    double magnitude = 0;
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      const double floor = static_cast<double>(column + 1) * flushed;
      if (exclusive(before)) out[column] = Expectation::near(sum, magnitude, floor);
      sum += x.value(row, column);
      magnitude += std::fabs(x.value(row, column));
      if (!exclusive(before)) out[column] = Expectation::near(sum, magnitude, floor);
    }
  };
  return made;
}

Subject integers() {
  Subject made = scan(DType::int32, 0);
  made.data = {Data::uniform, Data::bits, Data::positive};
  made.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    std::uint32_t sum = 0;  // wraps
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      if (exclusive(before)) out[column] = Expectation::exactly(sum);
      sum += before.operands[0].bits(row, column);
      if (!exclusive(before)) out[column] = Expectation::exactly(sum);
    }
  };
  return made;
}

}  // namespace

void add_prefix_sum(Suite& suite) {
  suite.subjects.push_back(floats());
  suite.subjects.push_back(integers());
}

}  // namespace vectis::inline v0_1::conformance
