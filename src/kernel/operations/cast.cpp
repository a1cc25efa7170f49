// cast: from any element type to any other.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/packing.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// Rounds an integer to odd in float32, so that the second rounding, to bfloat16, is correct: the bits rounded away are
// kept as one sticky bit. Rounding to nearest twice would round values next to a tie as ties.
constexpr const char* sticky = R"(
FUNCTION float sticky_float(int value) {
  bool negative = value < 0;
  uint magnitude = AS_U32(value);
  if (negative) { magnitude = 0u - magnitude; }
  if (magnitude >= 0x1000000u) {
    bool rest = (magnitude & 0xffu) != 0u;
    magnitude = magnitude & 0xffffff00u;
    if (rest) { magnitude = magnitude | 0x100u; }
  }
  float result = F32(magnitude);
  if (negative) { result = -result; }
  return result;
}
)";

bool is_whole(DType element) { return element == DType::int32 || element == DType::int8; }

// The element of type `from` as the argument that INSERT takes for type `to`.
std::string converted(DType from, DType to) {
  if (is_whole(from) == is_whole(to)) return "LOAD_x(from)";  // INSERT rounds and saturates
  if (is_whole(to)) return "I32_SATURATED(ROUND(LOAD_x(from)))";
  return to == DType::float32 ? "F32(LOAD_x(from))" : "sticky_float(LOAD_x(from))";
}

KernelSource source(DType from, DType to, std::uint32_t group) {
  std::vector<ScalarParameter> scalars = word_scalars();
  scalars.insert(scalars.end(), {{"x_offset", DType::uint32}, {"x_stride", DType::uint32}});
  const std::string element = fmt::format(
      "uint from = x_offset + row * x_stride + col;\n        word = INSERT_y(word, lane, {});", converted(from, to));
  return {.name = "cast",
          .buffers = {{"x", from, Access::read}, {"y", to, Access::write}},
          .scalars = std::move(scalars),
          .shared = {},
          .group = {group, 1, 1},
          .defines = {},
          .functions = element.find("sticky_float") == std::string::npos ? "" : sticky,
          .body = word_body(lanes(to), {element}),
          .overrides = {}};
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  if (call.views[0].type == call.views[1].type) return find_operation("copy")->plan(call, device);
  const View flat_x = flattened(call.views[0]);
  const View flat_out = flattened(call.views[1]);
  const bool flat = flat_x.rows == flat_out.rows;
  const View& x = flat ? flat_x : call.views[0];
  const View& out = flat ? flat_out : call.views[1];
  const DType from = x.type;
  const DType to = out.type;
  const std::uint32_t group = group_items(device, 256);
  WordLaunch launch = word_launch(out, group);
  launch.scalars.insert(launch.scalars.end(), {index32(x.offset), index32(x.stride)});
  return only({fmt::format("cast {} {} {}", name(from), name(to), group),
               [=] { return source(from, to, group); },
               launch.shape,
               {0, 1},
               std::move(launch.scalars)});
}

}  // namespace

void define_cast(std::vector<Operation>& operations) {
  operations.push_back({.name = "cast",
                        .summary = "out becomes x converted to out's type: rounded to nearest, ties to even; integers "
                                   "saturate and NaN becomes 0; floats overflow to infinity.",
                        .operands = {{"x", Access::read, storage_types()}, {"out", Access::write, storage_types()}},
                        .parameters = {},
                        .types_agree = {},
                        .check = expect_shape_of_x,
                        .when_empty = {},
                        .plan = plan,
                        .cost = cost_per_element,
                        .samples = {{{3, 5}, {3, 5}}},
                        .splits = split_anywhere({0, 1})});
}

}  // namespace vectis::inline v0_1
