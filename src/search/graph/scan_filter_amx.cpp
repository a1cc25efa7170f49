// filter_amx: products of two groups of 16 rows with two blocks of 16 queries at a time, tested in registers.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "search/common/amx_tiles.hpp"
#include "search/graph/scan_filter.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t tile_bytes = detail::amx_tile_bytes;

// Where the codes of 16 rows are: plane p of row r at address + p * cache_line_bytes + r * stride.
struct GroupCodes {
  const std::byte* address = nullptr;
  std::size_t stride = 0;
};

// The groups of a batch of rows. Rows of 8 bits that follow each other in memory are used in place, others are copied.
// In place, a plane may reach beyond its row, where the query has zeros; RowBlocks and files have memory there.
class BatchCodes {
 public:
  // `unpacked` has room for the planes of all rows.
  VECTIS_AMX BatchCodes(const Quantizer& quantizer, const ScannedRows& rows, std::size_t planes, std::byte* unpacked)
      : row_bytes_(planes * cache_line_bytes) {
    for (std::size_t first = 0; first < rows.count; first += scanned_group) {
      const std::size_t count = std::min(scanned_group, rows.count - first);
      if (quantizer.bits == 8 && contiguous(rows, first, count, quantizer.row_bytes)) {
        groups_[first / scanned_group] = {rows.codes[first], quantizer.row_bytes};
      } else {
        groups_[first / scanned_group] = copied(quantizer, rows, first, count, unpacked + first * row_bytes_);
      }
    }
  }
  [[nodiscard]] const GroupCodes& operator[](std::size_t group) const noexcept { return groups_[group]; }

 private:
  static bool contiguous(const ScannedRows& rows, std::size_t first, std::size_t count, std::size_t row_bytes) {
    if (count < scanned_group) return false;
    for (std::size_t i = 1; i < scanned_group; ++i) {
      if (rows.codes[first + i] != rows.codes[first] + i * row_bytes) return false;
    }
    return true;
  }
  // The last row takes the places of those that are missing.
  VECTIS_AMX GroupCodes copied(const Quantizer& quantizer, const ScannedRows& rows, std::size_t first,
                               std::size_t count, std::byte* target) const {
    const __m512i low_nibble = _mm512_set1_epi8(15);
    for (std::size_t i = 0; i < scanned_group; ++i) {
      const std::byte* const from = rows.codes[first + std::min(i, count - 1)];
      std::byte* const to = target + i * row_bytes_;
      for (std::size_t byte = 0; byte < quantizer.row_bytes; byte += cache_line_bytes) {
        const bool whole = byte + cache_line_bytes <= quantizer.row_bytes;
        const __m512i line = _mm512_maskz_loadu_epi8(whole ? ~__mmask64{0} : __mmask64{0xFFFF}, from + byte);
        if (quantizer.bits == 8) {
          _mm512_store_si512(to + byte, line);
          continue;
        }
        _mm512_store_si512(to + byte, _mm512_and_si512(line, low_nibble));
        _mm512_store_si512(to + quantizer.padded_bytes() + byte,
                           _mm512_and_si512(_mm512_srli_epi16(line, 4), low_nibble));
      }
    }
    return {target, row_bytes_};
  }

  std::size_t row_bytes_;
  std::array<GroupCodes, scanned_batch / scanned_group> groups_;
};

// Products of two groups of rows with two blocks of queries, left in tiles 0 to 3. The headers of rows meet zeros.
VECTIS_AMX inline void multiply(const GroupCodes& first, const GroupCodes& second, const std::byte* queries,
                                const std::byte* more_queries, std::size_t planes) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t plane = 0; plane < planes; ++plane) {
    _tile_loadd(4, first.address + plane * cache_line_bytes, first.stride);
    _tile_loadd(6, queries + plane * tile_bytes, cache_line_bytes);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(7, more_queries + plane * tile_bytes, cache_line_bytes);
    _tile_dpbusd(1, 4, 7);
    _tile_loadd(5, second.address + plane * cache_line_bytes, second.stride);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
}

VECTIS_AMX inline void store_products(std::byte* products) {
  _tile_stored(0, products, cache_line_bytes);
  _tile_stored(1, products + tile_bytes, cache_line_bytes);
  _tile_stored(2, products + 2 * tile_bytes, cache_line_bytes);
  _tile_stored(3, products + 3 * tile_bytes, cache_line_bytes);
}

// Tests the products of tiles against the limits of the queries.
class TileTest {
 public:
  VECTIS_AMX TileTest(const ScannedQueries& queries, const ScannedRows& rows, std::uint64_t* passing)
      : queries_(queries), rows_(rows), passing_(passing) {
    const float norm_weight = queries.norm_weight();
    for (std::size_t i = 0; i < rows.count; ++i) base_[i] = norm_weight * rows.square[i] + rows.square_rounding[i];
    for (std::size_t first = 0; first < rows.count; first += scanned_group) {
      const std::size_t end = std::min(first + scanned_group, rows.count);
      step_max_[first / scanned_group] = *std::max_element(rows.step.begin() + first, rows.step.begin() + end);
    }
  }

  // A row that passes for no query with the largest margin of the group needs no further test.
  VECTIS_AMX void test(std::size_t group, std::size_t block, const std::byte* products) {
    const std::size_t first = group * scanned_group;
    const std::size_t count = std::min(scanned_group, rows_.count - first);
    const std::size_t lane = block * scanned_group;
    const __m512 gamma = _mm512_load_ps(queries_.gamma.data() + lane);
    const __m512 sum = _mm512_load_ps(queries_.sum.data() + lane);
    const __m512 limit = _mm512_load_ps(queries_.limit.data() + lane);
    const __m512 step_factor = _mm512_load_ps(queries_.step_factor.data() + lane);
    const __m512 norm_factor = _mm512_load_ps(queries_.norm_factor.data() + lane);
    const __m512 norm_margin = _mm512_mul_ps(norm_factor, _mm512_set1_ps(rows_.norm[group]));
    const __m512 margin = _mm512_fmadd_ps(step_factor, _mm512_set1_ps(step_max_[group]), norm_margin);
    const __m512 loose = _mm512_fmadd_ps(margin, _mm512_set1_ps(1 + score_rounding), limit);
    __mmask16 any = 0;
    for (std::size_t row = 0; row < count; ++row) {
      any |= _mm512_cmp_ps_mask(score(first + row, products + row * cache_line_bytes, gamma, sum), loose, _CMP_NGT_UQ);
    }
    if (any == 0) return;
    const std::size_t left = queries_.size() - lane;
    const auto valid = static_cast<__mmask16>(left >= scanned_group ? 0xFFFFU : (1U << left) - 1);
    for (std::size_t row = 0; row < count; ++row) {
      const std::size_t at = first + row;
      __m512 lower = score(at, products + row * cache_line_bytes, gamma, sum);
      lower = _mm512_fnmadd_ps(step_factor, _mm512_set1_ps(rows_.step[at]), lower);
      lower = _mm512_sub_ps(lower, norm_margin);
      const __mmask16 in = _mm512_cmp_ps_mask(lower, limit, _CMP_NGT_UQ) & valid;
      passing_[at] |= std::uint64_t{in} << lane;
    }
  }

 private:
  VECTIS_AMX [[gnu::always_inline]] __m512 score(std::size_t row, const std::byte* products, __m512 gamma,
                                                 __m512 sum) const {
    const __m512 product =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(products)), _mm512_set1_ps(rows_.scale[row]));
    const __m512 rest = _mm512_fmadd_ps(sum, _mm512_set1_ps(rows_.min[row]), _mm512_set1_ps(base_[row]));
    return _mm512_fmadd_ps(product, gamma, rest);
  }

  const ScannedQueries& queries_;
  const ScannedRows& rows_;
  std::uint64_t* passing_;
  std::array<float, scanned_batch> base_;
  std::array<float, scanned_batch / scanned_group> step_max_;
};

// Two groups of rows by two blocks of queries; the second of each may be missing.
struct Products {
  std::size_t group = 0;
  std::size_t block = 0;
  bool two_groups = false;
  bool two_blocks = false;
};

VECTIS_AMX void test_products(TileTest& tile, const Products& products, const std::byte* memory) {
  tile.test(products.group, products.block, memory);
  if (products.two_blocks) tile.test(products.group, products.block + 1, memory + tile_bytes);
  if (!products.two_groups) return;
  tile.test(products.group + 1, products.block, memory + 2 * tile_bytes);
  if (products.two_blocks) tile.test(products.group + 1, products.block + 1, memory + 3 * tile_bytes);
}

}  // namespace

// The vector units test one set of four tiles while the matrix unit multiplies the next.
VECTIS_AMX void filter_amx(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows,
                           ScoreRows /*score_rows*/, std::uint64_t* passing) {
  rows.read_headers(quantizer);
  const std::size_t groups = (rows.count + scanned_group - 1) / scanned_group;
  const std::size_t blocks = (queries.size() + scanned_group - 1) / scanned_group;
  const BatchCodes codes(quantizer, rows, queries.planes(), queries.unpacked_rows());
  TileTest tile(queries, rows, passing);
  std::fill_n(passing, rows.count, std::uint64_t{0});
  const detail::AmxTiles tiles;
  alignas(cache_line_bytes) std::byte memory[4 * tile_bytes];
  Products pending;
  bool any = false;
  for (std::size_t group = 0; group < groups; group += 2) {
    for (std::size_t block = 0; block < blocks; block += 2) {
      const Products next{group, block, group + 1 < groups, block + 1 < blocks};
      multiply(codes[group], codes[next.two_groups ? group + 1 : group], queries.tiles(block),
               queries.tiles(next.two_blocks ? block + 1 : block), queries.planes());
      if (any) test_products(tile, pending, memory);
      store_products(memory);
      pending = next;
      any = true;
    }
  }
  if (any) test_products(tile, pending, memory);
}

}  // namespace vectis::inline v0_1::graph

#endif
