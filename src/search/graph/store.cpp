#include "search/graph/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>

#include "search/common/checks.hpp"
#include "search/graph/reachability.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t entry_points_max = 16;
constexpr std::size_t row_grain = 256;  // rows per task
// Rows between two checks of a Context.
constexpr std::size_t copied_batch = 16'384;
constexpr std::size_t looked_up_batch = 65'536;

// Tombstones are consolidated when they are 1/20 of all rows; storage shrinks when a third of its rows is free.
constexpr std::size_t consolidate_divisor = 20;
constexpr std::size_t consolidate_min = 64;
constexpr std::size_t shrink_min = 1024;
// Whether all rows can be reached is checked when 1/8 of them is new.
constexpr std::size_t reachability_divisor = 8;

// The encoding is retrained when there are 4 times as many rows as it was trained on, up to 10,000.
constexpr std::size_t training_rows_max = 10'000;
constexpr std::size_t retrain_growth = 4;

void shuffle(std::span<Slot> slots, Random random) {
  for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random.below(i)]);
}

}  // namespace

std::uint64_t Epoch::bytes() const noexcept { return (storage ? rows * storage->row_bytes() : 0) + table_bytes; }
std::uint64_t Epoch::mapped_bytes() const noexcept { return storage ? rows * storage->mapped_bytes() : 0; }

GraphStore::GraphStore(Executor& executor, Metric metric, std::size_t dim, const GraphParams& params)
    : executor_(executor), metric_(metric), dim_(dim), params_(params) {
  publish();
}

GraphStore::GraphStore(Executor& executor, const GraphParams& params, GraphContents contents)
    : executor_(executor),
      metric_(contents.storage->graph.encoding.projection.metric),
      dim_(contents.storage->graph.encoding.projection.dim),
      params_(params) {
  if (!contents.calibration.curves.empty()) {
    calibration_.calibration = std::make_shared<const Calibration>(std::move(contents.calibration));
  }
  calibration_.set_loaded(contents.changed_since_calibration, contents.rows);
  replace_storage(std::move(contents));
  if (calibration_.calibration && !storage_->file) {  // reading a mapped file would take long
    std::vector<Slot> rows(rows_);
    std::iota(rows.begin(), rows.end(), Slot{0});
    calibration_.costs = measure_costs(next_search(), rows, rows);
  }
  publish();
}

// Epochs and reclamation.

std::shared_ptr<const Epoch> GraphStore::now() const {
  const std::lock_guard lock(epoch_mutex_);
  return now_;
}

std::shared_ptr<Epoch> GraphStore::next_epoch() {
  auto next = std::make_shared<Epoch>();
  next->entry_points.reserve(std::max(entry_points_max, entry_points_.size()));
  next->released = std::make_shared<std::atomic<bool>>(false);
  forget_released_epochs();
  epochs_.emplace_back(epoch_ + 1, next->released);  // counts as released when `next` is dropped instead of published
  return next;
}

void GraphStore::publish(std::shared_ptr<Epoch> next) noexcept {
  next->storage = storage_;
  next->number = ++epoch_;
  next->entry_points.assign(entry_points_.begin(), entry_points_.end());
  next->live = table_.size();
  next->removed = rows_ - table_.size();
  next->rows = rows_;
  next->table_bytes = table_.bytes();
  next->calibration = calibration_.calibration;
  next->costs = calibration_.costs;
  std::shared_ptr<const Epoch> published = std::move(next);
  const std::lock_guard lock(epoch_mutex_);
  now_.swap(published);  // the old one goes after the lock, with its last reader
}

void GraphStore::forget_released_epochs() {
  while (!epochs_.empty() && epochs_.front().second->load(std::memory_order_acquire)) epochs_.pop_front();
}

void GraphStore::collect_free_slots() {
  forget_released_epochs();
  const std::uint64_t oldest = epochs_.empty() ? epoch_ : epochs_.front().first;
  while (!limbo_.empty() && limbo_.front().epoch < oldest) {
    free_slots_.insert(free_slots_.end(), limbo_.front().slots.begin(), limbo_.front().slots.end());
    limbo_.pop_front();
  }
}

// Inserting.

std::vector<Slot> GraphStore::allocate_slots(std::size_t count) {
  const std::size_t reused = std::min(count, free_slots_.size());
  storage_->reserve(rows_ + (count - reused));
  std::vector<Slot> slots;
  slots.reserve(count);
  slots.assign(free_slots_.end() - static_cast<std::ptrdiff_t>(reused), free_slots_.end());
  free_slots_.resize(free_slots_.size() - reused);
  while (slots.size() < count) slots.push_back(static_cast<Slot>(rows_++));
  return slots;
}

void GraphStore::write_rows(std::span<const Slot> slots, std::span<const std::uint64_t> ids,
                            std::span<const float> vectors) {
  executor_.parallel_for(slots.size(), row_grain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> decoded(storage_->vectors.full_precision() ? 0 : dim_);
    for (std::size_t i = begin; i < end; ++i) {
      storage_->vectors.write(slots[i], vectors.data() + i * dim_);
      // The codes are of the vector as it is stored, so that bounds by codes hold for it.
      const float* const vector = storage_->vectors.read(slots[i], decoded.data());
      encode_row(storage_->graph.encoding, vector, storage_->graph.codes[slots[i]]);
      storage_->versions.create(slots[i], ids[i], epoch_ + 1);
      storage_->graph.links.write(slots[i], {});
    }
  });
}

SearchParams GraphStore::next_search() const noexcept {
  return {.storage = storage_.get(), .entry_points = entry_points_, .epoch = epoch_ + 1, .rows = rows_};
}

void GraphStore::link_beside(std::span<const Slot> slots, std::size_t linked_rows, const LinkProgress& progress) {
  if (link_rows_) {
    link_rows_(*storage_, rows_, entry_points_, slots, linked_rows, progress);
  } else {
    link_rows(executor_, storage_->graph, entry_points_, slots, linked_rows, progress);
  }
}

void GraphStore::link(std::span<const Slot> slots, std::size_t replaced, const LinkProgress& progress,
                      const StopCheck& stop) {
  std::vector<Slot> order(slots.begin(), slots.end());
  shuffle(order, Random(params_.seed + epoch_));
  for (std::size_t i = 0; entry_points_.size() < entry_points_max && i < order.size(); ++i) {
    entry_points_.push_back(order[i]);
  }
  const std::size_t linked_rows = table_.size() + tombstones_.size();
  const std::size_t live = table_.size() + slots.size() - replaced;
  calibration_.count_removed(replaced);
  std::size_t held_out_rows = calibration_.count_added(slots.size(), live);
  const bool consolidated_next = consolidation_due(tombstones_.size() + replaced);
  if (consolidated_next) {
    // Many new rows are near those that they replace, which lead to them until they are consolidated.
    if (calibration_.due(live)) calibration_.forget();
    calibration_.unmeasured = calibration_.unmeasured || held_out_rows > 0;
    held_out_rows = 0;
  }
  const std::size_t first_held_out = slots.size() - held_out_rows;
  const std::span<const Slot> held_out = std::span(order).subspan(first_held_out);
  link_beside(std::span(order).first(first_held_out), linked_rows, progress);
  unchecked_rows_ += slots.size();
  const bool checked = unchecked_rows_ >= live / reachability_divisor;
  if (checked) connect_rows(held_out, stop);
  measure_held_out(executor_, next_search(), held_out, stop, calibration_);
  if (!held_out.empty()) {
    link_beside(held_out, linked_rows + first_held_out, [&](std::size_t done) {
      if (progress) progress(first_held_out + done);
    });
    if (checked) connect_rows({}, stop);
  }
  if (!consolidated_next) {
    recalibrate_if_due(executor_, next_search(), live, params_.seed + epoch_, stop, calibration_);
  }
}

void GraphStore::connect_rows(std::span<const Slot> unlinked, const StopCheck& stop) {
  std::vector<bool> left_out(rows_);
  for (const Slot slot : unlinked) left_out[slot] = true;
  const auto linked = [&](Slot slot) { return !left_out[slot] && storage_->versions.visible(slot, epoch_ + 1); };
  connect_unreachable(storage_->graph, entry_points_, rows_, linked, stop);
  unchecked_rows_ = 0;
}

LinkProgress GraphStore::stop_check(std::string_view op, const Context& context) const {
  return [this, op, &context](std::size_t /*finished_rows*/) { context.check(op, executor_); };
}

LinkProgress GraphStore::progress_of(std::string_view op, const Context& context, std::size_t before,
                                     std::size_t total) const {
  return [this, op, &context, before, total](std::size_t finished_rows) {
    context.check(op, executor_);
    context.report_progress(op, before + finished_rows, total);
  };
}

void GraphStore::insert(std::string_view op, std::span<const std::uint64_t> ids, std::span<const float> vectors,
                        const Context& context) {
  if (ids.empty()) return;
  consolidate_if_due(op, context, false);  // reclaims the rows of failed inserts
  context.check(op, executor_);
  CalibrationState calibration = calibration_;
  std::optional<StoredRows> before = reserve_rows(op, vectors, ids.size(), context);
  std::vector<Slot> slots;
  std::vector<Slot> replaced;
  std::shared_ptr<Epoch> next;
  try {
    {
      const std::unique_lock lock(table_mutex_);
      table_.reserve(table_.size() + ids.size());
    }
    tombstones_.reserve(tombstones_.size() + 2 * ids.size());
    for (const std::uint64_t id : ids) {
      if (const auto slot = table_.find(id)) replaced.push_back(*slot);
    }
    slots = allocate_slots(ids.size());
    // The new row appears and the old one disappears in the same epoch, so that a search finds exactly one of them.
    for (const Slot slot : replaced) storage_->versions.remove(slot, epoch_ + 1);
    write_rows(slots, ids, vectors);
    link(slots, replaced.size(), progress_of(op, context, 0, slots.size()), [&] { context.check(op, executor_); });
    next = next_epoch();
  } catch (...) {
    if (before) {
      exchange_rows(*before);
      calibration_ = std::move(calibration);
      try_to_publish();
    } else {
      abort_insert(slots, replaced, std::move(calibration));
    }
    throw;
  }
  {
    const std::unique_lock lock(table_mutex_);
    table_epoch_ = epoch_ + 1;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (table_.find(ids[i])) table_.erase(ids[i]);
      table_.insert(ids[i], slots[i]);
    }
    tombstones_.insert(tombstones_.end(), replaced.begin(), replaced.end());
  }
  const std::uint64_t highest = *std::ranges::max_element(ids);
  highest_id_ = std::max(highest_id_.value_or(highest), highest);
  publish(std::move(next));
  consolidate_if_due(op, context, true);
}

void GraphStore::try_to_publish() noexcept {
  try {
    publish();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

void GraphStore::abort_insert(std::span<const Slot> slots, std::span<const Slot> replaced,
                              CalibrationState&& calibration) {
  for (const Slot slot : replaced) storage_->versions.remove(slot, RowVersions::never);
  calibration_ = std::move(calibration);
  calibration_.count_removed(slots.size());  // their links took the places of others
  for (const Slot slot : slots) storage_->versions.remove(slot, 0);
  tombstones_.insert(tombstones_.end(), slots.begin(), slots.end());
  try_to_publish();
}

std::uint64_t GraphStore::add(std::span<const float> vectors, const Context& context) {
  return detail::with_memory("add", vectors.size_bytes(), [&] {
    const std::lock_guard lock(writer_mutex_);
    const std::uint64_t first = highest_id_ ? *highest_id_ + 1 : 0;
    insert("add", detail::next_ids("add", highest_id_, vectors.size() / dim_), vectors, context);
    return first;
  });
}

void GraphStore::add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  detail::with_memory("add", vectors.size_bytes(), [&] {
    detail::check_distinct("add", ids);
    const std::lock_guard lock(writer_mutex_);
    for (const std::uint64_t id : ids) {
      if (table_.find(id)) detail::throw_id_exists("add", id);
    }
    insert("add", ids, vectors, context);
  });
}

void GraphStore::update(std::uint64_t id, std::span<const float> vector) {
  detail::with_memory("update", vector.size_bytes(), [&] {
    const std::lock_guard lock(writer_mutex_);
    if (!table_.find(id)) detail::throw_id_missing("update", id);
    insert("update", std::span(&id, 1), vector, {});
  });
}

void GraphStore::upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context) {
  detail::with_memory("upsert", vectors.size_bytes(), [&] {
    detail::check_distinct("upsert", ids);
    const std::lock_guard lock(writer_mutex_);
    insert("upsert", ids, vectors, context);
  });
}

// Removing.

std::vector<std::uint64_t> GraphStore::present_ids(std::span<const std::uint64_t> ids,
                                                   const LinkProgress& progress) const {
  std::vector<std::uint64_t> present;
  present.reserve(std::min(ids.size(), table_.size()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (table_.find(ids[i])) present.push_back(ids[i]);
    if ((i + 1) % looked_up_batch == 0 || i + 1 == ids.size()) progress(i + 1);
  }
  return present;
}

std::size_t GraphStore::remove(std::span<const std::uint64_t> ids, const Context& context) {
  return detail::with_memory("remove", ids.size_bytes(), [&] {
    const std::lock_guard lock(writer_mutex_);
    context.check("remove", executor_);
    const std::vector<std::uint64_t> present = present_ids(ids, progress_of("remove", context, 0, ids.size()));
    if (present.empty()) {
      consolidate_if_due("remove", context, true);
      return std::size_t{0};
    }
    tombstones_.reserve(tombstones_.size() + present.size());
    std::shared_ptr<Epoch> next = next_epoch();
    const std::size_t before = tombstones_.size();
    {
      const std::unique_lock table_lock(table_mutex_);
      table_epoch_ = epoch_ + 1;
      for (const std::uint64_t id : present) {
        const auto slot = table_.find(id);
        if (!slot) continue;  // repeated in `ids`
        storage_->versions.remove(*slot, epoch_ + 1);
        table_.erase(id);
        tombstones_.push_back(*slot);
      }
    }
    const std::size_t count = tombstones_.size() - before;
    calibration_.count_removed(count);
    if (calibration_.due(table_.size())) calibration_.forget();  // all rows are scanned until the next one
    publish(std::move(next));
    consolidate_if_due("remove", context, true);
    return count;
  });
}

bool GraphStore::consolidation_due(std::size_t tombstones) const noexcept {
  return tombstones >= std::max(consolidate_min, rows_ / consolidate_divisor);
}

void GraphStore::consolidate_if_due(std::string_view op, const Context& context, bool calibrates) {
  try {
    if (consolidation_due(tombstones_.size())) {
      const LinkProgress check = stop_check(op, context);
      std::shared_ptr<Epoch> next = next_epoch();
      consolidate(check);
      std::size_t unused = free_slots_.size();
      for (const Limbo& waiting : limbo_) unused += waiting.slots.size();
      if (unused > shrink_min && unused > rows_ / 3) compact_storage(storage_->vectors.full_precision(), check);
      publish(std::move(next));
    }
    if (calibrates && calibration_.due(table_.size())) {
      std::shared_ptr<Epoch> next = next_epoch();
      const StopCheck stop = [&] { context.check(op, executor_); };
      recalibrate_if_due(executor_, next_search(), table_.size(), params_.seed + epoch_, stop, calibration_);
      publish(std::move(next));
    }
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the next change tries again
  } catch (const Error& error) {
    const bool stopped = error.code() == ErrorCode::cancelled || error.code() == ErrorCode::deadline_exceeded;
    if (!stopped && error.code() != ErrorCode::allocation) throw;
  }
}

void GraphStore::consolidate(const LinkProgress& progress) {
  if (storage_->file && !storage_->links_in_memory) {
    std::shared_ptr<GraphStorage> copy = storage_->with_links_in_memory(executor_);
    const std::unique_lock lock(table_mutex_);
    storage_ = std::move(copy);
  }
  const RowVersions& versions = storage_->versions;
  const auto is_tombstone = [&](Slot slot) { return versions.deleted_at(slot) <= epoch_; };
  std::vector<Slot> live;
  live.reserve(table_.size());
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (!is_tombstone(slot)) live.push_back(slot);
  }
  std::vector<Slot> entry_points = entry_points_;
  std::erase_if(entry_points, is_tombstone);
  Random random(params_.seed + epoch_);
  while (entry_points.size() < std::min(entry_points_max, live.size())) {
    const Slot slot = live[random.below(live.size())];
    if (std::ranges::find(entry_points, slot) == entry_points.end()) entry_points.push_back(slot);
  }
  consolidate_deletes(executor_, storage_->graph, live, is_tombstone, progress);
  connect_unreachable(storage_->graph, entry_points, rows_, [&](Slot slot) { return !is_tombstone(slot); }, {});
  limbo_.emplace_back();  // the last step that may throw
  entry_points_.swap(entry_points);
  limbo_.back().epoch = epoch_;
  limbo_.back().slots.swap(tombstones_);
}

// Reading.

std::optional<std::vector<float>> GraphStore::get(std::uint64_t id) const {
  const std::shared_lock lock(table_mutex_);
  const auto slot = table_.find(id);
  if (!slot) return std::nullopt;
  std::vector<float> vector(dim_);
  storage_->read_vector(*slot, vector.data());
  return vector;
}

std::optional<std::vector<Slot>> GraphStore::rows_of(const IdFilter& filter, const Epoch& epoch) const {
  std::vector<Slot> slots;
  const std::shared_lock lock(table_mutex_);
  if (storage_ != epoch.storage || table_epoch_ > epoch.number) return std::nullopt;
  const bool listed = filter.for_each(std::max<std::uint64_t>(table_.size(), 1) * 2, [&](std::uint64_t id) {
    if (const auto slot = table_.find(id)) slots.push_back(*slot);
  });
  if (!listed) return std::nullopt;
  return slots;
}

GraphContents GraphStore::contents(const Context& context) {
  const std::lock_guard lock(writer_mutex_);
  if (!storage_) return {};
  const LinkProgress check = stop_check("save", context);
  if (!tombstones_.empty()) {
    std::shared_ptr<Epoch> next = next_epoch();
    consolidate(check);
    publish(std::move(next));
  }
  return dense_copy(storage_->graph.encoding, 0, storage_->vectors.full_precision(), check);
}

// Replacing the storage: for another encoding, more rows, without free rows, or without floats.

std::optional<GraphStore::StoredRows> GraphStore::reserve_rows(std::string_view op, std::span<const float> vectors,
                                                               std::size_t count, const Context& context) {
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
  const std::size_t trained_rows = storage_->graph.encoding.projection.trained_rows;
  // A store whose rows were all removed may get vectors of another kind.
  const bool outgrown = table_.size() == 0 ||
                        (trained_rows < training_rows_max && table_.size() + count >= retrain_growth * trained_rows);
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

void GraphStore::append_sample(std::vector<float>& sample) const {
  std::vector<Slot> live;
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (storage_->versions.visible(slot, epoch_)) live.push_back(slot);
  }
  const std::size_t count = std::min(live.size(), training_rows_max / 2);
  sample.resize(sample.size() + count * dim_);
  float* const target = sample.data() + sample.size() - count * dim_;
  for (std::size_t i = 0; i < count; ++i) storage_->read_vector(live[live.size() * i / count], target + i * dim_);
}

GraphContents GraphStore::dense_copy(const Encoding& encoding, std::size_t rows_max, bool full_precision,
                                     const LinkProgress& progress) const {
  GraphContents result;
  std::vector<Slot> kept;
  std::vector<Slot> new_slots(rows_, AdjacencyLists::no_link);
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (!storage_->versions.visible(slot, epoch_)) continue;
    new_slots[slot] = static_cast<Slot>(kept.size());
    kept.push_back(slot);
  }
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
    executor_.parallel_for(batch, row_grain,
                           [&](std::size_t begin, std::size_t end) { copy_rows(done + begin, done + end); });
    done += batch;
    progress(done);
  }
  for (const Slot entry_point : entry_points_) {
    if (new_slots[entry_point] != AdjacencyLists::no_link) result.entry_points.push_back(new_slots[entry_point]);
  }
  result.rows = kept.size();
  result.highest_id = highest_id_;
  if (calibration_.calibration) result.calibration = *calibration_.calibration;
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
  highest_id_ = contents.highest_id;
  exchange_rows(rows);
  return rows;
}

void GraphStore::exchange_rows(StoredRows& rows) noexcept {
  const std::unique_lock lock(table_mutex_);
  std::swap(storage_, rows.storage);
  std::swap(rows_, rows.rows);
  std::swap(entry_points_, rows.entry_points);
  std::swap(tombstones_, rows.tombstones);
  std::swap(free_slots_, rows.free_slots);
  std::swap(limbo_, rows.limbo);
  std::swap(table_, rows.table);
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
  });
}

void GraphStore::compact(const Context& context) { rebuild("compact", true, context); }

void GraphStore::drop_full_precision(const Context& context) { rebuild("drop_full_precision", false, context); }

}  // namespace vectis::inline v0_1::graph
