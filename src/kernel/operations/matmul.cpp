// matmul: the general matrix product (GEMM).
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/tile.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

enum Parameter : std::uint8_t { transpose_a, transpose_b, alpha, beta };

struct Sizes {
  std::uint64_t m, n, k, k_of_b;
};

Sizes sizes(const OperationCall& call) {
  const View& a = call.views[0];
  const View& b = call.views[1];
  const bool turn_a = call.parameters[transpose_a].integer != 0;
  const bool turn_b = call.parameters[transpose_b].integer != 0;
  return {turn_a ? a.columns : a.rows, turn_b ? b.rows : b.columns, turn_a ? a.rows : a.columns,
          turn_b ? b.columns : b.rows};
}

void check(const OperationCall& call) {
  const Sizes size = sizes(call);
  if (size.k != size.k_of_b) {
    throw_invalid(call,
                  fmt::format("'a' has {} columns, but 'b' has {} rows (after transposition), they must be equal; see "
                              "transpose_a and transpose_b",
                              size.k, size.k_of_b));
  }
  expect_shape(call, 2, size.m, size.n, "rows of 'a' by columns of 'b'");
  const bool scaled = call.parameters[alpha].real != 1 || call.parameters[beta].real != 0;
  if (call.views[0].type == DType::int8 && scaled) {
    throw_invalid(call, fmt::format("alpha is {} and beta {}, products of int8 take only 1 and 0; scale the result",
                                    call.parameters[alpha].real, call.parameters[beta].real));
  }
}

bool types_agree(std::span<const DType> types) {
  return types[0] == types[1] && types[2] == (types[0] == DType::int8 ? DType::int32 : DType::float32);
}

TileSide side(const View& view, bool rows_are_depth) {
  return {view.offset, rows_are_depth ? 1 : view.stride, rows_are_depth ? view.stride : 1};
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View& a = call.views[0];
  const Sizes size = sizes(call);
  TileWork work;
  work.name = "matmul";
  work.element = a.type;
  const bool whole = a.type == DType::int8;
  work.arithmetic = whole ? TileArithmetic::wrapping : TileArithmetic::floats;
  work.buffers = {{"c", whole ? DType::int32 : DType::float32, Access::read_write}};
  work.store = "STORE_c(to, acc);";
  if (!whole) {
    work.scalars = {{"alpha", DType::float32}, {"beta", DType::float32}};
    work.store = R"(
      float value = alpha * acc;
      if (beta != 0.0f) { value = value + beta * LOAD_c(to); }
      STORE_c(to, value);
)";
  }
  LaunchPlan plan;
  plan.launches.push_back(
      tile_launch(work, {size.m, size.n, size.k}, side(a, call.parameters[transpose_a].integer != 0),
                  side(call.views[1], call.parameters[transpose_b].integer == 0), call.views[2], device));
  PlannedLaunch& launch = plan.launches.back();
  launch.buffers.push_back(2);
  if (!whole) {
    launch.scalars.insert(launch.scalars.end(), {static_cast<float>(call.parameters[alpha].real),
                                                 static_cast<float>(call.parameters[beta].real)});
  }
  return plan;
}

// With an inner dimension of 0, c = beta * c, computed as the product of a column and a row of zeros.
void when_empty(Stream& stream, const OperationCall& call) {
  const View& c = call.views[2];
  if (c.elements() == 0) return;
  if (call.parameters[beta].real == 0) return run(stream, "fill", {c}, {0});
  const DeviceMemory zeros(stream.context(), (c.rows + c.columns) * sizeof(float));
  run(stream, "fill", {{zeros, DType::float32, 1, c.rows + c.columns}}, {0});
  run(stream, "matmul",
      {{zeros, DType::float32, c.rows, 1}, {zeros, DType::float32, 1, c.columns, c.rows, c.columns}, c},
      {0, 0, 1.0, call.parameters[beta]});
}

// Along the rows of c, the columns of c, or the inner dimension.
std::vector<CallSplit> cuts(const OperationCall& call) {
  const bool turn_a = call.parameters[transpose_a].integer != 0;
  const bool turn_b = call.parameters[transpose_b].integer != 0;
  constexpr auto rows = SplitAxis::rows;
  constexpr auto columns = SplitAxis::columns;
  std::vector<CallSplit> ways{{{{0, turn_a ? columns : rows}, {2, rows}}},
                              {{{1, turn_b ? rows : columns}, {2, columns}}}};
  if (call.views[0].type == DType::int8) return ways;  // it takes no beta
  ways.push_back({{{0, turn_a ? rows : columns}, {1, turn_b ? columns : rows}}});
  ways.back().accumulate_parameter = beta;
  return ways;
}

OperationCost cost(const OperationCall& call) {
  const Sizes size = sizes(call);
  const double products = static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  const bool reads_c = call.parameters[beta].real != 0;
  return {2 * products, bytes_of(call.views) + (reads_c ? bytes_of(call.views.subspan(2)) : 0)};
}

}  // namespace

void define_matmul(std::vector<Operation>& operations) {
  operations.push_back({.name = "matmul",
                        .summary = "c becomes alpha * op(a) * op(b) + beta * c, where op transposes if transpose_a or "
                                   "transpose_b is 1; c is not read if beta is 0. float16 and bfloat16 give float32; "
                                   "int8 gives int32 exactly and takes only alpha 1, beta 0.",
                        .operands = {{"a", Access::read, number_types()},
                                     {"b", Access::read, number_types()},
                                     {"c", Access::read_write, {DType::float32, DType::int32}}},
                        .parameters = {{"transpose_a", true, 0, 1, 0},
                                       {"transpose_b", true, 0, 1, 0},
                                       {"alpha", false, -anything, anything, 1},
                                       {"beta", false, -anything, anything, 0}},
                        .types_agree = types_agree,
                        .check = check,
                        .when_empty = when_empty,
                        .plan = plan,
                        .cost = cost,
                        .samples = {{{3, 4}, {4, 5}, {3, 5}}},
                        .splits = cuts});
}

}  // namespace vectis::inline v0_1
