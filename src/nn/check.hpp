// Checks that all layers share, and their messages: what a layer expects, and what it received.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::nn {

// Throws InvalidInput "[op] message".
[[noreturn]] void throw_invalid(std::string_view op, const std::string& message);

// Returns true for floating-point types.
[[nodiscard]] bool is_real(DType type) noexcept;

// Throws InvalidInput unless `x` is an array of `rank` axes, which `axes` describes: "(batch, sequence, features)".
void check_rank(std::string_view op, const array::Tensor& x, std::size_t rank, std::string_view axes);
// Throws InvalidInput unless axis `axis` of `x` exists and has extent `expected`, which counts `what`: "features".
void check_extent(std::string_view op, const array::Tensor& x, std::int64_t axis, std::int64_t expected,
                  std::string_view what);
// Throws InvalidInput unless `value`, a parameter of a layer that is named `what`, is at least `min`.
void check_min(std::string_view op, std::string_view what, std::int64_t value, std::int64_t min = 1);
// Throws InvalidInput unless `value`, a parameter named `what`, is finite and at least 0.
void check_not_negative(std::string_view op, std::string_view what, double value);
// Throws InvalidInput unless `probability` is one of dropout: in [0, 1).
void check_dropout(std::string_view op, double probability);

}  // namespace vectis::inline v0_1::nn
