// scan_bounds: appends the rows whose lower bound of the distance is within the query's limit.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/scan_tile.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

constexpr std::uint64_t scan_whole_columns = 131071;  // products of int8 of so many columns stay below 2^31

// For many, some and few queries; with few, groups are small and each takes some of the rows.
constexpr std::array<ScanShape, 4> scan_shapes = {
    {{16, 16, 8, 8, 8}, {16, 16, 8, 4, 8}, {64, 4, 2, 4, 16}, {64, 1, 1, 4, 16}}};

std::uint64_t tiles_of(const ScanShape& shape, std::uint64_t queries, std::uint64_t rows) {
  return divide_up(rows, shape.rows()) * divide_up(queries, shape.queries());
}

// The first shape that fits the device, is at least half filled by the queries and occupies every compute unit; else
// the last one.
ScanShape scan_shape(std::uint64_t queries, std::uint64_t rows, const DeviceInfo& device) {
  const std::uint32_t most = group_items(device, 256);
  const auto fits = [&](const ScanShape& shape) {
    return shape.items() <= most && shape.shared_words() * sizeof(float) <= device.limits.shared_bytes_max;
  };
  for (const ScanShape& shape : scan_shapes) {
    const bool filled = 2 * queries > shape.queries() && tiles_of(shape, queries, rows) >= device.compute_units;
    if (fits(shape) && filled) return shape;
  }
  ScanShape last = scan_shapes.back();
  while (last.across > 1 && !fits(last)) last.across /= 2;
  return last;
}

LaunchPlan plan_scan(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& q = call.views[1];
  const ScanShape shape = scan_shape(q.rows, x.rows, device);
  const auto in_units = [&](std::uint64_t elements) {
    return x.type == DType::int8 && std::ranges::all_of(std::array{x, q}, [&](const View& view) {
             return view.offset % elements == 0 && view.stride % elements == 0 && view.columns % elements == 0;
           });
  };
  const bool whole_words = in_units(4);
  const bool large = shape.rows_each == scan_shapes.front().rows_each;
  const bool mma = whole_words && large && device.capabilities.int8_matrix;
  const ScanKernel kernel{x.type, q.type, shape, whole_words, mma, mma && in_units(8)};
  const std::uint64_t tiles = tiles_of(shape, q.rows, x.rows);
  const GridPartition work = partition_grid(tiles, 1);
  PlannedLaunch launch;
  launch.key = fmt::format("scan_bounds {} {} {} {} {} {} {} {}", short_name(x.type), short_name(q.type), shape.across,
                           shape.down, shape.queries_each, kernel.whole_words, kernel.mma, kernel.by_pairs);
  launch.source = [kernel] { return scan_source(kernel); };
  launch.shape = {.grid = {work.groups, 1, 1}, .block = {shape.items(), 1, 1}};
  launch.scalars = {work.chunk,
                    index32(tiles),
                    index32(divide_up(q.rows, shape.queries())),
                    index32(x.rows),
                    index32(q.rows),
                    index32(x.columns),
                    index32(call.views[4].columns),
                    index32(static_cast<std::uint64_t>(call.parameters[0].integer)),
                    index32(static_cast<std::uint64_t>(call.parameters[3].integer))};
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    launch.buffers.push_back(i);
    launch.scalars.insert(launch.scalars.end(), {index32(call.views[i].offset), index32(call.views[i].stride)});
  }
  launch.scalars.insert(launch.scalars.end(),
                        {static_cast<float>(call.parameters[1].real), static_cast<float>(call.parameters[2].real)});
  return {{}, {std::move(launch)}};
}

void check_scan(const OperationCall& call) {
  const View& x = call.views[0];
  const View& q = call.views[1];
  const std::uint64_t capacity = call.views[4].columns;
  if (q.columns != x.columns || x.columns == 0) {
    throw_invalid(call,
                  fmt::format("'x' has {} columns and 'q' has {}, they must be equal and at least 1; give vectors of "
                              "one length",
                              x.columns, q.columns));
  }
  if (x.type == DType::int8 && x.columns > scan_whole_columns) {
    throw_invalid(call, fmt::format("'x' has {} columns of int8, their products fit 32 bits up to {}; use another type",
                                    x.columns, scan_whole_columns));
  }
  expect_shape(call, 2, x.rows, scan_terms, "beta, sigma, rho and nu of each row of 'x'");
  expect_shape(call, 3, q.rows, scan_terms, "gamma, a, b and limit of each row of 'q'");
  expect_shape(call, 4, q.rows, capacity, "a row for each row of 'q'");
  expect_shape(call, 5, q.rows, 2 * capacity, "a lower and an upper bound for each element of 'candidates'");
  expect_shape(call, 6, q.rows, 1, "a number for each row of 'q'");
  const auto first = static_cast<std::uint64_t>(call.parameters[0].integer);
  const View& excluded = call.views[7];
  const std::uint64_t words = call.parameters[3].integer == 0 ? 1 : divide_up(first + x.rows, 32);
  if (excluded.rows != 1 || excluded.columns < words) {
    throw_invalid(call,
                  fmt::format("'excluded' is {} x {}, it must have one row of at least {} words, a bit for each row "
                              "number below {}; give 1 x 1 and masked = 0 to exclude no row",
                              excluded.rows, excluded.columns, words, first + x.rows));
  }
  if (capacity == 0 || first + x.rows > std::uint64_t{INT32_MAX} + 1) {
    throw_invalid(
        call, fmt::format("'candidates' has {} columns and rows are numbered up to {}; give it at least 1 column and "
                          "numbers below {}",
                          capacity, first + x.rows, std::uint64_t{INT32_MAX} + 1));
  }
}

OperationCost scan_cost(const OperationCall& call) {
  const View& x = call.views[0];
  const double pairs = static_cast<double>(x.rows) * static_cast<double>(call.views[1].rows);
  return {pairs * (2 * static_cast<double>(x.columns) + 8), bytes_of(call.views.first(4))};
}

}  // namespace

void define_scan_bounds(std::vector<Operation>& operations) {
  Operation scan;
  scan.name = "scan_bounds";
  scan.summary =
      "Lower and upper bounds of quantized distances. With dot = the product of a row of x and a row of q, reach = a "
      "rho + b nu, lower = beta + gamma sigma dot - reach and upper = lower + 2 reach + beta_margin |beta| + margin, "
      "each row whose lower is not above the query's limit is appended to the query's candidates (first_row + row) and "
      "bounds (lower, upper), in any order; counts is incremented for each, also when candidates is full. x_terms "
      "holds beta, sigma, rho, nu; q_terms holds gamma, a, b, limit, of which a and b must not be NaN. int8 is summed "
      "as "
      "int32. If masked is 1, rows whose bit (first_row + row) in the words of excluded, lowest first, is set are left "
      "out.";
  scan.operands = {{"x", Access::read, number_types()},
                   {"q", Access::read, number_types()},
                   {"x_terms", Access::read, {DType::float32}},
                   {"q_terms", Access::read, {DType::float32}},
                   {"candidates", Access::read_write, {DType::int32}},
                   {"bounds", Access::read_write, {DType::float32}},
                   {"counts", Access::read_write, {DType::int32}},
                   {"excluded", Access::read, {DType::int32}}};
  scan.parameters = {{"first_row", true, 0, INT32_MAX, 0},
                     {"beta_margin", false, 0, anything, 0x1p-19},
                     {"margin", false, 0, anything, 0},
                     {"masked", true, 0, 1, 0}};
  scan.types_agree = [](std::span<const DType> types) {  // 16-bit floats also go with queries that lost nothing
    return types[0] == types[1] || (types[1] == DType::float32 && types[0] != DType::int8);
  };
  scan.check = check_scan;
  scan.plan = plan_scan;
  scan.cost = scan_cost;
  // All shapes, and each for int8 elements that lie in pairs of words, in words, and that do not.
  for (const std::array<std::uint64_t, 2>& size :
       {std::array<std::uint64_t, 2>{4080, 200}, {4080, 60}, {2040, 9}, {300, 3}}) {
    for (const std::uint64_t columns : {8U, 4U, 7U}) {
      const std::uint64_t rows = size[0];
      const std::uint64_t queries = size[1];
      scan.samples.push_back({{rows, columns},
                              {queries, columns},
                              {rows, scan_terms},
                              {queries, scan_terms},
                              {queries, 9},
                              {queries, 18},
                              {queries, 1},
                              {1, 1}});
    }
  }
  scan.splits = [](const OperationCall&) -> std::vector<CallSplit> {
    CallSplit by_rows = split_along(SplitAxis::rows, {0, 2});
    by_rows.offset_parameter = 0;
    return {by_rows, split_along(SplitAxis::rows, {1, 3, 4, 5, 6})};
  };
  operations.push_back(std::move(scan));
}

}  // namespace vectis::inline v0_1
