#include <algorithm>
#include <limits>

#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Dimensions: N rows of the table, C columns, M indices.
Subject indexed(const char* operation) {
  Subject made;
  made.operation = operation;
  made.type_sets = equal_types(3);
  for (TypeSet& set : made.type_sets) set.types[1] = DType::int32;
  made.small = {{0, 3, 5}, {5, 0, 3},  {5, 3, 0},  {1, 1, 1},   {1, 3, 5},   {5, 1, 3},  {3, 2, 1},
                {7, 5, 9}, {4, 65, 3}, {9, 33, 4}, {65, 7, 31}, {31, 3, 65}, {2, 1, 257}};
  made.medium = {41, 37, 53};
  made.timed = {65536, 256, 65536};
  made.large = {{1000, 65, 700}, {3, 4099, 5}, {5000, 3, 9001}};
  made.data = {Data::bits};
  made.random_max = {700, 300, 700};
  made.outputs = {2};
  return made;
}

// Mostly rows that exist, some beyond either end, and in some cases few different ones.
void draw_indices(Problem& problem, std::uint64_t rows, Random& random) {
  Operand& index = problem.operands[1];
  const std::uint64_t different = std::max<std::uint64_t>(1, random.below(2) == 0 ? rows : rows / 4);
  for (std::uint64_t column = 0; column < index.columns(); ++column) {
    auto drawn = static_cast<double>(random.below(different));
    switch (random.below(24)) {
      case 0:
        drawn = -1;
        break;
      case 1:
        drawn = static_cast<double>(rows);
        break;
      case 2:
        drawn = std::numeric_limits<std::int32_t>::min();
        break;
      case 3:
        drawn = std::numeric_limits<std::int32_t>::max();
        break;
      default:
        break;
    }
    index.set(0, column, drawn);
  }
}

// The row an index names among `rows`, if it does.
std::optional<std::uint64_t> named_row(const Operand& index, std::uint64_t place, std::uint64_t rows) {
  const double value = index.value(0, place);
  if (value < 0 || value >= static_cast<double>(rows)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

void expect_row(const Operand& operand, std::optional<std::uint64_t> row, std::span<Expectation> out) {
  for (std::uint64_t column = 0; column < out.size(); ++column) {
    out[column] = Expectation::exactly(row ? operand.bits(*row, column) : 0);
  }
}

Subject gather() {
  Subject made = indexed("gather");
  made.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}, {1, d[2]}, {d[2], d[1]}}; };
  made.prepare = [](Problem& problem, Random& random) { draw_indices(problem, problem.operands[0].rows(), random); };
  made.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    expect_row(before.operands[0], named_row(before.operands[1], row, before.operands[0].rows()), out);
  };
  made.repair = [](Dimensions& d) { d[0] = std::max<std::uint64_t>(d[0], 1); };
  made.free_counts = {{0, 'r'}};
  return made;
}

Subject scatter() {
  Subject made = indexed("scatter");
  made.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[2], d[1]}, {1, d[2]}, {d[0], d[1]}}; };
  made.prepare = [](Problem& problem, Random& random) { draw_indices(problem, problem.operands[2].rows(), random); };
  made.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    const Operand& index = before.operands[1];
    for (std::uint64_t place = index.columns(); place-- > 0;) {
      if (named_row(index, place, before.operands[2].rows()) != row) continue;
      return expect_row(before.operands[0], place, out);
    }
    expect_row(before.operands[2], row, out);
  };
  made.repair = [](Dimensions& d) { d[0] = std::max<std::uint64_t>(d[0], 1); };
  made.free_counts = {{2, 'r'}};
  return made;
}

}  // namespace

void add_gather_scatter(Suite& suite) {
  suite.subjects.push_back(gather());
  suite.subjects.push_back(scatter());
}

}  // namespace vectis::inline v0_1::conformance
