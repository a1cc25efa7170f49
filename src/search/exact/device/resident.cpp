#include "search/exact/device/resident.hpp"

#include <algorithm>

#include "device/call.hpp"
#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr int reclaim_cost = 200;  // codes must be packed and copied again

// Whether both are of the same storage, which may be gone.
template <class Storage>
bool is_of(const std::weak_ptr<const void>& held, const Storage& storage) noexcept {
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
  auto held = find(segment);
  if (held && held->rows >= segment.rows) return held;
  // The layout of an fp32 segment is made for the rows that it had: twice as many get a new one.
  if (held && segment.rows <= 2 * held->layout_rows) {
    if (auto grown = load(segment, held.get(), stream, reserve)) return grown;
  }
  if (held) drop(held);  // running scans keep the old copy alive
  held.reset();
  return load(segment, nullptr, stream, reserve);
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

// Rows never change, so a copy with more rows than the view is usable, and one with fewer can be continued.
std::shared_ptr<const ResidentCodes> ResidentSegments::find(const SegmentView& segment) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [](const auto& held) { return held->storage.expired() && held.use_count() == 1; });
  const auto found =
      std::ranges::find_if(held_, [&](const auto& held) { return is_of(held->storage, segment.storage); });
  return found == held_.end() ? nullptr : *found;
}

void ResidentSegments::drop(const std::shared_ptr<const ResidentCodes>& held) {
  const std::lock_guard lock(mutex_);
  std::erase(held_, held);
}

// Replaces a copy with fewer rows. Of two that were made at the same time, the one with most rows stays.
void ResidentSegments::hold(const std::shared_ptr<const ResidentCodes>& made) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(held_, [&](const auto& held) { return is_of(held->storage, made->storage); });
  if (found == held_.end()) {
    held_.push_back(made);
  } else if ((*found)->rows < made->rows) {
    *found = made;
  }
}

std::shared_ptr<const ResidentCodes> ResidentSegments::load(const SegmentView& segment, const ResidentCodes* older,
                                                            Stream& stream, std::uint64_t reserve) {
  auto made = std::make_shared<ResidentCodes>();
  made->storage = segment.storage;
  made->rows = segment.rows;
  made->layout = older != nullptr ? older->layout : std::make_shared<const DeviceLayout>(segment);
  made->layout_rows = older != nullptr ? older->layout_rows : segment.rows;
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
  const std::size_t present = older != nullptr ? older->rows : 0;
  const std::size_t code_bytes = present * made->layout->row_bytes();
  const std::size_t term_bytes = present * device_terms * sizeof(float);
  std::vector<std::byte> codes;
  std::vector<float> terms;
  made->layout->pack_codes(segment, present, codes, terms);
  try {
    if (older != nullptr) {
      stream.copy_on_device(made->codes.memory(), 0, older->codes.memory(), 0, code_bytes);
      stream.copy_on_device(made->terms.memory(), 0, older->terms.memory(), 0, term_bytes);
      made->terms_host = older->terms_host;
    }
    stream.copy_to_device(made->codes.memory(), code_bytes, codes);
    stream.copy_to_device(made->terms.memory(), term_bytes, std::as_bytes(std::span<const float>(terms)));
    made->terms_host.insert(made->terms_host.end(), terms.begin(), terms.end());
    stream.synchronize();
  } catch (...) {
    detail::drain(*stream.core());  // earlier copies use `codes`, `terms` and the buffers
    throw;
  }
  hold(made);
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
