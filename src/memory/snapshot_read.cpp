// Reads a snapshot from JSON. The file is untrusted: every field is validated.
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/utf8.hpp"
#include "memory/snapshot_format.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

using Parsed = nlohmann::json;

constexpr std::string_view reading = "read_memory_snapshot";

[[noreturn]] void throw_corrupt(std::string_view what) {
  throw Error(ErrorCode::corrupt_data, reading, fmt::format("{}; use a file written by write_json", what));
}

const Parsed& member(const Parsed& object, std::string_view key) {
  if (!object.is_object()) throw_corrupt(fmt::format("expected an object with `{}`", key));
  const auto found = object.find(key);
  if (found == object.end()) throw_corrupt(fmt::format("`{}` is missing", key));
  return *found;
}

// A value for a message. Lists and objects are only named: printing or copying one recurses into each level of nesting,
// of which a file may have more than the stack holds.
std::string shown(const Parsed& value) {
  return value.is_structured() ? std::string("a list or an object") : std::string(detail::cut_utf8(value.dump(), 40));
}

std::uint64_t number(const Parsed& object, std::string_view key,
                     std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
  const Parsed& value = member(object, key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > max) {
    throw_corrupt(fmt::format("`{}` is {}, not an integer from 0 to {}", key, shown(value), max));
  }
  return value.get<std::uint64_t>();
}

Duration duration(const Parsed& object, std::string_view key) {
  return Duration(static_cast<Duration::rep>(
      number(object, key, static_cast<std::uint64_t>(std::numeric_limits<Duration::rep>::max()))));
}

double share(const Parsed& object, std::string_view key) {
  const Parsed& value = member(object, key);
  const double result = value.is_number() ? value.get<double>() : -1;
  if (!(result >= 0 && result <= 1)) throw_corrupt(fmt::format("`{}` is not a number from 0 to 1", key));
  return result;
}

std::string string(const Parsed& object, std::string_view key) {
  const Parsed& value = member(object, key);
  if (!value.is_string()) throw_corrupt(fmt::format("`{}` is not a string", key));
  return value.get<std::string>();
}

const Parsed& list(const Parsed& object, std::string_view key) {
  const Parsed& value = member(object, key);
  if (!value.is_array()) throw_corrupt(fmt::format("`{}` is not a list", key));
  return value;
}

template <class Values>
auto one_of(const Values& values, const Parsed& object, std::string_view key) {
  const std::string text = string(object, key);
  const auto found = std::ranges::find_if(values, [&](auto value) { return name(value) == text; });
  if (found == values.end())
    throw_corrupt(fmt::format("`{}` has the unknown value `{}`", key, detail::cut_utf8(text, 40)));
  return *found;
}

MemoryStats read_stats(const Parsed& page) {
  const Parsed& json = member(page, "stats");
  MemoryStats stats;
  for (const detail::StatsField& field : detail::stats_fields) stats.*field.member = number(json, field.name);
  stats.fragmentation = share(json, "fragmentation");
  for (const Parsed& tag : list(page, "tags")) {
    stats.tags.push_back(
        {string(tag, "tag"), number(tag, "live_buffers"), number(tag, "live_bytes"), number(tag, "peak_bytes")});
  }
  return stats;
}

SnapshotBlock read_block(const Parsed& json) {
  SnapshotBlock block;
  block.segment = static_cast<std::uint32_t>(number(json, "segment", std::numeric_limits<std::uint32_t>::max()));
  block.offset = number(json, "offset");
  block.bytes = number(json, "bytes", std::numeric_limits<std::uint64_t>::max() - block.offset);
  block.state = one_of(detail::block_states, json, "state");
  if (block.state != BlockState::live) return block;
  block.requested_bytes = number(json, "requested_bytes", block.bytes);
  block.precision = one_of(detail::all_precisions, json, "precision");
  block.tag = string(json, "tag");
  block.age = duration(json, "age_ns");
  return block;
}

std::vector<SnapshotBlock> read_blocks(const Parsed& page) {
  std::vector<SnapshotBlock> blocks;
  for (const Parsed& json : list(page, "blocks")) {
    SnapshotBlock block = read_block(json);
    if (!blocks.empty()) {
      const SnapshotBlock& before = blocks.back();
      const bool in_order =
          std::tuple(before.segment, before.offset + before.bytes) <= std::tuple(block.segment, block.offset);
      if (!in_order)
        throw_corrupt(fmt::format("block {} overlaps the previous block or is out of order", blocks.size()));
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::vector<TimelinePoint> read_timeline(const Parsed& page) {
  std::vector<TimelinePoint> points;
  for (const Parsed& json : list(page, "timeline")) {
    const TimelinePoint point{TimePoint{duration(json, "time_ns")}, number(json, "reserved_bytes"),
                              number(json, "in_use_bytes")};
    if (!points.empty() && point.time < points.back().time) {
      throw_corrupt(fmt::format("timeline point {} is earlier than the previous one", points.size()));
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace

MemorySnapshot read_memory_snapshot(std::istream& in) {
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw Error(ErrorCode::io, reading, "reading the snapshot failed; check the file and its disk");
  const Parsed page = Parsed::parse(text, nullptr, false);
  if (page.is_discarded()) throw_corrupt("the file is not JSON, or is truncated");
  const auto format = page.find("format");  // the end for a page that is no object
  if (format == page.end() || !format->is_string() ||
      format->get_ref<const std::string&>() != detail::snapshot_format) {
    throw_corrupt("the file is JSON, but no snapshot of a memory pool");
  }
  if (const std::uint64_t version = number(page, "version"); version != detail::snapshot_version) {
    throw_corrupt(fmt::format("version {} of the format is unknown; this version of Vectis reads {}", version,
                              detail::snapshot_version));
  }
  MemorySnapshot snapshot;
  snapshot.device = string(page, "device");
  snapshot.cause = string(page, "cause");
  snapshot.time = TimePoint{duration(page, "time_ns")};
  snapshot.stats = read_stats(page);
  snapshot.blocks = read_blocks(page);
  snapshot.timeline = read_timeline(page);
  return snapshot;
}

}  // namespace vectis::inline v0_1
