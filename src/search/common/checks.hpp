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

// The largest dimension of a vector that an index takes.
inline constexpr std::size_t dim_max = 65'536;

// Throws InvalidInput unless 1 <= dim <= dim_max. `op` is the public call that the message names.
void check_dim(std::string_view op, std::size_t dim);

// Throws InvalidInput for a value that is no enumerator of Metric, as a cast gives it. `op` is named in the message.
void check_metric(std::string_view op, Metric metric);
// Throws InvalidInput for a value that is no enumerator of Precision, as a cast gives it. `op` is named in the message.
void check_precision(std::string_view op, Precision precision);

// Returns how many rows of `dim` floats are in `floats` floats. Throws InvalidInput when `floats` is not a multiple
// of dim. Precondition, not checked: dim > 0. `op` is the public call that the message names.
[[nodiscard]] std::size_t count_rows(std::string_view op, std::size_t floats, std::size_t dim);

// Throws InvalidInput when the view's dim is not `dim`, its stride is below its dim, its data is null although it has
// rows, or its rows, up to the last float of the last one, exceed the address space. Accepts a default view, which has
// no rows. `op` is named in the message.
void check_view(std::string_view op, const MatrixView& view, std::size_t dim);

// Returns the position of the first NaN or infinity in `values`, or values.size() when all floats are finite. Reads
// with all threads of the executor, which throws Forked in a forked child.
[[nodiscard]] std::size_t first_not_finite(Executor& executor, std::span<const float> values);

// Throws InvalidInput, naming row and coordinate, when a float is NaN or infinite. `vectors` are rows of `dim`
// floats, dim > 0; `op` is the public call that the message names.
void check_finite(std::string_view op, Executor& executor, std::span<const float> vectors, std::size_t dim);

// Returns the number of rows of `dim` floats in `vectors`. Throws Forked in a forked child, and InvalidInput when the
// size is not a multiple of dim or a float is NaN or infinite. Precondition, not checked: dim > 0.
std::size_t check_rows(std::string_view op, const Runtime& runtime, std::span<const float> vectors, std::size_t dim);

// Throws InvalidInput unless ids.size() == rows. `op` is the public call that the message names.
void check_ids(std::string_view op, std::size_t rows, std::span<const std::uint64_t> ids);
// Throws InvalidInput unless floats == dim: the caller passed exactly one vector. `op` is named in the message.
void check_one(std::string_view op, std::size_t floats, std::size_t dim);
// Throws InvalidInput when there is a radius and it is NaN. `op` is the public call that the message names.
void check_radius(std::string_view op, std::optional<double> radius);
// Throws InvalidInput when there is a recall and it is not in 0 < recall <= 1. `op` is named in the message.
void check_recall(std::string_view op, std::optional<double> recall);

// Throws InvalidInput, naming the id, when an id occurs twice in `ids`. The ids may be in any order; ascending ids
// are checked without a copy. `op` is the public call that the message names.
void check_distinct(std::string_view op, std::span<const std::uint64_t> ids);

// Returns `count` consecutive ids that begin one above `highest`, the largest id ever used, or at 0 without one.
// Throws InvalidInput when they would pass 2^64 - 1.
[[nodiscard]] std::vector<std::uint64_t> next_ids(std::string_view op, std::optional<std::uint64_t> highest,
                                                  std::size_t count);

// Throws InvalidInput with the message that the id exists already.
[[noreturn]] void throw_id_exists(std::string_view op, std::uint64_t id);
// Throws InvalidInput with the message that the id does not exist.
[[noreturn]] void throw_id_missing(std::string_view op, std::uint64_t id);

// Throws Allocation with the message that memory does not suffice for a change of `bytes` bytes by the call `op`.
[[noreturn]] void throw_no_memory(std::string_view op, std::size_t bytes);

// Calls `change` and returns its result. Throws Allocation, naming `op` and `bytes`, when `change` throws
// std::bad_alloc; every other exception passes through. `change` must leave nothing changed when it throws.
template <class Change>
auto with_memory(std::string_view op, std::size_t bytes, Change change) {
  try {
    return change();
  } catch (const std::bad_alloc&) {
    throw_no_memory(op, bytes);
  }
}

}  // namespace vectis::inline v0_1::detail
