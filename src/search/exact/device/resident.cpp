#include "search/exact/device/resident.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "device/call.hpp"
#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr int reclaim_cost = 200;  // codes must be packed and copied again
// Kernels count elements with 32 bits; terms are floats.
constexpr std::uint64_t block_bytes_limit = std::uint64_t{1} << 31U;
constexpr std::size_t growth_share = 8;  // a block that replaces others has room for 1/8 more rows

// Whether both are of the same storage, which may be gone.
template <class Storage>
bool is_of(const std::weak_ptr<const void>& held, const Storage& storage) noexcept {
  return !held.owner_before(storage) && !storage.owner_before(held);
}

std::uint64_t device_bytes_of(const ResidentBlock& block) noexcept { return block.codes.bytes() + block.terms.bytes(); }

RowMemory memory_of(const ResidentBlock& block) { return {&block.codes.memory(), &block.terms.memory()}; }

std::size_t live_rows_of(const ResidentBlock& block) noexcept {
  std::size_t rows = 0;
  for (const ResidentBlock::Part& part : block.parts) rows += part.rows;
  return rows;
}

// The rows of each segment, from the first on without a gap, that are in the blocks.
class PresentRows {
 public:
  explicit PresentRows(std::span<const std::shared_ptr<ResidentBlock>> blocks) {
    std::vector<const ResidentBlock::Part*> parts;
    for (const auto& block : blocks) {
      for (const ResidentBlock::Part& part : block->parts) parts.push_back(&part);
    }
    std::ranges::sort(parts, {}, &ResidentBlock::Part::first_row);
    for (const ResidentBlock::Part* part : parts) {
      std::size_t& rows = rows_[part->storage];
      if (part->first_row <= rows) rows = std::max(rows, part->first_row + part->rows);
    }
  }

  [[nodiscard]] std::size_t of(const std::weak_ptr<const void>& storage) const {
    const auto found = rows_.find(storage);
    return found == rows_.end() ? 0 : found->second;
  }

 private:
  std::map<std::weak_ptr<const void>, std::size_t, std::owner_less<>> rows_;
};

// Rows that continue a part in the segment and in the block extend it.
void append_part(ResidentBlock& block, ResidentBlock::Part part) {
  block.used = part.place + part.rows;
  if (!block.parts.empty()) {
    ResidentBlock::Part& last = block.parts.back();
    if (is_of(last.storage, part.storage) && last.first_row + last.rows == part.first_row &&
        last.place + last.rows == part.place) {
      last.rows += part.rows;
      return;
    }
  }
  block.parts.push_back(std::move(part));
}

}  // namespace

// Rows of a segment that are not on the device.
struct ResidentSegments::Missing {
  const SegmentView* segment = nullptr;
  std::size_t first_row = 0;
};

ResidentSegments::ResidentSegments(Runtime& runtime, const Device& device)
    : runtime_(runtime), pool_(memory_pool(runtime)), device_(device.id()), block_bytes_max_(block_bytes_limit) {
  const std::uint64_t allocation_max = device.info().limits.allocation_bytes_max;
  if (allocation_max > 0) block_bytes_max_ = std::min(block_bytes_max_, allocation_max);
  reclaimer_ = pool_.add_reclaimer({"segments of exact search", reclaim_cost, [this](int asked, std::uint64_t bytes) {
                                      return asked == device_ ? drop_unused(bytes) : 0;
                                    }});
}

ResidentSegments::~ResidentSegments() { pool_.remove_reclaimer(reclaimer_); }

ResidentPlaces ResidentSegments::get(std::span<const SegmentView> segments, std::span<const std::size_t> chosen,
                                     Stream& stream, std::uint64_t reserve) {
  const std::lock_guard lock(loading_);
  drop_gone();
  shrink(stream);
  std::vector<Missing> missing = missing_of(segments, chosen);
  while (!missing.empty()) {
    std::shared_ptr<const DeviceLayout> layout;
    {
      const std::lock_guard held(mutex_);
      const auto block =
          std::ranges::find_if(blocks_, [&](const auto& one) { return one->layout->suits(*missing.front().segment); });
      if (block != blocks_.end()) layout = (*block)->layout;
    }
    if (!layout) layout = std::make_shared<const DeviceLayout>(*missing.front().segment);
    std::vector<Missing> alike{missing.front()};
    std::vector<Missing> others;
    std::partition_copy(missing.begin() + 1, missing.end(), std::back_inserter(alike), std::back_inserter(others),
                        [&](const Missing& one) { return layout->suits(*one.segment); });
    if (!load(alike, layout, stream, reserve)) {  // as many as fit
      for (const Missing& one : alike) {
        if (!load({&one, 1}, layout, stream, reserve)) break;
      }
    }
    missing = std::move(others);
  }
  ResidentPlaces found = places(segments, chosen);
  mask(segments, stream, found.resident);
  return found;
}

// The pool may take back other blocks for the memory of a mask.
void ResidentSegments::mask(std::span<const SegmentView> segments, Stream& stream, std::span<ResidentRows> rows) {
  for (ResidentRows& one : rows) {
    if (!RowMask::needed(one.runs, segments)) continue;
    std::shared_ptr<const RowMask>& kept = one.block->mask;
    if (!kept || !kept->is_of(one.runs, segments)) {
      kept = std::make_shared<const RowMask>(one.runs, segments, pool_, device_, stream);
    }
    one.mask = kept;
  }
}

void ResidentSegments::drop_gone() {
  const std::lock_guard lock(mutex_);
  drop_parts([](const ResidentBlock::Part& part) { return part.storage.expired(); });
}

void ResidentSegments::drop_parts(const std::function<bool(const ResidentBlock::Part&)>& is_dropped) {
  for (const auto& block : blocks_) {
    std::erase_if(block->parts, is_dropped);
    if (!block->parts.empty()) block->used = block->parts.back().place + block->parts.back().rows;
  }
  std::erase_if(blocks_, [](const auto& block) { return block->parts.empty(); });
}

// Of a segment that lost a block, the rows after those are brought anew as well. No scan uses them, since it would also
// use the block that was lost.
std::vector<ResidentSegments::Missing> ResidentSegments::missing_of(std::span<const SegmentView> segments,
                                                                    std::span<const std::size_t> chosen) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(reclaimed_, false)) {
    const PresentRows left(blocks_);
    drop_parts([&](const ResidentBlock::Part& part) { return part.first_row > left.of(part.storage); });
  }
  const PresentRows present(blocks_);
  std::vector<Missing> missing;
  for (const std::size_t index : chosen) {
    const std::size_t rows = present.of(segments[index].storage);
    if (rows < segments[index].rows) missing.push_back({&segments[index], rows});
  }
  return missing;
}

ResidentPlaces ResidentSegments::places(std::span<const SegmentView> segments,
                                        std::span<const std::size_t> chosen) const {
  std::multimap<std::weak_ptr<const void>, std::size_t, std::owner_less<>> indexes;
  for (const std::size_t index : chosen) indexes.emplace(segments[index].storage, index);
  std::vector<std::size_t> present(segments.size());
  const std::lock_guard lock(mutex_);
  ResidentPlaces found;
  for (const auto& block : blocks_) {
    ResidentRows rows{block, {}, nullptr};
    for (const ResidentBlock::Part& part : block->parts) {
      const auto [first, last] = indexes.equal_range(part.storage);
      for (auto at = first; at != last; ++at) {
        const std::size_t index = at->second;
        if (part.first_row >= segments[index].rows) continue;
        const std::size_t count = std::min(part.rows, segments[index].rows - part.first_row);
        rows.runs.push_back({index, part.first_row, part.place, count});
        present[index] += count;
      }
    }
    found.resident.push_back(std::move(rows));
  }
  const auto is_whole = [&](std::size_t index) { return present[index] == segments[index].rows; };
  for (ResidentRows& rows : found.resident) {
    std::erase_if(rows.runs, [&](const RowRun& run) { return !is_whole(run.segment); });
  }
  std::erase_if(found.resident, [](const ResidentRows& rows) { return rows.runs.empty(); });
  std::ranges::copy_if(chosen, std::back_inserter(found.streamed), std::not_fn(is_whole));
  return found;
}

// Rows never change, so that the rows of an older view serve a newer one.
std::vector<std::size_t> ResidentSegments::wanted(std::span<const SegmentView> segments,
                                                  std::span<const std::size_t> chosen) const {
  const std::lock_guard lock(mutex_);
  const PresentRows present(blocks_);
  std::vector<std::size_t> found;
  std::ranges::copy_if(chosen, std::back_inserter(found), [&](std::size_t index) {
    const SegmentView& segment = segments[index];
    return segment.rows > 0 && present.of(segment.storage) < std::max<std::size_t>(1, segment.rows / 5 * 4);
  });
  return found;
}

std::uint64_t ResidentSegments::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& block : blocks_) sum += device_bytes_of(*block);
  return sum;
}

bool ResidentSegments::load(std::span<const Missing> missing, const std::shared_ptr<const DeviceLayout>& layout,
                            Stream& stream, std::uint64_t reserve) {
  std::size_t rows = 0;
  for (const Missing& one : missing) rows += one.segment->rows - one.first_row;
  const std::shared_ptr<ResidentBlock> block = block_for(layout, rows, stream, reserve);
  if (block == nullptr) return false;
  RowUpload upload(stream, runtime_.executor(), *layout);
  std::size_t place = block->used;
  std::vector<ResidentBlock::Part> parts;
  for (const Missing& one : missing) {
    upload.send(*one.segment, one.first_row, one.segment->rows, memory_of(*block), place);
    parts.push_back({one.segment->storage, one.first_row, place, one.segment->rows - one.first_row});
    place += parts.back().rows;
  }
  stream.synchronize();
  const std::lock_guard lock(mutex_);
  for (ResidentBlock::Part& part : parts) append_part(*block, std::move(part));
  if (std::ranges::find(blocks_, block) == blocks_.end()) blocks_.push_back(block);
  return true;
}

std::shared_ptr<ResidentBlock> ResidentSegments::block_for(const std::shared_ptr<const DeviceLayout>& layout,
                                                           std::size_t rows, Stream& stream, std::uint64_t reserve) {
  Blocks older;
  std::size_t live = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& block : blocks_) {
      if (block->layout != layout) continue;
      if (block->capacity - block->used >= rows) return block;
      older.push_back(block);
      live += live_rows_of(*block);
    }
  }
  if (older.empty()) return make_block(layout, rows, reserve);
  const std::size_t spare = (live + rows) / growth_share;
  std::shared_ptr<ResidentBlock> made = make_block(layout, live + rows + spare, reserve);
  if (made == nullptr) {
    std::shared_ptr<ResidentBlock> roomy = make_block(layout, rows + spare, reserve);
    return roomy != nullptr ? roomy : make_block(layout, rows, reserve);
  }
  replace(older, made, stream);
  return made;
}

void ResidentSegments::replace(const Blocks& older, const std::shared_ptr<ResidentBlock>& block, Stream& stream) {
  const std::size_t row_bytes = block->layout->row_bytes();
  std::vector<ResidentBlock::Part> parts;
  std::size_t place = 0;
  try {
    for (const auto& from : older) {
      for (const ResidentBlock::Part& part : from->parts) {  // only get() changes parts, one call at a time
        stream.copy_on_device(block->codes.memory(), place * row_bytes, from->codes.memory(), part.place * row_bytes,
                              part.rows * row_bytes);
        stream.copy_on_device(block->terms.memory(), place * device_term_bytes, from->terms.memory(),
                              part.place * device_term_bytes, part.rows * device_term_bytes);
        parts.push_back({part.storage, part.first_row, place, part.rows});
        place += part.rows;
      }
    }
    stream.synchronize();
  } catch (...) {
    detail::drain(*stream.core());  // earlier copies use the blocks
    throw;
  }
  const std::lock_guard lock(mutex_);
  for (ResidentBlock::Part& part : parts) append_part(*block, std::move(part));
  std::erase_if(blocks_, [&](const auto& one) { return std::ranges::find(older, one) != older.end(); });
  blocks_.push_back(block);
}

void ResidentSegments::shrink(Stream& stream) {
  Blocks wasteful;
  {
    const std::lock_guard lock(mutex_);
    std::ranges::copy_if(blocks_, std::back_inserter(wasteful),
                         [](const auto& block) { return live_rows_of(*block) < block->capacity / 2; });
  }
  for (const auto& block : wasteful) {
    if (const auto smaller = make_block(block->layout, live_rows_of(*block), 0)) replace({block}, smaller, stream);
  }
}

std::shared_ptr<ResidentBlock> ResidentSegments::make_block(const std::shared_ptr<const DeviceLayout>& layout,
                                                            std::size_t rows, std::uint64_t reserve) {
  const std::uint64_t row_bytes = std::max(layout->row_bytes(), device_term_bytes);
  if (rows > std::uint64_t{INT32_MAX} || rows * row_bytes > block_bytes_max_) return nullptr;
  const std::uint64_t needed = rows * (layout->row_bytes() + device_term_bytes);
  const auto stats = pool_.get_memory_stats(device_);
  if (stats && stats->in_use_bytes + needed + reserve > stats->limit_bytes) return nullptr;
  const BufferOptions options{.stream = nullptr, .context = Context{}.with_memory_tag("search.segments")};
  auto block = std::make_shared<ResidentBlock>();
  block->layout = layout;
  block->capacity = rows;
  try {
    block->codes = pool_.get_managed_buffer(device_, rows * layout->row_bytes(), Precision::int8, options);
    block->terms = pool_.get_managed_buffer(device_, rows * device_terms, Precision::fp32, options);
  } catch (const OutOfMemoryError&) {
    return nullptr;  // the scan streams the rows instead
  }
  return block;
}

std::uint64_t ResidentSegments::drop_unused(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::uint64_t dropped = 0;
  std::erase_if(blocks_, [&](const auto& block) {
    if (dropped >= bytes || block.use_count() != 1) return false;
    dropped += device_bytes_of(*block);
    return true;
  });
  reclaimed_ = reclaimed_ || dropped > 0;
  return dropped;
}

}  // namespace vectis::inline v0_1::exact
