// halve for the conformance suite: tools/add_operation.py puts this into src/kernel/conformance/halve.cpp of a copy of
// the tree.
#include "kernel/conformance/suite/types.hpp"

namespace vectis::inline v0_1::conformance {

void add_halve(Suite& suite) {
  Subject halve;
  halve.operation = "halve";
  halve.type_sets = {{"float32", {DType::float32, DType::float32}, 0}};
  halve.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}, {d[0], d[1]}}; };
  halve.small = {{0, 5}, {5, 0}, {1, 1}, {3, 3}, {17, 31}};
  halve.medium = {37, 131};
  halve.large = {{3, 100003}};
  halve.timed = {4096, 4096};
  halve.random_most = {500, 500};
  halve.outputs = {1};
  halve.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      out[column] = Expectation::near(before.operands[0].value(row, column) / 2, 0, flushed);
    }
  };
  suite.subjects.push_back(std::move(halve));
}

}  // namespace vectis::inline v0_1::conformance
