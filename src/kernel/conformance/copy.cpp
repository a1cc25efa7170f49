#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

Subject moving(const char* operation) {
  Subject made;
  made.operation = operation;
  made.type_sets = equal_types(2);
  made.small = {{0, 5},  {5, 0}, {1, 1},   {1, 2},   {2, 1},   {3, 3},   {1, 65},
                {65, 1}, {5, 7}, {16, 16}, {17, 31}, {32, 33}, {63, 65}, {129, 15}};
  made.medium = {37, 131};
  made.timed = {4096, 4096};
  made.large = {{1000, 257}, {3, 100003}, {100003, 3}};
  made.huge = {{32769, 16385}};
  made.data = {Data::bits};
  made.random_max = {2000, 2000};
  made.outputs = {1};
  return made;
}

}  // namespace

void add_copy(Suite& suite) {
  Subject copy = moving("copy");
  copy.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}, {d[0], d[1]}}; };
  copy.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      out[column] = Expectation::exactly(before.operands[0].bits(row, column));
    }
  };
  suite.subjects.push_back(std::move(copy));

  Subject transpose = moving("transpose");
  transpose.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}, {d[1], d[0]}}; };
  transpose.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      out[column] = Expectation::exactly(before.operands[0].bits(column, row));
    }
  };
  suite.subjects.push_back(std::move(transpose));
}

}  // namespace vectis::inline v0_1::conformance
