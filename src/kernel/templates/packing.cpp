#include "kernel/templates/packing.hpp"

#include <fmt/format.h>

#include "kernel/templates/definition.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr const char* begin_items = R"(
uint begin = GROUP_ID(0) * chunk;
uint count = UMIN(chunk, items - begin);
for (uint t = LOCAL_ID(0); t < count; t += GROUP_SIZE(0)) {
  uint item = begin + t;
  uint own_row = item / row_words;
  uint row_begin = out_offset + own_row * out_stride;
)";

constexpr const char* single_element = R"(
  uint row = own_row;
  uint col = item - own_row * row_words;
  uint lane = 0u;
  uint word = 0u;
  bool keep = false;
  $ELEMENT
  if (!keep) { STORE_WORD_y(row_begin + col, word); }
}
)";

constexpr const char* several_elements = R"(
  uint w = row_begin / LANES_y + (item - own_row * row_words);
  bool mine = w <= (row_begin + out_columns - 1u) / LANES_y;
  if (own_row + 1u < out_rows) { mine = mine && w < (row_begin + out_stride) / LANES_y; }
  if (mine) {
    uint first = w * LANES_y;
    bool inside = first >= row_begin && out_columns >= LANES_y;
    if (inside) { inside = first - row_begin <= out_columns - LANES_y; }
    if (inside) {
      uint row = own_row;
      uint word = 0u;
      bool keep = false;
      $WHOLE
      if (!keep) { STORE_WORD_y(w, word); }
    } else {
      uint word = OLD_WORD_y(w);
      for (uint lane = 0u; lane < LANES_y; lane++) {
        uint e = first + lane;
        if (e >= out_offset) {
          uint row = (e - out_offset) / out_stride;
          uint col = (e - out_offset) - row * out_stride;
          if (row < out_rows && col < out_columns) {
            bool keep = false;
            $ELEMENT
          }
        }
      }
      STORE_WORD_y(w, word);
    }
  }
}
)";

constexpr const char* lane_after_lane = R"(
      for (uint lane = 0u; lane < LANES_y; lane++) {
        uint col = first - row_begin + lane;
        $ELEMENT
      }
)";

}  // namespace

const char* const put_bits = "word = (word & ~(MASK << (lane * BITS))) | (bits << (lane * BITS));";

std::string word_body(std::uint32_t lanes, const WordText& text) {
  if (lanes == 1) return begin_items + substitute(single_element, {{"$ELEMENT", text.element}});
  const std::string whole = text.whole.empty() ? substitute(lane_after_lane, {{"$ELEMENT", text.element}})
                                               : "uint col = first - row_begin;\n" + text.whole;
  return begin_items + substitute(several_elements, {{"$WHOLE", whole}, {"$ELEMENT", text.element}});
}

std::vector<ScalarParameter> word_scalars() {
  return {{"chunk", DType::uint32},     {"items", DType::uint32},       {"row_words", DType::uint32},
          {"out_rows", DType::uint32},  {"out_columns", DType::uint32}, {"out_offset", DType::uint32},
          {"out_stride", DType::uint32}};
}

WordLaunch word_launch(const View& out, std::uint32_t group) {
  const std::uint64_t lanes = lanes_of(out.type);
  const std::uint64_t row_words = (out.columns + lanes - 2) / lanes + 1;
  const std::uint64_t items = out.rows * row_words;
  const GridPartition work = partition_grid(items, group);
  WordLaunch launch{.shape = {.grid = {work.groups, 1, 1}, .block = {group, 1, 1}}, .scalars = {}};
  launch.scalars.reserve(12);  // room for the scalars of an operation's own
  for (const std::uint32_t scalar : {work.chunk, index32(items), index32(row_words), index32(out.rows),
                                     index32(out.columns), index32(out.offset), index32(out.stride)}) {
    launch.scalars.emplace_back(scalar);
  }
  return launch;
}

std::uint32_t lanes_of(DType type) { return lanes(type); }

DType raw_element(std::uint32_t lanes) {
  if (lanes == 1) return DType::uint32;
  return lanes == 2 ? DType::float16 : DType::int8;
}

std::vector<std::pair<std::string, std::string>> raw_defines(std::uint32_t lanes) {
  const std::uint32_t bits = 32 / lanes;
  const std::uint32_t mask = lanes == 1 ? UINT32_MAX : (1U << bits) - 1;
  return {{"BITS", fmt::format("{}u", bits)}, {"MASK", fmt::format("{}u", mask)}};
}

WordText copy_elements(const std::string& from, const std::string& before, const std::string& condition) {
  const std::string place = before + "uint from = " + from + ";\n";
  return {place + "uint bits = 0u;\nif (" + condition +
              ") { bits = (WORD_x(from / LANES_x) >> ((from % LANES_x) * BITS)) & MASK; }\nif (!keep) { " + put_bits +
              " }",
          place + "if (" + condition + R"tail() {
        uint shift = (from % LANES_x) * BITS;
        word = WORD_x(from / LANES_x) >> shift;
        if (shift != 0u) { word = word | (WORD_x(from / LANES_x + 1u) << (32u - shift)); }
      })tail"};
}

PlannedLaunch moving_launch(const std::string& name, const View& x, const View& out, WordText (*text)(),
                            const DeviceInfo& device) {
  const std::uint32_t lanes = lanes_of(out.type);
  const std::uint32_t group = group_items(device, 256);
  WordLaunch launch = word_launch(out, group);
  launch.scalars.insert(launch.scalars.end(), {index32(x.offset), index32(x.stride)});
  const auto source = [=] {
    std::vector<ScalarParameter> scalars = word_scalars();
    scalars.insert(scalars.end(), {{"x_offset", DType::uint32}, {"x_stride", DType::uint32}});
    return KernelSource{.name = name,
                        .buffers = {{"x", raw_element(lanes), Access::read}, {"y", raw_element(lanes), Access::write}},
                        .scalars = std::move(scalars),
                        .group = {group, 1, 1},
                        .defines = raw_defines(lanes),
                        .body = word_body(lanes, text())};
  };
  return {fmt::format("{} {} {}", name, lanes, group), source, launch.shape, {0, 1}, std::move(launch.scalars)};
}

}  // namespace vectis::inline v0_1::detail
