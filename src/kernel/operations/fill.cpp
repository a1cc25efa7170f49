// fill: sets every element to one value.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/packing.hpp"
#include "vectis/base/rounding.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

std::int32_t to_integer(double value, double least, double most) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), least, most));
}

// A 32-bit word whose elements are all `value`.
std::uint32_t pattern(DType type, double value) {
  constexpr std::uint32_t twice = 0x10001;
  constexpr std::uint32_t four_times = 0x1010101;
  switch (type) {
    case DType::float16:
      return to_half(round_to_odd(value)).bits * twice;
    case DType::bfloat16:
      return to_bfloat16(round_to_odd(value)).bits * twice;
    case DType::int8:
      return static_cast<std::uint8_t>(to_integer(value, INT8_MIN, INT8_MAX)) * four_times;
    case DType::int32:
      return static_cast<std::uint32_t>(to_integer(value, INT32_MIN, INT32_MAX));
    default:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
}

KernelSource source(std::uint32_t lanes, std::uint32_t group) {
  std::vector<ScalarParameter> scalars = word_scalars();
  scalars.push_back({"pattern", DType::uint32});
  return {.name = "fill",
          .buffers = {{"y", raw_element(lanes), Access::write}},
          .scalars = std::move(scalars),
          .shared = {},
          .group = {group, 1, 1},
          .defines = raw_defines(lanes),
          .functions = {},
          .body = word_body(lanes, {std::string("uint bits = pattern & MASK;\n") + put_bits, "word = pattern;"}),
          .overrides = {}};
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View out = flattened(call.views[0]);
  const std::uint32_t lanes = lanes_of(out.type);
  const std::uint32_t group = group_items(device, 256);
  WordLaunch launch = word_launch(out, group);
  launch.scalars.emplace_back(pattern(out.type, call.parameters[0].real));
  return only({fmt::format("fill {} {}", lanes, group),
               [=] { return source(lanes, group); },
               launch.shape,
               {0},
               std::move(launch.scalars)});
}

}  // namespace

void define_fill(std::vector<Operation>& operations) {
  operations.push_back({.name = "fill",
                        .summary = "Every element of out becomes value, rounded to nearest and saturated.",
                        .operands = {{"out", Access::write, storage_types()}},
                        .parameters = {{"value", false, -anything, anything, 0}},
                        .types_agree = {},
                        .check = {},
                        .when_empty = {},
                        .plan = plan,
                        .cost = cost_of_moving,
                        .samples = {{{3, 5}}},
                        .splits = split_anywhere({0})});
}

}  // namespace vectis::inline v0_1
