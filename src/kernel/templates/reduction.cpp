#include "kernel/templates/reduction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/order.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// One piece of work is one segment of one row. `width` work-items reduce it, and a group processes several at a time.
// The placeholders are the reduction's: $START, $TAKE (element `at`, index `i` in the segment), $PUBLISH (to shared
// memory), $MEET (combine with `other`) and $STORE.
constexpr const char* reduction_body = R"(
uint together = GROUP_SIZE(0) / width;
uint sub = LOCAL_ID(0) / width;
uint t = LOCAL_ID(0) - sub * width;
uint begin = GROUP_ID(0) * chunk;
uint count = UMIN(chunk, pieces - begin);
for (uint done = 0u; done < count; done += together) {
  uint piece = begin + done + sub;
  bool busy = done + sub < count;
  $START
  if (busy) {
    uint row = piece / segments;
    uint first = (piece - row * segments) * segment;
    uint length = UMIN(segment, columns - first);
    uint base = x_offset + row * x_stride + first;
    for (uint i = t; i < length; i += width) {
      uint at = base + i;
      float v = F32(LOAD_x(at));
      $TAKE
    }
  }
  uint mine = LOCAL_ID(0);
  $PUBLISH
  BARRIER();
  for (uint reach = width / 2u; reach > 0u; reach = reach / 2u) {
    if (t < reach) {
      uint other = mine + reach;
      $MEET
    }
    BARRIER();
  }
  if (busy && t == 0u) {
    uint to = out_offset + piece * out_stride;
    $STORE
  }
  BARRIER();
}
)";

constexpr std::uint64_t adds_of_item = 1024;

constexpr const char* store_value = R"(
    float result = values[mine] / divisor;
    if (root != 0u) { result = SQRT(result); }
    STORE_y(to, result);
)";

constexpr const char* store_extreme = "STORE_y(to, key_value({}values[mine]));";

// Keeps the larger key, and the lower index among equals.
constexpr const char* take_larger = R"(
      uint here = $PLACE;
      if (key > best || (key == best && here < place)) { best = key; place = here; }
)";

// The largest or the smallest element, as integer keys whose largest is kept. NaN has the largest key.
std::string extreme_body(bool largest) {
  return substitute(reduction_body,
                    {{"$START", fmt::format("uint acc = {};", lowest_key)},
                     {"$TAKE", largest ? "acc = UMAX(acc, order_key(v));" : "acc = UMAX(acc, descending_key(v));"},
                     {"$PUBLISH", "values[mine] = acc;"},
                     {"$MEET", "values[mine] = UMAX(values[mine], values[other]);"},
                     {"$STORE", fmt::format(store_extreme, largest ? "" : "~")}});
}

// int8 is summed in integers within a work-item: at most adds_of_item terms of 2^14 each.
std::string value_body(Reduction reduction, bool whole) {
  if (reduction == Reduction::max || reduction == Reduction::min) return extreme_body(reduction == Reduction::max);
  const std::string_view start = whole ? "int acc = 0;" : "float acc = 0.0f;";
  std::string_view take = whole ? "acc = acc + LOAD_x(at);" : "acc = acc + v;";
  if (reduction == Reduction::squares)
    take = whole ? "int n = LOAD_x(at);\nacc = acc + n * n;" : "acc = FMA(v, v, acc);";
  return substitute(reduction_body, {{"$START", start},
                                     {"$TAKE", take},
                                     {"$PUBLISH", "values[mine] = F32(acc);"},
                                     {"$MEET", "values[mine] = values[mine] + values[other];"},
                                     {"$STORE", store_value}});
}

std::string argmax_body(bool from_pairs) {
  const std::string take =
      "uint key = order_key(v);\n" +
      substitute(take_larger, {{"$PLACE", from_pairs ? "AS_U32(LOAD_indices(at))" : "row * row_places + first + i"}});
  const std::string meet = "uint best = values[mine];\nuint place = places[mine];\nuint key = values[other];\n" +
                           substitute(take_larger, {{"$PLACE", "places[other]"}}) +
                           "values[mine] = best;\nplaces[mine] = place;";
  return substitute(reduction_body,
                    {{"$START", "uint best = 0u;\nuint place = 0xffffffffu;"},
                     {"$TAKE", take},
                     {"$PUBLISH", "values[mine] = best;\nplaces[mine] = place;"},
                     {"$MEET", meet},
                     {"$STORE", "STORE_largest(piece, key_value(values[mine]));\nSTORE_y(to, AS_I32(places[mine]));"}});
}

std::vector<ScalarParameter> scalars(bool argmax) {
  std::vector<ScalarParameter> result = {{"chunk", DType::uint32},      {"pieces", DType::uint32},
                                         {"width", DType::uint32},      {"segments", DType::uint32},
                                         {"segment", DType::uint32},    {"columns", DType::uint32},
                                         {"x_offset", DType::uint32},   {"x_stride", DType::uint32},
                                         {"out_offset", DType::uint32}, {"out_stride", DType::uint32}};
  if (argmax) {
    result.push_back({"row_places", DType::uint32});
  } else {
    result.insert(result.end(), {{"divisor", DType::float32}, {"root", DType::uint32}});
  }
  return result;
}

constexpr std::array<std::string_view, 5> reduction_names = {"sum", "squares", "max", "min", "argmax"};

KernelSource reduction_source(Reduction reduction, DType element, bool from_pairs, std::uint32_t group) {
  const bool argmax = reduction == Reduction::argmax;
  KernelSource source;
  source.name = fmt::format("reduce_{}", reduction_names[static_cast<std::size_t>(reduction)]);
  source.buffers = {{"x", element, Access::read}};
  if (from_pairs) source.buffers.push_back({"indices", DType::int32, Access::read});
  if (argmax) source.buffers.push_back({"largest", DType::float32, Access::write});
  source.buffers.push_back({"y", argmax ? DType::int32 : DType::float32, Access::write});
  source.scalars = scalars(argmax);
  const bool sums = reduction == Reduction::sum || reduction == Reduction::squares;
  source.shared = {{"values", sums ? DType::float32 : DType::uint32, group}};
  if (!sums) source.functions = order_functions;
  if (argmax) source.shared.push_back({"places", DType::uint32, group});
  source.group = {group, 1, 1};
  source.body = argmax ? argmax_body(from_pairs) : value_body(reduction, element == DType::int8);
  return source;
}

// The segment length: long enough to be worth a work-group, short enough that a work-item sums at most adds_of_item
// terms.
std::uint64_t segment_of(const ReductionInput& x, std::uint64_t group) {
  constexpr std::uint64_t wanted_pieces = 1024;
  constexpr std::uint64_t shortest = 8192;
  const std::uint64_t longest = adds_of_item * group;
  const std::uint64_t parts = divide_up(wanted_pieces, x.rows);
  return std::clamp(divide_up(x.columns, parts), std::min(shortest, longest), longest);
}

}  // namespace

ReductionInput reduction_input(const View& view, std::size_t buffer) {
  return {buffer, view.type, view.offset, view.rows, view.columns, view.stride};
}

std::size_t ReductionPlanner::temporary(std::uint64_t elements) {
  plan_.temporary_bytes.push_back(elements * sizeof(float));
  return views_ + plan_.temporary_bytes.size() - 1;
}

// Reduces each segment to one result.
void ReductionPlanner::segments(Reduction reduction, const ReductionInput& x, const ReductionOutput& out,
                                std::uint64_t segment) {
  const std::uint32_t group = group_items(device_, 256);
  const std::uint32_t width = std::min(group, power_of_two(divide_up(std::min(segment, x.columns), 4)));
  const std::uint64_t in_row = divide_up(x.columns, segment);
  const GridPartition work = partition_grid(x.rows * in_row, group / width);
  PlannedLaunch launch;
  const DType element = x.element;
  const bool from_pairs = x.indices.has_value();
  launch.key = fmt::format("reduce {} {} {} {}", static_cast<int>(reduction), short_name(element), from_pairs, group);
  launch.source = [=] { return reduction_source(reduction, element, from_pairs, group); };
  launch.shape = {.grid = {work.groups, 1, 1}, .block = {group, 1, 1}};
  launch.buffers = {x.buffer};
  if (from_pairs) launch.buffers.push_back(*x.indices);
  if (reduction == Reduction::argmax) launch.buffers.push_back(temporary(x.rows * in_row));
  launch.buffers.push_back(out.buffer);
  launch.scalars = {work.chunk,         index32(x.rows * in_row), width,
                    index32(in_row),    index32(segment),         index32(x.columns),
                    index32(x.offset),  index32(x.stride),        index32(out.offset),
                    index32(out.stride)};
  if (reduction == Reduction::argmax) {
    launch.scalars.emplace_back(index32(x.row_places));
  } else {
    launch.scalars.insert(launch.scalars.end(), {out.divisor, std::uint32_t{out.root ? 1U : 0U}});
  }
  plan_.launches.push_back(std::move(launch));
}

// Reduces the segments to a temporary and returns it as an input of `rows` rows.
ReductionInput ReductionPlanner::partial(Reduction reduction, const ReductionInput& x, std::uint64_t segment,
                                         std::uint64_t rows, std::uint64_t columns) {
  ReductionInput result{0, DType::float32, 0, rows, columns, columns};
  const std::size_t out = temporary(rows * columns);
  segments(reduction, x, {.buffer = out}, segment);
  result.buffer = out;
  if (reduction == Reduction::argmax) {
    result.indices = out;
    result.buffer = views_ + plan_.temporary_bytes.size() - 1;  // the values, which the launch put beside the places
  }
  return result;
}

void ReductionPlanner::rows(Reduction reduction, const ReductionInput& x, const ReductionOutput& out) {
  const std::uint64_t segment = segment_of(x, group_items(device_, 256));
  if (segment >= x.columns) {
    segments(reduction, x, out, std::max<std::uint64_t>(x.columns, 1));
    return;
  }
  const ReductionInput rest = partial(reduction, x, segment, x.rows, divide_up(x.columns, segment));
  rows(reduction == Reduction::squares ? Reduction::sum : reduction, rest, out);
}

void ReductionPlanner::whole(Reduction reduction, const ReductionInput& x, const ReductionOutput& out) {
  ReductionInput line = x;
  if (x.rows > 1 && x.stride != x.columns) {
    line.row_places = x.columns;
    const std::uint64_t segment = segment_of(x, group_items(device_, 256));
    line = partial(reduction, line, segment, 1, x.rows * divide_up(x.columns, segment));
    reduction = reduction == Reduction::squares ? Reduction::sum : reduction;
  } else {
    line.columns = x.rows * x.columns;
    line.rows = 1;
  }
  rows(reduction, line, out);
}

}  // namespace vectis::inline v0_1::detail
