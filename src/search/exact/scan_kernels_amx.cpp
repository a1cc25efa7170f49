// Scan kernels for many queries with AMX: tiles of 16 rows by 16 queries, keys tested in registers.
//
// Rows are the left operand as they lie in memory; queries are the right one, interleaved by fours of bytes (pairs of
// bfloat16) by pack_tiles. The rows of a panel stay in the L1 cache while all queries are multiplied. Short
// rows, of one or two tiles, are multiplied by tiles of 16 queries; of longer ones two tiles of rows by two of queries,
// so that each load feeds two products.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "search/common/amx_tiles.hpp"
#include "search/exact/scan_kernels.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t tile_bytes = detail::amx_tile_bytes;
constexpr std::size_t panel_bytes = std::size_t{16} << 10U;

struct Int8Tiles {
  VECTIS_AMX static __m512 to_floats(__m512i sums) { return _mm512_cvtepi32_ps(sums); }
};
struct Bfloat16Tiles {
  VECTIS_AMX static __m512 to_floats(__m512i sums) { return _mm512_castsi512_ps(sums); }
};

// Tile `Sum` of 0 to 3 += rows (4 or 5) times queries (6 or 7).
template <class Kind, int Sum>
VECTIS_AMX inline void multiply_add(std::integral_constant<int, Sum>) {
  constexpr bool whole = std::is_same_v<Kind, Int8Tiles>;
  if constexpr (whole && Sum == 0) _tile_dpbssd(0, 4, 6);
  if constexpr (whole && Sum == 1) _tile_dpbssd(1, 4, 7);
  if constexpr (whole && Sum == 2) _tile_dpbssd(2, 5, 6);
  if constexpr (whole && Sum == 3) _tile_dpbssd(3, 5, 7);
  if constexpr (!whole && Sum == 0) _tile_dpbf16ps(0, 4, 6);
  if constexpr (!whole && Sum == 1) _tile_dpbf16ps(1, 4, 7);
  if constexpr (!whole && Sum == 2) _tile_dpbf16ps(2, 5, 6);
  if constexpr (!whole && Sum == 3) _tile_dpbf16ps(3, 5, 7);
}

// Each product is issued as soon as its operands are loaded, so that loads and products overlap.
// Products of two tiles of rows (the second `rows_apart` bytes on) with two of queries, left in tiles 0 to 3.
template <class Kind>
VECTIS_AMX inline void multiply(const std::byte* rows, std::size_t rows_apart, const std::byte* queries,
                                std::size_t queries_apart, std::size_t chunks) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::byte* const row = rows + chunk * tile_bytes;
    const std::byte* const query = queries + chunk * tile_bytes;
    _tile_loadd(4, row, 64);
    _tile_loadd(6, query, 64);
    multiply_add<Kind>(std::integral_constant<int, 0>());
    _tile_loadd(7, query + queries_apart, 64);
    multiply_add<Kind>(std::integral_constant<int, 1>());
    _tile_loadd(5, row + rows_apart, 64);
    multiply_add<Kind>(std::integral_constant<int, 2>());
    multiply_add<Kind>(std::integral_constant<int, 3>());
  }
}

VECTIS_AMX inline void store_products(std::byte* sums) {
  _tile_stored(0, sums, 64);
  _tile_stored(1, sums + tile_bytes, 64);
  _tile_stored(2, sums + 2 * tile_bytes, 64);
  _tile_stored(3, sums + 3 * tile_bytes, 64);
}

// Pushes rows of the tile for the queries of the block whose bit is set.
template <class Kind>
VECTIS_AMX void push_tile(const RowRange& range, std::size_t group, const PreparedQueries& queries, std::size_t block,
                          const std::byte* sums, std::uint32_t passing, Candidates& candidates) {
  const CodeBlock& coded = *range.coded;
  const __m512 step = _mm512_loadu_ps(coded.step + group * group_rows);
  const __m512 offset = _mm512_loadu_ps(coded.offset + group * group_rows);
  const __m512i column = _mm512_slli_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), 4);
  for (; passing != 0; passing &= passing - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(passing));
    const std::size_t query = block + lane;
    const __m512 scaled = _mm512_mul_ps(Kind::to_floats(_mm512_i32gather_epi32(column, sums + lane * 4, 4)), step);
    const __m512 keys = _mm512_fmadd_ps(scaled, _mm512_set1_ps(queries.gamma[query]), offset);
    const __m512 limit = _mm512_set1_ps(group_limit(coded, group, queries, query));
    const __mmask16 in = _mm512_cmp_ps_mask(keys, limit, _CMP_LE_OQ);
    if (in == 0) continue;
    alignas(64) float estimates[group_rows];
    _mm512_store_ps(estimates, keys);
    push_group(range, group, queries, query, estimates, in, candidates);
  }
}

// A query whose smallest key of the 16 rows is above the limit needs no further test.
template <class Kind>
VECTIS_AMX inline void test_tile(const RowRange& range, std::size_t group, const PreparedQueries& queries,
                                 std::size_t block, const std::byte* sums, Candidates& candidates) {
  const CodeBlock& coded = *range.coded;
  const float* const step = coded.step + group * group_rows;
  const float* const offset = coded.offset + group * group_rows;
  const __m512 gamma = _mm512_loadu_ps(queries.gamma.data() + block);
  __m512 leasts[2] = {_mm512_set1_ps(std::numeric_limits<float>::infinity()),
                      _mm512_set1_ps(std::numeric_limits<float>::infinity())};  // two dependency chains
#pragma GCC unroll 16
  for (std::size_t row = 0; row < group_rows; ++row) {
    const __m512 scaled = _mm512_mul_ps(Kind::to_floats(_mm512_load_si512(sums + row * 64)), _mm512_set1_ps(step[row]));
    const __m512 keys = _mm512_fmadd_ps(scaled, gamma, _mm512_set1_ps(offset[row]));
    leasts[row % 2] = _mm512_min_ps(leasts[row % 2], keys);
  }
  const __m512 least = _mm512_min_ps(leasts[0], leasts[1]);
  const __m512 residual = _mm512_set1_ps(coded.group_residual[group]);
  const __m512 norm = _mm512_set1_ps(coded.group_norm[group]);
  const __m512 margin = _mm512_fmadd_ps(_mm512_loadu_ps(queries.a.data() + block), residual,
                                        _mm512_mul_ps(_mm512_loadu_ps(queries.b.data() + block), norm));
  const __m512 limit =
      _mm512_fmadd_ps(margin, _mm512_set1_ps(1.0F + 0x1p-17F), _mm512_loadu_ps(queries.limit.data() + block));
  const __mmask16 in = _mm512_cmp_ps_mask(least, limit, _CMP_LE_OQ);
  if (in != 0) [[unlikely]]
    push_tile<Kind>(range, group, queries, block, sums, in, candidates);
}

// Two groups by two blocks of queries, multiplied and not yet tested.
struct Pending {
  std::size_t group = 0;
  std::size_t block = 0;
  bool two_groups = false;
  bool two_blocks = false;
};

template <class Kind>
VECTIS_AMX inline void test_pending(const RowRange& range, const PreparedQueries& queries, const Pending& pending,
                                    const std::byte* sums, Candidates& candidates) {
  test_tile<Kind>(range, pending.group, queries, pending.block, sums, candidates);
  if (pending.two_blocks) {
    test_tile<Kind>(range, pending.group, queries, pending.block + 16, sums + tile_bytes, candidates);
  }
  if (!pending.two_groups) return;
  test_tile<Kind>(range, pending.group + 1, queries, pending.block, sums + 2 * tile_bytes, candidates);
  if (pending.two_blocks) {
    test_tile<Kind>(range, pending.group + 1, queries, pending.block + 16, sums + 3 * tile_bytes, candidates);
  }
}

// The vector units test one set of four tiles while the matrix unit multiplies the next. Its products are stored after
// the test, when they are ready: a store that waits would stall everything behind it.
template <class Kind>
VECTIS_AMX void scan_long(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  const CodeBlock& coded = *range.coded;
  const std::size_t chunks = range.quantizer().chunks;
  const std::size_t group_bytes = chunks * tile_bytes;
  const std::size_t panel = std::max<std::size_t>(panel_bytes / group_bytes / 2 * 2, 2);
  const detail::AmxTiles tiles;
  alignas(64) std::byte sums[4 * tile_bytes];
  Pending pending;
  bool any = false;
  for (std::size_t first = range.first_group; first < range.end_group; first += panel) {
    const std::size_t last = std::min(first + panel, range.end_group);
    for (std::size_t block = 0; block < queries.padded; block += 32) {
      const std::byte* const query = queries.tiles.data() + block / 16 * group_bytes;
      for (std::size_t group = first; group < last; group += 2) {
        const Pending next{group, block, group + 1 < last, block + 16 < queries.padded};
        // A missing second tile is replaced by the first; its sums are not tested.
        multiply<Kind>(coded.codes + group * group_bytes, next.two_groups ? group_bytes : 0, query,
                       next.two_blocks ? group_bytes : 0, chunks);
        if (any) test_pending<Kind>(range, queries, pending, sums, candidates);
        store_products(sums);
        pending = next;
        any = true;
      }
    }
  }
  if (any) test_pending<Kind>(range, queries, pending, sums, candidates);
}

// The intrinsics take tile numbers as literals, so the operations on a tile of sums are specialized for each.
template <int Sum>
struct SumTile;
#define VECTIS_SUM_TILE(sum)                                                        \
  template <>                                                                       \
  struct SumTile<sum> {                                                             \
    VECTIS_AMX static void store(std::byte* sums) { _tile_stored(sum, sums, 64); }  \
    VECTIS_AMX static void clear() { _tile_zero(sum); }                             \
    VECTIS_AMX static void add_first(Int8Tiles) { _tile_dpbssd(sum, 4, 6); }        \
    VECTIS_AMX static void add_second(Int8Tiles) { _tile_dpbssd(sum, 5, 7); }       \
    VECTIS_AMX static void add_first(Bfloat16Tiles) { _tile_dpbf16ps(sum, 4, 6); }  \
    VECTIS_AMX static void add_second(Bfloat16Tiles) { _tile_dpbf16ps(sum, 5, 7); } \
  }
VECTIS_SUM_TILE(0);
VECTIS_SUM_TILE(1);
VECTIS_SUM_TILE(2);
VECTIS_SUM_TILE(3);
#undef VECTIS_SUM_TILE

// Stores a tile of sums, and starts the products of the next group with the queries in tiles 6 and 7.
template <class Kind, int Sum>
VECTIS_AMX inline void exchange(std::byte* sums, const std::byte* rows, bool two_chunks) {
  using Tile = SumTile<Sum>;
  Tile::store(sums);
  Tile::clear();
  _tile_loadd(4, rows, 64);
  Tile::add_first(Kind());
  if (!two_chunks) return;
  _tile_loadd(5, rows + tile_bytes, 64);
  Tile::add_second(Kind());
}

// Four tiles of sums in rotation: the products of a tile are ready when its turn comes again, and while they are tested
// the matrix unit works on the other three.
template <class Kind>
class RollingSums {
 public:
  VECTIS_AMX RollingSums(const RowRange& range, const PreparedQueries& queries, Candidates& candidates)
      : range_(range), queries_(queries), candidates_(candidates) {}

  VECTIS_AMX void multiply(std::size_t group, std::size_t block, const std::byte* rows, bool two_chunks) {
    switch (turn_ % 4) {
      case 0:
        exchange<Kind, 0>(sums_, rows, two_chunks);
        break;
      case 1:
        exchange<Kind, 1>(sums_, rows, two_chunks);
        break;
      case 2:
        exchange<Kind, 2>(sums_, rows, two_chunks);
        break;
      default:
        exchange<Kind, 3>(sums_, rows, two_chunks);
    }
    Place& place = places_[turn_ % 4];
    if (turn_ >= 4) test_tile<Kind>(range_, place.group, queries_, place.block, sums_, candidates_);
    place = {group, block};
    ++turn_;
  }
  // Tests the last four tiles, by multiplying rows whose products are not used.
  VECTIS_AMX void finish(const std::byte* rows) {
    for (int i = 0; i < 4; ++i) multiply(0, 0, rows, false);
  }

 private:
  struct Place {
    std::size_t group = 0;
    std::size_t block = 0;
  };
  const RowRange& range_;
  const PreparedQueries& queries_;
  Candidates& candidates_;
  Place places_[4];
  std::size_t turn_ = 0;
  alignas(64) std::byte sums_[tile_bytes];
};

// Rows of one or two chunks: 16 queries stay in tiles 6 and 7 for a whole panel. With each group of a panel a share of
// the same group of the next panel is prefetched.
template <class Kind>
VECTIS_AMX void scan_short(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  const bool two_chunks = range.quantizer().chunks == 2;
  const std::size_t group_bytes = range.quantizer().chunks * tile_bytes;
  const std::size_t panel = panel_bytes / group_bytes;
  const std::size_t share = (group_bytes * 16 / queries.padded + 63) / 64 * 64;
  const detail::AmxTiles tiles;
  RollingSums<Kind> sums(range, queries, candidates);
  for (std::size_t first = range.first_group; first < range.end_group; first += panel) {
    const std::size_t last = std::min(first + panel, range.end_group);
    for (std::size_t block = 0; block < queries.padded; block += 16) {
      const std::byte* const query = queries.tiles.data() + block / 16 * group_bytes;
      _tile_loadd(6, query, 64);
      if (two_chunks) _tile_loadd(7, query + tile_bytes, 64);
      for (std::size_t group = first; group < last; ++group) {
        const std::byte* const rows = range.coded->codes + group * group_bytes;
        sums.multiply(group, block, rows, two_chunks);
        if (group + panel >= range.end_group) continue;
        for (std::size_t at = block / 16 * share; at < std::min((block / 16 + 1) * share, group_bytes); at += 64) {
          _mm_prefetch(reinterpret_cast<const char*>(rows + panel * group_bytes + at), _MM_HINT_T1);
        }
      }
    }
  }
  sums.finish(queries.tiles.data());
}

template <class Kind>
VECTIS_AMX void scan_tiles(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  range.quantizer().chunks <= 2 ? scan_short<Kind>(range, queries, candidates)
                                : scan_long<Kind>(range, queries, candidates);
}

}  // namespace

VECTIS_AMX void scan_amx_int8(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  scan_tiles<Int8Tiles>(range, queries, candidates);
}

VECTIS_AMX void scan_amx_bf16(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  scan_tiles<Bfloat16Tiles>(range, queries, candidates);
}

}  // namespace vectis::inline v0_1::exact

#endif
