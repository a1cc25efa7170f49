// Which ranges of which segments are free: best fit with immediate coalescing. Pure bookkeeping, no device.
//
// Best fit over one tree of free ranges ordered by size keeps large ranges whole, and merging with both neighbours at
// once keeps the number of ranges near the number of live blocks. Chosen over buddy systems (up to half of a block
// wasted) and over free lists by size class (memory stuck in the wrong class).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace vectis::inline v0_1::detail {

// One thread at a time.
class BlockMap {
 public:
  using SegmentId = std::uint32_t;
  using BlockId = std::uint32_t;

  struct Block {
    SegmentId segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool free = false;
  };

  // Offsets and sizes are multiples of `alignment`. A map that may not cut hands out whole segments.
  BlockMap(std::uint64_t alignment, bool may_cut) : alignment_(alignment), may_cut_(may_cut) {}

  // A new segment, free as a whole. Its id may be that of a removed one.
  SegmentId add_segment(std::uint64_t bytes);
  // The segment must be free as a whole.
  void remove_segment(SegmentId segment);
  [[nodiscard]] std::vector<SegmentId> empty_segments() const;
  [[nodiscard]] std::uint64_t segment_bytes(SegmentId segment) const { return segments_[segment].bytes; }

  // The smallest free range that holds `bytes`, cut to size; lowest segment and offset among equals. Empty: none does.
  std::optional<BlockId> take(std::uint64_t bytes);
  // Back, merged with free neighbours.
  void give(BlockId block);
  [[nodiscard]] const Block& block(BlockId id) const { return nodes_[id].block; }

  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  [[nodiscard]] std::uint64_t reserved_bytes() const noexcept { return reserved_bytes_; }
  [[nodiscard]] std::uint64_t largest_free() const;
  // Every block in order of segment and offset.
  void visit(const std::function<void(BlockId, const Block&)>& visitor) const;

 private:
  static constexpr BlockId none = UINT32_MAX;
  struct Node {
    Block block;
    BlockId before = none;  // neighbours in the same segment
    BlockId after = none;
  };
  struct Segment {
    std::uint64_t bytes = 0;  // 0: removed
    BlockId first = none;
  };
  using Key = std::tuple<std::uint64_t, SegmentId, std::uint64_t, BlockId>;  // bytes, segment, offset, block

  [[nodiscard]] Key key(BlockId id) const;
  BlockId make_node(const Block& block);
  void cut(BlockId id, std::uint64_t bytes);
  BlockId merge_with_next(BlockId id);

  std::uint64_t alignment_;
  bool may_cut_;
  std::vector<Segment> segments_;
  std::vector<Node> nodes_;
  std::vector<BlockId> unused_nodes_;
  std::set<Key> free_;
  std::uint64_t free_bytes_ = 0;
  std::uint64_t reserved_bytes_ = 0;
};

}  // namespace vectis::inline v0_1::detail
