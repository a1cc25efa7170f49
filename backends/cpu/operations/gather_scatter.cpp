// gather and scatter of rows by index.

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

namespace {

// The views are x, index and out; x and out have the same type.
bool is_served(const Call& call) {
  return call.views[0].type == call.views[2].type && size_of(call.views[0].type) != 0 &&
         call.views[1].type == VECTIS_INT32;
}

// The row of an index, or `rows` when the index is out of range.
std::uint64_t target_row(std::int32_t index, std::uint64_t rows) {
  return index < 0 ? rows : std::min<std::uint64_t>(static_cast<std::uint32_t>(index), rows);
}

VectisStatus gather(const Call& call) {
  if (!is_served(call)) return VECTIS_UNSUPPORTED;
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[2];
  const auto* indices = row_as<const std::int32_t>(call.views[1], 0);
  const std::uint64_t bytes = out.columns * size_of(x.type);
  call.threads.parallel_for(out.rows, grain_bytes / (bytes + 16) + 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t m = begin; m < end; ++m) {
      const std::uint64_t row = target_row(indices[m], x.rows);
      if (row < x.rows) {
        std::memcpy(row_of(out, m), row_of(x, row), bytes);
      } else {
        std::memset(row_of(out, m), 0, bytes);
      }
    }
  });
  return VECTIS_OK;
}

// Each thread writes its own range of rows of `out` and reads all indices in order, so that the last of equal indices
// wins.
VectisStatus scatter(const Call& call) {
  if (!is_served(call)) return VECTIS_UNSUPPORTED;
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[2];
  const auto* indices = row_as<const std::int32_t>(call.views[1], 0);
  const std::uint64_t bytes = x.columns * size_of(x.type);
  const std::uint64_t wanted = std::min<std::uint64_t>(call.threads.count(), x.rows * (bytes + 16) / grain_bytes);
  const std::uint64_t shares = std::max<std::uint64_t>(wanted, 1);
  call.threads.parallel_for(shares, 1, [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t first = out.rows / shares * begin;
    const std::uint64_t last = end == shares ? out.rows : out.rows / shares * end;
    for (std::uint64_t m = 0; m < x.rows; ++m) {
      const std::uint64_t row = target_row(indices[m], out.rows);
      if (row >= first && row < last) std::memcpy(row_of(out, row), row_of(x, m), bytes);
    }
  });
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 2> operations{{{"gather", gather}, {"scatter", scatter}}};

}  // namespace

std::span<const NamedOperation> gather_scatter_operations() { return operations; }

}  // namespace vectis::cpu
