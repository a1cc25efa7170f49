// top_k: elements that beat the worst of the best k so far are collected; when the buffer is full, nth_element keeps
// the best k.
//
// Compiled once for each instruction set by Highway's foreach_target; the last section is compiled once.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/operations/top_k.cpp"
#include "backends/cpu/targets-inl.hpp"
//
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <vector>

#include "backends/cpu/operation.hpp"

#ifndef VECTIS_CPU_TOP_K_TYPES  // once for all instruction sets
#define VECTIS_CPU_TOP_K_TYPES
namespace vectis::cpu {

// Value and index in one number: the greater, the better. NaN is 0, the worst; of equal values the lower index is
// better; the zeros are equal.
using RankedKey = std::uint64_t;

constexpr std::uint32_t sign_bit = 0x80000000U;

inline RankedKey ranked_key(float value, std::uint32_t index, bool largest) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(value == 0 ? 0.0F : value);
  bits = (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;  // the order of floats as the order of integers
  if (!largest) bits = ~bits;
  return std::uint64_t{value != value ? 0U : bits} << 32 | (0xffffffffU - index);
}
inline std::uint32_t index_of(RankedKey key) { return 0xffffffffU - static_cast<std::uint32_t>(key); }
inline bool is_nan_key(RankedKey key) { return key >> 32 == 0; }

constexpr std::size_t k_max = 1024;

// The best k of a row so far, and candidates that may replace them.
struct Selection {
  std::array<RankedKey, 2 * k_max + 64> keys;  // 2k and one vector
  std::size_t count = 0;
  std::size_t k;
  bool largest;

  [[nodiscard]] bool is_full() const { return count >= k; }

  void add(const float* row, std::uint64_t index) {
    keys[count++] = ranked_key(row[index], static_cast<std::uint32_t>(index), largest);
  }

  // Keeps the best k and returns the worst of them; 0 while there are fewer.
  RankedKey shrink() {
    if (count < k) return 0;
    const auto kth = keys.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(keys.begin(), kth, keys.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
    count = k;
    return *kth;
  }
};

}  // namespace vectis::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace vectis::cpu {
namespace HWY_NAMESPACE {

// A bit for each lane that beats the worst kept value. Equal values do not: the earlier element wins a tie.
HWY_INLINE std::uint64_t BitsThatBeat(FloatVector values, FloatVector worst, bool worst_is_nan, bool largest) {
  const Floats d;
  const auto beats = worst_is_nan ? hn::Not(hn::IsNaN(values))
                     : largest    ? hn::Gt(values, worst)
                                  : hn::Lt(values, worst);
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, beats, bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// Adds elements [begin, end) of a row, which follow those already added. The first k are taken without a comparison.
void Select(const float* row, std::uint64_t begin, std::uint64_t end, Selection& selection) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t room =
      selection.k + std::max(selection.k, lanes);  // large enough that shrinking pays; a vector always fits
  std::uint64_t i = begin;
  for (; i < end && !selection.is_full(); ++i) selection.add(row, i);
  RankedKey worst = selection.shrink();
  for (; i + lanes <= end; i += lanes) {
    const auto least = hn::Set(d, row[index_of(worst)]);
    std::uint64_t bits = BitsThatBeat(hn::LoadU(d, row + i), least, is_nan_key(worst), selection.largest);
    if (bits == 0) continue;
    for (; bits != 0; bits &= bits - 1) selection.add(row, i + static_cast<std::uint64_t>(std::countr_zero(bits)));
    if (selection.count >= room) worst = selection.shrink();
  }
  for (; i < end; ++i) selection.add(row, i);
  selection.shrink();
}

}  // namespace HWY_NAMESPACE
}  // namespace vectis::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vectis::cpu {

namespace {

HWY_EXPORT(Select);

constexpr std::uint64_t chunk_elements = std::uint64_t{64} * 1024;

void write(const Call& call, std::uint64_t row, Selection& selection) {
  std::sort(selection.keys.begin(), selection.keys.begin() + static_cast<std::ptrdiff_t>(selection.count),
            std::greater<>());
  const auto* x = row_as<const float>(call.views[0], row);
  auto* values = row_as<float>(call.views[1], row);
  auto* indices = row_as<std::int32_t>(call.views[2], row);
  for (std::size_t i = 0; i < selection.count; ++i) {
    const std::uint32_t index = index_of(selection.keys[i]);
    values[i] = x[index];
    indices[i] = static_cast<std::int32_t>(index);
  }
}

// For few long rows: selects from chunks in parallel, then from the chunks' best.
void select_in_chunks(const Call& call, std::uint64_t chunks, std::size_t k, bool largest) {
  const VectisView& x = call.views[0];
  std::vector<RankedKey> kept(x.rows * chunks * k, 0);
  call.threads.parallel_for(x.rows * chunks, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      Selection selection;
      selection.k = k;
      selection.largest = largest;
      const std::uint64_t first = i % chunks * chunk_elements;
      HWY_DYNAMIC_DISPATCH(Select)
      (row_as<const float>(x, i / chunks), first, std::min(first + chunk_elements, x.columns), selection);
      std::copy_n(selection.keys.begin(), selection.count, kept.begin() + static_cast<std::ptrdiff_t>(i * k));
    }
  });
  for (std::uint64_t row = 0; row < x.rows; ++row) {
    const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(row * chunks * k);
    const auto end = begin + static_cast<std::ptrdiff_t>(chunks * k);
    std::nth_element(begin, begin + static_cast<std::ptrdiff_t>(k - 1), end, std::greater<>());
    Selection selection;
    selection.k = selection.count = k;
    std::copy_n(begin, k, selection.keys.begin());
    write(call, row, selection);
  }
}

void select_rows(const Call& call, std::size_t k, bool largest) {
  const VectisView& x = call.views[0];
  const std::uint64_t grain = chunk_elements / 4 / x.columns + 1;
  call.threads.parallel_for(x.rows, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      Selection selection;
      selection.k = k;
      selection.largest = largest;
      HWY_DYNAMIC_DISPATCH(Select)(row_as<const float>(x, row), 0, x.columns, selection);
      write(call, row, selection);
    }
  });
}

VectisStatus top_k(const Call& call) {
  const VectisView& x = call.views[0];
  const std::uint64_t k = call.views[1].columns;
  const bool has_types =
      x.type == VECTIS_FLOAT32 && call.views[1].type == VECTIS_FLOAT32 && call.views[2].type == VECTIS_INT32;
  if (!has_types || k > k_max || x.columns > 0x7fffffffU) return VECTIS_UNSUPPORTED;
  if (k == 0 || x.rows == 0 || x.columns == 0) return VECTIS_OK;
  const bool largest = call.integer(0, 1) != 0;
  const std::uint64_t chunks = (x.columns + chunk_elements - 1) / chunk_elements;
  if (chunks > 1 && x.rows < std::uint64_t{4} * call.threads.count()) {
    select_in_chunks(call, chunks, k, largest);
  } else {
    select_rows(call, k, largest);
  }
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 1> operations{{{"top_k", top_k}}};

}  // namespace

std::span<const NamedOperation> top_k_operations() { return operations; }

}  // namespace vectis::cpu
#endif
