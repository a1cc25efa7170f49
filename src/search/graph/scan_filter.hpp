// Which rows of an exact scan may be among the nearest of which queries: bounds of scores by code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/quantizer.hpp"

namespace vectis::inline v0_1::graph {

// Queries that one scan answers together at most: the codes of a batch of rows stay in the cache for all of them.
inline constexpr std::size_t exact_scan_queries = 64;
inline constexpr std::size_t scanned_batch = 256;  // rows whose codes are compared at once, at most
// Rows and queries of a tile.
inline constexpr std::size_t scanned_group = 16;

// Bound of the rounding errors of a score, relative to its largest terms: about ten operations of 2^-24 each.
inline constexpr float score_rounding = 0x1p-20F;

// A batch of rows: their codes, and what the bounds need to know about them.
struct ScannedRows {
  std::size_t count = 0;  // at most scanned_batch
  std::array<const std::byte*, scanned_batch> codes;
  std::array<float, scanned_batch> scale{};
  std::array<float, scanned_batch> min{};
  std::array<float, scanned_batch> square{};  // of the norm before quantization
  std::array<float, scanned_batch> step;      // of the codes, and the rounding of the terms that it multiplies
  std::array<float, scanned_batch>
      square_rounding;  // rounding of the square, negative; -infinity where codes bound nothing
  std::array<float, scanned_batch / scanned_group> norm;  // of a group: at least those of its decoded rows

  // Sets everything from `count` and `codes`. Does not throw.
  void read_headers(const Quantizer& quantizer) noexcept;
};

// The queries of a scan, and the largest scores that may still be among their nearest. Not thread-safe.
class ScannedQueries {
 public:
  // Makes room for `count` queries, at most exact_scan_queries (not checked). Throws std::bad_alloc.
  ScannedQueries(const Quantizer& quantizer, std::size_t count);

  // Sets query i to a vector of encoding.projection.dim finite floats. Throws std::bad_alloc.
  void set_vector(std::size_t i, const Encoding& encoding, const float* vector);
  // Lays the codes of all queries out for AMX, not for rows of floats. Call it when all are set. Throws std::bad_alloc.
  void pack_tiles(const Quantizer& quantizer);

  [[nodiscard]] std::size_t size() const noexcept { return codes_.size(); }
  [[nodiscard]] const QuantizedQuery& codes(std::size_t i) const noexcept { return codes_[i]; }
  [[nodiscard]] float norm_weight() const noexcept { return codes_.front().norm_weight(); }
  // Returns the packed codes of 16 queries: a kilobyte for each plane of 64 bytes of a row, in which word w of query q
  // is at 64 w + 4 q. Planes are the cache lines of a row, and those of the high nibbles after those of the low ones.
  [[nodiscard]] const std::byte* tiles(std::size_t block) const noexcept { return tiles_ + block * block_bytes_; }
  [[nodiscard]] std::size_t planes() const noexcept { return planes_; }
  // Returns scratch memory for the unpacked codes of scanned_batch rows, aligned to a cache line.
  [[nodiscard]] std::byte* unpacked_rows() const noexcept { return unpacked_rows_; }

  // One element for each query, padded to exact_scan_queries. The score of a row whose product of codes is p is
  // at least (p * scale_r) * gamma + min_r * sum + square_r - step_r * step_factor - norm_r * norm_factor.
  alignas(cache_line_bytes) std::array<float, exact_scan_queries> gamma{};
  alignas(cache_line_bytes) std::array<float, exact_scan_queries> sum{};
  alignas(cache_line_bytes) std::array<float, exact_scan_queries> step_factor{};
  alignas(cache_line_bytes) std::array<float, exact_scan_queries> norm_factor{};
  alignas(cache_line_bytes) std::array<float, exact_scan_queries> limit{};

 private:
  std::vector<QuantizedQuery> codes_;
  std::vector<std::byte> memory_;  // of tiles and unpacked rows
  std::byte* tiles_ = nullptr;
  std::byte* unpacked_rows_ = nullptr;
  std::size_t planes_ = 0;
  std::size_t block_bytes_ = 0;
};

// A kernel that sets bit i of passing[r] when the lower bound of row r's score for query i is at most its limit, or not
// a number; clears it otherwise. `passing` has rows.count elements; rows.codes are set, the other fields need not be.
// Does not throw.
using FilterRows = void (*)(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows,
                            ScoreRows score_rows, std::uint64_t* passing);

// Filters rows by the scores of `score_rows`, one query after the other. A FilterRows.
void filter_by_scores(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows,
                      ScoreRows score_rows, std::uint64_t* passing);
#if defined(__x86_64__)
// Filters rows with AVX-512 VNNI, one query after the other. A FilterRows. Precondition, not checked: the CPU has
// AVX-512 and VNNI.
void filter_vnni(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows, ScoreRows score_rows,
                 std::uint64_t* passing);
// Filters rows with AMX tiles of 16 rows by 16 queries. A FilterRows. Preconditions, not checked: the CPU has AVX-512
// and AMX-INT8, and the queries' tiles are packed.
void filter_amx(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows, ScoreRows score_rows,
                std::uint64_t* passing);
#endif

// Filters rows of floats by the scores of `score_rows`. A FilterRows; the queries' factors are not used.
void filter_floats(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows, ScoreRows score_rows,
                   std::uint64_t* passing);

// Returns the filters of codes that the host CPU supports, the fastest for many queries first. Throws std::bad_alloc.
[[nodiscard]] std::vector<FilterRows> supported_filters();
// Returns the fastest filter for the queries that the host CPU supports, and packs their tiles when it needs them. All
// queries must be set. Throws std::bad_alloc.
[[nodiscard]] FilterRows prepare_filter(const Quantizer& quantizer, ScannedQueries& queries);

}  // namespace vectis::inline v0_1::graph
