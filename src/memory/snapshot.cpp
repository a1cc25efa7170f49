#include "vectis/memory/snapshot.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_map>
#include <utility>

#include "device/call.hpp"
#include "memory/device_pool.hpp"
#include "memory/snapshot_format.hpp"

namespace vectis::inline v0_1 {

std::string_view name(BlockState state) noexcept {
  switch (state) {
    case BlockState::live:
      return "live";
    case BlockState::cached:
      return "cached";
    case BlockState::free:
      break;
  }
  return "free";
}

namespace {

using Json = nlohmann::ordered_json;

std::string text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json stats_json(const MemoryStats& stats) {
  Json json = Json::object();
  for (const detail::StatsField& field : detail::stats_fields) json[std::string(field.name)] = stats.*field.member;
  json["fragmentation"] = stats.fragmentation;
  json["hit_rate"] = stats.hit_rate();
  return json;
}

Json tag_json(const TagUsage& tag) {
  return {{"tag", tag.tag},
          {"live_buffers", tag.live_buffers},
          {"live_bytes", tag.live_bytes},
          {"peak_bytes", tag.peak_bytes}};
}

Json block_json(const SnapshotBlock& block) {
  Json json = {
      {"segment", block.segment}, {"offset", block.offset}, {"bytes", block.bytes}, {"state", name(block.state)}};
  if (block.state != BlockState::live) return json;
  json["requested_bytes"] = block.requested_bytes;
  json["precision"] = name(block.precision);
  json["tag"] = block.tag;
  json["age_ns"] = block.age.count();
  return json;
}

Json point_json(const TimelinePoint& point) {
  return {{"time_ns", point.time.time_since_epoch().count()},
          {"reserved_bytes", point.reserved_bytes},
          {"in_use_bytes", point.in_use_bytes}};
}

// One line per entry: readable, and a large snapshot is never in memory twice.
template <class List, class ToJson>
void write_list(std::ostream& out, std::string_view key, const List& list, const ToJson& to_json) {
  out << ",\n\"" << key << "\": [";
  const char* separator = "\n  ";
  for (const auto& entry : list) {
    out << separator << text(to_json(entry));
    separator = ",\n  ";
  }
  out << "]";
}

}  // namespace

void write_json(std::ostream& out, const MemorySnapshot& snapshot) {
  out << "{\"format\": " << text(detail::snapshot_format) << ",\n\"version\": " << detail::snapshot_version;
  out << ",\n\"device\": " << text(snapshot.device);
  out << ",\n\"cause\": " << text(snapshot.cause);
  out << ",\n\"time_ns\": " << snapshot.time.time_since_epoch().count();
  out << ",\n\"stats\": " << text(stats_json(snapshot.stats));
  write_list(out, "tags", snapshot.stats.tags, tag_json);
  write_list(out, "blocks", snapshot.blocks, block_json);
  write_list(out, "timeline", snapshot.timeline, point_json);
  out << "\n}\n";
}

namespace detail {

MemorySnapshot DevicePool::snapshot(std::string cause) const {
  MemorySnapshot result;
  result.device = describe(*context().device().core());
  result.cause = std::move(cause);
  result.time = runtime_.executor().now();
  const auto tag_names = tags_.names();
  result.stats = visit([&](const BlockMap::Block& range, const PoolBlock* block, bool /*cached*/) {
    SnapshotBlock one;
    one.segment = range.segment;
    one.offset = range.offset;
    one.bytes = range.bytes;
    if (block != nullptr) one.state = BlockState::cached;  // or taken by a request that has not returned
    if (block != nullptr && block->live) {
      one.state = BlockState::live;
      one.requested_bytes = block->requested;
      one.precision = block->precision;
      if (const auto found = tag_names.find(block->tag); found != tag_names.end()) one.tag = found->second;
      one.age = std::max(result.time - block->since, Duration::zero());
    }
    result.blocks.push_back(std::move(one));
  });
  result.timeline = timeline_.points(result.time, result.stats.in_use_bytes);
  return result;
}

}  // namespace detail

}  // namespace vectis::inline v0_1
