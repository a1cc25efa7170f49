// Rows folded into one number each: sums, sums of squares, largest, smallest, and where the largest is.
//
// Several work-items share a row and meet in a tree; long rows are cut into segments, whose results are folded again.
// How a row is cut depends on its shape alone, so results are the same every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

enum class Fold : std::uint8_t { sum, squares, max, min, argmax };

struct FoldInput {
  std::size_t buffer = 0;
  DType element = DType::float32;
  std::uint64_t offset = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;  // at least 1
  std::uint64_t stride = 0;
  std::optional<std::size_t> indices = {};  // argmax of what was folded before: the places of the elements
  std::uint64_t row_places = 0;             // argmax: by how much places of one row lie behind those of the row before
};
FoldInput fold_input(const View& view, std::size_t buffer);

// Result r goes to offset + r * stride; the last step divides by `divisor`, then takes the root.
struct FoldOutput {
  std::size_t buffer = 0;
  std::uint64_t offset = 0;
  std::uint64_t stride = 1;
  float divisor = 1;
  bool root = false;
};

// Appends launches and temporaries to a plan of a call with `views` views.
class FoldPlanner {
 public:
  FoldPlanner(LaunchPlan& plan, std::size_t views, const DeviceInfo& device)
      : plan_(plan), views_(views), device_(device) {}

  // A temporary of 32-bit elements; gives its buffer's place.
  std::size_t temporary(std::uint64_t elements);
  void rows(Fold fold, const FoldInput& x, const FoldOutput& out);
  void whole(Fold fold, const FoldInput& x, const FoldOutput& out);

 private:
  struct Cut;
  void segments(Fold fold, const FoldInput& x, const FoldOutput& out, std::uint64_t segment);
  FoldInput partial(Fold fold, const FoldInput& x, std::uint64_t segment, std::uint64_t rows, std::uint64_t columns);

  LaunchPlan& plan_;
  std::size_t views_;
  const DeviceInfo& device_;
};

}  // namespace vectis::inline v0_1::detail
