// The part of GraphStore that replaces rows and storage: consolidation of tombstones, growth, training, compaction.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "search/common/checks.hpp"
#include "search/graph/reachability.hpp"
#include "search/graph/store.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t copied_grain = 256;     // rows per task
constexpr std::size_t copied_batch = 16'384;  // rows between two checks of a Context

// Tombstones are consolidated when they are 1/20 of all rows; storage shrinks when a third of its rows is free.
constexpr std::size_t consolidate_divisor = 20;
constexpr std::size_t consolidate_min = 64;
constexpr std::size_t shrink_min = 1024;

// The encoding is retrained when there are 4 times as many rows as it was trained on, up to 10,000.
constexpr std::size_t retrain_growth = 4;

}  // namespace

bool GraphStore::consolidation_due(std::size_t tombstones) const noexcept {
  return tombstones >= std::max(consolidate_min, rows_ / consolidate_divisor);
}

void GraphStore::consolidate_if_due(std::string_view op, const Context& context, bool calibrates) {
  last_upkeep_ = std::numeric_limits<double>::infinity();
  drop_job();  // it knows neither many new rows nor what is calibrated at once
  try {
    if (consolidation_due(tombstones_.size())) {
      const LinkProgress check = stop_check(op, context);
      std::shared_ptr<Epoch> next = next_epoch();
      consolidate(check);
      shrink_if_due(check);
      publish(std::move(next));
    }
    if (calibrates && calibration_.due(table_.size())) {
      std::shared_ptr<Epoch> next = next_epoch();
      const StopCheck stop = [&] { context.check(op, executor_); };
      recalibrate_if_due(executor_, next_search(), table_.size(), params_.seed + epoch_, stop, calibration_);
      publish(std::move(next));
    }
    behind_ = behind_ && !calibrates;
  } catch (const std::bad_alloc&) {
    behind_ = true;
  } catch (const Error& error) {
    behind_ = true;
    const bool stopped = error.code() == ErrorCode::cancelled || error.code() == ErrorCode::deadline_exceeded;
    if (!stopped && error.code() != ErrorCode::allocation) throw;
  }
}

void GraphStore::shrink_if_due(const LinkProgress& progress) {
  std::size_t unused = free_slots_.size();
  for (const Limbo& waiting : limbo_) unused += waiting.slots.size();
  if (unused > shrink_min && unused > rows_ / 3) compact_storage(storage_->vectors.full_precision(), progress);
}

void GraphStore::consolidate(const LinkProgress& progress) {
  drop_job();
  own_links();
  const auto linked = [&](Slot slot) { return storage_->versions.visible(slot, epoch_); };
  const auto is_tombstone = [&](Slot slot) { return !linked(slot); };
  std::vector<Slot> entry_points = live_entry_points();
  const std::vector<Slot> live = storage_->versions.visible_rows(rows_, epoch_);
  consolidate_deletes(executor_, storage_->graph, live, is_tombstone, progress);
  const StopCheck stop = [&] { progress(live.size()); };
  link_unfound_rows(entry_points, {}, tombstones_.size(), linked, stop);
  connect_unreachable(storage_->graph, entry_points, rows_, linked, stop);
  free_tombstones(tombstones_.size(), std::move(entry_points));
}

void GraphStore::own_links() {
  if (!storage_->file || storage_->links_in_memory) return;
  std::shared_ptr<GraphStorage> copy = storage_->with_links_in_memory(executor_);
  const std::unique_lock lock(table_mutex_);
  storage_ = std::move(copy);
}

std::vector<Slot> GraphStore::live_entry_points() const {
  const auto live = [&](Slot slot) { return storage_->versions.visible(slot, epoch_); };
  std::vector<Slot> entry_points = entry_points_;
  std::erase_if(entry_points, [&](Slot slot) { return !live(slot); });
  add_entry_points(entry_points, std::min(entry_points_max, table_.size()), live);
  return entry_points;
}

void GraphStore::free_tombstones(std::size_t count, std::vector<Slot> entry_points) {
  const auto end = tombstones_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Slot> freed(tombstones_.begin(), end);
  std::shared_ptr<const NormOrder> order = order_rows(*storage_, rows_, epoch_);  // without slots that are reused
  limbo_.emplace_back();                                                          // the last step that may throw
  norm_order_ = std::move(order);
  limbo_.back().epoch = epoch_;
  limbo_.back().slots.swap(freed);
  tombstones_.erase(tombstones_.begin(), end);
  entry_points_.swap(entry_points);
  entry_points_rows_ = std::min(entry_points_rows_, table_.size());
}

// Replacing the storage: for another encoding, more rows, without free rows, or without floats.

std::optional<GraphStore::StoredRows> GraphStore::reserve_rows(std::string_view op, std::span<const float> vectors,
                                                               std::size_t count, bool few, const Context& context) {
  collect_free_slots();
  const std::size_t rows = rows_ + count - std::min(count, free_slots_.size());
  if (rows > slots_max) {
    throw Error(
        ErrorCode::invalid_input, op,
        fmt::format("a graph index holds at most {} vectors, {} are stored and {} were added; use several indexes",
                    slots_max, rows_, count));
  }
  if (!storage_) {
    Encoding encoding = train_encoding(executor_, metric_, dim_, sample_rows(vectors, dim_, training_rows_max));
    storage_ = std::make_shared<GraphStorage>(std::move(encoding), params_, rows, true);
    return std::nullopt;
  }
  // A store whose rows were all removed may get vectors of another kind.
  const bool outgrown = table_.size() == 0 || (!few && encoding_outgrown(table_.size() + count));
  if (!outgrown && !storage_->file && rows <= storage_->rows_max()) return std::nullopt;
  const LinkProgress check = stop_check(op, context);
  if (!tombstones_.empty()) consolidate(check);
  const bool full_precision = storage_->vectors.full_precision();
  if (!outgrown) {
    replace_storage(dense_copy(storage_->graph.encoding, rows, full_precision, check));
    return std::nullopt;
  }
  std::vector<float> sample =
      sample_rows(vectors, dim_, table_.size() == 0 ? training_rows_max : training_rows_max / 2);
  append_sample(sample);
  StoredRows before =
      replace_storage(dense_copy(train_encoding(executor_, metric_, dim_, sample), rows, full_precision, check));
  calibration_.forget();  // other codes need other searches
  return before;
}

bool GraphStore::encoding_outgrown(std::size_t live) const noexcept {
  const std::size_t trained_rows = storage_->graph.encoding.projection.trained_rows;
  return trained_rows < training_rows_max && live >= retrain_growth * trained_rows;
}

void GraphStore::append_sample(std::vector<float>& sample) const {
  const std::vector<Slot> live = storage_->versions.visible_rows(rows_, epoch_);
  const std::size_t count = std::min(live.size(), training_rows_max - sample.size() / dim_);
  sample.resize(sample.size() + count * dim_);
  float* const target = sample.data() + sample.size() - count * dim_;
  for (std::size_t i = 0; i < count; ++i) storage_->read_vector(live[live.size() * i / count], target + i * dim_);
}

GraphContents GraphStore::dense_copy(const Encoding& encoding, std::size_t rows_max, bool full_precision,
                                     const LinkProgress& progress) const {
  GraphContents result;
  const std::vector<Slot> kept = storage_->versions.visible_rows(rows_, epoch_);
  std::vector<Slot> new_slots(rows_, AdjacencyLists::no_link);
  for (std::size_t i = 0; i < kept.size(); ++i) new_slots[kept[i]] = static_cast<Slot>(i);
  const Graph& from = storage_->graph;
  result.storage = std::make_shared<GraphStorage>(encoding, params_, std::max(rows_max, kept.size()), full_precision);
  GraphStorage& target = *result.storage;
  target.reserve(kept.size());
  const bool same_encoding = &encoding == &from.encoding;
  const auto copy_rows = [&](std::size_t begin, std::size_t end) {
    std::vector<Slot> list(from.links.degree());
    std::vector<float> decoded(dim_);
    for (std::size_t i = begin; i < end; ++i) {
      const auto slot = static_cast<Slot>(i);
      if (full_precision == storage_->vectors.full_precision()) {
        std::ranges::copy(storage_->vectors.bytes(kept[i]), target.vectors.bytes(slot).begin());
      } else {
        target.vectors.write(slot, storage_->vectors.read(kept[i], decoded.data()));
      }
      if (same_encoding && full_precision == storage_->vectors.full_precision()) {
        std::memcpy(target.graph.codes[slot], from.codes[kept[i]], encoding.quantizer.row_bytes);
      } else {
        encode_row(encoding, target.vectors.read(slot, decoded.data()), target.graph.codes[slot]);
      }
      target.versions.create(slot, storage_->versions.id(kept[i]), 0);
      const std::size_t links = from.links.read(kept[i], list.data());
      std::size_t count = 0;
      for (std::size_t j = 0; j < links; ++j) {
        if (new_slots[list[j]] != AdjacencyLists::no_link) list[count++] = new_slots[list[j]];
      }
      target.graph.links.write(slot, std::span(list).first(count));
    }
  };
  for (std::size_t done = 0; done < kept.size();) {
    const std::size_t batch = std::min(kept.size() - done, copied_batch);
    executor_.parallel_for(batch, copied_grain,
                           [&](std::size_t begin, std::size_t end) { copy_rows(done + begin, done + end); });
    done += batch;
    progress(done);
  }
  for (const Slot entry_point : entry_points_) {
    if (new_slots[entry_point] != AdjacencyLists::no_link) result.entry_points.push_back(new_slots[entry_point]);
  }
  result.rows = kept.size();
  result.highest_id = highest_id_;
  if (calibration_.trusted()) result.calibration = *calibration_.calibration;
  result.changed_since_calibration = calibration_.changed;
  return result;
}

GraphStore::StoredRows GraphStore::replace_storage(GraphContents contents) {
  StoredRows rows;
  rows.table.reserve(contents.rows);
  for (Slot slot = 0; slot < contents.rows; ++slot) rows.table.insert(contents.storage->versions.id(slot), slot);
  rows.storage = std::move(contents.storage);
  rows.rows = contents.rows;
  rows.entry_points = std::move(contents.entry_points);
  rows.entry_points_rows = entry_points_rows_;
  rows.unchecked_rows = unchecked_rows_;
  rows.unsearched_rows = unsearched_rows_;
  rows.norm_order = order_rows(*rows.storage, rows.rows, 0);
  highest_id_ = contents.highest_id;
  exchange_rows(rows);
  return rows;
}

void GraphStore::exchange_rows(StoredRows& rows) noexcept {
  drop_job();  // it has slots of before
  recent_rows_.clear();
  const std::unique_lock lock(table_mutex_);
  std::swap(storage_, rows.storage);
  std::swap(rows_, rows.rows);
  std::swap(entry_points_, rows.entry_points);
  std::swap(entry_points_rows_, rows.entry_points_rows);
  std::swap(unchecked_rows_, rows.unchecked_rows);
  std::swap(unsearched_rows_, rows.unsearched_rows);
  std::swap(tombstones_, rows.tombstones);
  std::swap(free_slots_, rows.free_slots);
  std::swap(limbo_, rows.limbo);
  std::swap(table_, rows.table);
  std::swap(norm_order_, rows.norm_order);
  std::swap(storages_before_, rows.storages_before);
}

std::shared_ptr<const NormOrder> GraphStore::order_rows(const GraphStorage& storage, std::size_t slots_end,
                                                        std::uint64_t epoch) const {
  if (metric_ != Metric::inner_product || storage.file) return nullptr;
  return make_norm_order(executor_, storage, storage.versions.visible_rows(slots_end, epoch), slots_end);
}

void GraphStore::compact_storage(bool full_precision, const LinkProgress& progress) {
  replace_storage(dense_copy(storage_->graph.encoding, 0, full_precision, progress));
}

void GraphStore::rebuild(std::string_view op, bool keep_floats, const Context& context) {
  detail::with_memory(op, 0, [&] {
    const std::lock_guard lock(writer_mutex_);
    context.check(op, executor_);
    if (!storage_) return;
    const std::size_t live = table_.size();
    const std::size_t total = tombstones_.empty() ? live : 2 * live;
    std::shared_ptr<Epoch> next = next_epoch();
    if (!tombstones_.empty()) consolidate(progress_of(op, context, 0, total));
    compact_storage(keep_floats && storage_->vectors.full_precision(), progress_of(op, context, total - live, total));
    publish(std::move(next));
    consolidate_if_due(op, context, true);
  });
}

void GraphStore::compact(const Context& context) { rebuild("compact", true, context); }

void GraphStore::drop_full_precision(const Context& context) { rebuild("drop_full_precision", false, context); }

}  // namespace vectis::inline v0_1::graph
