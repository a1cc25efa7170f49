// Argument checks that all kinds of index share, with one wording for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vectis/base/executor.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::detail {

inline constexpr std::size_t dim_max = 65'536;

// All of these throw InvalidInput; `op` is the public call that the message names.

// Unless 1 <= dim <= dim_max.
void check_dim(std::string_view op, std::size_t dim);

// Returns the number of rows of `dim` floats. Throws when `floats` is not a multiple of dim.
[[nodiscard]] std::size_t count_rows(std::string_view op, std::size_t floats, std::size_t dim);

// Unless the view's rows have `dim` floats and do not overlap.
void check_view(std::string_view op, const MatrixView& view, std::size_t dim);

// The position of the first NaN or infinity, or values.size() when all are finite. Reads with all threads.
[[nodiscard]] std::size_t first_not_finite(Executor& executor, std::span<const float> values);

// When a float is NaN or infinite, naming row and coordinate.
void check_finite(std::string_view op, Executor& executor, std::span<const float> vectors, std::size_t dim);

// Checks that the process was not forked (Forked), that rows are whole and that all floats are finite; returns the
// number of rows.
std::size_t check_rows(std::string_view op, const Runtime& runtime, std::span<const float> vectors, std::size_t dim);

// Unless there is one id for each row.
void check_ids(std::string_view op, std::size_t rows, std::span<const std::uint64_t> ids);
// Unless there are `dim` floats.
void check_one(std::string_view op, std::size_t floats, std::size_t dim);
// When the radius is NaN.
void check_radius(std::string_view op, std::optional<double> radius);
// Unless 0 < recall <= 1, where there is one.
void check_recall(std::string_view op, std::optional<double> recall);

// When an id repeats.
void check_distinct(std::string_view op, std::span<const std::uint64_t> ids);

// `count` consecutive ids from one more than the highest ever used. Throws when they would pass the largest id.
[[nodiscard]] std::vector<std::uint64_t> next_ids(std::string_view op, std::optional<std::uint64_t> highest,
                                                  std::size_t count);

[[noreturn]] void throw_id_exists(std::string_view op, std::uint64_t id);
[[noreturn]] void throw_id_missing(std::string_view op, std::uint64_t id);

// Throws Allocation for a change of so many bytes.
[[noreturn]] void throw_no_memory(std::string_view op, std::size_t bytes);

// Runs a change, with std::bad_alloc turned into Allocation.
template <class Change>
auto with_memory(std::string_view op, std::size_t bytes, Change change) {
  try {
    return change();
  } catch (const std::bad_alloc&) {
    throw_no_memory(op, bytes);
  }
}

}  // namespace vectis::inline v0_1::detail
