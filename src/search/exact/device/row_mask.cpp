#include "search/exact/device/row_mask.hpp"

#include <algorithm>

#include "vectis/device/transfer.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t gap_max = 65536;  // places; reading them takes less time than another launch
constexpr std::size_t word_bits = 32;

void set_bit(std::span<std::uint32_t> words, std::size_t place, bool value) {
  const std::uint32_t bit = 1U << (place % word_bits);
  std::uint32_t& word = words[place / word_bits];
  word = value ? word | bit : word & ~bit;
}

void write_mask(std::span<const RowRun> runs, std::span<const SegmentView> segments, std::span<std::uint32_t> words) {
  std::ranges::fill(words, ~std::uint32_t{0});
  for (const RowRun& run : runs) {
    for (std::size_t i = 0; i < run.rows; ++i) {
      set_bit(words, run.place + i, segments[run.segment].is_removed(run.first_row + i));
    }
  }
}

}  // namespace

std::vector<PlaceRange> ranges_of(std::span<const RowRun> runs) {
  std::vector<PlaceRange> ranges;
  for (const RowRun& run : runs) {
    const PlaceRange next{run.place, run.place + run.rows};
    if (!ranges.empty() && next.first - ranges.back().last <= gap_max) {
      ranges.back().last = next.last;
    } else {
      ranges.push_back(next);
    }
  }
  return ranges;
}

RowMask::RowMask(std::span<const RowRun> runs, std::span<const SegmentView> segments, MemoryPool& pool, int device,
                 Stream& stream)
    : runs_(runs.begin(), runs.end()) {
  for (const RowRun& run : runs) removed_.push_back(segments[run.segment].removed);
  const std::size_t words = (runs.back().place + runs.back().rows + word_bits - 1) / word_bits;
  const Context context = Context{}.with_memory_tag("search.masks");
  words_ = pool.get_managed_buffer(device, words, Precision::fp32, {.stream = nullptr, .context = context});
  const HostMemory host(stream.context(), words * sizeof(std::uint32_t));
  write_mask(runs, segments, {reinterpret_cast<std::uint32_t*>(host.bytes().data()), words});
  stream.copy_to_device(words_.memory(), 0, host.bytes());
  stream.synchronize();
}

bool RowMask::needed(std::span<const RowRun> runs, std::span<const SegmentView> segments) {
  std::size_t scanned = 0;
  for (const PlaceRange& range : ranges_of(runs)) scanned += range.last - range.first;
  for (const RowRun& run : runs) scanned -= run.rows;
  return scanned > 0 ||
         std::ranges::any_of(runs, [&](const RowRun& run) { return segments[run.segment].removed != nullptr; });
}

bool RowMask::is_of(std::span<const RowRun> runs, std::span<const SegmentView> segments) const noexcept {
  if (!std::ranges::equal(runs, runs_)) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (removed_[i] != segments[runs[i].segment].removed) return false;
  }
  return true;
}

}  // namespace vectis::inline v0_1::exact
