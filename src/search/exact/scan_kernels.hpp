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

// The groups of 16 rows of a segment that one call of a scan kernel scans. Owns nothing.
struct RowRange {
  const SegmentView* segment = nullptr;
  const CodeBlock* coded = nullptr;
  std::size_t first_group = 0;  // of the code block; of the segment when fp32 rows are scanned
  std::size_t end_group = 0;    // one past the last

  [[nodiscard]] const Quantizer& quantizer() const noexcept { return *segment->quantizer; }
};

// A scan kernel: pushes every row of the range whose lower bound for a query is not above the query's limit to
// `candidates`, which may lower limits during the scan. `queries` must be prepared for the segment's quantizer, in
// the kernel's form, and passed to candidates.begin(). Throws what the filter's predicate throws.
using ScanFunction = void (*)(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);

// A scan function with its name, the precision of rows and form of queries it takes, and the CPU feature it needs.
struct ScanKernel {
  std::string_view name;  // "amx-int8"
  Precision precision = Precision::fp32;
  QueryForm form = QueryForm::f32;
  std::size_t queries_min = 1;  // with fewer queries the next kernel is used
  bool (*usable)() = nullptr;   // on this CPU
  ScanFunction scan = nullptr;
  bool tiles = false;  // whether the queries must be packed by pack_tiles
};

// Returns all scan kernels of this build, including those that this CPU cannot run; for each precision the preferred
// one first. The span is valid for the life of the program.
[[nodiscard]] std::span<const ScanKernel> scan_kernels() noexcept;

// Returns the names of the scan kernels for this precision that run on this CPU, the preferred first. "scalar" is
// always the last, so the list is never empty.
[[nodiscard]] std::vector<std::string_view> usable_scan_kernels(Precision precision);

// Returns the preferred scan kernel for `queries` queries (at least 1) on this CPU when `wanted` is "auto", else the
// one named `wanted`. Throws InvalidInput, naming the usable ones, when no kernel of that name for this precision
// runs on this CPU.
[[nodiscard]] const ScanKernel& choose_scan_kernel(Precision precision, std::size_t queries, std::string_view wanted);

// Returns the query's limit plus the largest error margin of the group, rounded up by more than rounding can lose:
// rows of the group whose estimated key is above it are ruled out. Group and query must exist, which is not checked.
inline float group_limit(const CodeBlock& coded, std::size_t group, const PreparedQueries& queries,
                         std::size_t query) noexcept {
  const float margin = queries.a[query] * coded.group_residual[group] + queries.b[query] * coded.group_norm[group];
  return queries.limit[query] + margin * (1.0F + 0x1p-18F);
}

// Pushes the rows of a group of codes that their own bounds do not rule out to `candidates`; every kernel ends with
// it. `estimates` are the estimated keys of the 16 rows; bit r of `mask` selects row r, whose estimate must not be
// above group_limit. Ignores rows beyond the code block. Throws what the filter's predicate throws.
void push_group(const RowRange& range, std::size_t group, const PreparedQueries& queries, std::size_t query,
                const float* estimates, std::uint32_t mask, Candidates& candidates);
// Pushes the rows of a group of fp32 rows whose lower bound is not above the query's limit to `candidates`, which
// ignores removed and filtered rows. `sums` are the l2_squared, l1, chebyshev or hamming distances of the 16 rows, with
// a relative error of at most queries.a; bit r of `mask` selects row r. Ignores rows beyond the segment. Precondition,
// not checked: candidates.begin() was called with `queries`. Throws what the filter's predicate throws, std::bad_alloc.
void push_differences(const RowRange& range, std::size_t group, const PreparedQueries& queries, std::size_t query,
                      const float* sums, std::uint32_t mask, Candidates& candidates);

// Scans rows of every precision without special instructions, on every CPU. A ScanFunction.
void scan_scalar(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
#if defined(__x86_64__)
// Scans rows of every precision with AVX2. A ScanFunction. Precondition, not checked: the CPU has AVX2 and FMA.
void scan_avx2(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
// Scans rows of every precision with AVX-512. A ScanFunction. Precondition, not checked: the CPU has AVX-512.
void scan_avx512(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
// Scans int8 codes with AVX-512 VNNI. A ScanFunction. Precondition, not checked: the CPU has AVX-512 and VNNI.
void scan_vnni(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
// Scans fp32 rows under l2 or l2_squared by squared differences. A ScanFunction. Precondition, not checked: the CPU
// has AVX-512.
void scan_euclidean_avx512(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
// Scans int8 codes with AMX tiles of 16 queries, fast for 5 queries and more. A ScanFunction. Precondition, not
// checked: the CPU has AVX-512 and AMX-INT8.
void scan_amx_int8(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
// Scans bf16 codes with AMX tiles of 16 queries, fast for 5 queries and more. A ScanFunction. Precondition, not
// checked: the CPU has AVX-512 and AMX-BF16.
void scan_amx_bf16(const RowRange& range, const PreparedQueries& queries, Candidates& candidates);
#endif

}  // namespace vectis::inline v0_1::exact
