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

enum class Pairing { dot, squared_difference };

inline constexpr std::size_t tile_depth = 256;  // 2^24 holds 258 of the largest squared differences of int8, 65,025

// The tile of the instruction set in use: rows of the left matrix by rows of the right one.
struct TileShape {
  std::size_t rows;
  std::size_t columns;
};
TileShape tile_shape();

// A matrix of rows of `depth` elements; the view holds it or its transpose.
struct TileOperand {
  const VectisView& view;
  bool is_transposed;

  [[nodiscard]] std::uint64_t rows() const { return is_transposed ? view.columns : view.rows; }
  [[nodiscard]] std::uint64_t depth() const { return is_transposed ? view.rows : view.columns; }
};

// Packs elements [first, first + depth) of rows [row, row + width) as panel[k * width + r]; rows beyond the last are
// zero. `panel` and `scratch` have room for width * depth floats.
void pack_panel(const TileOperand& operand, std::uint64_t row, std::size_t width, std::uint64_t first,
                std::size_t depth, float* scratch, float* panel);

// Computes tile[r * columns + c] of one chunk from two panels, for at least the first `rows` rows.
void compute_tile(Pairing pairing, std::size_t rows, std::size_t depth, const float* left, const float* right,
                  float* tile);

// Adds the tile to the totals.
void add_tile(const float* tile, std::size_t count, double* totals);

// Computes every pair and passes each tile once to finish(row, column, rows, columns, values, stride), as float when
// there is one chunk, otherwise as double. Several threads call it, and it must not throw.
template <class Finish>
class Tiling {
 public:
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

  // May throw std::bad_alloc.
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
  struct Workspace {
    std::vector<float> panel;  // of the right matrix, followed by scratch
    std::vector<float> tile;
    std::vector<double> totals;  // of a group's tiles; empty when there is one chunk
  };

  void pack_left(std::uint64_t panel) {
    std::array<float, tile_depth * 16> scratch;
    float* to = packed_left_.data() + panel * depth_ * shape_.rows;
    for (std::uint64_t k = 0; k < depth_; k += tile_depth) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(tile_depth, depth_ - k));
      pack_panel(left_, panel * shape_.rows, shape_.rows, k, part, scratch.data(), to + k * shape_.rows);
    }
  }

  // The left panels [begin, end) with one right panel.
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

  [[nodiscard]] std::size_t rows_of(std::uint64_t left_panel) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(shape_.rows, left_.rows() - left_panel * shape_.rows));
  }

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

template <class Finish>
void for_pairs(const Threads& threads, Pairing pairing, TileOperand left, TileOperand right, const Finish& finish) {
  Tiling<Finish>(threads, pairing, left, right, finish).run();
}

}  // namespace vectis::cpu
