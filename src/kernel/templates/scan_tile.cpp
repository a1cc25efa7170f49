#include "kernel/templates/scan_tile.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/int8_mfma.hpp"
#include "kernel/templates/int8_mma.hpp"
#include "kernel/templates/tile.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// A group of ACROSS * DOWN work-items computes a tile of dot products, rows of x by queries, from blocks of both
// matrices in shared memory, stored depth-major. A block is DEPTH words of each row, each of PACKED elements. In large
// tiles the words of the next block are loaded while this one is multiplied. A work-item computes the products of
// several rows and queries, whose statements are printed one by one: compilers may keep an array that a loop indexes in
// memory. Its rows and queries lie side by side by up to four, so that their words are read from shared memory
// together. Rows and queries beyond the last are loaded as the last; what they find is dropped.
//
// After the products, the terms of rows and queries replace the blocks in shared memory; in narrow tiles, where few
// work-items use the same terms, each reads them from memory. Most rows are above the limits of all queries of the
// work-item. An estimate that is never above the lower bound decides it, at two operations and a comparison for each
// product: it takes the work-item's largest terms a and b instead of the query's own, and thus one reach for all
// queries of a row. The bounds themselves, and whether a row is excluded, are computed for the rows that pass.
constexpr const char* scan_body = R"(
  $SUMS
  $PLACES
  $LOAD_FIRST
  uint depth0 = 0u;
  $BEFORE_LOOP$LOOP  $STORE_TERMS
  $BOUNDS
)";

// The loop over the depth.
constexpr const char* depth_loop = R"(
  do {
    $STORE_BLOCK
    BARRIER();
    uint next = depth0 + DEPTH * PACKED;
    $LOAD_NEXT
    $STEPS
    BARRIER();
    depth0 = next;
  } while (depth0 < columns);
)";

// The same loop, left behind the barrier of its head, for OpenCL on CPUs. LLVM's SLP vectorizer, which PoCL runs,
// follows the sums from the estimates into the loop. Where sums leave the loop behind the steps, it emits a round of
// steps twice and keeps the operands of the second in memory: a search took 1.8 times as long. Here they leave as the
// head's phi nodes, which it emits once.
constexpr const char* depth_loop_left_at_head = R"(
  while (true) {
    BARRIER();
    if (depth0 >= columns) { break; }
    $STORE_BLOCK
    BARRIER();
    uint next = depth0 + DEPTH * PACKED;
    $LOAD_NEXT
    $STEPS
    depth0 = next;
  }
)";

// Estimates of a row at {0} in the tile. {1}: statements that set `found` when one is not above its query's limit; {2}:
// statements that read the terms of the row, with `least`, which is beta loosened; {3}: the bit of the row in `passed`.
constexpr const char* estimates_of_row = R"(
  {{
    uint in_tile = {0};
    {2}
    least = FMA(-ABS(rho), a_max, least);
    least = FMA(-ABS(nu), b_max, least);
    bool found = false;
    {1}
    if (found) {{ passed = passed | {3}u; }}
  }}
)";

// The bounds of the rows that passed, one after the other. {0}: place of row `j` of the work-item in the tile; {1}:
// statements that set `dot_0` and so on to the row's products; {2}: statements that compute `lower_0` and so on, and
// collect in the bits of `left` those that are not above their query's limit; {3}: statements that choose one of them;
// {4}: statements that read the terms of the row; {5} and {6}: the terms a and b of the query at `place`; {7}: place of
// query `i` of the work-item in the tile.
constexpr const char* bounds_of_rows = R"(
  while (passed != 0u) {{
    uint j = 31u - LEADING_ZEROS(passed);
    passed = passed ^ (1u << j);
    uint in_tile = {0};
    if (row0 + in_tile < rows) {{
      {1}
      {4}
      float loose = beta_margin * ABS(beta) + margin;
      uint number = first_row + row0 + in_tile;
      uint left = 0u;
      {2}
      if (masked != 0u) {{
        if (((AS_U32(LOAD_excluded(excluded_offset + number / 32u)) >> (number % 32u)) & 1u) != 0u) {{ left = 0u; }}
      }}
      while (left != 0u) {{
        uint i = 31u - LEADING_ZEROS(left);
        left = left ^ (1u << i);
        uint place = {7};
        uint query = col0 + place;
        uint slot = capacity;
        if (query < queries) {{ slot = AS_U32(ATOMIC_ADD_I32(counts, counts_offset + query * counts_stride, 1)); }}
        if (slot < capacity) {{
          float lower = lower_0;
          {3}
          float reach = FMA({6}, nu, {5} * rho);
          uint bound = bounds_offset + query * bounds_stride + 2u * slot;
          STORE_candidates(candidates_offset + query * candidates_stride + slot, AS_I32(number));
          STORE_bounds(bound, lower);
          STORE_bounds(bound + 1u, lower + 2.0f * reach + loose);
        }}
      }}
    }}
  }}
)";

// Loads to {1} four int8 elements of a row of matrix {0}, from index {2} and column {3} on, at any alignment, with
// zeros after the end of the row.
constexpr const char* load_packed = R"(
      uint from = {2};
      uint left = UMIN(columns - ({3}), 4u);
      uint lane = from % 4u;
      {1} = WORD_{0}(from / 4u) >> (8u * lane);
      if (lane + left > 4u) {{ {1} = {1} | (WORD_{0}(from / 4u + 1u) << (32u - 8u * lane)); }}
      if (left < 4u) {{ {1} = {1} & ((1u << (8u * left)) - 1u); }}
)";

// Loads a block of matrix {0} to shared memory: {1} rows from {2} on, of {3} in all; {4} is the pitch, {5} loads a
// word.
constexpr const char* copy_block = R"(
    for (uint i = LOCAL_ID(0); i < {1}u * DEPTH; i += GROUP_SIZE(0)) {{
      uint k = depth0 + (i % DEPTH) * PACKED;
      WORD word = NOTHING;
      if (k < columns) {{
        uint at = ({0}_offset + UMIN({2} + i / DEPTH, {3} - 1u) * {0}_stride + k) / INDEXED;
        {5}
      }}
      {0}_part[(i % DEPTH) * {4}u + i / DEPTH] = word;
    }}
)";

// `text` once for each number below `count`, with the number as its argument.
template <class... Arguments>
std::string repeated(std::uint32_t count, fmt::format_string<std::uint32_t&, Arguments&...> text,
                     Arguments... arguments) {
  std::string all;
  for (std::uint32_t i = 0; i < count; ++i) all += fmt::format(text, i, arguments...);
  return all;
}

// How the blocks of one matrix are loaded: "x" or "q".
struct BlockSide {
  std::string_view matrix;
  std::string_view first;  // row of the tile in the matrix
  std::string_view rows;   // of the matrix
  std::uint32_t tile_rows;
  std::uint32_t pitch;
};

std::array<BlockSide, 2> sides(const ScanShape& shape) {
  return {{{"x", "row0", "rows", shape.rows(), shape.x_pitch()},
           {"q", "col0", "queries", shape.queries(), shape.q_pitch()}}};
}

// Of large tiles, whose words are a multiple of the work-items, and these of the depth of a block: all words of a
// work-item have the same depth.
std::uint32_t words_each(const ScanKernel& kernel, const BlockSide& side) {
  return static_cast<std::uint32_t>(
      divide_up(std::uint64_t{side.tile_rows} * kernel.shape.depth, kernel.shape.items()));
}

// Where each of the words that a work-item loads is in the matrix, and in shared memory. The places in the matrix move
// with the blocks: compilers would compute others anew for each block.
std::string places(const ScanKernel& kernel, const BlockSide& side) {
  const std::uint32_t rows_apart = kernel.shape.items() / kernel.shape.depth;
  std::string text = side.matrix == "x" ? "  uint own_k = (LOCAL_ID(0) % DEPTH) * PACKED;\n" : "";
  text += fmt::format("  uint {0}_to = (LOCAL_ID(0) % DEPTH) * {1}u + LOCAL_ID(0) / DEPTH;\n", side.matrix, side.pitch);
  return text + repeated(words_each(kernel, side), R"(
  uint {1}_from_{0} =
      UMIN({2} + LOCAL_ID(0) / DEPTH + {0}u * {4}u, {3} - 1u) * ({1}_stride / INDEXED) + ({1}_offset + own_k) / INDEXED;
  WORD {1}_word_{0} = NOTHING;
)",
                         side.matrix, side.first, side.rows, rows_apart);
}

// Loads to `word` the word of a matrix at index `at` and column `column`.
std::string load_word(const ScanKernel& kernel, std::string_view matrix, std::string_view word, std::string_view at,
                      std::string_view column) {
  if (!kernel.packed()) return fmt::format("{1} = LOAD_{0}({2});", matrix, word, at);
  if (kernel.whole_words) return fmt::format("{1} = WORD_{0}({2});", matrix, word, at);
  return fmt::format(load_packed, matrix, word, at, column);
}

// Loads the words whose depth is `column`.
std::string load_block(const ScanKernel& kernel, const BlockSide& side, std::string_view column) {
  std::string loads;
  for (std::uint32_t i = 0; i < words_each(kernel, side); ++i) {
    const std::string word = fmt::format("{}_word_{}", side.matrix, i);
    loads += fmt::format("      {{ {} }}\n",
                         load_word(kernel, side.matrix, word, fmt::format("{}_from_{}", side.matrix, i), column));
  }
  return fmt::format("    if ({} < columns) {{\n{}    }}\n", column, loads);
}

// Loads the words of the next block.
std::string load_block_ahead(const ScanKernel& kernel, const BlockSide& side) {
  const std::uint32_t words = words_each(kernel, side);
  return repeated(words, "    {1}_from_{0} += DEPTH * PACKED / INDEXED;\n    {1}_word_{0} = NOTHING;\n", side.matrix) +
         load_block(kernel, side, "next + own_k");
}

// Stores the loaded words to shared memory.
std::string store_block(const ScanKernel& kernel, const BlockSide& side) {
  const std::uint32_t rows_apart = kernel.shape.items() / kernel.shape.depth;
  return repeated(words_each(kernel, side), "    {1}_part[{1}_to + {0}u * {2}u] = {1}_word_{0};\n", side.matrix,
                  rows_apart);
}

// Place of result `i` of a work-item in a tile, from which the work-item's own place is left out.
std::uint32_t place_in_tile(std::uint32_t i, std::uint32_t width, std::uint32_t items) {
  return i / width * width * items + i % width;
}

// Multiplies the words of a block.
std::string steps(const ScanShape& shape) {
  std::string text;
  for (std::uint32_t k = 0; k < shape.depth; ++k) {
    text += "    {\n";
    for (std::uint32_t j = 0; j < shape.rows_each; ++j) {
      const std::uint32_t place = k * shape.x_pitch() + place_in_tile(j, shape.x_width(), shape.across);
      text += fmt::format("      WORD x_{} = x_part[x_at + {}u];\n", j, place);
    }
    for (std::uint32_t i = 0; i < shape.queries_each; ++i) {
      const std::uint32_t place = k * shape.q_pitch() + place_in_tile(i, shape.q_width(), shape.down);
      text += fmt::format("      WORD q_{} = q_part[q_at + {}u];\n", i, place);
      text += repeated(shape.rows_each, "      sum_{1}_{0} = STEP(q_{1}, x_{0}, sum_{1}_{0});\n", i);
    }
    text += "    }\n";
  }
  return text;
}

// The term of a row, or of a query, that estimates take loosened: beta and limit.
std::uint32_t loosened_term(const BlockSide& side) { return side.matrix == "x" ? 0 : 3; }

// A term `value` loosened by many times what rounding can add; a limit also by 1e-36, which is many times what a bound
// of subnormal magnitude loses, also where a device flushes it to zero.
std::string loosened(const BlockSide& side, std::string_view value) {
  return fmt::format(
      fmt::runtime(side.matrix == "x" ? "FMA(ABS({0}), -0.000001f, {0})" : "FMA(ABS({0}) + 1e-30f, 0.000001f, {0})"),
      value);
}

// Stores the terms of the rows of one matrix in the tile to shared memory, with one of them loosened, which is stored
// behind them as it is. A work-item loads terms side by side, all of one row.
std::string store_terms_of(const ScanShape& shape, const BlockSide& side) {
  const std::uint32_t each = side.tile_rows * static_cast<std::uint32_t>(scan_terms) / shape.items();
  const std::uint32_t loose = loosened_term(side);
  std::string text = fmt::format(R"(
  {{
    uint i = LOCAL_ID(0) * {1}u;
    uint from = {0}_terms_offset + UMIN({2} + i / 4u, {3} - 1u) * {0}_terms_stride + i % 4u;
)",
                                 side.matrix, each, side.first, side.rows);
  text += repeated(each, "    float term_{0} = LOAD_{1}_terms(from + {0}u);\n", side.matrix);
  const std::string word = fmt::format("term_{}", loose % each);
  text += fmt::format("    if (i % 4u == {}u) {{\n      {}_part[{}u + i / 4u] = TO_WORD({});\n      {} = {};\n    }}\n",
                      loose / each * each, side.matrix, side.tile_rows * scan_terms, word, word, loosened(side, word));
  return text + repeated(each, "    {1}_part[i + {0}u] = TO_WORD(term_{0});\n", side.matrix) + "  }\n";
}

std::string store_terms(const ScanShape& shape, const BlockSide& x, const BlockSide& q) {
  if (shape.narrow()) return "";
  return store_terms_of(shape, x) + store_terms_of(shape, q) + "  BARRIER();\n";
}

// Term `term` of the row of a matrix at `place` in the tile.
std::string term(const ScanShape& shape, const BlockSide& side, std::string_view place, std::uint32_t term) {
  if (shape.narrow()) {
    return fmt::format("LOAD_{0}_terms({0}_terms_offset + UMIN({1} + {2}, {3} - 1u) * {0}_terms_stride + {4}u)",
                       side.matrix, side.first, place, side.rows, term);
  }
  if (term != loosened_term(side)) return fmt::format("AS_F32({}_part[({}) * 4u + {}u])", side.matrix, place, term);
  return fmt::format("AS_F32({}_part[{}u + {}])", side.matrix, side.tile_rows * scan_terms, place);
}

// Declares `name`, the term of the row at `place` that estimates take loosened.
std::string declare_loosened(const ScanShape& shape, const BlockSide& side, std::string_view place,
                             std::string_view name) {
  const std::uint32_t number = loosened_term(side);
  if (shape.narrow()) {
    return fmt::format("  float {0} = {1};\n  {0} = {2};\n", name, term(shape, side, place, number),
                       loosened(side, name));
  }
  return fmt::format("  float {} = AS_F32({}_part[({}) * 4u + {}u]);\n", name, side.matrix, place, number);
}

// Declares the terms of the row of x at `in_tile` but the first.
std::string row_terms(const ScanShape& shape, const BlockSide& x) {
  return fmt::format("float sigma = {};\n    float rho = {};\n    float nu = {};\n", term(shape, x, "in_tile", 1),
                     term(shape, x, "in_tile", 2), term(shape, x, "in_tile", 3));
}

// Sets the bits of `passed` of the work-item's rows of which a query may be near.
std::string estimates(const ScanShape& shape, const BlockSide& x, const BlockSide& q) {
  std::string text;
  for (std::uint32_t i = 0; i < shape.queries_each; ++i) {
    const std::string place = fmt::format("q_at + {}u", place_in_tile(i, shape.q_width(), shape.down));
    text += fmt::format(R"(
  float gamma_{0} = {1};
  float a_{0} = ABS({2});
  float b_{0} = ABS({3});
)",
                        i, term(shape, q, place, 0), term(shape, q, place, 1), term(shape, q, place, 2));
    text += declare_loosened(shape, q, place, fmt::format("limit_{}", i));
  }
  for (const char* name : {"a", "b"}) {
    text += fmt::format("  float {0}_max = {0}_0;\n", name);
    for (std::uint32_t i = 1; i < shape.queries_each; ++i) {
      text += fmt::format("  {0}_max = MAX({0}_max, {0}_{1});\n", name, i);
    }
    // The summand loosens what is subnormal, which has too few digits for the factor.
    text += fmt::format("  {0}_max = FMA({0}_max, 1.000004f, 1e-37f);\n", name);
  }
  text += "  uint passed = 0u;\n";
  for (std::uint32_t j = 0; j < shape.rows_each; ++j) {
    const std::string compared = repeated(shape.queries_each,
                                          R"(
    float estimate_{0} = FMA(gamma_{0} * sigma, F32(sum_{0}_{1}), least);
    found = found || !(estimate_{0} > limit_{0});
)",
                                          j);
    const std::string in_tile = fmt::format("x_at + {}u", place_in_tile(j, shape.x_width(), shape.across));
    text += fmt::format(estimates_of_row, in_tile, compared,
                        declare_loosened(shape, x, "in_tile", "least") + row_terms(shape, x), 1U << j);
  }
  return text;
}

// Appends what is within the limits of the rows that passed.
std::string bounds(const ScanShape& shape, const BlockSide& x, const BlockSide& q) {
  std::string dots = repeated(shape.queries_each, "SUM dot_{0} = sum_{0}_0;\n      ");
  for (std::uint32_t j = 1; j < shape.rows_each; ++j) {
    dots += fmt::format("if (j == {0}u) {{\n{1}      }}\n      ", j,
                        repeated(shape.queries_each, "        dot_{0} = sum_{0}_{1};\n", j));
  }
  std::string lowers;
  for (std::uint32_t i = 0; i < shape.queries_each; ++i) {
    const std::string at = fmt::format("q_at + {}u", place_in_tile(i, shape.q_width(), shape.down));
    lowers += fmt::format(R"(
      float lower_{0} = FMA({1} * sigma, F32(dot_{0}), beta) - FMA({3}, nu, {2} * rho);
      if (!(lower_{0} > {4})) {{ left = left | {5}u; }}
)",
                          i, term(shape, q, at, 0), term(shape, q, at, 1), term(shape, q, at, 2), term(shape, q, at, 3),
                          1U << i);
  }
  const auto place_of = [](std::string_view number, std::string_view first, std::uint32_t width, std::uint32_t items) {
    return fmt::format("{0} / {2}u * {3}u + {1} + {0} % {2}u", number, first, width, width * items);
  };
  const std::string of_row =
      fmt::format("float beta = {};\n      ", term(shape, x, "in_tile", 0)) + row_terms(shape, x);
  const std::string of_rows = fmt::format(
      bounds_of_rows, place_of("j", "x_at", shape.x_width(), shape.across), dots, lowers,
      repeated(shape.queries_each, "if (i == {0}u) {{ lower = lower_{0}; }}\n          "), of_row,
      term(shape, q, "place", 1), term(shape, q, "place", 2), place_of("i", "q_at", shape.q_width(), shape.down));
  // With a barrier between them, terms of the estimates do not occupy registers until the bounds.
  const std::string barrier = shape.narrow() ? "" : "  BARRIER();\n";
  return estimates(shape, x, q) + barrier + of_rows + barrier;
}

// How a matrix gets to shared memory.
struct BlockTexts {
  std::string before;  // the loop over the depth
  std::string store;
  std::string ahead;  // loads the next block
};

BlockTexts block_texts(const ScanKernel& kernel, const BlockSide& side) {
  // More words would take too many registers; several groups then hide the time that loads take.
  constexpr std::uint32_t words_ahead = 4;
  if (kernel.shape.narrow() || words_each(kernel, side) > words_ahead) {
    return {"",
            fmt::format(copy_block, side.matrix, side.tile_rows, side.first, side.rows, side.pitch,
                        load_word(kernel, side.matrix, "word", "at", "k")),
            ""};
  }
  return {places(kernel, side) + load_block(kernel, side, "own_k"), store_block(kernel, side),
          load_block_ahead(kernel, side)};
}

// How a work-item computes its products and their bounds.
struct ProductTexts {
  std::array<BlockTexts, 2> blocks;  // of x and q
  std::string places;                // of its first row and query in the tile, `x_at` and `q_at`
  std::string before_loop;
  std::string steps;  // multiply a block
  std::string bounds;
};

ProductTexts portable_products(const ScanKernel& kernel) {
  const auto [x, q] = sides(kernel.shape);
  return {{block_texts(kernel, x), block_texts(kernel, q)},
          "uint x_at = across * X_WIDTH;\n  uint q_at = down * Q_WIDTH;",
          "",
          steps(kernel.shape),
          bounds(kernel.shape, x, q)};
}

BlockTexts pair_block_texts(const BlockSide& side) {
  Int8MmaLoads loads = int8_mma_loads({side.matrix, side.first, side.rows, side.tile_rows, side.pitch});
  return {std::move(loads.first), std::move(loads.store), std::move(loads.next)};
}

// A warp computes a tile of its own, in which the results of its 32 work-items lie as the instruction leaves them.
ProductTexts mma_products(const ScanKernel& kernel) {
  const ScanShape& shape = kernel.shape;
  const auto [x, q] = sides(shape);
  const auto blocks = [&](const BlockSide& side) {
    return kernel.by_pairs ? pair_block_texts(side) : block_texts(kernel, side);
  };
  const Int8MmaTile tile{shape.rows(),    shape.queries(), shape.rows_each, shape.queries_each,
                         shape.x_pitch(), shape.q_pitch(), kernel.by_pairs};
  ScanShape of_warp = shape;
  of_warp.across = Int8MmaTile::lanes_across;
  of_warp.down = Int8MmaTile::lanes_down;
  of_warp.x_width_max = 1;
  of_warp.q_width_max = 2;
  // Two rounds of the loop in one would take so many registers that a multiprocessor holds one group instead of two.
  return {{blocks(x), blocks(q)},
          "uint item = down * ACROSS + across;" + int8_mma_places(tile),
          "\n#pragma unroll 1\n",
          int8_mma_steps(tile),
          bounds(of_warp, x, q)};
}

// The same for the waves of AMD's GPUs, of 64 work-items.
ProductTexts mfma_products(const ScanKernel& kernel) {
  const ScanShape& shape = kernel.shape;
  const auto [x, q] = sides(shape);
  const auto blocks = [&](const BlockSide& side) -> BlockTexts {
    if (!kernel.by_pairs) return block_texts(kernel, side);
    Int8MfmaLoads loads = int8_mfma_loads({side.matrix, side.first, side.rows, side.tile_rows, side.pitch});
    return {std::move(loads.first), std::move(loads.store), std::move(loads.next)};
  };
  const Int8MfmaTile tile{shape.rows_each, shape.queries_each, shape.x_pitch(), shape.q_pitch(), kernel.by_pairs};
  ScanShape of_wave = shape;
  of_wave.across = Int8MfmaTile::row_groups;
  of_wave.down = Int8MfmaTile::queries_apart;
  of_wave.x_width_max = Int8MfmaTile::rows_together;
  of_wave.q_width_max = 1;
  return {{blocks(x), blocks(q)},
          "uint item = down * ACROSS + across;" + int8_mfma_places(tile),
          "\n#pragma unroll 1\n",
          int8_mfma_steps(tile),
          int8_mfma_results(tile) + bounds(of_wave, x, q)};
}

std::string scan_statements(const ScanKernel& kernel, const ProductTexts& products, const char* loop = depth_loop) {
  const ScanShape& shape = kernel.shape;
  const auto [x, q] = sides(shape);
  const auto& [of_x, of_q] = products.blocks;
  std::string sums;
  for (std::uint32_t i = 0; i < shape.queries_each; ++i) {
    sums += repeated(shape.rows_each, "  SUM sum_{1}_{0} = ZERO;\n", i);
  }
  return substitute(scan_body, {{"$SUMS", sums},
                                {"$PLACES", products.places},
                                {"$LOAD_FIRST", of_x.before + of_q.before},
                                {"$BEFORE_LOOP", products.before_loop},
                                {"$LOOP", substitute(loop, {{"$STORE_BLOCK", of_x.store + of_q.store},
                                                            {"$LOAD_NEXT", of_x.ahead + of_q.ahead},
                                                            {"$STEPS", products.steps}})},
                                {"$STORE_TERMS", store_terms(shape, x, q)},
                                {"$BOUNDS", products.bounds}});
}

}  // namespace

KernelSource scan_source(const ScanKernel& kernel) {
  const ScanShape& shape = kernel.shape;
  const bool packed = kernel.packed();
  KernelSource source;
  source.name = "scan_bounds";
  source.buffers = {{"x", kernel.element, Access::read},          {"q", kernel.query_element, Access::read},
                    {"x_terms", DType::float32, Access::read},    {"q_terms", DType::float32, Access::read},
                    {"candidates", DType::int32, Access::write},  {"bounds", DType::float32, Access::write},
                    {"counts", DType::int32, Access::read_write}, {"excluded", DType::int32, Access::read}};
  for (const char* scalar : {"chunk",
                             "tiles",
                             "row_tiles",
                             "rows",
                             "queries",
                             "columns",
                             "capacity",
                             "first_row",
                             "masked",
                             "x_offset",
                             "x_stride",
                             "q_offset",
                             "q_stride",
                             "x_terms_offset",
                             "x_terms_stride",
                             "q_terms_offset",
                             "q_terms_stride",
                             "candidates_offset",
                             "candidates_stride",
                             "bounds_offset",
                             "bounds_stride",
                             "counts_offset",
                             "counts_stride",
                             "excluded_offset",
                             "excluded_stride"}) {
    source.scalars.push_back({scalar, DType::uint32});
  }
  source.scalars.insert(source.scalars.end(), {{"beta_margin", DType::float32}, {"margin", DType::float32}});
  const DType word = packed ? DType::uint32 : DType::float32;
  source.shared = {{"x_part", word, shape.depth * shape.x_pitch()}, {"q_part", word, shape.depth * shape.q_pitch()}};
  source.group = {shape.items(), 1, 1};
  const auto whole = [](std::uint32_t value) { return fmt::format("{}u", value); };
  source.defines = {{"ACROSS", whole(shape.across)},
                    {"DOWN", whole(shape.down)},
                    {"ROWS_EACH", whole(shape.rows_each)},
                    {"QUERIES_EACH", whole(shape.queries_each)},
                    {"ROWS", whole(shape.rows())},
                    {"QUERIES", whole(shape.queries())},
                    {"X_WIDTH", whole(shape.x_width())},
                    {"Q_WIDTH", whole(shape.q_width())},
                    {"DEPTH", whole(shape.depth)},
                    {"PACKED", packed ? "4u" : "1u"},
                    {"INDEXED", packed && kernel.whole_words ? "4u" : "1u"},
                    {"WORD", packed ? "uint" : "float"},
                    {"NOTHING", packed ? "0u" : "0.0f"},
                    {"TO_WORD(x)", packed ? "AS_U32(x)" : "(x)"},
                    {"SUM", packed ? "int" : "float"},
                    {"ZERO", packed ? "0" : "0.0f"},
                    {"STEP", packed ? "DOT4_I8" : "FMA"}};
  // More would take too few registers: of small groups, and of the largest tile, whose work-items then have 128.
  const bool largest = shape.rows_each * shape.queries_each == 64;
  if (shape.items() <= 64 || largest) source.defines.emplace_back("RESIDENT_GROUPS", largest ? "2" : "8");
  const TileMacros macros{.across = "ACROSS", .rows = "ROWS", .columns = "QUERIES"};
  source.body = tile_loop(macros, scan_statements(kernel, portable_products(kernel)));
  // Sums of int8 are too many operations deep for the vectorizer to follow them around the loop, and those of narrow
  // tiles too few: there the other loop is faster.
  if (!packed && !shape.narrow()) {
    source.overrides[Dialect::opencl_c] =
        tile_loop(macros, scan_statements(kernel, portable_products(kernel), depth_loop_left_at_head));
  }
  if (kernel.mma) {
    source.defines.emplace_back("CUDA_ARCHITECTURES", Int8MmaTile::architectures);
    source.overrides[Dialect::cuda] = tile_loop(macros, scan_statements(kernel, mma_products(kernel)));
    source.overrides[Dialect::hip] = tile_loop(macros, scan_statements(kernel, mfma_products(kernel)));
  }
  return source;
}

}  // namespace vectis::inline v0_1::detail
