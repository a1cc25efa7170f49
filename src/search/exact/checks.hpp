// What every call of an index refuses, with one wording for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vectis/base/executor.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::exact {

inline constexpr std::size_t dim_max = 65'536;

// InvalidInput unless 1 <= dim <= dim_max.
void check_dim(std::string_view op, std::size_t dim);

// How many rows of `dim` numbers there are; InvalidInput when the last one is incomplete.
[[nodiscard]] std::size_t count_rows(std::string_view op, std::size_t numbers, std::size_t dim);

// The place of the first NaN or infinity, or numbers.size() when all are finite. Reads with all threads.
[[nodiscard]] std::size_t first_not_finite(Executor& executor, std::span<const float> numbers);

// InvalidInput naming row and coordinate when a number is not finite.
void check_finite(std::string_view op, Executor& executor, std::span<const float> vectors, std::size_t dim);

// All of that for vectors or queries of an index, after a look whether this process was forked; returns how many rows.
std::size_t check_rows(std::string_view op, const Runtime& runtime, std::span<const float> vectors, std::size_t dim);

// InvalidInput unless there is one id for each row.
void check_ids(std::string_view op, std::size_t rows, std::span<const std::uint64_t> ids);
// InvalidInput unless `numbers` is one vector.
void check_one(std::string_view op, std::size_t numbers, std::size_t dim);
// InvalidInput when there is a radius that is not a number.
void check_radius(std::string_view op, std::optional<double> radius);

// An id that occurs twice is InvalidInput.
void check_distinct(std::string_view op, std::span<const std::uint64_t> ids);

}  // namespace vectis::inline v0_1::exact
