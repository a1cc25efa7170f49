// fill, copy and cast.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"
#include "vectis/base/rounding.hpp"

namespace vectis::cpu {

namespace {

// Calls body(row, column, count) in parallel for runs of at most `run_max` elements that cover rows x columns. Views
// that are all contiguous count as one long row.
template <class Body>
void for_runs(const Call& call, std::uint64_t element_bytes, std::uint64_t run_max, const Body& body) {
  std::uint64_t rows = call.views.back().rows;
  std::uint64_t columns = call.views.back().columns;
  if (std::ranges::all_of(call.views, is_contiguous)) {
    columns *= rows;
    rows = 1;
  }
  if (rows == 0 || columns == 0) return;
  const std::uint64_t per_row = (columns + run_max - 1) / run_max;
  const std::uint64_t bytes = std::max<std::uint64_t>(std::min(columns, run_max) * element_bytes, 1);
  call.threads.parallel_for(rows * per_row, std::max<std::uint64_t>(grain_bytes / bytes, 1),
                            [&](std::uint64_t begin, std::uint64_t end) {
                              for (std::uint64_t i = begin; i < end; ++i) {
                                const std::uint64_t column = i % per_row * run_max;
                                body(i / per_row, column, std::min(run_max, columns - column));
                              }
                            });
}

std::int32_t saturated(double value) {
  if (std::isnan(value)) return 0;
  constexpr double min = std::numeric_limits<std::int32_t>::min();
  constexpr double max = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), min, max));
}

// Up to a block of equal elements, from which fill copies.
using Pattern = std::array<std::byte, 4 * block_elements>;

void make_pattern(VectisType type, double value, std::size_t count, Pattern& pattern) {
  const std::int32_t integer = saturated(value);  // from the double: float32 cannot represent 2^24 + 1
  if (type == VECTIS_INT32) {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(pattern.data() + 4 * i, &integer, sizeof(integer));
    return;
  }
  // To odd where write_floats() rounds again.
  const bool narrower = type == VECTIS_FLOAT16 || type == VECTIS_BFLOAT16;
  const float rounded = narrower ? round_to_odd(value) : static_cast<float>(type == VECTIS_INT8 ? integer : value);
  std::array<float, block_elements> floats;
  std::fill_n(floats.begin(), count, rounded);
  write_floats(type, floats.data(), count, pattern.data());
}

VectisStatus fill(const Call& call) {
  const VectisView& out = call.views[0];
  const std::size_t bytes = size_of(out.type);
  if (bytes == 0) return VECTIS_UNSUPPORTED;
  Pattern pattern;
  const std::uint64_t pattern_elements = std::min<std::uint64_t>(block_elements, out.rows * out.columns);
  make_pattern(out.type, call.real(0, 0), static_cast<std::size_t>(pattern_elements), pattern);
  for_runs(call, bytes, block_elements, [&](std::uint64_t row, std::uint64_t column, std::uint64_t count) {
    std::memcpy(row_of(out, row) + column * bytes, pattern.data(), count * bytes);
  });
  return VECTIS_OK;
}

VectisStatus copy(const Call& call) {
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[1];
  const std::size_t bytes = size_of(x.type);
  if (bytes == 0 || x.type != out.type) return VECTIS_UNSUPPORTED;
  const std::uint64_t run_max = grain_bytes / bytes;
  for_runs(call, bytes, run_max, [&](std::uint64_t row, std::uint64_t column, std::uint64_t count) {
    std::memcpy(row_of(out, row) + column * bytes, row_of(x, row) + column * bytes, count * bytes);
  });
  return VECTIS_OK;
}

// An int32 that float32 holds exactly and that rounds to the same bfloat16: the low bits that float32 would lose are
// replaced by a sticky bit. Without it, rounding twice could give the wrong neighbor.
std::int32_t with_sticky_bit(std::int32_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  if (value > -(1 << 24) && value < 1 << 24) return value;
  const std::uint32_t lost = (bits & 0x1ffU) == 0 ? 0U : 0x100U;
  return static_cast<std::int32_t>((bits & ~0x1ffU) | lost);
}

void cast_block(const VectisView& x, const VectisView& out, const std::byte* from, std::size_t count, std::byte* to) {
  std::array<float, block_elements> floats;
  std::array<std::int32_t, block_elements> integers;
  if (x.type == VECTIS_INT32 && out.type == VECTIS_BFLOAT16) {
    std::memcpy(integers.data(), from, count * sizeof(std::int32_t));
    std::transform(integers.begin(), integers.begin() + static_cast<std::ptrdiff_t>(count), integers.begin(),
                   with_sticky_bit);
    from = reinterpret_cast<const std::byte*>(integers.data());
  }
  if (out.type == VECTIS_FLOAT32) return read_floats(x.type, from, count, reinterpret_cast<float*>(to));
  write_floats(out.type, as_floats(x.type, from, count, floats.data()), count, to);
}

VectisStatus cast(const Call& call) {
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[1];
  if (x.type == out.type) return copy(call);
  const std::size_t from_bytes = size_of(x.type);
  const std::size_t to_bytes = size_of(out.type);
  if (from_bytes == 0 || to_bytes == 0) return VECTIS_UNSUPPORTED;
  for_runs(call, from_bytes + to_bytes, block_elements,
           [&](std::uint64_t row, std::uint64_t column, std::uint64_t count) {
             cast_block(x, out, row_of(x, row) + column * from_bytes, count, row_of(out, row) + column * to_bytes);
           });
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 3> operations{{{"fill", fill}, {"copy", copy}, {"cast", cast}}};

}  // namespace

std::span<const NamedOperation> fill_copy_cast_operations() { return operations; }

}  // namespace vectis::cpu
