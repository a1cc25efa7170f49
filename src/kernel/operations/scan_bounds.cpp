// scan_bounds: appends the rows whose lower bound of the distance is within the query's limit.
#include <fmt/format.h>

#include <array>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/tile.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

constexpr std::uint64_t scan_terms = 4;               // of a row, and of a query
constexpr std::uint64_t scan_whole_columns = 131071;  // products of int8 of so many columns stay below 2^31

// A group of ACROSS * DOWN work-items computes a tile of dot products, rows of x by queries, ROWS_EACH by QUERIES_EACH
// per work-item, from blocks of both matrices in shared memory, stored depth-major. A block is DEPTH words of each row,
// each of PACKED elements. The bound is compared in registers; rows above the limit write nothing.
constexpr const char* scan_body = R"(
  SUM sums[ROWS_EACH * QUERIES_EACH];
  for (uint i = 0u; i < ROWS_EACH * QUERIES_EACH; i++) { sums[i] = ZERO; }
  for (uint depth0 = 0u; depth0 < columns; depth0 += DEPTH * PACKED) {
    $LOAD_X
    $LOAD_Q
    BARRIER();
    for (uint k = 0u; k < DEPTH; k++) {
      WORD row_words[ROWS_EACH];
      for (uint j = 0u; j < ROWS_EACH; j++) { row_words[j] = x_part[k * (ROWS + 1u) + across + j * ACROSS]; }
      for (uint i = 0u; i < QUERIES_EACH; i++) {
        WORD query_word = q_part[k * (QUERIES + 1u) + down + i * DOWN];
        for (uint j = 0u; j < ROWS_EACH; j++) {
          sums[i * ROWS_EACH + j] = STEP(query_word, row_words[j], sums[i * ROWS_EACH + j]);
        }
      }
    }
    BARRIER();
  }
  for (uint j = 0u; j < ROWS_EACH; j++) {
    uint row = row0 + across + j * ACROSS;
    if (row < rows) {
      uint terms = x_terms_offset + row * x_terms_stride;
      float beta = LOAD_x_terms(terms);
      float sigma = LOAD_x_terms(terms + 1u);
      float rho = LOAD_x_terms(terms + 2u);
      float nu = LOAD_x_terms(terms + 3u);
      float loose = beta_margin * ABS(beta) + margin;
      for (uint i = 0u; i < QUERIES_EACH; i++) {
        uint query = col0 + down + i * DOWN;
        if (query < queries) {
          uint of_query = q_terms_offset + query * q_terms_stride;
          float reach = LOAD_q_terms(of_query + 1u) * rho + LOAD_q_terms(of_query + 2u) * nu;
          float lower = beta + LOAD_q_terms(of_query) * sigma * F32(sums[i * ROWS_EACH + j]) - reach;
          if (!(lower > LOAD_q_terms(of_query + 3u))) {
            uint slot = AS_U32(ATOMIC_ADD_I32(counts, counts_offset + query * counts_stride, 1));
            if (slot < capacity) {
              uint bound = bounds_offset + query * bounds_stride + 2u * slot;
              STORE_candidates(candidates_offset + query * candidates_stride + slot, AS_I32(first_row + row));
              STORE_bounds(bound, lower);
              STORE_bounds(bound + 1u, lower + 2.0f * reach + loose);
            }
          }
        }
      }
    }
  }
)";

// Four int8 elements of a row of matrix {0} at any alignment, with zeros after the end of the row.
constexpr const char* load_packed = R"(
        uint left = UMIN(columns - k, 4u);
        uint lane = from % 4u;
        value = WORD_{0}(from / 4u) >> (8u * lane);
        if (lane + left > 4u) {{ value = value | (WORD_{0}(from / 4u + 1u) << (32u - 8u * lane)); }}
        if (left < 4u) {{ value = value & ((1u << (8u * left)) - 1u); }}
)";

// Loads the next block of matrix {0}, "x" or "q", to shared memory: {1} rows of it from {2} on, of {3} in all; {4} are
// the statements that load a word.
constexpr const char* load_block = R"(
    for (uint i = LOCAL_ID(0); i < {1} * DEPTH; i += GROUP_SIZE(0)) {{
      uint r = i / DEPTH;
      uint k = depth0 + (i % DEPTH) * PACKED;
      WORD value = NOTHING;
      if ({2} + r < {3} && k < columns) {{
        uint from = {0}_offset + ({2} + r) * {0}_stride + k;
        {4}
      }}
      {0}_part[(i % DEPTH) * ({1} + 1u) + r] = value;
    }}
)";

std::string load_part(bool packed, std::string_view matrix, std::string_view tile_rows, std::string_view first,
                      std::string_view rows) {
  const std::string word = packed ? fmt::format(load_packed, matrix) : fmt::format("value = LOAD_{}(from);", matrix);
  return fmt::format(load_block, matrix, tile_rows, first, rows, word);
}

// The division of a tile among the work-items of a group.
struct ScanShape {
  std::uint32_t across, down;             // work-items
  std::uint32_t rows_each, queries_each;  // results of one
  [[nodiscard]] std::uint32_t rows() const { return across * rows_each; }
  [[nodiscard]] std::uint32_t queries() const { return down * queries_each; }
  [[nodiscard]] std::uint32_t items() const { return across * down; }
};

// For many, some and few queries; with few, groups are small and each takes some of the rows.
constexpr std::array<ScanShape, 3> scan_shapes = {{{16, 16, 4, 4}, {64, 4, 2, 4}, {64, 1, 1, 4}}};
constexpr std::uint32_t scan_depth = 16;  // words of a part

std::uint64_t shared_words(const ScanShape& shape) {
  return std::uint64_t{scan_depth} * (shape.rows() + 1 + shape.queries() + 1);
}

std::uint64_t tiles_of(const ScanShape& shape, std::uint64_t queries, std::uint64_t rows) {
  return divide_up(rows, shape.rows()) * divide_up(queries, shape.queries());
}

// The first shape that fits the device, is at least half filled by the queries and occupies every compute unit; else
// the last one.
ScanShape scan_shape(std::uint64_t queries, std::uint64_t rows, const DeviceInfo& device) {
  const std::uint32_t most = group_items(device, 256);
  for (const ScanShape& shape : scan_shapes) {
    const bool fits = shape.items() <= most && shared_words(shape) * sizeof(float) <= device.limits.shared_bytes_max;
    const bool filled = 2 * queries >= shape.queries() && tiles_of(shape, queries, rows) >= device.compute_units;
    if (fits && filled) return shape;
  }
  ScanShape last = scan_shapes.back();
  while (last.across > 1 &&
         (last.items() > most || shared_words(last) * sizeof(float) > device.limits.shared_bytes_max))
    last.across /= 2;
  return last;
}

KernelSource scan_source(DType element, DType query_element, const ScanShape& shape) {
  const bool packed = element == DType::int8;
  KernelSource source;
  source.name = "scan_bounds";
  source.buffers = {{"x", element, Access::read},
                    {"q", query_element, Access::read},
                    {"x_terms", DType::float32, Access::read},
                    {"q_terms", DType::float32, Access::read},
                    {"candidates", DType::int32, Access::write},
                    {"bounds", DType::float32, Access::write},
                    {"counts", DType::int32, Access::read_write}};
  for (const char* scalar : {"chunk",
                             "tiles",
                             "row_tiles",
                             "rows",
                             "queries",
                             "columns",
                             "capacity",
                             "first_row",
                             "x_offset",
                             "x_stride",
                             "q_offset",
                             "q_stride",
                             "x_terms_offset",
                             "x_terms_stride",
                             "q_terms_offset",
                             "q_terms_stride",
                             "candidates_offset",
                             "candidates_stride",
                             "bounds_offset",
                             "bounds_stride",
                             "counts_offset",
                             "counts_stride"}) {
    source.scalars.push_back({scalar, DType::uint32});
  }
  source.scalars.insert(source.scalars.end(), {{"beta_margin", DType::float32}, {"margin", DType::float32}});
  const DType word = packed ? DType::uint32 : DType::float32;
  source.shared = {{"x_part", word, scan_depth * (shape.rows() + 1)},
                   {"q_part", word, scan_depth * (shape.queries() + 1)}};
  source.group = {shape.items(), 1, 1};
  const auto whole = [](std::uint32_t value) { return fmt::format("{}u", value); };
  source.defines = {{"ACROSS", whole(shape.across)},       {"DOWN", whole(shape.down)},
                    {"ROWS_EACH", whole(shape.rows_each)}, {"QUERIES_EACH", whole(shape.queries_each)},
                    {"ROWS", whole(shape.rows())},         {"QUERIES", whole(shape.queries())},
                    {"DEPTH", whole(scan_depth)},          {"PACKED", packed ? "4u" : "1u"},
                    {"WORD", packed ? "uint" : "float"},   {"NOTHING", packed ? "0u" : "0.0f"},
                    {"SUM", packed ? "int" : "float"},     {"ZERO", packed ? "0" : "0.0f"},
                    {"STEP", packed ? "DOT4_I8" : "FMA"}};
  source.body = tile_loop({.across = "ACROSS", .rows = "ROWS", .columns = "QUERIES"},
                          substitute(scan_body, {{"$LOAD_X", load_part(packed, "x", "ROWS", "row0", "rows")},
                                                 {"$LOAD_Q", load_part(packed, "q", "QUERIES", "col0", "queries")}}));
  return source;
}

LaunchPlan plan_scan(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& q = call.views[1];
  const DType element = x.type;
  const DType query_element = q.type;
  const ScanShape shape = scan_shape(q.rows, x.rows, device);
  const std::uint64_t tiles = tiles_of(shape, q.rows, x.rows);
  const GridPartition work = partition_grid(tiles, 1);
  PlannedLaunch launch;
  launch.key =
      fmt::format("scan_bounds {} {} {} {}", short_name(element), short_name(query_element), shape.across, shape.down);
  launch.source = [=] { return scan_source(element, query_element, shape); };
  launch.shape = {.grid = {work.groups, 1, 1}, .block = {shape.items(), 1, 1}};
  launch.scalars = {work.chunk,
                    index32(tiles),
                    index32(divide_up(q.rows, shape.queries())),
                    index32(x.rows),
                    index32(q.rows),
                    index32(x.columns),
                    index32(call.views[4].columns),
                    index32(static_cast<std::uint64_t>(call.parameters[0].integer))};
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
      "holds beta, sigma, rho, nu; q_terms holds gamma, a, b, limit. int8 is summed as int32.";
  scan.operands = {{"x", Access::read, number_types()},
                   {"q", Access::read, number_types()},
                   {"x_terms", Access::read, {DType::float32}},
                   {"q_terms", Access::read, {DType::float32}},
                   {"candidates", Access::read_write, {DType::int32}},
                   {"bounds", Access::read_write, {DType::float32}},
                   {"counts", Access::read_write, {DType::int32}}};
  scan.parameters = {{"first_row", true, 0, INT32_MAX, 0},
                     {"beta_margin", false, 0, anything, 0x1p-19},
                     {"margin", false, 0, anything, 0}};
  scan.types_agree = [](std::span<const DType> types) {  // 16-bit floats also go with queries that lost nothing
    return types[0] == types[1] || (types[1] == DType::float32 && types[0] != DType::int8);
  };
  scan.check = check_scan;
  scan.plan = plan_scan;
  scan.cost = scan_cost;
  scan.samples = {{{1020, 7}, {40, 7}, {1020, 4}, {40, 4}, {40, 9}, {40, 18}, {40, 1}},
                  {{2040, 7}, {9, 7}, {2040, 4}, {9, 4}, {9, 9}, {9, 18}, {9, 1}},
                  {{300, 7}, {3, 7}, {300, 4}, {3, 4}, {3, 9}, {3, 18}, {3, 1}}};
  scan.splits = [](const OperationCall&) -> std::vector<CallSplit> {
    CallSplit by_rows = split_along(SplitAxis::rows, {0, 2});
    by_rows.offset_parameter = 0;
    return {by_rows, split_along(SplitAxis::rows, {1, 3, 4, 5, 6})};
  };
  operations.push_back(std::move(scan));
}

}  // namespace vectis::inline v0_1
