#include "search/exact/write_batch.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "search/exact/packed_segment.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t first_capacity = 1024;

std::size_t bitmap_words(std::size_t rows) noexcept { return (rows + 63) / 64; }

}  // namespace

SegmentStore::WriteBatch::WriteBatch(const SegmentStore& store, std::string_view op, const Context& context)
    : snapshot(*store.now()),
      tail(store.tail_),
      store_(store),
      op_(op),
      context_(context),
      bitmaps_(snapshot.parts.size()) {}

bool SegmentStore::WriteBatch::has_abandoned_rows() const noexcept {
  return tail->rows() != snapshot.views.back().rows;
}

void SegmentStore::WriteBatch::step(std::uint64_t done, std::uint64_t total) const {
  if (done < total) context_.check(op_, store_.executor_);
  context_.report_progress(op_, done, total);
}

void SegmentStore::WriteBatch::append(std::span<const float> vectors, std::span<const std::uint64_t> ids,
                                      std::optional<int> device) {
  if (ids.empty()) return;
  OwnedRows joined;
  if (device && tail != nullptr && snapshot.views.back().device != device) {
    tail = nullptr;
    joined = take_small_segment(*device);
  }
  if (!joined.ids.empty()) {
    joined.vectors.insert(joined.vectors.end(), vectors.begin(), vectors.end());
    joined.ids.insert(joined.ids.end(), ids.begin(), ids.end());
    vectors = joined.vectors;
    ids = joined.ids;
  }
  const std::uint64_t highest = *std::ranges::max_element(ids);
  snapshot.highest_id = std::max(snapshot.highest_id.value_or(highest), highest);
  const std::size_t total = ids.size();
  while (!ids.empty()) {
    std::size_t taken = 0;
    if (tail == nullptr) {
      taken = begin_tail(vectors, ids, device);
    } else if (has_abandoned_rows() ||
               (tail->capacity() < segment_rows_max(store_.dim_) && tail->capacity() - tail->rows() < ids.size())) {
      taken = grow_tail(vectors, ids);
    } else {
      taken = fill_tail(vectors, ids);
    }
    vectors = vectors.subspan(taken * store_.dim_);
    ids = ids.subspan(taken);
    step(total - ids.size(), total);
  }
}

OwnedRows SegmentStore::WriteBatch::take_small_segment(int device) {
  for (std::size_t part = snapshot.parts.size(); part-- > 0;) {
    const SegmentView view = snapshot.views[part];
    if (view.device != device || view.originals == nullptr || view.rows >= first_capacity) continue;
    drop(part);
    return live_rows(view);
  }
  return {};
}

std::size_t SegmentStore::WriteBatch::fill_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  const std::size_t before = tail->rows();
  const std::size_t taken = std::min(ids.size(), tail->capacity() - before);
  if (taken > 0) {
    tail->append(store_.executor_, vectors.first(taken * store_.dim_), ids.first(taken));
    SegmentView view = tail->view();
    view.removed = snapshot.views.back().removed;
    view.device = snapshot.views.back().device;
    snapshot.views.back() = std::move(view);
    snapshot.parts.back().lookup.append(std::span(snapshot.views.back().ids, tail->rows()), before);
    snapshot.parts.back().live += taken;
  }
  if (tail->rows() == tail->capacity() && taken < ids.size()) tail = nullptr;
  return taken;
}

// Quantizes all rows again, so that the quantizer fits the new ones as well. Abandoned rows are left behind with the
// old tail; views, id lookups and copies on devices rely on rows that never change, so the tail cannot drop them.
std::size_t SegmentStore::WriteBatch::grow_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  OwnedRows rows = live_rows(snapshot.views.back());
  const std::size_t most = segment_rows_max(store_.dim_);
  const std::size_t taken = std::min(ids.size(), most - rows.ids.size());
  const std::size_t enough = has_abandoned_rows() ? tail->capacity() : 2 * tail->capacity();
  const std::size_t capacity = std::min(most, std::max(enough, rows.ids.size() + taken));
  rows.vectors.insert(rows.vectors.end(), vectors.begin(),
                      vectors.begin() + static_cast<std::ptrdiff_t>(taken * store_.dim_));
  rows.ids.insert(rows.ids.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(taken));
  const std::optional<int> device = snapshot.views.back().device;
  drop(snapshot.parts.size() - 1);
  make_tail(capacity, rows.vectors, rows.ids, device);
  return taken;
}

std::size_t SegmentStore::WriteBatch::begin_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids,
                                                 std::optional<int> device) {
  const std::size_t most = segment_rows_max(store_.dim_);
  const std::size_t taken = std::min(ids.size(), most);
  make_tail(std::clamp(taken, std::min(first_capacity, most), most), vectors.first(taken * store_.dim_),
            ids.first(taken), device);
  return taken;
}

void SegmentStore::WriteBatch::make_tail(std::size_t capacity, std::span<const float> vectors,
                                         std::span<const std::uint64_t> ids, std::optional<int> device) {
  tail = std::make_shared<Segment>(store_.executor_, store_.metric_, snapshot.precision, store_.dim_, capacity, vectors,
                                   ids);
  keep(tail->view(), tail->capacity(), tail->bytes());
  snapshot.views.back().device = device;
}

void SegmentStore::WriteBatch::keep(const SegmentView& view, std::size_t capacity, std::size_t bytes) {
  snapshot.parts.push_back(make_part(view, capacity, bytes));
  snapshot.views.push_back(view);
  bitmaps_.emplace_back();
}

void SegmentStore::WriteBatch::drop(std::size_t part) {
  if (part + 1 == snapshot.parts.size()) tail = nullptr;
  const auto place = static_cast<std::ptrdiff_t>(part);
  snapshot.views.erase(snapshot.views.begin() + place);
  snapshot.parts.erase(snapshot.parts.begin() + place);
  bitmaps_.erase(bitmaps_.begin() + place);
}

bool SegmentStore::WriteBatch::remove(std::uint64_t id) {
  const auto place = snapshot.find(id);
  if (!place) return false;
  const auto [part, row] = *place;
  SegmentView& view = snapshot.views[part];
  if (bitmaps_[part] == nullptr) {
    const std::size_t words = bitmap_words(snapshot.parts[part].capacity);
    bitmaps_[part] = std::make_shared<std::uint64_t[]>(words);
    if (view.removed != nullptr) std::copy_n(view.removed.get(), words, bitmaps_[part].get());
    view.removed = bitmaps_[part];
  }
  bitmaps_[part].get()[row / 64] |= std::uint64_t{1} << (row % 64);
  --snapshot.parts[part].live;
  return true;
}

void SegmentStore::WriteBatch::reclaim() {
  std::map<std::optional<int>, OwnedRows> moved;  // by device
  for (std::size_t part = snapshot.parts.size(); part-- > 0;) {
    const SegmentView view = snapshot.views[part];
    const std::size_t live = snapshot.parts[part].live;
    if (live * 2 >= view.rows) continue;
    if (live > 0 && view.originals == nullptr) {  // codes alone are copied, not quantized again
      const auto smaller = packed(view);
      snapshot.views[part] = PackedSegment::view(smaller);
      snapshot.views[part].device = view.device;
      snapshot.parts[part] = make_part(snapshot.views[part], live, smaller->bytes());
      bitmaps_[part] = nullptr;
      continue;
    }
    const OwnedRows rows = live_rows(view);
    OwnedRows& target = moved[view.device];
    target.vectors.insert(target.vectors.end(), rows.vectors.begin(), rows.vectors.end());
    target.ids.insert(target.ids.end(), rows.ids.begin(), rows.ids.end());
    drop(part);
  }
  for (const auto& [device, rows] : moved) append(rows.vectors, rows.ids, device);
}

Snapshot SegmentStore::WriteBatch::begin_anew(Precision precision) {
  Snapshot before = std::exchange(snapshot, Snapshot{});
  snapshot.precision = precision;
  snapshot.highest_id = before.highest_id;
  tail = nullptr;
  bitmaps_.clear();
  return before;
}

// Keeps the live rows as codes alone, or with fp32 vectors where a row cannot be coded.
void SegmentStore::WriteBatch::keep_codes(const SegmentView& view) {
  const auto codes = packed(view);
  if (view.originals == nullptr || recompute_bounds(store_.executor_, codes)) {
    keep(PackedSegment::view(codes), codes->rows(), codes->bytes());
  } else {
    keep_rows(view, view.quantizer->precision, 0, true);
  }
}

void SegmentStore::WriteBatch::keep_rows(const SegmentView& view, Precision precision, std::size_t capacity,
                                         bool grows) {
  const auto segment = std::make_shared<Segment>(requantized(store_.executor_, view, precision, capacity));
  keep(segment->view(), segment->capacity(), segment->bytes());
  tail = grows ? segment : nullptr;
}

void SegmentStore::WriteBatch::requantize(Precision precision) {
  const bool grows = tail != nullptr;
  const Snapshot before = begin_anew(precision);
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    const SegmentView& view = before.views[part];
    step(part, before.parts.size());
    if (before.parts[part].live == 0) continue;
    tail = nullptr;  // only the last one may grow
    if (view.originals == nullptr && precision != Precision::fp32) {
      keep_codes(requantized(store_.executor_, view, precision, 0).view());
    } else {
      const bool is_tail = grows && part + 1 == before.parts.size();
      keep_rows(view, precision, is_tail ? before.parts[part].capacity : 0, is_tail);
    }
    snapshot.views.back().device = view.device;
  }
  step(before.parts.size(), before.parts.size());
}

// Segments of codes alone are copied; live rows of the others are quantized again.
void SegmentStore::WriteBatch::compact() {
  const std::shared_ptr<Segment> old_tail = tail;
  const Snapshot before = begin_anew(snapshot.precision);
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    const SegmentView& view = before.views[part];
    const Part& old = before.parts[part];
    step(part, before.parts.size());
    if (old.live == 0) continue;
    const bool is_tail = old_tail != nullptr && part + 1 == before.parts.size();
    tail = nullptr;  // only the last one may grow
    if (old.live == view.rows) {
      snapshot.parts.push_back(old);
      snapshot.views.push_back(view);
      bitmaps_.emplace_back();
      if (is_tail) tail = old_tail;
    } else if (view.originals == nullptr) {
      keep_codes(view);
    } else {
      keep_rows(view, before.precision, 0, is_tail);
    }
    snapshot.views.back().device = view.device;
  }
  step(before.parts.size(), before.parts.size());
}

void SegmentStore::WriteBatch::drop_full_precision() {
  const Snapshot before = begin_anew(snapshot.precision);
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    step(part, before.parts.size());
    if (before.parts[part].live == 0) continue;
    tail = nullptr;  // only the last one may grow
    if (before.precision == Precision::fp32) {
      keep_rows(before.views[part], before.precision, 0, true);
    } else {
      keep_codes(before.views[part]);
    }
    snapshot.views.back().device = before.views[part].device;
  }
  step(before.parts.size(), before.parts.size());
}

}  // namespace vectis::inline v0_1::exact
