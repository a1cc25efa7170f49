// Compiled once for each instruction set by Highway's foreach_target; the last section is compiled once.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/tiles.cpp"
#include "backends/cpu/targets-inl.hpp"
//
#include <algorithm>
#include <utility>

#include "backends/cpu/simd.hpp"
#include "backends/cpu/tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

// A tile is two vectors wide and as high as the registers allow: sums take 24 of 32, or 12 of 16.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kRows = 12;
#else
constexpr std::size_t kRows = 6;
#endif

template <bool difference>
HWY_INLINE void Step(FloatVector a, FloatVector b0, FloatVector b1, FloatVector& sum0, FloatVector& sum1) {
  if constexpr (difference) {
    const FloatVector d0 = hn::Sub(a, b0);
    const FloatVector d1 = hn::Sub(a, b1);
    sum0 = hn::MulAdd(d0, d0, sum0);
    sum1 = hn::MulAdd(d1, d1, sum1);
  } else {
    sum0 = hn::MulAdd(a, b0, sum0);
    sum1 = hn::MulAdd(a, b1, sum1);
  }
}

// Runs of this length are summed separately, because the rounding error of a sum grows with its length.
constexpr std::size_t kRun = 64;

HWY_INLINE void Put(FloatVector sum, bool is_first, float* to) {
  const Floats d;
  hn::StoreU(is_first ? sum : hn::Add(hn::LoadU(d, to), sum), d, to);
}

// Rows are indexed by constants, so that the sums stay in registers.
template <bool difference, std::size_t... row>
HWY_INLINE void Rows(std::index_sequence<row...> /*rows*/, std::size_t depth, const float* HWY_RESTRICT left,
                     const float* HWY_RESTRICT right, float* HWY_RESTRICT tile) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t begin = 0; begin < depth; begin += kRun) {
    FloatVector sums0[] = {((void)row, hn::Zero(d))...};
    FloatVector sums1[] = {((void)row, hn::Zero(d))...};
    for (std::size_t k = begin; k < std::min(begin + kRun, depth); ++k) {
      const FloatVector b0 = hn::LoadU(d, right);
      const FloatVector b1 = hn::LoadU(d, right + lanes);
      (Step<difference>(hn::Set(d, left[row]), b0, b1, sums0[row], sums1[row]), ...);
      left += kRows;
      right += 2 * lanes;
    }
    (Put(sums0[row], begin == 0, tile + 2 * row * lanes), ...);
    (Put(sums1[row], begin == 0, tile + (2 * row + 1) * lanes), ...);
  }
}

template <bool difference>
void Tile(std::size_t rows, std::size_t depth, const float* left, const float* right, float* tile) {
  if (rows == 1) return Rows<difference>(std::make_index_sequence<1>(), depth, left, right, tile);
  if (rows <= 4) return Rows<difference>(std::make_index_sequence<4>(), depth, left, right, tile);
  Rows<difference>(std::make_index_sequence<kRows>(), depth, left, right, tile);
}

void ComputeTile(Pairing pairing, std::size_t rows, std::size_t depth, const float* left, const float* right,
                 float* tile) {
  if (pairing == Pairing::dot) return Tile<false>(rows, depth, left, right, tile);
  Tile<true>(rows, depth, left, right, tile);
}

TileShape Shape() { return {kRows, 2 * hn::Lanes(Floats())}; }

void AddTile(const float* HWY_RESTRICT tile, std::size_t count, double* HWY_RESTRICT totals) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sum = hn::Add(hn::LoadU(d, totals + i), hn::PromoteTo(d, hn::LoadU(narrow, tile + i)));
    hn::StoreU(sum, d, totals + i);
  }
  for (; i < count; ++i) totals[i] += tile[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

HWY_EXPORT(ComputeTile);
HWY_EXPORT(Shape);
HWY_EXPORT(AddTile);

TileShape tile_shape() { return HWY_DYNAMIC_DISPATCH(Shape)(); }

void compute_tile(Pairing pairing, std::size_t rows, std::size_t depth, const float* left, const float* right,
                  float* tile) {
  HWY_DYNAMIC_DISPATCH(ComputeTile)(pairing, rows, depth, left, right, tile);
}

void add_tile(const float* tile, std::size_t count, double* totals) {
  HWY_DYNAMIC_DISPATCH(AddTile)(tile, count, totals);
}

void pack_panel(const TileOperand& operand, std::uint64_t row, std::size_t width, std::uint64_t first,
                std::size_t depth, float* scratch, float* panel) {
  const VectisView& view = operand.view;
  const std::size_t bytes = size_of(view.type);
  const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(width, operand.rows() - row));
  if (rows < width) std::fill_n(panel, width * depth, 0.0F);
  if (operand.is_transposed) {
    for (std::size_t k = 0; k < depth; ++k) {
      read_floats(view.type, row_of(view, first + k) + row * bytes, rows, panel + k * width);
    }
    return;
  }
  const float* from = row_as<const float>(view, row) + first;
  std::size_t stride = view.stride;
  if (view.type != VECTIS_FLOAT32) {
    for (std::size_t r = 0; r < rows; ++r) {
      read_floats(view.type, row_of(view, row + r) + first * bytes, depth, scratch + r * depth);
    }
    from = scratch;
    stride = depth;
  }
  transpose_elements(sizeof(float), from, rows, depth, stride, panel, width);
}

}  // namespace vectis::cpu
#endif
