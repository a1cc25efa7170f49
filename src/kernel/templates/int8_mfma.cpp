#include "kernel/templates/int8_mfma.hpp"

#include <fmt/format.h>

namespace vectis::inline v0_1::detail {

namespace {

// The instruction v_mfma_i32_16x16x32_i8 multiplies a fragment of 16 rows and 32 columns of x, `a`, and one of 16 rows
// of q, `b`, which the 64 lanes of a wave hold together (AMD CDNA 3 ISA, "Matrix Arithmetic Instructions"). With
// k_block = lane / 16, a lane holds
//   a: row lane % 16, bytes 8 * k_block to 8 * k_block + 7 of the depth,
//   b: row lane % 16 of q, the same bytes,
//   c: rows 4 * k_block to 4 * k_block + 3 of x for row lane % 16 of q.
// gfx908 and gfx90a have the instruction for 16 columns only, with four bytes in a lane: two of them, on the halves of
// the same fragments, take its place.
//
// The waves of a group lie side by side along the rows: each computes 4 * rows_each rows for all queries of the tile.
// The results of an instruction stay vectors until the last block: compilers would otherwise copy them between
// registers for each instruction.
constexpr const char* mfma_places = R"(
  uint lane_id = item % 64u;
  uint k_block = lane_id / 16u;
  uint x_wave = item / 64u * {wave_rows}u;
  uint a_row = lane_id % 16u;
  uint b_row = lane_id % 16u;
  uint c_row = 4u * k_block;
  uint c_query = lane_id % 16u;
  uint x_at = x_wave + c_row;
  uint q_at = c_query;
  typedef int Sums __attribute__((vector_size(16)));
  typedef unsigned long long Pair __attribute__((may_alias));
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
  auto mfma = [](Sums sums, Pair a, Pair b) {{
    return (Sums)__builtin_amdgcn_mfma_i32_16x16x32_i8((long long)a, (long long)b, sums, 0, 0, 0);
  }};
#else
  auto mfma = [](Sums sums, Pair a, Pair b) {{
    sums = __builtin_amdgcn_mfma_i32_16x16x16i8((int)a, (int)b, sums, 0, 0, 0);
    return (Sums)__builtin_amdgcn_mfma_i32_16x16x16i8((int)(a >> 32), (int)(b >> 32), sums, 0, 0, 0);
  }};
#endif
)";

// A sum has no order, so the lanes of a k_block read any two words of the depth, the same from `a` as from `b`. Half a
// wave, two values of k_block, reads at a time: words four apart, whose rows begin 16 of the 32 banks apart.
constexpr const char* mfma_word_places = R"(
  uint a_word = k_block % 2u * 4u + k_block / 2u * 2u;
  uint b_word = k_block % 2u * 4u + k_block / 2u * 2u;
  uint a_at = x_wave + a_row + a_word * {x_pitch}u;
  uint b_at = b_row + b_word * {q_pitch}u;
)";

// Where words are loaded by pairs, shared memory holds pairs: pair t of row r is at t * pitch + r, in pairs. A
// work-item stores pairs of one depth, and a lane reads a fragment by one instruction. 16 lanes read or store at a
// time: they read one pair of 16 rows, and store four pairs of four rows, from and to different banks if the pitch is 4
// more or less than a multiple of 16.
constexpr const char* mfma_pair_places = R"(
  uint a_depth = k_block;
  uint b_depth = k_block;
  uint a_at = x_wave + a_row + a_depth * {x_pitch}u;
  uint b_at = b_row + b_depth * {q_pitch}u;
  uint own_k = item % 4u * 8u;
  uint own_row = item / 4u;
)";

constexpr std::uint32_t fragment_side = 16;  // of x as of q
constexpr std::uint32_t loaded_rows = 64;    // of which the group loads pairs at a time

std::uint32_t row_fragments(const Int8MfmaTile& tile) { return tile.rows_each / Int8MfmaTile::rows_together; }

// Sets `name` to the fragment of matrix {1}, "x" or "q", that is `from` rows behind the place {2}.
std::string mfma_fragment(const Int8MfmaTile& tile, std::string_view name, std::string_view matrix,
                          std::string_view place, std::uint32_t from) {
  if (tile.by_pairs) return fmt::format("Pair {} = {}_block[{} + {}u];\n", name, matrix, place, from);
  const std::uint32_t pitch = matrix == "x" ? tile.x_pitch : tile.q_pitch;
  return fmt::format("Pair {0} = {1}_part[{2} + {3}u] | (Pair){1}_part[{2} + {4}u] << 32;\n", name, matrix, place, from,
                     from + pitch);
}

}  // namespace

std::string int8_mfma_places(const Int8MfmaTile& tile) {
  std::string text = fmt::format(mfma_places, fmt::arg("wave_rows", Int8MfmaTile::row_groups * tile.rows_each));
  text += fmt::format(fmt::runtime(tile.by_pairs ? mfma_pair_places : mfma_word_places),
                      fmt::arg("x_pitch", tile.x_pitch), fmt::arg("q_pitch", tile.q_pitch));
  for (std::uint32_t n = 0; n < tile.queries_each; ++n) {
    for (std::uint32_t m = 0; m < row_fragments(tile); ++m) text += fmt::format("  Sums sums_{}_{} = {{}};\n", n, m);
  }
  return text;
}

Int8MfmaLoads int8_mfma_loads(const Int8MfmaSide& side) {
  Int8MfmaLoads loads;
  loads.first = fmt::format(
      "  const Pair* {0}_pairs = reinterpret_cast<const Pair*>({0});\n"
      "  Pair* {0}_block = reinterpret_cast<Pair*>({0}_part);\n",
      side.matrix);
  std::string reads;
  for (std::uint32_t i = 0; i < side.tile_rows / loaded_rows; ++i) {
    loads.first += fmt::format(
        "  uint {0}_from_{1} = UMIN({2} + own_row + {4}u, {3} - 1u) * ({0}_stride / 8u) + {0}_offset / 8u + item % "
        "4u;\n"
        "  Pair {0}_pair_{1} = 0u;\n",
        side.matrix, i, side.first_row, side.rows, i * loaded_rows);
    loads.store += fmt::format("    {0}_block[item % 4u * {2}u + own_row + {3}u] = {0}_pair_{1};\n", side.matrix, i,
                               side.pitch, i * loaded_rows);
    loads.next += fmt::format("    {0}_from_{1} += 4u;\n    {0}_pair_{1} = 0u;\n", side.matrix, i);
    reads += fmt::format(" {0}_pair_{1} = {0}_pairs[{0}_from_{1}];", side.matrix, i);
  }
  loads.first += fmt::format("  if (own_k < columns) {{{} }}\n", reads);
  loads.next += fmt::format("    if (next + own_k < columns) {{{} }}\n", reads);
  return loads;
}

std::string int8_mfma_steps(const Int8MfmaTile& tile) {
  std::string text = "    {\n";
  for (std::uint32_t m = 0; m < row_fragments(tile); ++m) {
    text += "      " + mfma_fragment(tile, fmt::format("a_{}", m), "x", "a_at", fragment_side * m);
  }
  for (std::uint32_t n = 0; n < tile.queries_each; ++n) {
    text += "      " + mfma_fragment(tile, fmt::format("b_{}", n), "q", "b_at", fragment_side * n);
    for (std::uint32_t m = 0; m < row_fragments(tile); ++m) {
      text += fmt::format("      sums_{0}_{1} = mfma(sums_{0}_{1}, a_{1}, b_{0});\n", n, m);
    }
  }
  return text + "    }\n";
}

std::string int8_mfma_results(const Int8MfmaTile& tile) {
  std::string text;
  for (std::uint32_t n = 0; n < tile.queries_each; ++n) {
    for (std::uint32_t j = 0; j < tile.rows_each; ++j) {
      text += fmt::format("  sum_{0}_{1} = sums_{0}_{2}[{3}];\n", n, j, j / Int8MfmaTile::rows_together,
                          j % Int8MfmaTile::rows_together);
    }
  }
  return text;
}

}  // namespace vectis::inline v0_1::detail
