// prefix_sum by row. float32 is summed in float64 and rounded at each element; int32 wraps. A long row is split
// into chunks: first the sum of each, then each chunk from the sum of those before it.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backends/cpu/operation.hpp"

namespace vectis::cpu {

namespace {

constexpr std::uint64_t chunk_elements = std::uint64_t{32} * 1024;

// Four elements at a time: their partial sums do not depend on the running sum.
template <class T, class Sum>
void scan(const T* from, std::uint64_t count, Sum sum, bool is_exclusive, T* to) {
  std::uint64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const auto first = static_cast<Sum>(from[i]);
    const Sum second = first + static_cast<Sum>(from[i + 1]);
    const Sum third = second + static_cast<Sum>(from[i + 2]);
    const Sum fourth = third + static_cast<Sum>(from[i + 3]);
    T* place = to + i + (is_exclusive ? 1 : 0);
    if (is_exclusive) to[i] = static_cast<T>(sum);
    place[0] = static_cast<T>(sum + first);
    place[1] = static_cast<T>(sum + second);
    place[2] = static_cast<T>(sum + third);
    if (!is_exclusive) place[3] = static_cast<T>(sum + fourth);
    sum += fourth;
  }
  for (; i < count; ++i) {
    const Sum before = sum;
    sum += static_cast<Sum>(from[i]);
    to[i] = static_cast<T>(is_exclusive ? before : sum);
  }
}

template <class T, class Sum>
Sum total(const T* from, std::uint64_t count) {
  std::array<Sum, 8> sums{};
  std::uint64_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += static_cast<Sum>(from[i + lane]);
  }
  for (; i < count; ++i) sums[0] += static_cast<Sum>(from[i]);
  Sum all{};
  for (const Sum sum : sums) all += sum;
  return all;
}

// Sets starts[row * chunks + i] to the sum of all elements before chunk i of the row.
template <class T, class Sum>
void find_starts(const Call& call, std::uint64_t chunks, std::vector<Sum>& starts) {
  const VectisView& x = call.views[0];
  call.threads.parallel_for(starts.size(), 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t column = i % chunks * chunk_elements;
      starts[i] = total<T, Sum>(row_as<const T>(x, i / chunks) + column, std::min(chunk_elements, x.columns - column));
    }
  });
  for (std::uint64_t row = 0; row < x.rows; ++row) {
    Sum sum{};
    for (std::uint64_t i = row * chunks; i < (row + 1) * chunks; ++i) sum += std::exchange(starts[i], sum);
  }
}

template <class T, class Sum>
VectisStatus run_as(const Call& call) {
  const VectisView& x = call.views[0];
  const VectisView& out = call.views[1];
  const bool is_exclusive = call.integer(0, 0) != 0;
  const std::uint64_t chunks = (x.columns + chunk_elements - 1) / chunk_elements;
  std::vector<Sum> starts(chunks > 1 ? x.rows * chunks : 0);
  if (chunks > 1) find_starts<T>(call, chunks, starts);
  const std::uint64_t grain = std::max<std::uint64_t>(chunk_elements / std::max<std::uint64_t>(x.columns, 1), 1);
  call.threads.parallel_for(x.rows * chunks, grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t row = i / chunks;
      const std::uint64_t column = i % chunks * chunk_elements;
      scan<T, Sum>(row_as<const T>(x, row) + column, std::min(chunk_elements, x.columns - column),
                   chunks > 1 ? starts[i] : Sum{}, is_exclusive, row_as<T>(out, row) + column);
    }
  });
  return VECTIS_OK;
}

VectisStatus prefix_sum(const Call& call) {
  if (call.views[0].type != call.views[1].type) return VECTIS_UNSUPPORTED;
  if (call.views[0].type == VECTIS_FLOAT32) return run_as<float, double>(call);
  if (call.views[0].type == VECTIS_INT32) return run_as<std::uint32_t, std::uint32_t>(call);
  return VECTIS_UNSUPPORTED;
}

constexpr std::array<NamedOperation, 1> operations{{{"prefix_sum", prefix_sum}}};

}  // namespace

std::span<const NamedOperation> prefix_sum_operations() { return operations; }

}  // namespace vectis::cpu
