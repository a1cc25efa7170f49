#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernel/conformance/suite/operand.hpp"
#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

constexpr std::uint64_t kept_max = 1024;

// Columns of a row, best first: NaN last, ties by place.
std::vector<std::uint32_t> ranking(const Operand& x, std::uint64_t row, bool largest) {
  std::vector<std::uint32_t> order(x.columns());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t i, std::uint32_t j) {
    const double a = x.value(row, i);
    const double b = x.value(row, j);
    if (std::isnan(a) != std::isnan(b)) return std::isnan(b);
    if (std::isnan(a) || a == b) return i < j;
    return largest ? a > b : a < b;
  });
  return order;
}

}  // namespace

// Dimensions: rows, columns, k.
void add_top_k(Suite& suite) {
  Subject top;
  top.operation = "top_k";
  top.type_sets = {{"float32", {DType::float32, DType::float32, DType::int32}, 0}};
  top.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}, {d[0], d[2]}, {d[0], d[2]}}; };
  top.small = {{0, 5, 2},   {1, 1, 1},    {1, 2, 1},     {3, 2, 2},     {5, 7, 3},   {7, 33, 33},     {2, 64, 1},
               {3, 65, 64}, {4, 255, 10}, {3, 256, 100}, {2, 257, 257}, {9, 100, 7}, {1, 1024, 1024}, {2, 1025, 1000}};
  top.medium = {13, 611, 37};
  top.timed = {64, 65536, 100};
  top.large = {{3, 100003, 100}, {2, 50021, 1024}, {300, 1000, 10}, {70001, 3, 2}};
  top.parameters = {{1}, {0}, {}};
  top.data = {Data::uniform, Data::ties, Data::ordered, Data::special, Data::zeros, Data::denormals, Data::bits};
  top.random_max = {60, 5000, kept_max};
  top.repair = [](Dimensions& d) {
    d[1] = std::max<std::uint64_t>(d[1], 1);
    d[2] = std::clamp<std::uint64_t>(d[2], 1, std::min(d[1], kept_max));
  };
  top.outputs = {1, 2};
  top.reference = [](const Problem& before, std::size_t output, std::uint64_t row, std::span<Expectation> out) {
    const Operand& x = before.operands[0];
    const bool largest = before.parameters.empty() || before.parameters[0].integer != 0;
    const std::vector<std::uint32_t> order = ranking(x, row, largest);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::uint32_t bits = x.bits(row, order[k]);
      if (output == 2) {
        out[k] = Expectation::exactly(order[k]);
      } else {
        out[k] = is_nan(DType::float32, bits) ? Expectation::near(NAN, 0) : Expectation::exactly(bits);
      }
    }
  };
  top.free_counts = {{0, 'c'}};
  suite.subjects.push_back(std::move(top));
}

}  // namespace vectis::inline v0_1::conformance
