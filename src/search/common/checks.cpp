#include "search/common/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::size_t block_floats = 1024;
constexpr std::size_t blocks_grain = 256;  // 1 MiB

// Whether all floats of a whole block are finite: NaN and infinity have an exponent of all ones. Branchless, so that
// compilers vectorize the loop.
bool block_is_finite(const float* values) noexcept {
  constexpr std::uint32_t exponent = 0x7f800000;
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < block_floats; ++i) {
    found |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(values[i]) & exponent) == exponent);
  }
  return found == 0;
}

// The first NaN or infinity of the block that begins at `begin`, or values.size().
std::size_t first_in_block(std::span<const float> values, std::size_t begin) noexcept {
  const std::size_t end = std::min(begin + block_floats, values.size());
  if (end - begin == block_floats && block_is_finite(values.data() + begin)) return values.size();
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i])) return i;
  }
  return values.size();
}

}  // namespace

void check_dim(std::string_view op, std::size_t dim) {
  if (dim >= 1 && dim <= dim_max) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("a dimension of {}, allowed are 1 to {}; pass the length of one vector", dim, dim_max));
}

void check_metric(std::string_view op, Metric metric) {
  if (std::ranges::find(all_metrics(), metric) != all_metrics().end()) return;
  throw Error(
      ErrorCode::invalid_input, op,
      fmt::format("{} is no metric; pass an enumerator of Metric, such as Metric::l2", static_cast<int>(metric)));
}

void check_precision(std::string_view op, Precision precision) {
  if (precision >= Precision::fp32 && precision <= Precision::int8) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("{} is no precision; pass an enumerator of Precision, such as Precision::int8",
                          static_cast<int>(precision)));
}

std::size_t count_rows(std::string_view op, std::size_t floats, std::size_t dim) {
  if (floats % dim != 0) {
    throw Error(
        ErrorCode::invalid_input, op,
        fmt::format("{} floats are not a multiple of the dimension {}: {} are left over; pass whole vectors, one "
                    "after the other",
                    floats, dim, floats % dim));
  }
  return floats / dim;
}

void check_view(std::string_view op, const MatrixView& view, std::size_t dim) {
  if (view.rows == 0 && view.dim == 0) return;  // a default view
  if (view.dim != dim) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("vectors of dimension {}, but the index has dimension {}; pass vectors of that length",
                            view.dim, dim));
  }
  if (view.stride < view.dim) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("a stride of {} floats is less than the dimension {}; pass the distance between the begins "
                            "of two rows, in floats",
                            view.stride, view.dim));
  }
  if (view.data == nullptr && view.rows > 0) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("{} rows at a null pointer; pass the address of the first row", view.rows));
  }
  // The last row ends with its dim floats. No array is larger than PTRDIFF_MAX bytes.
  constexpr std::size_t floats_max = PTRDIFF_MAX / sizeof(float);
  if (view.rows > 1 && view.rows - 1 > (floats_max - view.dim) / view.stride) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("{} rows of {} floats do not fit into memory; pass the number of rows that exist",
                            view.rows, view.stride));
  }
}

std::size_t first_not_finite(Executor& executor, std::span<const float> values) {
  std::atomic<std::size_t> first = values.size();
  const std::size_t blocks = (values.size() + block_floats - 1) / block_floats;
  executor.parallel_for(blocks, blocks_grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t found = first_in_block(values, block * block_floats);
      if (found == values.size()) continue;
      std::size_t known = first.load();
      while (found < known && !first.compare_exchange_weak(known, found)) {
      }
      return;
    }
  });
  return first.load();
}

void check_finite(std::string_view op, Executor& executor, std::span<const float> vectors, std::size_t dim) {
  const std::size_t position = first_not_finite(executor, vectors);
  if (position == vectors.size()) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("row {}, coordinate {} is {}, but every float must be finite; remove or fix that vector",
                          position / dim, position % dim, vectors[position]));
}

std::size_t check_rows(std::string_view op, const Runtime& runtime, std::span<const float> vectors, std::size_t dim) {
  runtime.check_fork(op);
  const std::size_t rows = count_rows(op, vectors.size(), dim);
  check_finite(op, runtime.executor(), vectors, dim);
  return rows;
}

void check_ids(std::string_view op, std::size_t rows, std::span<const std::uint64_t> ids) {
  if (rows == ids.size()) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("{} vectors, but {} ids; pass one id for each vector", rows, ids.size()));
}

void check_one(std::string_view op, std::size_t floats, std::size_t dim) {
  if (floats == dim) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("a vector of {} floats, but the index has dimension {}; pass one whole vector", floats, dim));
}

void check_radius(std::string_view op, std::optional<double> radius) {
  if (!radius || !std::isnan(*radius)) return;
  throw Error(ErrorCode::invalid_input, op, "the radius is NaN; leave it out to search without one");
}

void check_recall(std::string_view op, std::optional<double> recall) {
  if (!recall || (*recall > 0 && *recall <= 1)) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("a recall of {}, it must be above 0 and at most 1; {} is usual", *recall, 0.95));
}

void check_distinct(std::string_view op, std::span<const std::uint64_t> ids) {
  if (std::ranges::adjacent_find(ids, std::ranges::greater_equal{}) == ids.end()) return;  // strictly ascending
  std::vector<std::uint64_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  const auto duplicate = std::ranges::adjacent_find(sorted);
  if (duplicate == sorted.end()) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("id {} is given twice among {} ids; give every vector its own id", *duplicate, ids.size()));
}

std::vector<std::uint64_t> next_ids(std::string_view op, std::optional<std::uint64_t> highest, std::size_t count) {
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (highest && count > last - *highest) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("{} vectors after id {} would pass the largest id, {}; pass their ids to add", count,
                            *highest, last));
  }
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), highest ? *highest + 1 : 0);
  return ids;
}

void throw_id_exists(std::string_view op, std::uint64_t id) {
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("id {} exists already; update or upsert it, remove it first, or choose another id", id));
}

void throw_id_missing(std::string_view op, std::uint64_t id) {
  throw Error(ErrorCode::invalid_input, op, fmt::format("id {} does not exist; add it, or use upsert", id));
}

void throw_no_memory(std::string_view op, std::size_t bytes) {
  throw Error(
      ErrorCode::allocation, op,
      fmt::format("not enough memory for a change of {} bytes, nothing was changed; change less at once, or compact",
                  bytes));
}

}  // namespace vectis::inline v0_1::detail
