// The HTML page of a snapshot: the data as JSON, and the script that draws it.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <tuple>

#include "memory/page_body.hpp"
#include "memory/page_map.hpp"
#include "memory/page_script.hpp"
#include "memory/page_style.hpp"
#include "memory/snapshot_format.hpp"

namespace vectis::inline v0_1 {

namespace detail {

std::vector<PageBlock> condense(const std::vector<SnapshotBlock>& blocks, std::size_t max) {
  const auto total = std::accumulate(blocks.begin(), blocks.end(), 0.0, [](double sum, const SnapshotBlock& block) {
    return sum + static_cast<double>(block.bytes);
  });
  // Fewer than max / 2 blocks can be this large, so that at most as many runs lie between them.
  const double visible = blocks.size() <= max ? 0 : 2 * total / static_cast<double>(max);
  std::vector<PageBlock> result;
  bool last_is_small = false;
  for (const SnapshotBlock& block : blocks) {
    const bool small = static_cast<double>(block.bytes) < visible;
    const std::uint64_t live = block.state == BlockState::live ? block.bytes : 0;
    if (small && last_is_small && result.back().first->segment == block.segment) {
      result.back().bytes += block.bytes;
      result.back().live_bytes += live;
      ++result.back().count;
    } else {
      result.push_back({&block, block.bytes, live, 1});
    }
    last_is_small = small;
  }
  return result;
}

}  // namespace detail

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_blocks = 60'000;
constexpr std::size_t largest_shown = 20;

// Rounded to microseconds, which keeps the page short.
double milliseconds(Duration duration) {
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return static_cast<double>(whole) / 1000;
}

// Tags by live bytes: the largest get the distinct colors.
class Tags {
 public:
  explicit Tags(const MemorySnapshot& snapshot) : usage_(snapshot.stats.tags) {
    std::ranges::sort(usage_, [](const TagUsage& a, const TagUsage& b) {
      return std::tie(b.live_bytes, b.peak_bytes, a.tag) < std::tie(a.live_bytes, a.peak_bytes, b.tag);
    });
    for (const TagUsage& tag : usage_) numbers_.emplace(tag.tag, numbers_.size());
    // Blocks are read a moment after the counters, so that a block may have a tag not counted yet.
    for (const SnapshotBlock& block : snapshot.blocks) {
      if (block.state != BlockState::live || !numbers_.emplace(block.tag, numbers_.size()).second) continue;
      usage_.push_back({block.tag, 0, 0, 0});
    }
  }
  [[nodiscard]] std::size_t number(const SnapshotBlock& block) const { return numbers_.at(block.tag); }
  [[nodiscard]] Json json() const {
    Json list = Json::array();
    for (const TagUsage& tag : usage_) {
      list.push_back({{"tag", tag.tag},
                      {"live_buffers", tag.live_buffers},
                      {"live_bytes", tag.live_bytes},
                      {"peak_bytes", tag.peak_bytes}});
    }
    return list;
  }

 private:
  std::vector<TagUsage> usage_;
  std::map<std::string, std::size_t> numbers_;
};

// Arrays by field, which take a fifth of the bytes of a list of objects. For a run, `requested` holds its live bytes.
Json blocks_json(const MemorySnapshot& snapshot, const Tags& tags) {
  std::string states;
  std::vector<std::uint64_t> segment, bytes, requested, tag, precision, count;
  std::vector<double> age_ms;
  for (const detail::PageBlock& block : detail::condense(snapshot.blocks, max_blocks)) {
    const SnapshotBlock& first = *block.first;
    const bool run = block.count > 1;
    const bool live = !run && first.state == BlockState::live;
    states += run ? 'm' : name(first.state).front();
    segment.push_back(first.segment);
    bytes.push_back(block.bytes);
    requested.push_back(live ? first.requested_bytes : block.live_bytes);
    tag.push_back(live ? tags.number(first) : 0);
    precision.push_back(live ? static_cast<std::uint64_t>(first.precision) : 0);
    age_ms.push_back(live ? milliseconds(first.age) : 0);
    count.push_back(block.count);
  }
  return {{"state", states}, {"segment", segment},     {"bytes", bytes},   {"requested", requested},
          {"tag", tag},      {"precision", precision}, {"age_ms", age_ms}, {"count", count}};
}

Json timeline_json(const std::vector<TimelinePoint>& points) {
  std::vector<double> time_ms;
  std::vector<std::uint64_t> reserved, in_use;
  for (const TimelinePoint& point : points) {
    time_ms.push_back(milliseconds(point.time.time_since_epoch()));
    reserved.push_back(point.reserved_bytes);
    in_use.push_back(point.in_use_bytes);
  }
  return {{"time_ms", time_ms}, {"reserved", reserved}, {"in_use", in_use}};
}

Json largest_json(const MemorySnapshot& snapshot, const Tags& tags) {
  std::vector<const SnapshotBlock*> live;
  for (const SnapshotBlock& block : snapshot.blocks) {
    if (block.state == BlockState::live) live.push_back(&block);
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(live.size(), largest_shown));
  const auto larger = [](const SnapshotBlock* a, const SnapshotBlock* b) {
    return std::pair(a->bytes, a->age) > std::pair(b->bytes, b->age);
  };
  std::ranges::partial_sort(live, live.begin() + shown, larger);
  Json list = Json::array();
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const SnapshotBlock& block = *live[static_cast<std::size_t>(i)];
    list.push_back({{"segment", block.segment},
                    {"offset", block.offset},
                    {"bytes", block.bytes},
                    {"requested_bytes", block.requested_bytes},
                    {"precision", name(block.precision)},
                    {"tag", tags.number(block)},
                    {"age_ms", milliseconds(block.age)}});
  }
  return list;
}

Json page_json(const MemorySnapshot& snapshot) {
  const Tags tags(snapshot);
  Json stats = Json::object();
  for (const detail::StatsField& field : detail::stats_fields) {
    stats[std::string(field.name)] = snapshot.stats.*field.member;
  }
  stats["fragmentation"] = snapshot.stats.fragmentation;
  Json precisions = Json::array({""});
  for (const Precision precision : detail::all_precisions) precisions.push_back(name(precision));
  return {{"device", snapshot.device},
          {"cause", snapshot.cause},
          {"time_ms", milliseconds(snapshot.time.time_since_epoch())},
          {"stats", stats},
          {"precisions", precisions},
          {"tags", tags.json()},
          {"blocks", blocks_json(snapshot, tags)},
          {"largest", largest_json(snapshot, tags)},
          {"timeline", timeline_json(snapshot.timeline)}};
}

// Escapes `<`, the only character that can end a script element or start a comment in it.
void write_data(std::ostream& out, const Json& data) {
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('<', begin), text.size());
    out.write(text.data() + begin, static_cast<std::streamsize>(end - begin));
    if (end < text.size()) out << "\\u003c";
    begin = end + 1;
  }
}

}  // namespace

void write_html(std::ostream& out, const MemorySnapshot& snapshot) {
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<title>Memory snapshot</title>\n<style>"
      << detail::page_style << "</style>\n</head>\n"
      << detail::page_body << "<script type=\"application/json\" id=\"data\">";
  write_data(out, page_json(snapshot));
  out << "</script>\n<script>" << detail::page_script << detail::page_map_script << "</script>\n</body>\n</html>\n";
}

}  // namespace vectis::inline v0_1
