// Reductions of rows and of whole views.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/reduction.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

struct NamedReduction {
  const char* name;
  const char* meaning;
  const char* remark;
  Reduction kind;
  bool of_nothing;  // whether it has a value for no elements, which is zero
  bool mean = false;
  bool root = false;
};

constexpr std::array<NamedReduction, 6> reductions = {{
    {"sum", "the sum", "", Reduction::sum, true},
    {"mean", "the mean", "", Reduction::sum, false, true},
    {"max", "the largest element", "; NaN if any is NaN", Reduction::max, false},
    {"min", "the smallest element", "; NaN if any is NaN", Reduction::min, false},
    {"norm", "the Euclidean norm, the square root of the sum of squares,", "", Reduction::squares, true, false, true},
    {"argmax", "the index of the largest element", "; the lowest index of equals, and NaN counts as largest",
     Reduction::argmax, false},
}};

void check(const OperationCall& call, const NamedReduction& reduction, bool whole) {
  const View& x = call.views[0];
  expect_shape(call, 1, whole ? 1 : x.rows, 1, whole ? "one value" : "one value for each row of 'x'");
  const bool nothing = whole ? x.elements() == 0 : x.rows > 0 && x.columns == 0;
  if (nothing && !reduction.of_nothing) {
    throw_invalid(call, fmt::format("'x' is {} x {}, {} of no elements is not defined; give at least 1", x.rows,
                                    x.columns, reduction.name));
  }
  const std::uint64_t places = whole ? x.elements() : x.columns;
  if (reduction.kind == Reduction::argmax && places > INT32_MAX) {
    throw_invalid(
        call, fmt::format("'x' has {} elements, an int32 index reaches at most {}; split the view", places, INT32_MAX));
  }
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device, const NamedReduction& reduction, bool whole) {
  const View& x = call.views[0];
  const View& out = call.views[1];
  LaunchPlan result;
  ReductionPlanner planner(result, call.views.size(), device);
  const std::uint64_t folded = whole ? x.elements() : x.columns;
  const ReductionOutput target{.buffer = 1,
                               .offset = out.offset,
                               .stride = out.stride,
                               .divisor = reduction.mean ? static_cast<float>(folded) : 1.0F,
                               .root = reduction.root};
  if (whole) {
    planner.whole(reduction.kind, reduction_input(x, 0), target);
  } else {
    planner.rows(reduction.kind, reduction_input(x, 0), target);
  }
  return result;
}

// Sets the outputs to the value of no elements, zero, as the reduction of one zero each: a backend without a compiler
// that implements the reduction then needs no other operation.
void reduce_nothing(Stream& stream, const OperationCall& call) {
  const View& out = call.views[1];
  if (out.elements() == 0) return;
  const std::uint64_t bytes = out.rows * sizeof(float);  // enough for a zero of every type
  const DeviceMemory zeros(stream.context(), bytes);
  stream.fill(zeros, 0, bytes, 0);
  run(stream, call.operation->name, {{zeros, call.views[0].type, out.rows, 1}, out});
}

Operation define(const NamedReduction& reduction, bool whole) {
  const std::vector<DType> result = {reduction.kind == Reduction::argmax ? DType::int32 : DType::float32};
  const double steps = reduction.kind == Reduction::squares ? 2 : 1;
  Operation operation;
  operation.name = fmt::format("{}{}", reduction.name, whole ? "" : "_rows");
  operation.summary =
      fmt::format("out becomes {} of {}{}.", reduction.meaning, whole ? "x" : "each row of x", reduction.remark);
  operation.operands = {{"x", Access::read, number_types()}, {"out", Access::write, result}};
  operation.check = [&reduction, whole](const OperationCall& call) { check(call, reduction, whole); };
  operation.when_empty = reduce_nothing;
  operation.plan = [&reduction, whole](const OperationCall& call, const DeviceInfo& device) {
    return plan(call, device, reduction, whole);
  };
  operation.cost = [steps](const OperationCall& call) {
    return OperationCost{steps * static_cast<double>(call.views[0].elements()), bytes_of(call.views)};
  };
  operation.samples = {{{3, 5}, {whole ? 1U : 3U, 1}},
                       {{1, 20000}, {1, 1}}};  // two levels, and short enough for an emulator
  if (!whole) operation.splits = split_by_rows({0, 1});
  return operation;
}

}  // namespace

void define_reduce(std::vector<Operation>& operations) {
  for (const NamedReduction& reduction : reductions) {
    operations.push_back(define(reduction, false));
    operations.push_back(define(reduction, true));
  }
}

}  // namespace vectis::inline v0_1
