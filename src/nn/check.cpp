#include "nn/check.hpp"

#include <fmt/format.h>

#include <cmath>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::nn {

void throw_invalid(std::string_view op, const std::string& message) {
  throw Error(ErrorCode::invalid_input, op, message);
}

bool is_real(DType type) noexcept {
  return type == DType::float32 || type == DType::float64 || type == DType::float16 || type == DType::bfloat16;
}

void check_rank(std::string_view op, const array::Tensor& x, std::size_t rank, std::string_view axes) {
  if (x.rank() == rank) return;
  throw_invalid(op, fmt::format("expected an array {}, received shape {}; reshape it", axes, to_string(x.shape())));
}

void check_extent(std::string_view op, const array::Tensor& x, std::int64_t axis, std::int64_t expected,
                  std::string_view what) {
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (axis < rank && axis >= -rank && x.extent(axis) == expected) return;
  throw_invalid(op, fmt::format("expected {} {} along axis {}, received shape {}; change the input or the layer",
                                expected, what, axis, to_string(x.shape())));
}

void check_min(std::string_view op, std::string_view what, std::int64_t value, std::int64_t min) {
  if (value >= min) return;
  throw_invalid(op, fmt::format("{} is {}; give at least {}", what, value, min));
}

void check_not_negative(std::string_view op, std::string_view what, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw_invalid(op, fmt::format("{} is {}, it must be finite and at least 0", what, value));
}

void check_dropout(std::string_view op, double probability) {
  if (probability >= 0 && probability < 1) return;
  throw_invalid(op, fmt::format("the probability of dropout is {}; give one of [0, 1)", probability));
}

}  // namespace vectis::inline v0_1::nn
