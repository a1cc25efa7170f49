// Rows of segments that stay on a device between searches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "search/exact/device/layout.hpp"
#include "search/exact/device/row_mask.hpp"
#include "search/exact/device/upload.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::exact {

// Rows of any number of segments in device memory, in one layout and one after the other. Rows that were written do not
// change; new ones are appended up to the capacity.
struct ResidentBlock {
  // Consecutive rows of a segment at consecutive places.
  struct Part {
    std::weak_ptr<const void> storage;  // of the segment
    std::size_t first_row = 0;          // of the segment
    std::size_t place = 0;              // in the block
    std::size_t rows = 0;
  };

  std::shared_ptr<const DeviceLayout> layout;
  ManagedBuffer codes;
  ManagedBuffer terms;
  std::size_t capacity = 0;  // in rows
  // Guarded by the owner's mutex.
  std::size_t used = 0;
  std::vector<Part> parts;  // by place
  // Of the last search that needed one. Only get() of the owner uses it, one call at a time.
  mutable std::shared_ptr<const RowMask> mask;
};

// The rows of a search that are in one block.
struct ResidentRows {
  std::shared_ptr<const ResidentBlock> block;
  std::vector<RowRun> runs;             // by place
  std::shared_ptr<const RowMask> mask;  // null: no place is left out
};

// Where the segments of a search are.
struct ResidentPlaces {
  std::vector<ResidentRows> resident;
  std::vector<std::size_t> streamed;  // segments that do not fit; indexes of the task
};

// The rows of segments that stay in the memory of one device between searches, in as few blocks as layouts and memory
// allow. The memory pool may drop blocks that no scan uses when it needs memory. Thread-safe.
class ResidentSegments {
 public:
  // Registers with the memory pool of `runtime`, which must outlive this object, as a reclaimer of `device`'s memory.
  ResidentSegments(Runtime& runtime, const Device& device);
  ~ResidentSegments();
  ResidentSegments(const ResidentSegments&) = delete;
  ResidentSegments& operator=(const ResidentSegments&) = delete;

  // Returns where the segments at the indexes `chosen` are on the device. Copies rows that are missing through `stream`
  // (a stream of this device) and waits for them; a segment whose missing rows and `reserve` further bytes do not fit
  // into the pool's limit is streamed. Drops the rows of segments that no longer exist. Throws Unsupported for l1,
  // chebyshev and hamming, and the error of the backend.
  [[nodiscard]] ResidentPlaces get(std::span<const SegmentView> segments, std::span<const std::size_t> chosen,
                                   Stream& stream, std::uint64_t reserve);
  // Returns those of the segments at the indexes `chosen` that should be copied ahead of a search: less than four
  // fifths of their rows are on the device.
  [[nodiscard]] std::vector<std::size_t> wanted(std::span<const SegmentView> segments,
                                                std::span<const std::size_t> chosen) const;
  // Drops blocks that no scan uses until they had `bytes` of device memory, or all of them; returns their bytes.
  std::uint64_t drop_unused(std::uint64_t bytes);
  // Returns the bytes of device memory of all blocks.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  using Blocks = std::vector<std::shared_ptr<ResidentBlock>>;
  struct Missing;

  void drop_gone();
  // The caller holds mutex_.
  void drop_parts(const std::function<bool(const ResidentBlock::Part&)>& is_dropped);
  [[nodiscard]] std::vector<Missing> missing_of(std::span<const SegmentView> segments,
                                                std::span<const std::size_t> chosen);
  // Sets the masks of the rows that need one.
  void mask(std::span<const SegmentView> segments, Stream& stream, std::span<ResidentRows> rows);
  // The places of the rows of all chosen segments that are on the device.
  [[nodiscard]] ResidentPlaces places(std::span<const SegmentView> segments, std::span<const std::size_t> chosen) const;
  // Copies missing rows of segments that share a layout. Returns false when memory does not suffice.
  [[nodiscard]] bool load(std::span<const Missing> missing, const std::shared_ptr<const DeviceLayout>& layout,
                          Stream& stream, std::uint64_t reserve);
  // Returns a block of the layout with room for `rows` more rows: one that has it, else a new one that takes over the
  // rows of the older ones if memory suffices. Null when there is no memory.
  [[nodiscard]] std::shared_ptr<ResidentBlock> block_for(const std::shared_ptr<const DeviceLayout>& layout,
                                                         std::size_t rows, Stream& stream, std::uint64_t reserve);
  // Returns a block without rows. Null when there is no memory for it and `reserve` further bytes.
  [[nodiscard]] std::shared_ptr<ResidentBlock> make_block(const std::shared_ptr<const DeviceLayout>& layout,
                                                          std::size_t rows, std::uint64_t reserve);
  // Copies the rows of `older` blocks to `block`, which replaces them; running scans keep them alive.
  void replace(const Blocks& older, const std::shared_ptr<ResidentBlock>& block, Stream& stream);
  // Replaces blocks of which less than half is in use by smaller ones where memory suffices.
  void shrink(Stream& stream);

  Runtime& runtime_;
  MemoryPool& pool_;
  int device_;
  std::uint64_t block_bytes_max_;  // of codes
  std::mutex loading_;             // held while rows are copied
  mutable std::mutex mutex_;
  Blocks blocks_;
  bool reclaimed_ = false;  // blocks since the last get(): segments may have lost some of their rows
  int reclaimer_;
};

}  // namespace vectis::inline v0_1::exact
