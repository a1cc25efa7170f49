// l2_squared, dot_product and cosine_distance of every row of one matrix to every row of another.

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "backends/cpu/operation.hpp"
#include "backends/cpu/simd.hpp"
#include "backends/cpu/tiles.hpp"

namespace vectis::cpu {

namespace {

bool is_served(const Call& call) {
  return is_vector_type(call.views[0].type) && call.views[0].type == call.views[1].type &&
         call.views[2].type == VECTIS_FLOAT32;
}

template <Pairing pairing>
VectisStatus pairs(const Call& call) {
  if (!is_served(call)) return VECTIS_UNSUPPORTED;
  const VectisView& out = call.views[2];
  for_pairs(call.threads, pairing, {call.views[0], false}, {call.views[1], false},
            [&](std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns, const auto* values,
                std::size_t stride) {
              for (std::uint64_t r = 0; r < rows; ++r) {
                float* to = row_as<float>(out, row + r) + column;
                const auto* from = values + r * stride;
                for (std::uint64_t c = 0; c < columns; ++c) to[c] = static_cast<float>(from[c]);
              }
            });
  return VECTIS_OK;
}

std::vector<float> norms(const Threads& threads, const VectisView& x) {
  std::vector<float> found(x.rows);
  const std::uint64_t bytes = x.columns * size_of(x.type) + 16;
  threads.parallel_for(x.rows, grain_bytes / bytes + 1, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      found[row] = static_cast<float>(std::sqrt(sum_of_squares(x.type, row_of(x, row), x.columns)));
    }
  });
  return found;
}

// Writes the cosine distances of the rows of `q` and `x`, whose norms are given and whose products do not overflow.
void write_cosines(const Threads& threads, const VectisView& q, const VectisView& x, const std::vector<float>& left,
                   const std::vector<float>& right, const VectisView& out) {
  for_pairs(threads, Pairing::dot, {q, false}, {x, false},
            [&](std::uint64_t row, std::uint64_t column, std::uint64_t rows, std::uint64_t columns, const auto* values,
                std::size_t stride) {
              for (std::uint64_t r = 0; r < rows; ++r) {
                float* to = row_as<float>(out, row + r) + column;
                const auto* from = values + r * stride;
                const double norm = left[row + r];
                for (std::uint64_t c = 0; c < columns; ++c) {
                  const double other = right[column + c];
                  const bool zero = norm == 0 || other == 0;  // each by itself: zero times infinity is NaN
                  to[c] = zero ? 1.0F : static_cast<float>(1.0 - static_cast<double>(from[c]) / (norm * other));
                }
              }
            });
}

// Returns whether squares or products of the rows may overflow or underflow in float32.
bool has_extreme_rows(const VectisView& x, const std::vector<float>& norms) {
  if (x.type != VECTIS_FLOAT32 && x.type != VECTIS_BFLOAT16) return false;  // too small a range
  std::vector<float> elements(x.columns);
  for (std::uint64_t row = 0; row < x.rows; ++row) {
    const float norm = norms[row];
    if ((norm >= 0x1p-50F && norm <= 0x1p60F) || std::isnan(norm)) continue;
    if (norm != 0) return true;
    // A zero row, or one whose squares are 0.
    read_floats(x.type, row_of(x, row), elements.size(), elements.data());
    if (std::ranges::any_of(elements, [](float element) { return element != 0; })) return true;
  }
  return false;
}

// A matrix in float32 whose rows are divided by powers of two, so that the largest element of each is between 1 and 2.
// The cosines of its rows are those of the original.
class ScaledMatrix {
 public:
  explicit ScaledMatrix(const VectisView& from) : values_(from.rows * from.columns) {
    for (std::uint64_t row = 0; row < from.rows; ++row) {
      const std::span<float> to = std::span(values_).subspan(row * from.columns, from.columns);
      read_floats(from.type, row_of(from, row), to.size(), to.data());
      float largest = 0;
      for (const float value : to) largest = std::max(largest, std::isfinite(value) ? std::abs(value) : 0.0F);
      if (largest == 0) continue;
      const int exponent = std::ilogb(largest);
      for (float& value : to) value = std::ldexp(value, -exponent);
    }
    memory_ = {reinterpret_cast<std::byte*>(values_.data()), true};
    view_ = {&memory_, 0, from.rows, from.columns, from.columns, VECTIS_FLOAT32};
  }
  ScaledMatrix(const ScaledMatrix&) = delete;
  ScaledMatrix& operator=(const ScaledMatrix&) = delete;

  [[nodiscard]] const VectisView& view() const { return view_; }

 private:
  std::vector<float> values_;
  VectisMemory memory_{};
  VectisView view_{};
};

VectisStatus cosine_distance(const Call& call) {
  if (!is_served(call)) return VECTIS_UNSUPPORTED;
  const VectisView& q = call.views[0];
  const VectisView& x = call.views[1];
  const VectisView& out = call.views[2];
  const std::vector<float> left = norms(call.threads, q);
  const std::vector<float> right = norms(call.threads, x);
  if (!has_extreme_rows(q, left) && !has_extreme_rows(x, right)) {
    write_cosines(call.threads, q, x, left, right, out);
    return VECTIS_OK;
  }
  const ScaledMatrix scaled_q(q);
  const ScaledMatrix scaled_x(x);
  write_cosines(call.threads, scaled_q.view(), scaled_x.view(), norms(call.threads, scaled_q.view()),
                norms(call.threads, scaled_x.view()), out);
  return VECTIS_OK;
}

constexpr std::array<NamedOperation, 3> operations{{
    {"l2_squared", pairs<Pairing::squared_difference>},
    {"dot_product", pairs<Pairing::dot>},
    {"cosine_distance", cosine_distance},
}};

}  // namespace

std::span<const NamedOperation> distance_operations() { return operations; }

}  // namespace vectis::cpu
