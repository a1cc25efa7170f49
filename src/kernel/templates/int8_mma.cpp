#include "kernel/templates/int8_mma.hpp"

#include <fmt/format.h>

namespace vectis::inline v0_1::detail {

namespace {

// The instruction mma.sync multiplies a fragment of 16 rows and 32 columns of x, `a`, and one of 8 rows of q, `b`,
// which the 32 lanes of a warp hold together (PTX ISA, "Matrix Fragments for mma.m16n8k32"). With group_id = lane / 4
// and in_group = lane % 4, a lane holds
//   a: rows group_id and group_id + 8, words in_group and in_group + 4 of the depth,
//   b: row group_id of q, the same words,
//   c: rows group_id and group_id + 8 of x for rows 2 * in_group and 2 * in_group + 1 of q.
// A sum has no order, so each lane reads two words that follow each other, 2 * in_group and 2 * in_group + 1, from `a`
// as from `b`: with a pitch of 4 more than a multiple of 32, the lanes of a warp then read from different banks.
//
// sm_75 has the instruction for 8 rows and 16 columns only, a quarter of the products: four of them, on the same
// fragments, take its place. Devices from sm_80 on also run that code, with four times the matrix instructions.
constexpr const char* mma_places = R"(
  uint lane_id = item % 32u;
  uint warp_id = item / 32u;
  uint group_id = lane_id / 4u;
  uint in_group = lane_id % 4u;
  uint x_warp = warp_id % {warps_across}u * {warp_rows}u;
  uint q_warp = warp_id / {warps_across}u * {warp_queries}u;
  uint a_row = group_id;
  uint b_row = group_id;
  uint c_row = group_id;
  uint c_query = 2u * in_group;
  uint x_at = x_warp + c_row;
  uint q_at = q_warp + c_query;
#if __CUDA_ARCH__ >= 800
  auto mma = [](int& c0, int& c1, int& c2, int& c3, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1) {{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
                 : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }};
#else
  auto quarter = [](int& c0, int& c1, uint a0, uint b0) {{
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 "
                 "{{%0, %1}}, {{%2}}, {{%3}}, {{%0, %1}};"
                 : "+r"(c0), "+r"(c1)
                 : "r"(a0), "r"(b0));
  }};
  auto mma = [&](int& c0, int& c1, int& c2, int& c3, uint a0, uint a1, uint a2, uint a3, uint b0, uint b1) {{
    quarter(c0, c1, a0, b0);
    quarter(c2, c3, a1, b0);
    quarter(c0, c1, a2, b1);
    quarter(c2, c3, a3, b1);
  }};
#endif
)";

constexpr const char* word_places = R"(
  uint a_word = 2u * in_group;
  uint b_word = 2u * in_group;
  uint a_at = x_warp + a_row + a_word * {x_pitch}u;
  uint b_at = q_warp + b_row + b_word * {q_pitch}u;
)";

// Where words are loaded by pairs, shared memory holds quads: the words 2 * t and 2 * t + 1 of a row and of the row
// eight behind it, in the order of the instruction's registers. A work-item loads and stores one quad of each matrix,
// and a lane reads a fragment of `a`, or two of `b`, by one instruction. Eight lanes read or store 128 bytes at a time,
// from different banks if the quads of one depth, with those that are left free, are 2 more than a multiple of 8.
constexpr const char* quad_places = R"(
  uint a_depth = in_group;
  uint b_depth = in_group;
  uint a_quad = x_warp / 2u + a_row + a_depth * {x_quads}u;
  uint b_quad = q_warp / 2u + b_row + b_depth * {q_quads}u;
  uint own_k = item % 4u * 8u;
  uint own_quad = item / 4u;
  uint own_row = own_quad / 8u * 16u + own_quad % 8u;
)";
constexpr const char* load_first = R"(
  const uint2* {0}_pairs = reinterpret_cast<const uint2*>({0});
  uint4* {0}_quads = reinterpret_cast<uint4*>({0}_part);
  uint {0}_from = UMIN({1} + own_row, {2} - 1u) * ({0}_stride / 8u) + {0}_offset / 8u + item % 4u;
  uint {0}_behind = UMIN({1} + own_row + 8u, {2} - 1u) * ({0}_stride / 8u) + {0}_offset / 8u + item % 4u;
  uint2 {0}_near = make_uint2(0u, 0u);
  uint2 {0}_far = make_uint2(0u, 0u);
  if (own_k < columns{3}) {{ {0}_near = {0}_pairs[{0}_from]; {0}_far = {0}_pairs[{0}_behind]; }}
)";
constexpr const char* load_next = R"(
    {0}_from += 4u;
    {0}_behind += 4u;
    {0}_near = make_uint2(0u, 0u);
    {0}_far = make_uint2(0u, 0u);
    if (next + own_k < columns{1}) {{ {0}_near = {0}_pairs[{0}_from]; {0}_far = {0}_pairs[{0}_behind]; }}
)";

// Rows of x and of q in a fragment.
constexpr std::uint32_t fragment_rows = 16;
constexpr std::uint32_t fragment_queries = 8;

}  // namespace

std::string int8_mma_places(const Int8MmaTile& tile) {
  const std::uint32_t warp_rows = Int8MmaTile::lanes_across * tile.rows_each;
  return fmt::format(mma_places, fmt::arg("warps_across", tile.rows / warp_rows), fmt::arg("warp_rows", warp_rows),
                     fmt::arg("warp_queries", Int8MmaTile::lanes_down * tile.queries_each)) +
         (tile.by_pairs
              ? fmt::format(quad_places, fmt::arg("x_quads", tile.x_pitch / 2), fmt::arg("q_quads", tile.q_pitch / 2))
              : fmt::format(word_places, fmt::arg("x_pitch", tile.x_pitch), fmt::arg("q_pitch", tile.q_pitch)));
}

Int8MmaLoads int8_mma_loads(const Int8MmaSide& side) {
  const bool some = side.tile_rows < 128;  // of the work-items load this matrix
  const std::string condition = some ? fmt::format(" && item < {}u", 2 * side.tile_rows) : "";
  const std::string_view order = side.matrix == "x" ? "{0}_near.x, {0}_far.x, {0}_near.y, {0}_far.y"
                                                    : "{0}_near.x, {0}_near.y, {0}_far.x, {0}_far.y";
  std::string store = fmt::format("{0}_quads[item % 4u * {1}u + own_quad] = make_uint4({2});", side.matrix,
                                  side.pitch / 2, fmt::format(fmt::runtime(order), side.matrix));
  if (some) store = fmt::format("if (item < {}u) {{ {} }}", 2 * side.tile_rows, store);
  return {fmt::format(load_first, side.matrix, side.first_row, side.rows, condition), "    " + store + "\n",
          fmt::format(load_next, side.matrix, condition)};
}

namespace {

std::string quad_steps(const Int8MmaTile& tile) {
  std::string text = "    {\n";
  for (std::uint32_t n = 0; n < tile.queries_each / 4; ++n) {
    text += fmt::format("      uint4 b_{} = q_quads[b_quad + {}u];\n", n, fragment_queries * n);
  }
  for (std::uint32_t m = 0; m < tile.rows_each / 2; ++m) {
    text += fmt::format("      {{\n        uint4 a = x_quads[a_quad + {}u];\n", fragment_rows / 2 * m);
    for (std::uint32_t n = 0; n < tile.queries_each / 2; ++n) {
      text += fmt::format(
          "        mma(sum_{0}_{2}, sum_{1}_{2}, sum_{0}_{3}, sum_{1}_{3}, a.x, a.y, a.z, a.w, b_{4}.{5}, "
          "b_{4}.{6});\n",
          2 * n, 2 * n + 1, 2 * m, 2 * m + 1, n / 2, n % 2 == 0 ? 'x' : 'z', n % 2 == 0 ? 'y' : 'w');
    }
    text += "      }\n";
  }
  return text + "    }\n";
}

}  // namespace

std::string int8_mma_steps(const Int8MmaTile& tile) {
  if (tile.by_pairs) return quad_steps(tile);
  std::string text = "    {\n";
  for (std::uint32_t n = 0; n < tile.queries_each / 2; ++n) {
    for (std::uint32_t word = 0; word < 2; ++word) {
      text += fmt::format("      uint b_{}_{} = q_part[b_at + {}u];\n", n, word,
                          fragment_queries * n + word * tile.q_pitch);
    }
  }
  for (std::uint32_t m = 0; m < tile.rows_each / 2; ++m) {
    text += "      {\n";
    for (std::uint32_t i = 0; i < 4; ++i) {
      text += fmt::format("        uint a_{} = x_part[a_at + {}u];\n", i,
                          fragment_rows * m + fragment_rows / 2 * (i % 2) + i / 2 * tile.x_pitch);
    }
    for (std::uint32_t n = 0; n < tile.queries_each / 2; ++n) {
      text += fmt::format(
          "        mma(sum_{0}_{2}, sum_{1}_{2}, sum_{0}_{3}, sum_{1}_{3}, a_0, a_1, a_2, a_3, b_{4}_0, b_{4}_1);\n",
          2 * n, 2 * n + 1, 2 * m, 2 * m + 1, n);
    }
    text += "      }\n";
  }
  return text + "    }\n";
}

}  // namespace vectis::inline v0_1::detail
