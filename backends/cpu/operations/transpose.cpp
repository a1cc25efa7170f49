// transpose, by squares that stay in the L1 cache.

#include <algorithm>
#include <array>

#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"

namespace vectis::cpu {

namespace {

constexpr std::uint64_t square = 64;  // elements: a whole cache line even for int8

VectisStatus transpose(const Call& call) {
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[1];
  const std::size_t bytes = size_of(x.type);
  if (bytes == 0 || x.type != out.type) return VECTIS_UNSUPPORTED;
  const std::uint64_t across = (x.columns + square - 1) / square;
  const std::uint64_t down = (x.rows + square - 1) / square;
  const std::uint64_t grain = grain_bytes / (2 * square * square * bytes);
  call.threads.parallel_for(across * down, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t row = i % down * square;
      const std::uint64_t column = i / down * square;
      transpose_elements(bytes, row_of(x, row) + column * bytes, std::min(square, x.rows - row),
                         std::min(square, x.columns - column), x.stride, row_of(out, column) + row * bytes, out.stride);
    }
  });
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 1> operations{{{"transpose", transpose}}};

}  // namespace

std::span<const NamedOperation> transpose_operations() { return operations; }

}  // namespace vectis::cpu
