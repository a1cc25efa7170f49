#include <fmt/format.h>

#include "kernel/conformance/suite/operand.hpp"
#include "kernel/conformance/suite/suite.hpp"

namespace vectis::inline v0_1::conformance {

namespace {

// Cases with these dimensions hold chosen numbers: all patterns of a 16-bit source, and for a float32 source five
// numbers around each element of the target: itself, the middle between it and the next, and their neighbors.
constexpr std::uint64_t chosen_rows = 512;
constexpr std::uint64_t chosen_columns = 640;
constexpr std::uint64_t around = 5;

float around_boundary(DType target, std::uint64_t number) {
  const auto pattern = static_cast<std::uint32_t>(number / around);
  double low = 0;
  double high = 0;
  if (is_float(target)) {
    low = value_of(target, pattern);
    high = value_of(target, pattern + 1);
  } else {
    low = static_cast<double>(pattern % 32768) - 16384;  // halves of small numbers, and the ends of 31 bits
    high = low + 1;
    if (pattern >= 32768) low = (pattern % 2 == 0 ? 1 : -1) * (0x1p31 + 128 * (low / 64));
    if (pattern >= 32768) high = low;
  }
  const auto middle = static_cast<float>((low + high) / 2);
  switch (number % around) {
    case 0:
      return static_cast<float>(low);
    case 1:
      return middle;
    case 2:
      return std::nextafter(middle, -INFINITY);
    case 3:
      return std::nextafter(middle, INFINITY);
    default:
      return std::nextafter(static_cast<float>(low), INFINITY);
  }
}

// Around a float32's own steps: integers from 24 bits on fall between floats.
std::int32_t around_step(std::uint64_t number) {
  const auto shift = static_cast<std::uint32_t>(number % 8);
  const auto near =
      static_cast<std::int64_t>((0x800000U + number / 8) << shift) + static_cast<std::int64_t>(number % 3);
  return static_cast<std::int32_t>(number % 2 == 0 ? near : -near);
}

void choose(Problem& problem, Random&) {
  Operand& source = problem.operands[0];
  if (source.rows() != chosen_rows || source.columns() != chosen_columns) return;
  for (std::uint64_t row = 0; row < chosen_rows; ++row) {
    for (std::uint64_t column = 0; column < chosen_columns; ++column) {
      const std::uint64_t number = row * chosen_columns + column;
      if (source.type() == DType::float32) {
        source.set(row, column, around_boundary(problem.operands[1].type(), number));
      } else if (source.type() == DType::int32) {
        source.set(row, column, around_step(number));
      } else {
        source.set_bits(row, column, static_cast<std::uint32_t>(number));
      }
    }
  }
}

}  // namespace

void add_cast(Suite& suite) {
  Subject cast;
  cast.operation = "cast";
  for (const DType from : stored_types) {
    for (const DType to : stored_types) {
      cast.type_sets.push_back({fmt::format("{}->{}", name(from), name(to)), {from, to}, 0});
    }
  }
  cast.shapes = [](const Dimensions& d, auto) { return std::vector<Shape>{{d[0], d[1]}, {d[0], d[1]}}; };
  cast.small = {{0, 5}, {5, 0}, {1, 1}, {1, 2}, {2, 1}, {3, 3}, {1, 65}, {5, 7}, {17, 31}};
  cast.medium = {37, 131};
  cast.timed = {4096, 4096};
  cast.large = {{chosen_rows, chosen_columns}};
  cast.huge = {{32769, 16385}};
  cast.data = {Data::bits, Data::uniform, Data::wide, Data::ordered, Data::denormals, Data::zeros};
  cast.random_max = {1500, 1500};
  cast.prepare = choose;
  cast.outputs = {1};
  cast.reference = [](const Problem& before, std::size_t, std::uint64_t row, std::span<Expectation> out) {
    const DType to = before.operands[1].type();
    for (std::uint64_t column = 0; column < out.size(); ++column) {
      const std::uint32_t bits = bits_of(to, before.operands[0].value(row, column));
      out[column] = is_nan(to, bits) ? Expectation::near(NAN, 0) : Expectation::exactly(bits);
    }
  };
  suite.subjects.push_back(std::move(cast));
}

}  // namespace vectis::inline v0_1::conformance
