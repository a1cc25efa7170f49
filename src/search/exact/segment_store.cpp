#include "search/exact/segment_store.hpp"

#include <algorithm>

#include "search/common/checks.hpp"
#include "search/exact/write_batch.hpp"
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

SegmentStore::SegmentStore(Executor& executor, Metric metric, std::size_t dim, Precision precision)
    : SegmentStore(executor, metric, dim, Snapshot{.precision = precision, .highest_id = {}, .views = {}, .parts = {}},
                   nullptr) {}

SegmentStore::SegmentStore(Executor& executor, Metric metric, std::size_t dim, Snapshot snapshot,
                           std::shared_ptr<Segment> tail)
    : executor_(executor),
      metric_(metric),
      dim_(dim),
      tail_(std::move(tail)),
      snapshot_(std::make_shared<const Snapshot>(std::move(snapshot))) {}

std::shared_ptr<const Snapshot> SegmentStore::now() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

void SegmentStore::watch(std::function<void(const Snapshot&)> watcher) {
  const std::lock_guard lock(writer_);
  watcher(*now());
  watcher_ = std::move(watcher);
}

void SegmentStore::publish(WriteBatch&& batch) {
  auto next = std::make_shared<const Snapshot>(std::move(batch.snapshot));
  if (watcher_) watcher_(*next);
  tail_ = std::move(batch.tail);
  const std::lock_guard lock(snapshot_mutex_);
  snapshot_.swap(next);  // the old one goes after the lock, with its last reader
}

std::uint64_t SegmentStore::add(std::span<const float> vectors, const Context& context, std::optional<int> device) {
  return detail::with_memory("add", vectors.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "add", context);
    const std::optional<std::uint64_t> highest = batch.snapshot.highest_id;
    batch.append(vectors, detail::next_ids("add", highest, vectors.size() / dim_), device);
    publish(std::move(batch));
    return highest ? *highest + 1 : 0;
  });
}

void SegmentStore::add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context,
                       std::optional<int> device) {
  detail::with_memory("add", vectors.size_bytes(), [&] {
    detail::check_distinct("add", ids);
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "add", context);
    for (const std::uint64_t id : ids) {
      if (batch.snapshot.find(id)) detail::throw_id_exists("add", id);
    }
    batch.append(vectors, ids, device);
    publish(std::move(batch));
  });
}

std::size_t SegmentStore::remove(std::span<const std::uint64_t> ids, const Context& context) {
  return detail::with_memory("remove", ids.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "remove", context);
    std::size_t found = 0;
    for (const std::uint64_t id : ids) found += static_cast<std::size_t>(batch.remove(id));
    if (found == 0) return found;
    batch.reclaim();
    publish(std::move(batch));
    return found;
  });
}

void SegmentStore::update(std::uint64_t id, std::span<const float> vector) {
  detail::with_memory("update", vector.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "update", {});
    if (!batch.remove(id)) detail::throw_id_missing("update", id);
    batch.append(vector, std::span(&id, 1));
    batch.reclaim();
    publish(std::move(batch));
  });
}

void SegmentStore::upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context,
                          std::optional<int> device) {
  detail::with_memory("upsert", vectors.size_bytes(), [&] {
    detail::check_distinct("upsert", ids);
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "upsert", context);
    for (const std::uint64_t id : ids) static_cast<void>(batch.remove(id));
    batch.append(vectors, ids, device);
    batch.reclaim();
    publish(std::move(batch));
  });
}

void SegmentStore::set_precision(Precision precision, const Context& context) {
  detail::with_memory("set_precision", 0, [&] {
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "set_precision", context);
    if (batch.snapshot.precision == precision) return;
    batch.requantize(precision);
    publish(std::move(batch));
  });
}

void SegmentStore::compact(const Context& context) {
  detail::with_memory("compact", 0, [&] {
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "compact", context);
    if (batch.snapshot.removed() == 0) return;
    batch.compact();
    publish(std::move(batch));
  });
}

void SegmentStore::drop_full_precision(const Context& context) {
  detail::with_memory("drop_full_precision", 0, [&] {
    const std::lock_guard lock(writer_);
    WriteBatch batch(*this, "drop_full_precision", context);
    batch.drop_full_precision();
    publish(std::move(batch));
  });
}

}  // namespace vectis::inline v0_1::exact
