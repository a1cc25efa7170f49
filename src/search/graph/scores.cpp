#include "search/graph/scores.hpp"

#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

namespace {

struct CodeSums {
  std::int32_t product = 0;  // with the query's codes
  std::int32_t sum = 0;
};

CodeSums sums_of(const Frame& frame, const std::byte* row, const CodedQuery& query) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(row);
  CodeSums sums;
  if (frame.bits == 8) {
    for (std::size_t i = terms_bytes; i < frame.row_bytes; ++i) {
      sums.product += bytes[i] * query.codes()[i];
      sums.sum += bytes[i];
    }
    return sums;
  }
  for (std::size_t i = terms_bytes; i < frame.row_bytes; ++i) {
    sums.product += (bytes[i] & 15) * query.codes()[i] + (bytes[i] >> 4) * query.upper_codes()[i];
    sums.sum += (bytes[i] & 15) + (bytes[i] >> 4);
  }
  return sums;
}

}  // namespace

void score_rows_plain(const Frame& frame, const CodedQuery& query, const std::byte* const* rows, std::size_t count,
                      float* scores) {
  for (std::size_t i = 0; i < count; ++i) {
    const CodeSums sums = sums_of(frame, rows[i], query);
    const RowTerms terms = terms_of(rows[i]);
    const float inner =
        terms.step * (query.scale() * static_cast<float>(sums.product) + query.shift() * static_cast<float>(sums.sum)) +
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
