// Random pool snapshots.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "vectis/memory/snapshot.hpp"

namespace vectis::test {

// A tag that attempts HTML and script injection.
inline const std::string hostile_tag = "</script><b>&\"'<!--\u2028";

inline MemorySnapshot random_snapshot(std::uint64_t seed, std::size_t blocks) {
  const std::array<std::string, 4> tags = {"", "weights", "Gewicht ü", hostile_tag};
  std::mt19937_64 random(seed);
  MemorySnapshot snapshot;
  snapshot.device = "cpu:0 (" + hostile_tag + ")";
  snapshot.cause = "2.0 MiB could not be allocated: " + hostile_tag + "\nadvice    request less\n";
  snapshot.time = TimePoint{std::chrono::minutes(5)};
  SnapshotBlock block;
  for (std::size_t i = 0; i < blocks; ++i) {
    block.offset += block.bytes;
    if (random() % 64 == 0)
      block = {block.segment + 1 + static_cast<std::uint32_t>(random() % 2), 0, 0, {}, 0, {}, {}, {}};
    block.bytes = 256 * (1 + (random() % 8 == 0 ? random() % 4096 : random() % 4));
    block.state = static_cast<BlockState>(random() % 3);
    const bool live = block.state == BlockState::live;
    block.requested_bytes = live ? block.bytes - random() % 256 : 0;
    block.precision = live ? static_cast<Precision>(1 + random() % 4) : Precision::fp32;
    block.tag = live ? tags[random() % tags.size()] : "";
    block.age = Duration(live ? static_cast<Duration::rep>(random() % 1'000'000'000'000) : 0);
    snapshot.blocks.push_back(block);
    snapshot.stats.reserved_bytes += block.bytes;
    (live ? snapshot.stats.in_use_bytes : snapshot.stats.cached_bytes) += block.bytes;
    snapshot.stats.live_buffers += live ? 1 : 0;
  }
  snapshot.stats.limit_bytes = UINT64_MAX;
  snapshot.stats.allocations = 7;
  snapshot.stats.hits = 5;
  snapshot.stats.fragmentation = 0.125;
  for (const std::string& tag : tags) snapshot.stats.tags.push_back({tag, random() % 9, random() % 99, random() % 999});
  for (int i = 0; i < 100; ++i) {
    snapshot.timeline.push_back({TimePoint{std::chrono::milliseconds(i)}, random() % 4096, random() % 2048});
  }
  return snapshot;
}

}  // namespace vectis::test
