#include "search/graph/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "search/common/checks.hpp"
#include "search/graph/reachability.hpp"
#include "search/graph/unfound.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t row_grain = 256;           // rows per task
constexpr std::size_t counted_rows_max = 1024;   // of one change, that are compared with the probes
constexpr std::size_t looked_up_batch = 65'536;  // rows between two checks of a Context
// Whether all rows can be reached is checked when 1/8 of them is new.
constexpr std::size_t reachability_divisor = 8;
// All rows are searched for when 1/2 of them changed: lists that are pruned lose links that searches need.
constexpr std::size_t searched_divisor = 2;
// Rows are searched for twice when more than 1/100 of them was not found.
constexpr std::size_t many_unfound_divisor = 100;

// Steps of upkeep that a row pays for, in costs of linking a row. Measured with rows that are added or removed one by
// one: all upkeep costs 1 to 2 times as much as linking the rows.
constexpr double steps_per_insert = 3;  // besides linking it
constexpr double steps_per_removal = GraphStore::steps_per_row;
constexpr double averaged_links = 64;        // rows over which the cost of linking one is averaged
constexpr std::size_t recent_rows_max = 64;  // that wait to be searched for

void shuffle(std::span<Slot> slots, Random random) {
  for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random.below(i)]);
}

}  // namespace

std::uint64_t Epoch::bytes() const noexcept {
  return (storage ? rows * storage->row_bytes() : 0) + table_bytes + (norm_order ? norm_order->bytes() : 0);
}
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
    shuffle(rows, Random(params_.seed));
    calibration_.probes = make_probes(next_search(), rows);
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
  next->calibration = calibration_.trusted();
  next->costs = calibration_.costs;
  next->norm_order = norm_order_;
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
  encode_for_others(slots);
}

SearchParams GraphStore::next_search() const noexcept {
  return {.storage = storage_.get(),
          .entry_points = entry_points_,
          .epoch = epoch_ + 1,
          .rows = rows_,
          .norm_order = norm_order_.get()};
}

void GraphStore::link_beside(std::span<const Slot> slots, std::size_t linked_rows, const LinkProgress& progress) {
  if (slots.empty()) return;
  if (link_rows_) {
    link_rows_(*storage_, rows_, entry_points_, slots, linked_rows, progress);
    return;
  }
  const Work work = link_rows(executor_, storage_->graph, entry_points_, slots, linked_rows, progress);
  const auto count = static_cast<double>(slots.size());
  link_work_ = std::lerp(link_work_, static_cast<double>(work) / count, std::min(1.0, count / averaged_links));
}

void GraphStore::link(std::span<const Slot> slots, std::size_t replaced, const LinkProgress& progress,
                      const StopCheck& stop) {
  std::vector<Slot> order(slots.begin(), slots.end());
  shuffle(order, Random(params_.seed + epoch_));
  if (entry_points_.empty()) entry_points_rows_ = slots.size();
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
  if (checked && !consolidated_next) norm_order_ = order_rows(*storage_, rows_, epoch_ + 1);
  const std::size_t unfound = repair_links(std::span(order).first(first_held_out), held_out, live, checked, stop);
  measure_held_out(executor_, next_search(), held_out, stop, calibration_);
  if (!held_out.empty()) {
    link_beside(held_out, linked_rows + first_held_out, [&](std::size_t done) {
      if (progress) progress(first_held_out + done);
    });
    // Lists that were pruned now may have lost links of the repair before.
    repair_links(unfound > first_held_out / many_unfound_divisor ? order : held_out, {}, live, checked, stop);
  }
  if (!consolidated_next) {
    recalibrate_if_due(executor_, next_search(), live, params_.seed + epoch_, stop, calibration_);
  }
}

void GraphStore::link_few(std::span<const Slot> slots, std::size_t replaced, const LinkProgress& progress,
                          const StopCheck& stop) {
  std::vector<Slot> order(slots.begin(), slots.end());
  shuffle(order, Random(params_.seed + epoch_));
  const std::size_t live = table_.size() + slots.size() - replaced;
  calibration_.count_removed(replaced);
  const std::size_t held_out = calibration_.count_added(slots.size(), live);
  recent_rows_.insert(recent_rows_.end(), order.begin(), order.begin() + static_cast<std::ptrdiff_t>(held_out));
  while (recent_rows_.size() > recent_rows_max) recent_rows_.pop_front();
  note_linked(slots);
  link_beside(order, table_.size() + tombstones_.size(), progress);
  link_unfound(executor_, storage_->graph, entry_points_, order, stop);
  unchecked_rows_ += slots.size();
  unsearched_rows_ += slots.size();
  calibration_.check_trust(live);
}

void GraphStore::count_answers(std::span<const Slot> slots) {
  if (calibration_.probes.empty()) return;
  const std::size_t counted = std::min(slots.size(), counted_rows_max);
  std::vector<float> vector(dim_);
  std::size_t answers = 0;
  for (std::size_t i = 0; i < counted; ++i) {
    storage_->read_vector(slots[slots.size() * i / counted], vector.data());
    answers += calibration_.probes.answered_by(vector);
  }
  if (counted > 0)
    calibration_.count_answers(answers, static_cast<double>(slots.size()) / static_cast<double>(counted));
}

std::size_t GraphStore::repair_links(std::span<const Slot> slots, std::span<const Slot> unlinked, std::size_t live,
                                     bool checked, const StopCheck& stop) {
  if (!checked) {
    unsearched_rows_ += slots.size();
    return link_unfound(executor_, storage_->graph, entry_points_, slots, stop);
  }
  std::vector<bool> left_out(rows_);
  for (const Slot slot : unlinked) left_out[slot] = true;
  const auto linked = [&](Slot slot) { return !left_out[slot] && storage_->versions.visible(slot, epoch_ + 1); };
  if (live >= 2 * entry_points_rows_) choose_entry_points(live, linked);
  const std::size_t unfound = link_unfound_rows(entry_points_, slots, slots.size(), linked, stop);
  connect_unreachable(storage_->graph, entry_points_, rows_, linked, stop);
  unchecked_rows_ = 0;
  return unfound;
}

std::size_t GraphStore::link_unfound_rows(std::span<const Slot> entry_points, std::span<const Slot> slots,
                                          std::size_t changed, const std::function<bool(Slot)>& linked,
                                          const StopCheck& stop) {
  unsearched_rows_ += changed;
  if (unsearched_rows_ < rows_ / searched_divisor) {
    return link_unfound(executor_, storage_->graph, entry_points, slots, stop);
  }
  std::vector<Slot> all;
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (linked(slot)) all.push_back(slot);
  }
  const std::size_t unfound = link_unfound(executor_, storage_->graph, entry_points, all, stop);
  unsearched_rows_ = 0;
  return unfound;
}

void GraphStore::choose_entry_points(std::size_t live, const std::function<bool(Slot)>& linked) {
  std::vector<Slot> chosen;
  add_entry_points(chosen, entry_points_max, linked);
  if (chosen.size() < entry_points_max) return;
  entry_points_ = std::move(chosen);
  entry_points_rows_ = live;
  unsearched_rows_ = rows_;  // the repairs of before were for searches from other rows
}

void GraphStore::add_entry_points(std::vector<Slot>& entry_points, std::size_t count,
                                  const std::function<bool(Slot)>& linked) const {
  const auto add = [&](Slot slot) {
    if (linked(slot) && std::ranges::find(entry_points, slot) == entry_points.end()) entry_points.push_back(slot);
  };
  Random random(params_.seed + epoch_);
  for (std::size_t i = 0; entry_points.size() < count && i < 4 * entry_points_max; ++i) {
    add(static_cast<Slot>(random.below(rows_)));
  }
  for (Slot slot = 0; entry_points.size() < count && slot < rows_; ++slot) add(slot);  // most slots are not linked
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
  const bool few = is_few(ids.size());
  if (!few) consolidate_if_due(op, context, false);  // reclaims the rows of failed inserts
  context.check(op, executor_);
  Rollback rollback;
  rollback.calibration = calibration_;
  rollback.entry_points.reserve(std::max(entry_points_max, entry_points_.size()));
  std::optional<StoredRows> before = reserve_rows(op, vectors, ids.size(), few, context);
  rollback.norm_order = norm_order_;
  rollback.entry_points.assign(entry_points_.begin(), entry_points_.end());
  rollback.entry_points_rows = entry_points_rows_;
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
    const bool reuses = norm_order_ && std::ranges::min(slots) < norm_order_->slots_end;
    if (reuses) norm_order_ = norm_order_->after_reuse(slots);
    // The new row appears and the old one disappears in the same epoch, so that a search finds exactly one of them.
    for (const Slot slot : replaced) storage_->versions.remove(slot, epoch_ + 1);
    write_rows(slots, ids, vectors);
    if (reuses && !norm_order_) norm_order_ = order_rows(*storage_, rows_, epoch_ + 1);
    count_answers(slots);
    count_answers(replaced);
    const LinkProgress progress = progress_of(op, context, 0, slots.size());
    const StopCheck stop = [&] { context.check(op, executor_); };
    if (few) {
      link_few(slots, replaced.size(), progress, stop);
    } else {
      link(slots, replaced.size(), progress, stop);
    }
    next = next_epoch();
  } catch (...) {
    if (before) {
      exchange_rows(*before);
      calibration_ = std::move(rollback.calibration);
      try_to_publish();
    } else {
      abort_insert(slots, replaced, std::move(rollback));
    }
    behind_ = behind_ || !few;
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
  if (few) {
    take_steps(op, context, ids.size(), steps_per_insert);
  } else {
    consolidate_if_due(op, context, true);
  }
}

void GraphStore::try_to_publish() noexcept {
  try {
    publish();
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
  }
}

void GraphStore::abort_insert(std::span<const Slot> slots, std::span<const Slot> replaced, Rollback&& before) {
  for (const Slot slot : replaced) storage_->versions.remove(slot, RowVersions::never);
  calibration_ = std::move(before.calibration);
  norm_order_ = std::move(before.norm_order);
  entry_points_ = std::move(before.entry_points);
  entry_points_rows_ = before.entry_points_rows;
  calibration_.count_removed(slots.size());  // their links took the places of others
  if (is_few(slots.size())) {
    calibration_.check_trust(table_.size());
  } else if (calibration_.due(table_.size())) {
    calibration_.forget();
  }
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
      if (behind_) consolidate_if_due("remove", context, true);
      return std::size_t{0};
    }
    const bool few = is_few(present.size());
    std::vector<Slot> removed;
    removed.reserve(present.size());
    for (const std::uint64_t id : present) removed.push_back(*table_.find(id));
    count_answers(removed);
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
    if (few) {
      calibration_.check_trust(table_.size());
    } else if (calibration_.due(table_.size())) {
      calibration_.forget();  // all rows are scanned until the next one
    }
    publish(std::move(next));
    if (few) {
      take_steps("remove", context, count, steps_per_removal);
    } else {
      consolidate_if_due("remove", context, true);
    }
    return count;
  });
}

// Reading.

double GraphStore::upkeep_of_last_change() const {
  const std::lock_guard lock(writer_mutex_);
  return last_upkeep_;
}

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
  finish_job(check);
  if (!tombstones_.empty()) {
    std::shared_ptr<Epoch> next = next_epoch();
    consolidate(check);
    publish(std::move(next));
  }
  return dense_copy(storage_->graph.encoding, 0, storage_->vectors.full_precision(), check);
}

}  // namespace vectis::inline v0_1::graph
