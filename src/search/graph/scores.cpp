#include "search/graph/scores.hpp"

#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

void score_rows_plain(const Frame& frame, const Rows& rows, const CodedQuery& query, const Slot* slots,
                      std::size_t count, float* scores) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const row = rows[slots[i]];
    const auto* const codes = reinterpret_cast<const std::uint8_t*>(row);
    std::int32_t product = 0;
    std::int32_t sum = 0;
    for (std::size_t j = 0; j < frame.coded_dim; ++j) {
      product += std::int32_t{codes[j]} * std::int32_t{query.codes()[j]};
      sum += codes[j];
    }
    const RowTerms terms = terms_of(frame, row);
    const float inner =
        terms.step * (query.scale() * static_cast<float>(product) + query.shift() * static_cast<float>(sum)) +
        terms.low * query.sum();
    scores[i] = query.weight() * terms.square - 2 * inner;
  }
}

ScoreRows best_score_rows() noexcept {
#if defined(__x86_64__)
  if (cpu_info().avx512 && cpu_info().avx512_vnni) return score_rows_vnni;
#endif
  return score_rows_plain;
}

}  // namespace vectis::inline v0_1::graph
