// scan_bounds on PoCL, with terms of any magnitude.
#include "tests/operations/scan_extremes.hpp"

namespace vectis::test {
namespace {

class ScanExtremesTest : public OperationsTest {};

TEST_F(ScanExtremesTest, FindEveryRowWithinTheLimit) {
  constexpr std::array<ScanSize, 8> sizes = {{{200, 300, 8, 40, 8},
                                              {129, 257, 4, 300, 4},
                                              {60, 500, 7, 60, 1},
                                              {33, 390, 36, 30, 4},
                                              {9, 700, 5, 700, 1},
                                              {3, 900, 12, 100, 4},
                                              {1, 130, 1, 200, 1},
                                              {2, 1, 3, 1, 1}}};
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16, DType::int8}) {
    for (const ScanSize& size : sizes) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", name(type), size.queries, size.rows, size.columns));
      ScanExtremes(random, type, size).run_on(context());
      if (HasFailure()) return;
    }
  }
}

// Where estimates of bounds have the least room: in each type, one query and many.
TEST_F(ScanExtremesTest, FindRowsWhoseMarginIsTheirBound) {
  for (const DType type : {DType::float32, DType::float16, DType::bfloat16, DType::int8}) {
    for (const ScanSize& size : {ScanSize{1, 4000, 3, 5000, 1}, {4, 4000, 4, 5000, 4}, {80, 700, 8, 900, 8}}) {
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", name(type), size.queries, size.rows, size.columns));
      ScanExtremes(random, type, size, true).run_on(context());
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace vectis::test
