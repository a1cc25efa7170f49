#include "memory/block_map.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace vectis::inline v0_1::detail {

BlockMap::Key BlockMap::key(BlockId id) const {
  const Block& block = nodes_[id].block;
  return {block.bytes, block.segment, block.offset, id};
}

BlockMap::BlockId BlockMap::make_node(const Block& block) {
  if (unused_nodes_.empty()) {
    if (unused_nodes_.capacity() <= nodes_.size()) unused_nodes_.reserve(2 * nodes_.size() + 16);
    nodes_.push_back({block, none, none});
    return static_cast<BlockId>(nodes_.size() - 1);
  }
  const BlockId id = unused_nodes_.back();
  unused_nodes_.pop_back();
  nodes_[id] = {block, none, none};
  return id;
}

// Makes a node of a free range and adds it to the tree.
BlockMap::BlockId BlockMap::make_free_node(const Block& block) {
  const BlockId id = make_node(block);
  try {
    free_.insert(key(id));
  } catch (...) {
    unused_nodes_.push_back(id);
    throw;
  }
  return id;
}

BlockMap::SegmentId BlockMap::add_segment(std::uint64_t bytes) {
  assert(bytes > 0 && bytes % alignment_ == 0);
  const auto unused = std::ranges::find(segments_, 0U, &Segment::bytes);
  const auto segment = static_cast<SegmentId>(unused - segments_.begin());
  if (unused == segments_.end()) segments_.emplace_back();
  const BlockId first = make_free_node({segment, 0, bytes, true});
  segments_[segment] = {bytes, first};
  free_bytes_ += bytes;
  reserved_bytes_ += bytes;
  return segment;
}

bool BlockMap::is_empty(SegmentId segment) const noexcept {
  const Block& first = nodes_[segments_[segment].first].block;
  return first.free && first.bytes == segments_[segment].bytes;
}

void BlockMap::remove_segment(SegmentId segment) noexcept {
  Segment& removed = segments_[segment];
  assert(is_empty(segment));
  free_.erase(key(removed.first));
  free_bytes_ -= removed.bytes;
  reserved_bytes_ -= removed.bytes;
  unused_nodes_.push_back(removed.first);
  removed = {};
}

std::vector<BlockMap::SegmentId> BlockMap::empty_segments() const {
  std::vector<SegmentId> result;
  for (SegmentId id = 0; id < segments_.size(); ++id) {
    if (segments_[id].bytes > 0 && is_empty(id)) result.push_back(id);
  }
  return result;
}

std::optional<BlockMap::BlockId> BlockMap::take(std::uint64_t bytes) {
  assert(bytes > 0 && bytes % alignment_ == 0);
  const auto found = free_.lower_bound(Key{bytes, 0, 0, 0});
  if (found == free_.end()) return std::nullopt;
  const BlockId id = std::get<3>(*found);
  if (may_split_ && nodes_[id].block.bytes > bytes) split(id, bytes);
  nodes_[id].entry = free_.extract(found);
  nodes_[id].block.free = false;
  free_bytes_ -= nodes_[id].block.bytes;
  return id;
}

// Shrinks the block to `bytes` and makes the rest a free block after it.
void BlockMap::split(BlockId id, std::uint64_t bytes) {
  const Block whole = nodes_[id].block;
  const BlockId rest = make_free_node({whole.segment, whole.offset + bytes, whole.bytes - bytes, true});
  nodes_[id].block.bytes = bytes;
  nodes_[rest].before = id;
  nodes_[rest].after = nodes_[id].after;
  if (nodes_[rest].after != none) nodes_[nodes_[rest].after].before = rest;
  nodes_[id].after = rest;
}

// Absorbs the block after `id`, which is free and no longer in the tree.
BlockMap::BlockId BlockMap::coalesce_with_next(BlockId id) noexcept {
  const BlockId next = nodes_[id].after;
  nodes_[id].block.bytes += nodes_[next].block.bytes;
  nodes_[id].after = nodes_[next].after;
  if (nodes_[id].after != none) nodes_[nodes_[id].after].before = id;
  unused_nodes_.push_back(next);
  return id;
}

void BlockMap::give(BlockId id) noexcept {
  assert(!nodes_[id].block.free);
  Tree::node_type entry = std::move(nodes_[id].entry);
  free_bytes_ += nodes_[id].block.bytes;
  nodes_[id].block.free = true;
  const BlockId next = nodes_[id].after;
  if (next != none && nodes_[next].block.free) {
    free_.erase(key(next));
    coalesce_with_next(id);
  }
  const BlockId before = nodes_[id].before;
  if (before != none && nodes_[before].block.free) {
    free_.erase(key(before));
    id = coalesce_with_next(before);
  }
  entry.value() = key(id);
  free_.insert(std::move(entry));
}

std::uint64_t BlockMap::largest_free() const { return free_.empty() ? 0 : std::get<0>(*free_.rbegin()); }

void BlockMap::visit(const std::function<void(BlockId, const Block&)>& visitor) const {
  for (const Segment& segment : segments_) {
    if (segment.bytes == 0) continue;
    for (BlockId id = segment.first; id != none; id = nodes_[id].after) visitor(id, nodes_[id].block);
  }
}

}  // namespace vectis::inline v0_1::detail
