// Scan kernels: compute lower bounds of the rows of a range, one function per precision and instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "search/exact/candidates.hpp"
#include "search/exact/prepared_queries.hpp"
#include "search/exact/segment.hpp"

namespace vectis::inline v0_1::exact {

// Groups of 16 rows of a segment.
struct RowRange {
  const SegmentView* segment = nullptr;
  const CodeBlock* coded = nullptr;
  std::size_t first_group = 0;  // of the code block; of the segment when fp32 rows are scanned
  std::size_t end_group = 0;    // one past the last

  [[nodiscard]] const Quantizer& quantizer() const noexcept { return *segment->quantizer; }
};

// Pushes every row of the range whose lower bound for a query is not above the query's limit. Limits that fall during
// the scan count from then on.
using ScanFunction = void (*)(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);

struct ScanKernel {
  std::string_view name;  // "amx-int8"
  Precision precision = Precision::fp32;
  QueryForm form = QueryForm::f32;
  std::size_t queries_min = 1;  // with fewer queries the next kernel is used
  bool (*usable)() = nullptr;   // on this CPU
  ScanFunction scan = nullptr;
};

// All kernels, for each precision the preferred one first.
[[nodiscard]] std::span<const ScanKernel> scan_kernels() noexcept;

// Names of the kernels for this precision that run on this CPU, the preferred first; "scalar" is always the last.
[[nodiscard]] std::vector<std::string_view> usable_scan_kernels(Precision precision);

// The first usable kernel for that many queries, or the one called `wanted` unless that is "auto". Throws InvalidInput,
// naming the usable ones, when there is none of that name.
[[nodiscard]] const ScanKernel& choose_scan_kernel(Precision precision, std::size_t queries, std::string_view wanted);

// The limit of a query plus the largest margin of the group: rows of the group with estimates above it are ruled out.
// Rounded up by more than its own computation can lose.
inline float group_limit(const CodeBlock& coded, std::size_t group, const PreparedQueries& queries,
                         std::size_t query) noexcept {
  const float margin = queries.a[query] * coded.group_residual[group] + queries.b[query] * coded.group_norm[group];
  return queries.limit[query] + margin * (1.0F + 0x1p-18F);
}

// The end of every kernel: pushes the rows of a group that their own bounds do not rule out. `estimates` are the keys
// of the 16 rows; bit r of `mask` is set for rows whose estimate is not above group_limit.
void push_group(const RowRange& range, std::size_t group, const PreparedQueries& queries, std::size_t query,
                const float* estimates, std::uint32_t mask, Candidates& candidates);
// The same for sums of differences, whose margin is relative to the sum.
void push_differences(const RowRange& range, std::size_t group, const PreparedQueries& queries, std::size_t query,
                      const float* sums, std::uint32_t mask, Candidates& candidates);

// scan_kernels_portable.cpp: all precisions.
void scan_scalar(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
#if defined(__x86_64__)
void scan_avx2(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
void scan_avx512(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
// scan_kernels_avx512.cpp: int8 codes with VNNI, and squared differences of fp32 rows.
void scan_vnni(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
void scan_euclidean_avx512(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
// scan_kernels_amx.cpp: many queries.
void scan_amx_int8(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
void scan_amx_bf16(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
#endif

}  // namespace vectis::inline v0_1::exact
