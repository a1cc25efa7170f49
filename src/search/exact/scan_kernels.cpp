#include "search/exact/scan_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <string>

#include "vectis/base/cpu.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

namespace {

bool always() { return true; }
#if defined(__x86_64__)
bool has_avx2() { return cpu_info().avx2; }
bool has_avx512() { return cpu_info().avx512; }
bool has_vnni() { return cpu_info().avx512 && cpu_info().avx512_vnni; }
bool has_amx_int8() { return cpu_info().avx512 && cpu_info().amx_int8; }
bool has_amx_bf16() { return cpu_info().avx512 && cpu_info().amx_bf16; }

// AMX tiles hold 16 queries; with fewer queries than this the AVX-512 kernel is as fast.
constexpr std::size_t amx_queries_min = 5;

void scan_originals_avx512(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  const bool euclidean = is_euclidean(range.quantizer().metric);
  euclidean ? scan_euclidean_avx512(range, queries, candidates) : scan_avx512(range, queries, candidates);
}
#endif

constexpr std::array all_kernels{
#if defined(__x86_64__)
    ScanKernel{"amx-int8", Precision::int8, QueryForm::int8, amx_queries_min, has_amx_int8, scan_amx_int8, true},
    ScanKernel{"avx512-vnni", Precision::int8, QueryForm::int8, 1, has_vnni, scan_vnni},
    ScanKernel{"avx512", Precision::int8, QueryForm::int8, 1, has_avx512, scan_avx512},
    ScanKernel{"avx2", Precision::int8, QueryForm::int8, 1, has_avx2, scan_avx2},
    ScanKernel{"amx-bf16", Precision::bf16, QueryForm::bf16, amx_queries_min, has_amx_bf16, scan_amx_bf16, true},
    ScanKernel{"avx512", Precision::bf16, QueryForm::f32, 1, has_avx512, scan_avx512},
    ScanKernel{"avx2", Precision::bf16, QueryForm::f32, 1, has_avx2, scan_avx2},
    ScanKernel{"avx512", Precision::fp16, QueryForm::f32, 1, has_avx512, scan_avx512},
    ScanKernel{"avx2", Precision::fp16, QueryForm::f32, 1, has_avx2, scan_avx2},
    ScanKernel{"avx512", Precision::fp32, QueryForm::f32, 1, has_avx512, scan_originals_avx512},
    ScanKernel{"avx2", Precision::fp32, QueryForm::f32, 1, has_avx2, scan_avx2},
#endif
    ScanKernel{"scalar", Precision::int8, QueryForm::int8, 1, always, scan_scalar},
    ScanKernel{"scalar", Precision::bf16, QueryForm::f32, 1, always, scan_scalar},
    ScanKernel{"scalar", Precision::fp16, QueryForm::f32, 1, always, scan_scalar},
    ScanKernel{"scalar", Precision::fp32, QueryForm::f32, 1, always, scan_scalar},
};

}  // namespace

std::span<const ScanKernel> scan_kernels() noexcept { return all_kernels; }

std::vector<std::string_view> usable_scan_kernels(Precision precision) {
  std::vector<std::string_view> names;
  for (const ScanKernel& kernel : all_kernels) {
    if (kernel.precision == precision && kernel.usable()) names.push_back(kernel.name);
  }
  return names;
}

const ScanKernel& choose_scan_kernel(Precision precision, std::size_t queries, std::string_view wanted) {
  for (const ScanKernel& kernel : all_kernels) {
    if (kernel.precision != precision || !kernel.usable()) continue;
    if (wanted == "auto" ? queries >= kernel.queries_min : wanted == kernel.name) return kernel;
  }
  throw Error(ErrorCode::invalid_input, "search",
              fmt::format("no scan kernel {} for {} runs on this CPU; use auto, {}", wanted, name(precision),
                          fmt::join(usable_scan_kernels(precision), ", ")));
}

void push_group(const RowRange& range, std::size_t group, const PreparedQueries& queries, std::size_t query,
                const float* estimates, std::uint32_t mask, Candidates& candidates) {
  const CodeBlock& coded = *range.coded;
  const float offset_loose = 2.5F * loosening(range.quantizer().dim);
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(mask));
    const std::size_t row = group * group_rows + lane;
    if (row >= coded.rows) return;
    const float margin = queries.a[query] * coded.residual[row] + queries.b[query] * coded.norm[row];
    const float lower = estimates[lane] - margin;
    if (lower > queries.limit[query]) continue;
    candidates.push(query, coded.first_row + row, lower, 2.01F * margin + offset_loose * coded.offset[row] + 0x1p-99F);
  }
}

void push_differences(const RowRange& range, std::size_t block, const PreparedQueries& queries, std::size_t query,
                      const float* sums, std::uint32_t mask, Candidates& candidates) {
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(mask));
    const std::size_t row = block * group_rows + lane;
    if (row >= range.segment->rows) return;
    const float margin = queries.a[query] * sums[lane];
    const float lower = sums[lane] - margin;
    if (lower > queries.limit[query]) continue;
    candidates.push(query, row, lower, 2.5F * margin);
  }
}

}  // namespace vectis::inline v0_1::exact
