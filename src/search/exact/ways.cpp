#include <fmt/format.h>

#include <array>
#include <string>

#include "search/exact/host_search.hpp"
#include "search/exact/plain.hpp"
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

// Tiles hold 16 queries; below this a vector for each query reads memory as fast.
constexpr std::size_t amx_queries_min = 5;

void scan_originals_avx512(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors) {
  const bool euclidean = piece.frame().distance == Metric::l2;
  euclidean ? scan_euclidean_avx512(piece, queries, survivors) : scan_avx512(piece, queries, survivors);
}
#endif

constexpr std::array ways{
#if defined(__x86_64__)
    Way{"amx-int8", Precision::int8, QueryForm::int8, amx_queries_min, has_amx_int8, scan_amx_int8},
    Way{"avx512-vnni", Precision::int8, QueryForm::int8, 1, has_vnni, scan_vnni},
    Way{"avx512", Precision::int8, QueryForm::int8, 1, has_avx512, scan_avx512},
    Way{"avx2", Precision::int8, QueryForm::int8, 1, has_avx2, scan_avx2},
    Way{"amx-bf16", Precision::bf16, QueryForm::bf16, amx_queries_min, has_amx_bf16, scan_amx_bf16},
    Way{"avx512", Precision::bf16, QueryForm::f32, 1, has_avx512, scan_avx512},
    Way{"avx2", Precision::bf16, QueryForm::f32, 1, has_avx2, scan_avx2},
    Way{"avx512", Precision::fp16, QueryForm::f32, 1, has_avx512, scan_avx512},
    Way{"avx2", Precision::fp16, QueryForm::f32, 1, has_avx2, scan_avx2},
    Way{"avx512", Precision::fp32, QueryForm::f32, 1, has_avx512, scan_originals_avx512},
    Way{"avx2", Precision::fp32, QueryForm::f32, 1, has_avx2, scan_avx2},
#endif
    Way{"scalar", Precision::int8, QueryForm::int8, 1, always, scan_scalar},
    Way{"scalar", Precision::bf16, QueryForm::f32, 1, always, scan_scalar},
    Way{"scalar", Precision::fp16, QueryForm::f32, 1, always, scan_scalar},
    Way{"scalar", Precision::fp32, QueryForm::f32, 1, always, scan_scalar},
};

}  // namespace

std::span<const Way> all_ways() noexcept { return ways; }

std::vector<std::string_view> host_ways(Precision precision) {
  std::vector<std::string_view> names;
  for (const Way& way : ways) {
    if (way.precision == precision && way.usable()) names.push_back(way.name);
  }
  return names;
}

const Way& choose_way(Precision precision, std::size_t queries, std::string_view wanted) {
  for (const Way& way : ways) {
    if (way.precision != precision || !way.usable()) continue;
    if (wanted == "auto" ? queries >= way.queries_min : wanted == way.name) return way;
  }
  throw Error(ErrorCode::invalid_input, "search",
              fmt::format("there is no way {} to scan {} on this processor; there are auto, {}", wanted,
                          name(precision), fmt::join(host_ways(precision), ", ")));
}

}  // namespace vectis::inline v0_1::exact
