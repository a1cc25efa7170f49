// Reductions of rows to one value each: sum, sum of squares, maximum, minimum, index of the maximum.
//
// Several work-items reduce a row and combine their results in a tree. Long rows are split into segments, whose results
// are reduced again. The split depends on the shape only, so results are reproducible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// The function by which a reduction kernel reduces each row to one value; `squares` is the sum of squares.
enum class Reduction : std::uint8_t { sum, squares, max, min, argmax };

// The rows to reduce: a buffer of the plan, by index, and the shape of the matrix in it.
struct ReductionInput {
  std::size_t buffer = 0;
  DType element = DType::float32;
  std::uint64_t offset = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;  // at least 1
  std::uint64_t stride = 0;
  std::optional<std::size_t> indices = {};  // argmax of segment results: the buffer of their indices
  std::uint64_t row_places = 0;             // argmax: index distance between rows
};
// Returns the view, which must have at least one column, as the input of a reduction. `buffer` is its index in the
// call.
ReductionInput reduction_input(const View& view, std::size_t buffer);

// Where results are written: result r at offset + r * stride, divided by `divisor`, then, if `root`, its square
// root. `divisor` and `root` must keep their defaults for argmax, which ignores them.
struct ReductionOutput {
  std::size_t buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t stride = 1;
  float divisor = 1;
  bool root = false;
};

// Appends the launches and temporaries of reductions to the LaunchPlan of a call. One thread at a time.
class ReductionPlanner {
 public:
  // Appends to `plan`, the plan of a call with `views` views. `plan` and `device` must outlive the planner.
  ReductionPlanner(LaunchPlan& plan, std::size_t views, const DeviceInfo& device)
      : plan_(plan), views_(views), device_(device) {}

  // Adds a temporary of 32-bit elements to the plan and returns its buffer index, which follows those of the views.
  std::size_t temporary(std::uint64_t elements);
  // Appends the launches that reduce each row of `x` to one result, row r to result r of `out`; long rows are reduced
  // in segments first, through temporaries. `x` must have at least one row and one column, not checked.
  void rows(Reduction reduction, const ReductionInput& x, const ReductionOutput& out);
  // Appends the launches that reduce all rows of `x` to a single result. `x` must have at least one row and one
  // column. The index of argmax counts elements row by row.
  void whole(Reduction reduction, const ReductionInput& x, const ReductionOutput& out);

 private:
  void segments(Reduction reduction, const ReductionInput& x, const ReductionOutput& out, std::uint64_t segment);
  ReductionInput partial(Reduction reduction, const ReductionInput& x, std::uint64_t segment, std::uint64_t rows,
                         std::uint64_t columns);

  LaunchPlan& plan_;
  std::size_t views_;
  const DeviceInfo& device_;
};

}  // namespace vectis::inline v0_1::detail
