#include "kernel/conformance/suite/operand.hpp"
#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

Expectation filled(DType type, double value) {
  const std::uint32_t bits = bits_of(type, value);
  return is_nan(type, bits) ? Expectation::near(value, 0) : Expectation::exactly(bits);
}

}  // namespace

void add_fill(Suite& suite) {
  Subject fill;
  fill.operation = "fill";
  fill.type_sets = equal_types(1);
  fill.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}}; };
  fill.small = {{0, 5}, {5, 0}, {1, 1}, {1, 2}, {1, 3}, {3, 1}, {2, 5}, {7, 3}, {1, 64}, {5, 129}, {33, 31}};
  fill.medium = {19, 67};
  fill.timed = {4096, 4096};
  fill.large = {{1000, 257}, {1, 1000003}};
  fill.huge = {{32769, 16385}};
  // Ties of integers, overflow of each type, what float16 rounds up to infinity and just does not, a denormal, and what
  // float would round to a tie of float16 or bfloat16.
  for (const double value : {1.5,
                             0.0,
                             -0.0,
                             2.5,
                             3.5,
                             -2.5,
                             127.5,
                             -128.5,
                             1000.0,
                             16777217.0,
                             65519.99609375,
                             65520.0,
                             3.0e9,
                             -3.0e9,
                             0x1p-24,
                             0x1p-25,
                             0x1.8p-25,
                             0x1p-140,
                             0x1.002p0 + 0x1p-40,
                             -0x1.002p0 - 0x1p-40,
                             0x1.01p0 + 0x1p-40,
                             0x1.8p-24 - 0x1p-60,
                             double{INFINITY},
                             -double{INFINITY},
                             double{NAN}}) {
    fill.parameters.push_back({value});
  }
  fill.parameters.erase(fill.parameters.begin());
  fill.random_max = {3000, 3000};
  fill.random_parameters = [](Random& random) -> std::vector<ParameterValue> {
    return {(random.unit() - 0.5) * std::exp2(random.unit() * 40 - 20)};
  };
  fill.outputs = {0};
  fill.reference = [](const Problem& before, std::size_t, std::uint64_t, std::span<Expectation> row) {
    const Expectation wanted = filled(before.operands[0].type(), before.parameters[0].real);
    for (Expectation& element : row) element = wanted;
  };
  fill.free_counts = {{0, 'r'}, {0, 'c'}};
  suite.subjects.push_back(std::move(fill));
}

}  // namespace vectis::inline v0_1::conformance
