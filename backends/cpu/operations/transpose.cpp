// transpose, by squares that fit the first-level cache both as they are read and as they are written.

#include <algorithm>
#include <array>

#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

namespace {

constexpr std::uint64_t square = 32;

// x's rectangle from (row, column), at most a square.
template <class T>
void transpose_square(const VectisView& x, const VectisView& out, std::uint64_t row, std::uint64_t column) {
  const std::uint64_t rows = std::min(square, x.rows - row);
  const std::uint64_t columns = std::min(square, x.columns - column);
  const T* from = row_as<T>(x, row) + column;
  T* to = row_as<T>(out, column) + row;
  for (std::uint64_t c = 0; c < columns; ++c) {
    for (std::uint64_t r = 0; r < rows; ++r) to[c * out.stride + r] = from[r * x.stride + c];
  }
}

template <class T>
void transpose_as(const Call& call) {
  const VectisView& x = call.views[0];
  const std::uint64_t across = (x.columns + square - 1) / square;
  const std::uint64_t down = (x.rows + square - 1) / square;
  const std::uint64_t square_bytes = 2 * square * square * sizeof(T);
  call.threads.parallel_for(across * down, piece_bytes / square_bytes, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      transpose_square<T>(x, call.views[1], i % down * square, i / down * square);
    }
  });
}

VectisStatus transpose(const Call& call) {
  if (call.views[0].type != call.views[1].type) return VECTIS_UNSUPPORTED;
  switch (size_of(call.views[0].type)) {
    case 1:
      transpose_as<std::uint8_t>(call);
      return VECTIS_OK;
    case 2:
      transpose_as<std::uint16_t>(call);
      return VECTIS_OK;
    case 4:
      transpose_as<std::uint32_t>(call);
      return VECTIS_OK;
    default:
      return VECTIS_UNSUPPORTED;
  }
}

constexpr std::array<NamedOperation, 1> operations{{{"transpose", transpose}}};

}  // namespace

std::span<const NamedOperation> transpose_operations() { return operations; }

}  // namespace vectis::cpu
