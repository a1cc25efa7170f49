// Dot products or squared distances of all pairs of rows of two matrices, computed as register tiles over packed panels
// (GotoBLAS). Used by the distances, and by matmul where oneDNN is not available.
//
// Elements are converted to float32 when they are packed. The depth is split into chunks: a chunk is summed in float32,
// chunks are summed in float64. Products of int8 are exact, because the sums of a chunk stay below 2^24.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/handles.hpp"
#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

// What is computed for each pair of rows: their dot product, or the sum of their squared differences.
enum class Pairing { dot, squared_difference };

// The number of elements of a row that are summed in float32 before the sum is added to a float64 total. Sums of int8
// are exact: 2^24 holds 258 of the largest squared differences of int8, which is 65,025.
inline constexpr std::size_t tile_depth = 256;

// The size of a register tile: `rows` rows of the left matrix by `columns` rows of the right matrix.
struct TileShape {
  std::size_t rows;
  std::size_t columns;
};
// Returns the tile of the instruction set in use, which is constant in a process: 12 rows with AVX-512, otherwise 6,
// by two vectors of floats. Does not throw.
TileShape tile_shape();

// One of the two matrices whose rows are paired. The view, which must outlive this object, holds the matrix, or its
// transpose when `is_transposed` is set.
struct TileOperand {
  const VectisView& view;
  bool is_transposed;

  // Returns the number of rows to pair. Does not throw.
  [[nodiscard]] std::uint64_t rows() const { return is_transposed ? view.columns : view.rows; }
  // Returns the number of elements of each row. Does not throw.
  [[nodiscard]] std::uint64_t depth() const { return is_transposed ? view.rows : view.columns; }
};

// Converts elements [first, first + depth) of rows [row, row + width) to float32 and writes them as panel[k * width +
// r]; rows past the operand's last are zero. Does not throw. Unchecked preconditions: row < operand.rows(), first +
// depth <= operand.depth(), and `panel` and `scratch` have room for width * depth floats.
void pack_panel(const TileOperand& operand, std::uint64_t row, std::size_t width, std::uint64_t first,
                std::size_t depth, float* scratch, float* panel);

// Computes tile[r * tile_shape().columns + c] in float32 from two panels of pack_panel with `depth` elements per row.
// Writes at least the first `rows` rows, and may write the whole tile. Does not throw. Unchecked preconditions: depth
// >= 1, the panels are as wide as tile_shape() says, and `tile` has room for a whole tile.
void compute_tile(Pairing pairing, std::size_t rows, std::size_t depth, const float* left, const float* right,
                  float* tile);

// Adds `count` floats of a tile to float64 totals: totals[i] += tile[i]. Does not throw. Unchecked precondition: both
// arrays hold `count` values and do not overlap.
void add_tile(const float* tile, std::size_t count, double* totals);

// Pairs every row of one matrix with every row of another and passes each tile once to finish(row, column, rows,
// columns, values, stride): as float when the depth is at most tile_depth, otherwise as double. Precondition: several
// threads can call `finish` at once, and `finish` does not throw.
template <class Finish>
class Tiling {
 public:
  // Prepares a tiling that run() computes. Does not throw. Unchecked precondition: both operands have the same depth.
  // `threads`, `finish` and the operands' views must outlive this object.
  Tiling(const Threads& threads, Pairing pairing, TileOperand left, TileOperand right, const Finish& finish)
      : threads_(threads),
        pairing_(pairing),
        left_(left),
        right_(right),
        finish_(finish),
        left_panels_((left.rows() + shape_.rows - 1) / shape_.rows),
        right_panels_((right.rows() + shape_.columns - 1) / shape_.columns),
        depth_(left.depth()),
        group_(depth_ > tile_depth ? 32 : 128) {}

  // Computes all pairs and returns after the last call of `finish`. Call once. Throws std::bad_alloc when the packed
  // left matrix or a workspace cannot be allocated.
  void run() {
    const double work =
        static_cast<double>(left_.rows()) * static_cast<double>(right_.rows()) * static_cast<double>(depth_);
    const std::uint64_t workers = work < 500'000 ? 1 : threads_.count();
    packed_left_.resize(left_panels_ * depth_ * shape_.rows);
    threads_.parallel_for(left_panels_, workers == 1 ? left_panels_ : grain_bytes / (4 * shape_.rows * depth_ + 1) + 1,
                          [&](std::uint64_t begin, std::uint64_t end) {
                            for (std::uint64_t panel = begin; panel < end; ++panel) pack_left(panel);
                          });
    const std::size_t tile = shape_.rows * shape_.columns;
    std::vector<Workspace> workspaces(workers);
    for (Workspace& space : workspaces) {
      space.panel.resize(2 * tile_depth * shape_.columns);
      space.tile.resize(tile);
      space.totals.resize(depth_ > tile_depth ? std::min<std::uint64_t>(group_, left_panels_) * tile : 0);
    }
    const std::uint64_t groups = (left_panels_ + group_ - 1) / group_;
    threads_.for_each_item(groups * right_panels_, workers, [&](std::uint64_t worker, std::uint64_t item) {
      const std::uint64_t first = item / right_panels_ * group_;
      compute(workspaces[worker], first, std::min(first + group_, left_panels_), item % right_panels_);
    });
  }

 private:
  // The buffers of one worker.
  struct Workspace {
    std::vector<float> panel;  // of the right matrix, followed by scratch
    std::vector<float> tile;
    std::vector<double> totals;  // of a group's tiles; empty when there is one chunk
  };

  // Packs one panel of the left matrix, over the whole depth, into packed_left_.
  void pack_left(std::uint64_t panel) {
    std::array<float, tile_depth * 16> scratch;
    float* to = packed_left_.data() + panel * depth_ * shape_.rows;
    for (std::uint64_t k = 0; k < depth_; k += tile_depth) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(tile_depth, depth_ - k));
      pack_panel(left_, panel * shape_.rows, shape_.rows, k, part, scratch.data(), to + k * shape_.rows);
    }
  }

  // Computes the tiles of the left panels [begin, end) with one right panel and delivers them.
  void compute(Workspace& space, std::uint64_t begin, std::uint64_t end, std::uint64_t right_panel) {
    const std::size_t tile = shape_.rows * shape_.columns;
    std::fill(space.totals.begin(), space.totals.end(), 0.0);
    for (std::uint64_t k = 0; k < depth_; k += tile_depth) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(tile_depth, depth_ - k));
      float* scratch = space.panel.data() + tile_depth * shape_.columns;
      pack_panel(right_, right_panel * shape_.columns, shape_.columns, k, part, scratch, space.panel.data());
      for (std::uint64_t i = begin; i < end; ++i) {
        const float* left = packed_left_.data() + (i * depth_ + k) * shape_.rows;
        compute_tile(pairing_, rows_of(i), part, left, space.panel.data(), space.tile.data());
        if (space.totals.empty()) {
          deliver(i, right_panel, space.tile.data());
        } else {
          add_tile(space.tile.data(), tile, space.totals.data() + (i - begin) * tile);
        }
      }
    }
    for (std::uint64_t i = begin; !space.totals.empty() && i < end; ++i) {
      deliver(i, right_panel, space.totals.data() + (i - begin) * tile);
    }
  }

  // Returns how many rows of the left matrix a panel holds: fewer than a tile's rows in the last panel.
  [[nodiscard]] std::size_t rows_of(std::uint64_t left_panel) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(shape_.rows, left_.rows() - left_panel * shape_.rows));
  }

  // Passes one finished tile to `finish`, without the rows and columns past the matrices' last.
  template <class T>
  void deliver(std::uint64_t left_panel, std::uint64_t right_panel, const T* values) {
    const std::uint64_t column = right_panel * shape_.columns;
    const std::uint64_t columns = std::min<std::uint64_t>(shape_.columns, right_.rows() - column);
    finish_(left_panel * shape_.rows, column, rows_of(left_panel), columns, values, shape_.columns);
  }

  const TileShape shape_ = tile_shape();
  const Threads& threads_;
  const Pairing pairing_;
  const TileOperand left_;
  const TileOperand right_;
  const Finish& finish_;
  const std::uint64_t left_panels_;
  const std::uint64_t right_panels_;
  const std::uint64_t depth_;
  const std::uint64_t group_;  // left panels that share a packed right panel
  std::vector<float> packed_left_;
};

// Computes all pairs of rows of `left` and `right` and passes each tile once to `finish`, as Tiling describes.
// Unchecked preconditions: both operands have the same depth, and `finish` can be called by several threads and does
// not throw. Throws std::bad_alloc when a workspace cannot be allocated.
template <class Finish>
void for_pairs(const Threads& threads, Pairing pairing, TileOperand left, TileOperand right, const Finish& finish) {
  Tiling<Finish>(threads, pairing, left, right, finish).run();
}

}  // namespace vectis::cpu
