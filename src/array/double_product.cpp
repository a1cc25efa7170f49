// Highway's foreach_target compiles this file once for each instruction set, and the last section only once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "array/double_product.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <vector>

#include "array/double_product.hpp"

// Outside of the sections for instruction sets: one definition for all.
#ifndef VECTIS_PANEL_COLUMNS
#define VECTIS_PANEL_COLUMNS
namespace vectis::inline v0_1::array {
constexpr std::size_t panel_columns = 16;  // of b, which are packed together
}  // namespace vectis::inline v0_1::array
#endif

HWY_BEFORE_NAMESPACE();
namespace vectis::inline v0_1::array::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t tile_rows = 8;
constexpr std::size_t tile_columns = panel_columns;
constexpr std::size_t depth = 512;  // a panel of so many rows fits into the second-level cache

using Doubles = hn::CappedTag<double, 8>;

// Adds the product of `rows` rows of `a`, which are `stride` apart, and a panel of b to a tile of sums. Elements are
// added in order of their rows in b.
HWY_INLINE void AddTile(const double* a, std::size_t stride, std::size_t rows, const double* panel, std::size_t count,
                        double* sums) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t column = 0; column < tile_columns; column += 2 * lanes) {
    hn::Vec<Doubles> low[tile_rows];
    hn::Vec<Doubles> high[tile_rows];
    for (std::size_t row = 0; row < tile_rows; ++row) {
      low[row] = hn::Load(d, sums + row * tile_columns + column);
      high[row] = hn::Load(d, sums + row * tile_columns + column + lanes);
    }
    const double* of_row[tile_rows];
    for (std::size_t row = 0; row < tile_rows; ++row) of_row[row] = a + std::min(row, rows - 1) * stride;
    for (std::size_t i = 0; i < count; ++i) {
      const auto first = hn::LoadU(d, panel + i * tile_columns + column);
      const auto second = hn::LoadU(d, panel + i * tile_columns + column + lanes);
      for (std::size_t row = 0; row < tile_rows; ++row) {
        const auto factor = hn::Set(d, of_row[row][i]);
        low[row] = hn::MulAdd(factor, first, low[row]);
        high[row] = hn::MulAdd(factor, second, high[row]);
      }
    }
    for (std::size_t row = 0; row < tile_rows; ++row) {
      hn::Store(low[row], d, sums + row * tile_columns + column);
      hn::Store(high[row], d, sums + row * tile_columns + column + lanes);
    }
  }
}

// Computes `rows` rows of the product. `panels` has the columns of b in panels of tile_columns, filled up by zeros.
void MultiplyRows(const double* a, const double* panels, std::size_t rows, std::size_t k, std::size_t n, double* out) {
  HWY_ALIGN std::array<double, tile_rows * tile_columns> sums;
  for (std::size_t first = 0; first < k; first += depth) {
    const std::size_t count = std::min(depth, k - first);
    for (std::size_t column = 0; column < n; column += tile_columns) {
      const std::size_t width = std::min(tile_columns, n - column);
      const double* const panel = panels + column * k + first * tile_columns;
      for (std::size_t row = 0; row < rows; row += tile_rows) {
        const std::size_t height = std::min(tile_rows, rows - row);
        sums.fill(0);
        if (first != 0) {
          for (std::size_t r = 0; r < height; ++r) {
            std::copy_n(out + (row + r) * n + column, width, sums.data() + r * tile_columns);
          }
        }
        AddTile(a + row * k + first, k, height, panel, count, sums.data());
        for (std::size_t r = 0; r < height; ++r) {
          std::copy_n(sums.data() + r * tile_columns, width, out + (row + r) * n + column);
        }
      }
    }
  }
}

}  // namespace vectis::inline v0_1::array::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace vectis::inline v0_1::array {

HWY_EXPORT(MultiplyRows);

void multiply_doubles(Executor& executor, const double* a, const double* b, std::size_t m, std::size_t k, std::size_t n,
                      double* out) {
  constexpr std::size_t width = panel_columns;
  constexpr std::size_t work_per_task_min = 1 << 18;
  constexpr std::size_t rows_max = 64;  // of a task, which read each panel once
  const std::size_t count = (n + width - 1) / width;
  std::vector<double> panels(count * width * k);
  const auto pack = [&](std::size_t begin, std::size_t end) {
    for (std::size_t panel = begin; panel < end; ++panel) {
      const std::size_t columns = std::min(width, n - panel * width);
      for (std::size_t row = 0; row < k; ++row) {
        std::copy_n(b + row * n + panel * width, columns, panels.data() + (panel * k + row) * width);
      }
    }
  };
  executor.parallel_for(count, work_per_task_min / (width * k) + 1, pack);
  const std::size_t blocks = (m + rows_max - 1) / rows_max;
  executor.parallel_for(blocks, work_per_task_min / (rows_max * n * k) + 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t row = block * rows_max;
      HWY_DYNAMIC_DISPATCH(MultiplyRows)(a + row * k, panels.data(), std::min(rows_max, m - row), k, n, out + row * n);
    }
  });
}

}  // namespace vectis::inline v0_1::array

#endif
