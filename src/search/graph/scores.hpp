// Scores of scattered rows against one query: the innermost loop of everything.
#pragma once

#include <cstddef>

#include "search/graph/codes.hpp"

namespace vectis::inline v0_1::graph {

// scores[i] is that of rows[i]. A row may be asked for more than once.
using ScoreRows = void (*)(const Frame& frame, const CodedQuery& query, const std::byte* const* rows, std::size_t count,
                           float* scores);

void score_rows_plain(const Frame& frame, const CodedQuery& query, const std::byte* const* rows, std::size_t count,
                      float* scores);
#if defined(__x86_64__)
void score_rows_vnni(const Frame& frame, const CodedQuery& query, const std::byte* const* rows, std::size_t count,
                     float* scores);
#endif

// The fastest that this processor has.
[[nodiscard]] ScoreRows best_score_rows() noexcept;

// Asks for a row before it is needed.
inline void prefetch_row(const Frame& frame, const std::byte* row) noexcept {
  for (std::size_t byte = 0; byte < frame.row_bytes; byte += line_bytes) __builtin_prefetch(row + byte);
}

}  // namespace vectis::inline v0_1::graph
