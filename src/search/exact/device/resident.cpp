#include "search/exact/device/resident.hpp"

#include <algorithm>

#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr int reclaim_cost = 200;  // codes must be packed and copied again

bool is_of(const std::weak_ptr<const void>& held, const std::shared_ptr<const void>& storage) noexcept {
  return !held.owner_before(storage) && !storage.owner_before(held);
}

std::uint64_t device_bytes_of(const ResidentCodes& codes) noexcept { return codes.codes.bytes() + codes.terms.bytes(); }

}  // namespace

ResidentSegments::ResidentSegments(Runtime& runtime, const Device& device)
    : pool_(memory_pool(runtime)), device_(device.id()) {
  reclaimer_ = pool_.add_reclaimer({"segments of exact search", reclaim_cost, [this](int asked, std::uint64_t bytes) {
                                      return asked == device_ ? drop_unused(bytes) : 0;
                                    }});
}

ResidentSegments::~ResidentSegments() { pool_.remove_reclaimer(reclaimer_); }

std::shared_ptr<const ResidentCodes> ResidentSegments::get(const SegmentView& segment, Stream& stream,
                                                           std::uint64_t reserve) {
  if (auto held = find(segment)) return held;
  return load(segment, stream, reserve);
}

bool ResidentSegments::wants(const SegmentView& segment) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::none_of(held_, [&](const auto& held) {
    return is_of(held->storage, segment.storage) && held->rows >= segment.rows / 5 * 4;
  });
}

std::uint64_t ResidentSegments::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& held : held_) sum += device_bytes_of(*held);
  return sum;
}

// Rows never change, so a copy with more rows than the view is usable.
std::shared_ptr<const ResidentCodes> ResidentSegments::find(const SegmentView& segment) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [](const auto& held) { return held->storage.expired() && held.use_count() == 1; });
  const auto found =
      std::ranges::find_if(held_, [&](const auto& held) { return is_of(held->storage, segment.storage); });
  if (found == held_.end()) return nullptr;
  if ((*found)->rows >= segment.rows) return *found;
  held_.erase(found);  // the segment has grown; running scans keep the old copy alive
  return nullptr;
}

std::shared_ptr<const ResidentCodes> ResidentSegments::load(const SegmentView& segment, Stream& stream,
                                                            std::uint64_t reserve) {
  auto made = std::make_shared<ResidentCodes>();
  made->storage = segment.storage;
  made->rows = segment.rows;
  made->layout = std::make_unique<const DeviceLayout>(segment);
  const std::uint64_t needed = segment.rows * (made->layout->row_bytes() + device_terms * sizeof(float));
  const auto stats = pool_.get_memory_stats(device_);
  if (stats && stats->in_use_bytes + needed + reserve > stats->limit_bytes) return nullptr;
  const BufferOptions options{.stream = nullptr, .context = Context{}.with_memory_tag("search.segments")};
  try {
    made->codes = pool_.get_managed_buffer(device_, segment.rows * made->layout->row_bytes(), Precision::int8, options);
    made->terms = pool_.get_managed_buffer(device_, segment.rows * device_terms, Precision::fp32, options);
  } catch (const OutOfMemoryError&) {
    return nullptr;  // the scan streams it instead
  }
  std::vector<std::byte> codes;
  made->layout->pack_codes(segment, segment.rows, codes, made->terms_host);
  stream.copy_to_device(made->codes.memory(), 0, codes);
  stream.copy_to_device(made->terms.memory(), 0, std::as_bytes(std::span(made->terms_host)));
  stream.synchronize();
  const std::lock_guard lock(mutex_);
  held_.push_back(made);
  return made;
}

std::uint64_t ResidentSegments::drop_unused(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::uint64_t dropped = 0;
  std::erase_if(held_, [&](const auto& held) {
    if (dropped >= bytes || held.use_count() != 1) return false;
    dropped += device_bytes_of(*held);
    return true;
  });
  return dropped;
}

}  // namespace vectis::inline v0_1::exact
