// Free and used ranges of the segments: best fit with immediate coalescing. Bookkeeping only, no device calls.
//
// Best fit over one tree of free ranges ordered by size keeps large ranges whole, and immediate coalescing with both
// neighbors keeps the number of ranges close to the number of live blocks. A buddy system would waste up to half of
// each block; segregated free lists would strand memory in the wrong class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace vectis::inline v0_1::detail {

// Bookkeeping of the free and used ranges of segments: allocates by best fit and coalesces at once. Makes no device
// calls. One thread at a time. Preconditions are checked by assert only. When the host is out of memory, add_segment,
// take and empty_segments throw std::bad_alloc and change nothing; give and remove_segment need no memory.
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

  // Makes an empty map. All sizes passed later must be multiples of `alignment`, which is above 0. Without
  // `may_split` every block is a whole segment.
  BlockMap(std::uint64_t alignment, bool may_split) : alignment_(alignment), may_split_(may_split) {}

  // Adds a segment of `bytes` that is entirely free and returns its id, which may be that of a removed segment.
  // `bytes` must be above 0 and a multiple of the alignment.
  SegmentId add_segment(std::uint64_t bytes);
  // Removes a segment, which must exist and be entirely free. Its id may be reused. Does not throw.
  void remove_segment(SegmentId segment) noexcept;
  // Returns the ids of the segments that are entirely free.
  [[nodiscard]] std::vector<SegmentId> empty_segments() const;
  // Returns the size of a segment, which must exist.
  [[nodiscard]] std::uint64_t segment_bytes(SegmentId segment) const { return segments_[segment].bytes; }
  // Returns whether a segment, which must exist, is entirely free.
  [[nodiscard]] bool is_empty(SegmentId segment) const noexcept;

  // Allocates the smallest free range of at least `bytes`, the lowest segment and offset on ties, and splits off the
  // rest if the map may split. `bytes` must be above 0 and a multiple of the alignment. Returns nothing when no range
  // is large enough.
  std::optional<BlockId> take(std::uint64_t bytes);
  // Frees a block, which must be allocated, and coalesces it with free neighbors; its id becomes invalid. Does not
  // throw.
  void give(BlockId block) noexcept;
  // Returns a block that take() allocated and give() has not freed. The reference is valid until the next change.
  [[nodiscard]] const Block& block(BlockId id) const { return nodes_[id].block; }

  [[nodiscard]] std::uint64_t free_bytes() const noexcept { return free_bytes_; }
  [[nodiscard]] std::uint64_t reserved_bytes() const noexcept { return reserved_bytes_; }
  // Returns the size of the largest free range in bytes; 0 when nothing is free.
  [[nodiscard]] std::uint64_t largest_free() const;
  // Calls `visitor` for every block and every free range, by segment and offset. `visitor` must not change the map.
  void visit(const std::function<void(BlockId, const Block&)>& visitor) const;

 private:
  using Key = std::tuple<std::uint64_t, SegmentId, std::uint64_t, BlockId>;  // bytes, segment, offset, block
  using Tree = std::set<Key>;

  static constexpr BlockId none = UINT32_MAX;
  struct Node {
    Block block;
    BlockId before = none;  // neighbors in the same segment
    BlockId after = none;
    Tree::node_type
        entry{};  // of the tree of free ranges, kept while the block is allocated, so that give() needs none
  };
  struct Segment {
    std::uint64_t bytes = 0;  // 0: removed
    BlockId first = none;
  };

  [[nodiscard]] Key key(BlockId id) const;
  BlockId make_node(const Block& block);
  BlockId make_free_node(const Block& block);
  void split(BlockId id, std::uint64_t bytes);
  BlockId coalesce_with_next(BlockId id) noexcept;

  std::uint64_t alignment_;
  bool may_split_;
  std::vector<Segment> segments_;
  std::vector<Node> nodes_;
  std::vector<BlockId> unused_nodes_;  // its capacity suffices for all nodes
  Tree free_;
  std::uint64_t free_bytes_ = 0;
  std::uint64_t reserved_bytes_ = 0;
};

}  // namespace vectis::inline v0_1::detail
