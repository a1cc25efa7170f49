#include "memory_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "html.hpp"
#include "vectis/base/format.hpp"

namespace vectis::python {
namespace {

constexpr double map_width = 720;  // pixels of the largest segment
constexpr double bar_height = 16;
constexpr double bar_distance = 20;
constexpr double block_gap = 0.5;  // between blocks; narrow ones are a pixel wide, to be visible
constexpr std::size_t segments_max = 64;
constexpr std::size_t blocks_max = 4096;

std::string_view block_color(BlockState state) {
  switch (state) {
    case BlockState::live:
      return "#1f77b4";
    case BlockState::cached:
      return "#f2b84b";
    default:
      return "#d9d9d9";
  }
}

std::string block_tooltip(const SnapshotBlock& block) {
  std::string text = fmt::format("{}, {} at offset {} of segment {}", name(block.state), format_bytes(block.bytes),
                                 block.offset, block.segment);
  if (!block.tag.empty()) text += ", tag " + block.tag;
  return escape_html(text);
}

}  // namespace

std::string memory_map_html(const MemorySnapshot& snapshot) {
  std::map<std::uint32_t, std::uint64_t> ends;  // by segment
  for (const SnapshotBlock& block : snapshot.blocks) {
    std::uint64_t& end = ends[block.segment];
    end = std::max(end, block.offset + block.bytes);
  }
  std::uint64_t longest = 1;
  std::map<std::uint32_t, std::size_t> lines;
  for (const auto& [segment, end] : ends) {
    longest = std::max(longest, end);
    lines.emplace(segment, lines.size());
  }
  const double scale = map_width / static_cast<double>(longest);
  std::string blocks;
  std::size_t drawn = 0;
  for (const SnapshotBlock& block : snapshot.blocks) {
    const std::size_t line = lines[block.segment];
    if (line >= segments_max || drawn == blocks_max) continue;
    ++drawn;
    blocks += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"{}\"><title>{}</title></rect>",
        static_cast<double>(block.offset) * scale, static_cast<double>(line) * bar_distance,
        std::max(1.0, static_cast<double>(block.bytes) * scale - block_gap), bar_height, block_color(block.state),
        block_tooltip(block));
  }
  const std::size_t shown = std::min(lines.size(), segments_max);
  std::string html = fmt::format("<p>{}: {} in use, {} cached, limit {}, {} segments</p>", escape_html(snapshot.device),
                                 format_bytes(snapshot.stats.in_use_bytes), format_bytes(snapshot.stats.cached_bytes),
                                 format_bytes(snapshot.stats.limit_bytes), lines.size());
  html += fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" role=\"img\" "
      "aria-label=\"Map of device memory\">{}</svg>",
      map_width, static_cast<double>(shown) * bar_distance, blocks);
  html += "<p>";
  for (const BlockState state : {BlockState::live, BlockState::cached, BlockState::free}) {
    html += fmt::format("<span style=\"color: {}\">&#9632;</span> {} ", block_color(state), name(state));
  }
  html += "</p>";
  if (drawn < snapshot.blocks.size()) {
    html +=
        fmt::format("<p>{} of {} blocks are not drawn.</p>", snapshot.blocks.size() - drawn, snapshot.blocks.size());
  }
  return html;
}

}  // namespace vectis::python
