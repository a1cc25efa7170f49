#include "search/exact/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t block_numbers = 1024;
constexpr std::size_t blocks_grain = 256;  // 1 MiB

// Whether all of a whole block are finite: exponents of all ones mark the others. No branch, so that it is vectorised.
bool block_is_finite(const float* numbers) noexcept {
  constexpr std::uint32_t exponent = 0x7f800000;
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < block_numbers; ++i) {
    found |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(numbers[i]) & exponent) == exponent);
  }
  return found == 0;
}

// The first of the block that begins at `begin`, or numbers.size().
std::size_t first_in_block(std::span<const float> numbers, std::size_t begin) noexcept {
  const std::size_t end = std::min(begin + block_numbers, numbers.size());
  if (end - begin == block_numbers && block_is_finite(numbers.data() + begin)) return numbers.size();
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(numbers[i])) return i;
  }
  return numbers.size();
}

}  // namespace

void check_dim(std::string_view op, std::size_t dim) {
  if (dim >= 1 && dim <= dim_max) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("a dimension of {}, allowed are 1 to {}; give the length of one vector", dim, dim_max));
}

std::size_t count_rows(std::string_view op, std::size_t numbers, std::size_t dim) {
  if (numbers % dim != 0) {
    throw Error(
        ErrorCode::invalid_input, op,
        fmt::format("{} numbers are no whole rows of {}, {} are left over; give whole rows, one after the other",
                    numbers, dim, numbers % dim));
  }
  return numbers / dim;
}

std::size_t first_not_finite(Executor& executor, std::span<const float> numbers) {
  std::atomic<std::size_t> first = numbers.size();
  const std::size_t blocks = (numbers.size() + block_numbers - 1) / block_numbers;
  executor.parallel_for(blocks, blocks_grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t found = first_in_block(numbers, block * block_numbers);
      if (found == numbers.size()) continue;
      std::size_t known = first.load();
      while (found < known && !first.compare_exchange_weak(known, found)) {
      }
      return;
    }
  });
  return first.load();
}

void check_finite(std::string_view op, Executor& executor, std::span<const float> vectors, std::size_t dim) {
  const std::size_t place = first_not_finite(executor, vectors);
  if (place == vectors.size()) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("row {}, coordinate {} is {}, every number must be finite; leave that vector out or mend it",
                          place / dim, place % dim, vectors[place]));
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
              fmt::format("{} vectors and {} ids, they must be as many; give each vector its id", rows, ids.size()));
}

void check_one(std::string_view op, std::size_t numbers, std::size_t dim) {
  if (numbers == dim) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("a vector of {} numbers, the index has {}; give one whole vector", numbers, dim));
}

void check_radius(std::string_view op, std::optional<double> radius) {
  if (!radius || !std::isnan(*radius)) return;
  throw Error(ErrorCode::invalid_input, op, "the radius is not a number; leave it out to search without one");
}

void check_distinct(std::string_view op, std::span<const std::uint64_t> ids) {
  if (std::ranges::adjacent_find(ids, std::ranges::greater_equal{}) == ids.end()) return;  // they grow
  std::vector<std::uint64_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  const auto twin = std::ranges::adjacent_find(sorted);
  if (twin == sorted.end()) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("id {} is given twice among {}; every vector needs its own", *twin, ids.size()));
}

}  // namespace vectis::inline v0_1::exact
