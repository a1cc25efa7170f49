#include "search/graph/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace vectis::inline v0_1::graph {

namespace {

constexpr float code_max = 255;

// A number is low + step * code; the codes follow.
struct Steps {
  float low = 0;
  float step = 0;
};

constexpr std::size_t bytes_of(std::size_t dim, bool whole) {
  if (whole) return dim * sizeof(float);
  return (sizeof(Steps) + dim + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

}  // namespace

Vectors::Vectors(std::size_t dim, bool whole) : dim_(dim), whole_(whole), rows_(bytes_of(dim, whole)) {}

void Vectors::write(Slot slot, const float* vector) const noexcept {
  std::byte* const row = rows_[slot];
  if (whole_) {
    std::memcpy(row, vector, dim_ * sizeof(float));
    return;
  }
  const auto [low, high] = std::minmax_element(vector, vector + dim_);
  const Steps steps{*low, *high / code_max - *low / code_max};
  std::memcpy(row, &steps, sizeof steps);
  for (std::size_t i = 0; i < dim_; ++i) {
    const float code = steps.step > 0 ? std::nearbyint((vector[i] - *low) / steps.step) : 0;
    row[sizeof steps + i] = static_cast<std::byte>(std::clamp(code, 0.0F, code_max));
  }
}

const float* Vectors::numbers(Slot slot, float* scratch) const noexcept {
  const std::byte* const row = rows_[slot];
  if (whole_) return reinterpret_cast<const float*>(row);
  Steps steps;
  std::memcpy(&steps, row, sizeof steps);
  for (std::size_t i = 0; i < dim_; ++i) {
    scratch[i] = steps.low + steps.step * static_cast<float>(std::to_integer<std::uint8_t>(row[sizeof steps + i]));
  }
  return scratch;
}

bool Vectors::finite(const std::byte* row) const noexcept {
  const auto* const numbers = reinterpret_cast<const float*>(row);
  return std::all_of(numbers, numbers + (whole_ ? dim_ : sizeof(Steps) / sizeof(float)),
                     [](float x) { return std::isfinite(x); });
}

}  // namespace vectis::inline v0_1::graph
