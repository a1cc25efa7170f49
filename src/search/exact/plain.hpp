// Scans of every precision, for one instruction set each; ways.cpp lists them.
#pragma once

#include "search/exact/scan.hpp"

namespace vectis::inline v0_1::exact {

void scan_scalar(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors);
#if defined(__x86_64__)
void scan_avx2(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors);
void scan_avx512(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors);
// int8 codes alone.
void scan_vnni(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors);
// Squared differences of originals alone.
void scan_euclidean_avx512(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors);
void scan_amx_int8(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors);
void scan_amx_bf16(const ScanPiece& piece, const PreparedQueries& queries, Survivors& survivors);
#endif

}  // namespace vectis::inline v0_1::exact
