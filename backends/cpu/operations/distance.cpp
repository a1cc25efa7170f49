// l2_squared, dot_product and cosine_distance of every row of one matrix to every row of another.

#include <array>
#include <cmath>
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

VectisStatus cosine_distance(const Call& call) {
  if (!is_served(call)) return VECTIS_UNSUPPORTED;
  const VectisView& out = call.views[2];
  const std::vector<float> left = norms(call.threads, call.views[0]);
  const std::vector<float> right = norms(call.threads, call.views[1]);
  for_pairs(call.threads, Pairing::dot, {call.views[0], false}, {call.views[1], false},
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
