#include "search/exact/draft.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/exact/packed_segment.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t first_capacity = 1024;

std::size_t bitmap_words(std::size_t rows) noexcept { return (rows + 63) / 64; }

// Whether codes hold every row of the view: some are too far out to be coded, others would overflow on the way back.
bool codes_hold_all(const SegmentView& view) {
  std::vector<float> row(view.frame->dim);
  for (const CodeRun& run : view.runs) {
    for (std::size_t at = 0; at < run.rows; ++at) {
      if (!std::isfinite(run.residual[at])) return false;
      view.read_row(run.first_row + at, row.data());
      if (!std::ranges::all_of(row, [](float number) { return std::isfinite(number); })) return false;
    }
  }
  return true;
}

}  // namespace

Corpus::Draft::Draft(const Corpus& corpus)
    : snapshot(*corpus.now()), tail(corpus.tail_), corpus_(corpus), bitmaps_(snapshot.parts.size()) {
  if (tail != nullptr && tail->rows() != snapshot.views.back().rows) tail = nullptr;  // an earlier draft was given up
}

void Corpus::Draft::append(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  if (ids.empty()) return;
  const std::uint64_t highest = *std::ranges::max_element(ids);
  snapshot.highest_id = std::max(snapshot.highest_id.value_or(highest), highest);
  while (!ids.empty()) {
    std::size_t taken = 0;
    if (tail == nullptr) {
      taken = begin_tail(vectors, ids);
    } else if (tail->capacity() < segment_rows_max(corpus_.dim_) && tail->capacity() - tail->rows() < ids.size()) {
      taken = grow_tail(vectors, ids);
    } else {
      taken = fill_tail(vectors, ids);
    }
    vectors = vectors.subspan(taken * corpus_.dim_);
    ids = ids.subspan(taken);
  }
}

std::size_t Corpus::Draft::fill_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  const std::size_t before = tail->rows();
  const std::size_t taken = std::min(ids.size(), tail->capacity() - before);
  if (taken > 0) {
    tail->append(corpus_.executor_, vectors.first(taken * corpus_.dim_), ids.first(taken));
    SegmentView view = tail->view();
    view.removed = snapshot.views.back().removed;
    snapshot.views.back() = std::move(view);
    snapshot.parts.back().lookup.append(std::span(snapshot.views.back().ids, tail->rows()), before);
    snapshot.parts.back().live += taken;
  }
  if (tail->rows() == tail->capacity() && taken < ids.size()) tail = nullptr;
  return taken;
}

// All rows in one piece, so that centre and scale fit the new ones as well.
std::size_t Corpus::Draft::grow_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  Rows rows = live_rows(snapshot.parts.size() - 1);
  const std::size_t most = segment_rows_max(corpus_.dim_);
  const std::size_t taken = std::min(ids.size(), most - rows.ids.size());
  const std::size_t capacity = std::min(most, std::max(2 * tail->capacity(), rows.ids.size() + taken));
  rows.vectors.insert(rows.vectors.end(), vectors.begin(),
                      vectors.begin() + static_cast<std::ptrdiff_t>(taken * corpus_.dim_));
  rows.ids.insert(rows.ids.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(taken));
  drop(snapshot.parts.size() - 1);
  make_tail(capacity, rows.vectors, rows.ids);
  return taken;
}

std::size_t Corpus::Draft::begin_tail(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  const std::size_t most = segment_rows_max(corpus_.dim_);
  const std::size_t taken = std::min(ids.size(), most);
  make_tail(std::clamp(taken, std::min(first_capacity, most), most), vectors.first(taken * corpus_.dim_),
            ids.first(taken));
  return taken;
}

void Corpus::Draft::make_tail(std::size_t capacity, std::span<const float> vectors,
                              std::span<const std::uint64_t> ids) {
  tail = std::make_shared<Segment>(corpus_.executor_, corpus_.distance_, snapshot.precision, corpus_.dim_, capacity,
                                   vectors, ids);
  keep(tail->view(), tail->capacity(), tail->bytes());
}

void Corpus::Draft::keep(const SegmentView& view, std::size_t capacity, std::size_t bytes) {
  snapshot.parts.push_back(make_part(view, capacity, bytes));
  snapshot.views.push_back(view);
  bitmaps_.emplace_back();
}

Corpus::Draft::Rows Corpus::Draft::live_rows(std::size_t part) const {
  const SegmentView& view = snapshot.views[part];
  Rows rows;
  rows.ids.reserve(snapshot.parts[part].live);
  rows.vectors.resize(snapshot.parts[part].live * corpus_.dim_);
  for (std::size_t row = 0; row < view.rows; ++row) {
    if (view.is_removed(row)) continue;
    view.read_row(row, rows.vectors.data() + rows.ids.size() * corpus_.dim_);
    rows.ids.push_back(view.ids[row]);
  }
  return rows;
}

void Corpus::Draft::drop(std::size_t part) {
  if (part + 1 == snapshot.parts.size()) tail = nullptr;
  const auto place = static_cast<std::ptrdiff_t>(part);
  snapshot.views.erase(snapshot.views.begin() + place);
  snapshot.parts.erase(snapshot.parts.begin() + place);
  bitmaps_.erase(bitmaps_.begin() + place);
}

bool Corpus::Draft::remove(std::uint64_t id) {
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

void Corpus::Draft::reclaim() {
  Rows moved;
  for (std::size_t part = snapshot.parts.size(); part-- > 0;) {
    const SegmentView view = snapshot.views[part];
    const std::size_t live = snapshot.parts[part].live;
    if (live * 2 >= view.rows) continue;
    if (live > 0 && view.originals == nullptr) {  // its codes stay what they are
      const auto smaller = packed(view);
      snapshot.views[part] = PackedSegment::view(smaller);
      snapshot.parts[part] = make_part(snapshot.views[part], live, smaller->bytes());
      bitmaps_[part] = nullptr;
      continue;
    }
    const Rows rows = live_rows(part);
    moved.vectors.insert(moved.vectors.end(), rows.vectors.begin(), rows.vectors.end());
    moved.ids.insert(moved.ids.end(), rows.ids.begin(), rows.ids.end());
    drop(part);
  }
  append(moved.vectors, moved.ids);
}

void Corpus::Draft::recode(Precision precision) {
  const Snapshot before = std::exchange(
      snapshot, Snapshot{.precision = precision, .highest_id = snapshot.highest_id, .views = {}, .parts = {}});
  const bool grows = tail != nullptr;
  tail = nullptr;
  bitmaps_.clear();
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    const SegmentView& view = before.views[part];
    const std::size_t live = before.parts[part].live;
    if (live == 0) continue;
    const bool is_tail = grows && part + 1 == before.parts.size();
    const auto segment = std::make_shared<Segment>(recoded(
        corpus_.executor_, view, precision, is_tail ? before.parts[part].capacity : live, view.originals != nullptr));
    keep(segment->view(), segment->capacity(), segment->bytes());
    if (is_tail) tail = segment;
  }
}

void Corpus::Draft::compact() {
  const Snapshot before = std::exchange(
      snapshot, Snapshot{.precision = snapshot.precision, .highest_id = snapshot.highest_id, .views = {}, .parts = {}});
  tail = nullptr;
  bitmaps_.clear();
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    const SegmentView& view = before.views[part];
    const std::size_t live = before.parts[part].live;
    if (live == 0) continue;
    if (view.originals == nullptr) {
      const auto smaller = packed(view);
      keep(PackedSegment::view(smaller), live, smaller->bytes());
      continue;
    }
    auto segment = std::make_shared<Segment>(recoded(corpus_.executor_, view, before.precision, live, false));
    if (before.precision != Precision::fp32 && !codes_hold_all(segment->view())) {
      *segment = recoded(corpus_.executor_, view, before.precision, live, true);
    }
    keep(segment->view(), segment->capacity(), segment->bytes());
    if (part + 1 == before.parts.size() && snapshot.views.back().originals != nullptr) tail = segment;
  }
}

}  // namespace vectis::inline v0_1::exact
