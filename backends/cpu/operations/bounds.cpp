// scan_bounds and tighten_bounds: the steps of exact search on devices, as straightforward implementations. Searches on
// the CPU use the faster kernels of src/search/exact instead.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"

namespace vectis::cpu {

namespace {

enum : std::size_t {
  x_view,
  q_view,
  x_terms_view,
  q_terms_view,
  candidates_view,
  bounds_view,
  counts_view,
  excluded_view
};

std::int32_t int8_dot(const VectisView& x, std::uint64_t row, const VectisView& q, std::uint64_t query) {
  const auto* a = row_as<const std::int8_t>(x, row);
  const auto* b = row_as<const std::int8_t>(q, query);
  std::int32_t sum = 0;
  for (std::uint64_t i = 0; i < x.columns; ++i) sum += a[i] * b[i];
  return sum;
}

// Sixteen independent sums, so that the compiler can vectorize without reordering additions.
float block_dot(const float* a, const float* b, std::size_t count) {
  std::array<float, 16> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (std::size_t lane = 0; i + lane < count; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

float float_dot(const VectisView& x, std::uint64_t row, const VectisView& q, std::uint64_t query) {
  std::array<float, block_elements> left;
  std::array<float, block_elements> right;
  float sum = 0;
  for (std::uint64_t begin = 0; begin < x.columns; begin += block_elements) {
    const std::size_t count = std::min<std::uint64_t>(block_elements, x.columns - begin);
    sum += block_dot(as_floats(x.type, row_of(x, row) + begin * size_of(x.type), count, left.data()),
                     as_floats(q.type, row_of(q, query) + begin * size_of(q.type), count, right.data()), count);
  }
  return sum;
}

// Whether the bit of a row number is set; `masked`: parameter 3 of the call.
bool is_excluded(const Call& call, bool masked, std::uint64_t number) {
  if (!masked) return false;
  const auto word = static_cast<std::uint32_t>(row_as<const std::int32_t>(call.views[excluded_view], 0)[number / 32]);
  return ((word >> (number % 32)) & 1U) != 0;
}

void scan_query(const Call& call, std::uint64_t query) {
  const VectisView& x = call.views[x_view];
  const auto* of_query = row_as<const float>(call.views[q_terms_view], query);
  auto* candidates = row_as<std::int32_t>(call.views[candidates_view], query);
  auto* bounds = row_as<float>(call.views[bounds_view], query);
  auto* count = row_as<std::int32_t>(call.views[counts_view], query);
  const auto first = static_cast<std::uint64_t>(call.integer(0, 0));
  const auto beta_rounding = static_cast<float>(call.real(1, 0x1p-19));
  const auto rounding = static_cast<float>(call.real(2, 0));
  const bool masked = call.integer(3, 0) != 0;
  for (std::uint64_t row = 0; row < x.rows; ++row) {
    if (is_excluded(call, masked, first + row)) continue;
    const auto* of_row = row_as<const float>(call.views[x_terms_view], row);
    const float dot = x.type == VECTIS_INT8 ? static_cast<float>(int8_dot(x, row, call.views[q_view], query))
                                            : float_dot(x, row, call.views[q_view], query);
    const float error_margin = of_query[1] * of_row[2] + of_query[2] * of_row[3];
    const float lower = of_row[0] + of_query[0] * of_row[1] * dot - error_margin;
    if (lower > of_query[3]) continue;
    const auto slot = static_cast<std::uint32_t>(*count);
    *count = static_cast<std::int32_t>(slot + 1);
    if (slot >= call.views[candidates_view].columns) continue;
    candidates[slot] = static_cast<std::int32_t>(first + row);
    bounds[2 * std::size_t{slot}] = lower;
    bounds[2 * std::size_t{slot} + 1] = lower + 2.0F * error_margin + (beta_rounding * std::fabs(of_row[0]) + rounding);
  }
}

VectisStatus scan_bounds(const Call& call) {
  const VectisView& q = call.views[q_view];
  const bool is_int8 = q.type == VECTIS_INT8;
  const VectisType type = call.views[x_view].type;
  if (!is_vector_type(q.type) || !is_vector_type(type) || is_int8 != (type == VECTIS_INT8)) return VECTIS_UNSUPPORTED;
  call.threads.parallel_for(q.rows, 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t query = begin; query < end; ++query) scan_query(call, query);
  });
  return VECTIS_OK;
}

// `uppers` has room for the upper bounds of all candidates of a query.
void tighten_query(const Call& call, std::uint64_t query, float* uppers) {
  const std::uint64_t capacity = call.views[0].columns;
  const auto* candidates = row_as<const std::int32_t>(call.views[0], query);
  const auto* bounds = row_as<const float>(call.views[1], query);
  auto* count = row_as<std::int32_t>(call.views[2], query);
  auto* limit = row_as<float>(call.views[3], query);
  auto* kept = row_as<std::int32_t>(call.views[4], query);
  auto* kept_bounds = row_as<float>(call.views[5], query);
  const std::uint64_t stored = std::min<std::uint64_t>(static_cast<std::uint32_t>(*count), capacity);
  const auto k = static_cast<std::uint64_t>(call.integer(0, 1));
  if (stored >= k) {
    for (std::uint64_t i = 0; i < stored; ++i) {
      const float upper = bounds[2 * i + 1];
      uppers[i] = upper != upper ? INFINITY : upper;
    }
    std::nth_element(uppers, uppers + (k - 1), uppers + stored);
    if (uppers[k - 1] < *limit) *limit = uppers[k - 1];
  }
  if (static_cast<std::uint32_t>(*count) > capacity) return;
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < stored; ++i) {
    if (bounds[2 * i] > *limit) continue;
    if (found < call.views[4].columns) {
      kept[found] = candidates[i];
      kept_bounds[2 * found] = bounds[2 * i];
      kept_bounds[2 * found + 1] = bounds[2 * i + 1];
    }
    ++found;
  }
  *count = static_cast<std::int32_t>(found);
}

VectisStatus tighten_bounds(const Call& call) {
  const VectisView& candidates = call.views[0];
  const std::uint64_t workers = std::min<std::uint64_t>(call.threads.count(), candidates.rows);
  std::vector<float> uppers(workers * candidates.columns);
  call.threads.for_each_item(candidates.rows, workers, [&](std::uint64_t worker, std::uint64_t query) {
    tighten_query(call, query, uppers.data() + worker * candidates.columns);
  });
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 2> operations{{
    {"scan_bounds", scan_bounds},
    {"tighten_bounds", tighten_bounds},
}};

}  // namespace

std::span<const NamedOperation> bounds_operations() { return operations; }

}  // namespace vectis::cpu
