#include "search/exact/corpus.hpp"

#include <algorithm>

#include "search/exact/changes.hpp"
#include "search/exact/checks.hpp"
#include "search/exact/draft.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

Part make_part(const SegmentView& view, std::size_t capacity, std::size_t bytes) {
  return {IdLookup(std::span(view.ids, view.rows), capacity), capacity, view.rows, bytes};
}

std::uint64_t Snapshot::vectors() const noexcept {
  std::uint64_t sum = 0;
  for (const Part& part : parts) sum += part.live;
  return sum;
}

std::uint64_t Snapshot::removed() const noexcept {
  std::uint64_t sum = 0;
  for (const SegmentView& view : views) sum += view.rows;
  return sum - vectors();
}

std::uint64_t Snapshot::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sum += parts[i].bytes + parts[i].lookup.bytes() + (views[i].removed == nullptr ? 0 : (parts[i].capacity + 7) / 8);
  }
  return sum;
}

std::optional<std::pair<std::size_t, std::size_t>> Snapshot::find(std::uint64_t id) const noexcept {
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (const auto row = parts[part].lookup.find(views[part], id)) return std::pair(part, *row);
  }
  return std::nullopt;
}

Corpus::Corpus(Executor& executor, Metric distance, std::size_t dim, Precision precision)
    : Corpus(executor, distance, dim, Snapshot{.precision = precision, .highest_id = {}, .views = {}, .parts = {}},
             nullptr) {}

Corpus::Corpus(Executor& executor, Metric distance, std::size_t dim, Snapshot snapshot, std::shared_ptr<Segment> tail)
    : executor_(executor),
      distance_(distance),
      dim_(dim),
      tail_(std::move(tail)),
      snapshot_(std::make_shared<const Snapshot>(std::move(snapshot))) {}

std::shared_ptr<const Snapshot> Corpus::now() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

void Corpus::watch(std::function<void(const Snapshot&)> watcher) {
  const std::lock_guard lock(writer_);
  watcher(*now());
  watcher_ = std::move(watcher);
}

void Corpus::publish(Draft&& draft) {
  auto next = std::make_shared<const Snapshot>(std::move(draft.snapshot));
  if (watcher_) watcher_(*next);
  tail_ = std::move(draft.tail);
  const std::lock_guard lock(snapshot_mutex_);
  snapshot_.swap(next);  // the old one goes after the lock, with its last reader
}

std::uint64_t Corpus::add(std::span<const float> vectors) {
  return with_memory("add", vectors.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    Draft draft(*this);
    const std::optional<std::uint64_t> highest = draft.snapshot.highest_id;
    draft.append(vectors, next_ids("add", highest, vectors.size() / dim_));
    publish(std::move(draft));
    return highest ? *highest + 1 : 0;
  });
}

void Corpus::add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  with_memory("add_with_ids", vectors.size_bytes(), [&] {
    check_distinct("add_with_ids", ids);
    const std::lock_guard lock(writer_);
    Draft draft(*this);
    for (const std::uint64_t id : ids) {
      if (draft.snapshot.find(id)) refuse_present("add_with_ids", id);
    }
    draft.append(vectors, ids);
    publish(std::move(draft));
  });
}

std::size_t Corpus::remove(std::span<const std::uint64_t> ids) {
  return with_memory("remove", ids.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    Draft draft(*this);
    std::size_t found = 0;
    for (const std::uint64_t id : ids) found += static_cast<std::size_t>(draft.remove(id));
    if (found == 0) return found;
    draft.reclaim();
    publish(std::move(draft));
    return found;
  });
}

void Corpus::update(std::uint64_t id, std::span<const float> vector) {
  with_memory("update", vector.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    Draft draft(*this);
    if (!draft.remove(id)) refuse_absent("update", id);
    draft.append(vector, std::span(&id, 1));
    draft.reclaim();
    publish(std::move(draft));
  });
}

void Corpus::upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  with_memory("upsert", vectors.size_bytes(), [&] {
    check_distinct("upsert", ids);
    const std::lock_guard lock(writer_);
    Draft draft(*this);
    for (const std::uint64_t id : ids) static_cast<void>(draft.remove(id));
    draft.append(vectors, ids);
    draft.reclaim();
    publish(std::move(draft));
  });
}

void Corpus::set_precision(Precision precision) {
  with_memory("set_precision", 0, [&] {
    const std::lock_guard lock(writer_);
    Draft draft(*this);
    if (draft.snapshot.precision == precision) return;
    draft.recode(precision);
    publish(std::move(draft));
  });
}

void Corpus::compact() {
  with_memory("compact", 0, [&] {
    const std::lock_guard lock(writer_);
    Draft draft(*this);
    draft.compact();
    publish(std::move(draft));
  });
}

}  // namespace vectis::inline v0_1::exact
