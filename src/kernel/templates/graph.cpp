#include "kernel/templates/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "kernel/templates/definition.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint32_t items_of_team = 8;

// Squared distances are compared by their bits, which have the same order; NaN is last.
constexpr const char* graph_functions = R"(
FUNCTION uint distance_key(float distance) {
  uint key = AS_U32(distance);
  if (IS_NAN(distance)) { key = NAN_KEY; }
  return key;
}
FUNCTION float key_distance(uint key) {
  float distance = AS_F32(key);
  if (key == NAN_KEY) { distance = F32_NAN; }
  if (key == NOTHING) { distance = F32_INFINITY; }
  return distance;
}
FUNCTION bool is_nearer(uint key, uint row, uint other_key, uint other_row) {
  return key < other_key || (key == other_key && row < other_row);
}
)";

}  // namespace

std::uint32_t graph_group(const DeviceInfo& device) { return group_items(device, 64); }

std::uint32_t graph_room(std::uint64_t count) { return count <= 64 ? 64 : count <= 256 ? 256 : 512; }

void complete_graph_source(KernelSource& source, std::initializer_list<const char*> counts, std::uint32_t group) {
  for (const char* count : counts) source.scalars.push_back({count, DType::uint32});
  for (const BufferParameter& buffer : source.buffers) {
    source.scalars.push_back({buffer.name + "_offset", DType::uint32});
    source.scalars.push_back({buffer.name + "_stride", DType::uint32});
  }
  source.scalars.push_back({"factor", DType::float32});
  const std::uint32_t team = std::min(group, items_of_team);
  source.group = {group, 1, 1};
  source.functions = graph_functions;
  source.defines = {{"TEAM", fmt::format("{}u", team)},
                    {"TEAMS", fmt::format("{}u", group / team)},
                    {"NOTHING", "0xffffffffu"},
                    {"NAN_KEY", "0xfffffffeu"}};
}

std::string graph_body(std::string_view piece, std::string_view pieces, std::string_view statements) {
  constexpr const char* text = R"(
uint begin = GROUP_ID(0) * chunk;
uint own = UMIN(chunk, {1} - begin);
uint team = LOCAL_ID(0) / TEAM;
uint lane = LOCAL_ID(0) % TEAM;
for (uint t = 0u; t < own; t++) {{
  uint {0} = begin + t;
{2}
}}
)";
  return fmt::format(text, piece, pieces, statements);
}

std::string graph_distance(const std::string& other) {
  const auto step = [&](const std::string& at) {
    return fmt::format("difference = LOAD_x(row_at + {0}) - {1}{0});\nsum = FMA(difference, difference, sum);\n", at,
                       other);
  };
  const std::string four = step("d") + step("d + TEAM") + step("d + 2u * TEAM") + step("d + 3u * TEAM");
  return fmt::format(
      "float difference = 0.0f;\nuint d = lane;\n"
      "while (d + 3u * TEAM < columns) {{\n{}d = d + 4u * TEAM;\n}}\n"
      "while (d < columns) {{\n{}d = d + TEAM;\n}}\n",
      four, step("d"));
}

PlannedLaunch graph_launch(const OperationCall& call, const DeviceInfo& device, std::uint64_t pieces,
                           std::uint64_t shared_words, std::initializer_list<std::uint64_t> counts, float factor) {
  const std::uint64_t shared = shared_words * sizeof(std::uint32_t);
  if (shared > device.limits.shared_bytes_max) {
    throw Error(ErrorCode::unsupported, call.operation->name,
                fmt::format("the kernel needs {} bytes of shared memory, the device has {}; use fewer columns", shared,
                            device.limits.shared_bytes_max));
  }
  const GridPartition work = partition_grid(pieces, 1);
  PlannedLaunch launch;
  launch.shape = {.grid = {work.groups, 1, 1}, .block = {graph_group(device), 1, 1}};
  launch.scalars = {work.chunk};
  for (const std::uint64_t count : counts) launch.scalars.emplace_back(index32(count));
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    launch.buffers.push_back(i);
    launch.scalars.insert(launch.scalars.end(), {index32(call.views[i].offset), index32(call.views[i].stride)});
  }
  launch.scalars.emplace_back(factor);
  return launch;
}

void expect_columns(const OperationCall& call, std::size_t operand, std::uint64_t max) {
  const View& view = call.views[operand];
  if (view.columns >= 1 && view.columns <= max) return;
  throw_invalid(call, fmt::format("'{}' has {} columns, it must have from 1 to {}; change it",
                                  call.operation->operands[operand].name, view.columns, max));
}

void expect_vectors(const OperationCall& call) {
  const View& x = call.views[0];
  if (x.columns > 0 && x.rows <= INT32_MAX) return;
  throw_invalid(
      call,
      fmt::format("'x' is {} x {}, it must have at least 1 column and at most {} rows, which an int32 index reaches "
                  "apart; change it",
                  x.rows, x.columns, INT32_MAX));
}

void fill_with_none(Stream& stream, const View& rows, const View& distances) {
  run(stream, "fill", {rows}, {-1});
  run(stream, "fill", {distances}, {std::numeric_limits<double>::infinity()});
}

}  // namespace vectis::inline v0_1::detail
