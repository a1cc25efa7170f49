#include "kernel/templates/scan_tile.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "kernel/templates/definition.hpp"
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
// work-item, which one comparison for each product decides.
constexpr const char* scan_body = R"(
  $SUMS
  $PLACES
  $LOAD_FIRST
  $BEFORE_LOOP
  for (uint depth0 = 0u; depth0 < columns; depth0 += DEPTH * PACKED) {
    $STORE_BLOCK
    BARRIER();
    uint next = depth0 + DEPTH * PACKED;
    $LOAD_NEXT
    $STEPS
    BARRIER();
  }
  $STORE_TERMS
  $BOUNDS
)";

// The bounds of a row at {0} in the tile. {1}: statements that compute `lower_0` and so on and set `found` when one is
// not above its query's limit; {2}: statements that collect those in the bits of `left`; {3}: statements that choose
// one of them; {4}: statements that read the terms of the row; {5} and {6}: the terms a and b of the query at `place`;
// {7}: place of query `i` of the work-item in the tile.
constexpr const char* bounds_of_row = R"(
  {{
    uint in_tile = {0};
    {4}
    bool found = false;
    {1}
    if (found && row0 + in_tile < rows) {{
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
        uint at = {0}_offset + UMIN({2} + i / DEPTH, {3} - 1u) * {0}_stride + k;
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

std::uint32_t words_each(const ScanKernel& kernel, const BlockSide& side) {
  return static_cast<std::uint32_t>(
      divide_up(std::uint64_t{side.tile_rows} * kernel.shape.depth, kernel.shape.items()));
}

// Where each of the words that a work-item loads is in the matrix, and in shared memory.
std::string places(const ScanKernel& kernel, const BlockSide& side) {
  return repeated(words_each(kernel, side), R"(
  uint {1}_item_{0} = LOCAL_ID(0) + {0}u * GROUP_SIZE(0);
  uint {1}_k_{0} = ({1}_item_{0} % DEPTH) * PACKED;
  uint {1}_from_{0} = {1}_offset + UMIN({2} + {1}_item_{0} / DEPTH, {3} - 1u) * {1}_stride + {1}_k_{0};
  uint {1}_to_{0} = ({1}_item_{0} % DEPTH) * {4}u + {1}_item_{0} / DEPTH;
  WORD {1}_word_{0} = NOTHING;
)",
                  side.matrix, side.first, side.rows, side.pitch);
}

// Loads to `word` the word of a matrix at index `at` and column `column`.
std::string load_word(const ScanKernel& kernel, std::string_view matrix, std::string_view word, std::string_view at,
                      std::string_view column) {
  if (!kernel.packed()) return fmt::format("{1} = LOAD_{0}({2});", matrix, word, at);
  if (kernel.whole_words) return fmt::format("{1} = WORD_{0}(({2}) / 4u);", matrix, word, at);
  return fmt::format(load_packed, matrix, word, at, column);
}

// Loads the words of the block that begins at depth `depth`.
std::string load_block(const ScanKernel& kernel, const BlockSide& side, std::string_view depth) {
  std::string text;
  for (std::uint32_t i = 0; i < words_each(kernel, side); ++i) {
    const std::string word = fmt::format("{}_word_{}", side.matrix, i);
    const std::string column = fmt::format("{}_k_{} + {}", side.matrix, i, depth);
    const std::string at = fmt::format("{}_from_{} + {}", side.matrix, i, depth);
    text += fmt::format("    {0} = NOTHING;\n    if ({1} < columns) {{ {2} }}\n", word, column,
                        load_word(kernel, side.matrix, word, at, column));
  }
  return text;
}

// Stores the loaded words to shared memory.
std::string store_block(const ScanKernel& kernel, const BlockSide& side) {
  const std::uint32_t words = side.tile_rows * kernel.shape.depth;
  std::string text;
  for (std::uint32_t i = 0; i < words_each(kernel, side); ++i) {
    const bool some = (i + 1) * kernel.shape.items() > words;  // of the work-items have this word
    const std::string store = fmt::format("{0}_part[{0}_to_{1}] = {0}_word_{1};", side.matrix, i);
    text += some ? fmt::format("    if ({0}_item_{1} < {2}u) {{ {3} }}\n", side.matrix, i, words, store)
                 : fmt::format("    {}\n", store);
  }
  return text;
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

// Stores the terms of the rows of one matrix in the tile to shared memory.
std::string store_terms_of(const ScanShape& shape, const BlockSide& side) {
  const std::uint32_t words = side.tile_rows * static_cast<std::uint32_t>(scan_terms);
  std::string text;
  for (std::uint32_t first = 0; first < words; first += shape.items()) {
    text += fmt::format(R"(
  if (LOCAL_ID(0) + {1}u < {2}u) {{
    uint i = LOCAL_ID(0) + {1}u;
    uint from = {0}_terms_offset + UMIN({3} + i / 4u, {4} - 1u) * {0}_terms_stride + i % 4u;
    {0}_part[i] = TO_WORD(LOAD_{0}_terms(from));
  }}
)",
                        side.matrix, first, words, side.first, side.rows);
  }
  return text;
}

std::string store_terms(const ScanShape& shape, const BlockSide& x, const BlockSide& q) {
  if (shape.narrow()) return "";
  return store_terms_of(shape, x) + store_terms_of(shape, q) + "  BARRIER();\n";
}

// Term `term` of the row of a matrix at `place` in the tile.
std::string term(const ScanShape& shape, const BlockSide& side, std::string_view place, std::uint32_t term) {
  if (!shape.narrow()) return fmt::format("AS_F32({}_part[({}) * 4u + {}u])", side.matrix, place, term);
  return fmt::format("LOAD_{0}_terms({0}_terms_offset + UMIN({1} + {2}, {3} - 1u) * {0}_terms_stride + {4}u)",
                     side.matrix, side.first, place, side.rows, term);
}

// The bounds of the work-item's rows for its queries, whose terms are kept in registers.
std::string bounds(const ScanShape& shape, const BlockSide& x, const BlockSide& q) {
  std::string text;
  std::string collected;
  std::string chosen;
  for (std::uint32_t i = 0; i < shape.queries_each; ++i) {
    const std::string place = fmt::format("q_at + {}u", place_in_tile(i, shape.q_width(), shape.down));
    for (std::uint32_t k = 0; k < scan_terms; ++k) {
      constexpr std::array<const char*, scan_terms> names = {"gamma", "a", "b", "limit"};
      text += fmt::format("  float {}_{} = {};\n", names.at(k), i, term(shape, q, place, k));
    }
    collected += fmt::format("if (!(lower_{0} > limit_{0})) {{ left = left | {1}u; }}\n      ", i, 1U << i);
    chosen += fmt::format("if (i == {0}u) {{ lower = lower_{0}; }}\n          ", i);
  }
  std::string of_row;
  for (std::uint32_t k = 0; k < scan_terms; ++k) {
    constexpr std::array<const char*, scan_terms> names = {"beta", "sigma", "rho", "nu"};
    of_row += fmt::format("float {} = {};\n    ", names.at(k), term(shape, x, "in_tile", k));
  }
  for (std::uint32_t j = 0; j < shape.rows_each; ++j) {
    const std::string compared = repeated(shape.queries_each, R"(
    float lower_{0} = FMA(gamma_{0} * sigma, F32(sum_{0}_{1}), beta) - FMA(b_{0}, nu, a_{0} * rho);
    found = found || !(lower_{0} > limit_{0});
)",
                                          j);
    const std::string in_tile = fmt::format("x_at + {}u", place_in_tile(j, shape.x_width(), shape.across));
    const std::string place =
        fmt::format("i / {0}u * {1}u + q_at + i % {0}u", shape.q_width(), shape.q_width() * shape.down);
    text += fmt::format(bounds_of_row, in_tile, compared, collected, chosen, of_row, term(shape, q, "place", 1),
                        term(shape, q, "place", 2), place);
  }
  return shape.narrow() ? text : text + "  BARRIER();\n";
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
  return {places(kernel, side) + load_block(kernel, side, "0u"), store_block(kernel, side),
          load_block(kernel, side, "next")};
}

// How a work-item computes its products and their bounds.
struct ProductTexts {
  std::string places;  // of its first row and query in the tile, `x_at` and `q_at`
  std::string before_loop;
  std::string steps;  // multiply a block
  std::string bounds;
};

ProductTexts portable_products(const ScanShape& shape) {
  const auto [x, q] = sides(shape);
  return {"uint x_at = across * X_WIDTH;\n  uint q_at = down * Q_WIDTH;", "", steps(shape), bounds(shape, x, q)};
}

// A warp computes a tile of its own, in which the results of its 32 work-items lie as the instruction leaves them.
ProductTexts mma_products(const ScanShape& shape) {
  const auto [x, q] = sides(shape);
  const Int8MmaTile tile{shape.rows(),       shape.queries(), shape.rows_each,
                         shape.queries_each, shape.x_pitch(), shape.q_pitch()};
  ScanShape of_warp = shape;
  of_warp.across = Int8MmaTile::lanes_across;
  of_warp.down = Int8MmaTile::lanes_down;
  of_warp.x_width_max = 1;
  of_warp.q_width_max = 2;
  // Two rounds of the loop in one would take so many registers that a multiprocessor holds one group instead of two.
  return {"uint item = down * ACROSS + across;" + int8_mma_places(tile), "\n#pragma unroll 1\n", int8_mma_steps(tile),
          bounds(of_warp, x, q)};
}

std::string scan_statements(const ScanKernel& kernel, const ProductTexts& products) {
  const ScanShape& shape = kernel.shape;
  const auto [x, q] = sides(shape);
  const BlockTexts of_x = block_texts(kernel, x);
  const BlockTexts of_q = block_texts(kernel, q);
  std::string sums;
  for (std::uint32_t i = 0; i < shape.queries_each; ++i) {
    sums += repeated(shape.rows_each, "  SUM sum_{1}_{0} = ZERO;\n", i);
  }
  return substitute(scan_body, {{"$SUMS", sums},
                                {"$PLACES", products.places},
                                {"$LOAD_FIRST", of_x.before + of_q.before},
                                {"$BEFORE_LOOP", products.before_loop},
                                {"$STORE_BLOCK", of_x.store + of_q.store},
                                {"$LOAD_NEXT", of_x.ahead + of_q.ahead},
                                {"$STEPS", products.steps},
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
                    {"WORD", packed ? "uint" : "float"},
                    {"NOTHING", packed ? "0u" : "0.0f"},
                    {"TO_WORD(x)", packed ? "AS_U32(x)" : "(x)"},
                    {"SUM", packed ? "int" : "float"},
                    {"ZERO", packed ? "0" : "0.0f"},
                    {"STEP", packed ? "DOT4_I8" : "FMA"}};
  if (shape.items() <= 64) source.defines.emplace_back("RESIDENT_GROUPS", "8");  // more would take too few registers
  const TileMacros macros{.across = "ACROSS", .rows = "ROWS", .columns = "QUERIES"};
  source.body = tile_loop(macros, scan_statements(kernel, portable_products(shape)));
  if (kernel.mma) {
    source.defines.emplace_back("CUDA_ARCHITECTURES", Int8MmaTile::architectures);
    source.overrides[Dialect::cuda] = tile_loop(macros, scan_statements(kernel, mma_products(shape)));
  }
  return source;
}

}  // namespace vectis::inline v0_1::detail
