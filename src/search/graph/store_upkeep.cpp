// The part of GraphStore that keeps the graph up in steps, while few rows are added or removed at a time.
#include <algorithm>
#include <new>
#include <numeric>

#include "search/graph/reachability.hpp"
#include "search/graph/store.hpp"
#include "search/graph/unfound.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// Changes of at least 1/16 of the rows do all upkeep at once.
constexpr std::size_t few_divisor = 16;
// So does any change when more than 1/2 of the rows are tombstones: changes that fail leave some, and pay for no steps.
constexpr std::size_t overdue_divisor = 2;
// Links are checked when 1/8 of the rows is new, and all rows searched for when 1/2 changed; see store.cpp.
constexpr std::size_t checked_divisor = 8;
constexpr std::size_t searched_share_divisor = 2;
constexpr std::size_t changed_min = 64;
constexpr Work consolidated_at_once = 300;
constexpr std::size_t finished_jobs_max = 32;  // each kind may make another one due
constexpr Work trained_at_once = 1000;
constexpr std::size_t encoded_at_once = 64;  // rows
constexpr Work encoded_work = 20;            // for each of these

// A stride with which i * stride % count goes through all of [0, count), evenly at any time: about the golden ratio.
std::size_t spreading_stride(std::size_t count) {
  auto stride = static_cast<std::size_t>(0.618 * static_cast<double>(count)) + 1;
  while (std::gcd(stride, count) != 1) ++stride;
  return stride;
}

}  // namespace

bool GraphStore::is_few(std::size_t rows) const noexcept {
  const bool overdue = tombstones_.size() > rows_ / overdue_divisor;
  return !behind_ && !overdue && rows * few_divisor < table_.size();
}

void GraphStore::drop_job() noexcept {
  job_.reset();
  frozen_tombstones_ = 0;
  consolidated_slots_ = 0;
  linked_since_.clear();
  encoded_storage_.reset();
}

void GraphStore::take_steps(std::string_view op, const Context& context, std::size_t rows, double links) {
  const double earned = static_cast<double>(rows) * links * link_work_;
  credit_ = std::min(credit_ + earned, earned);
  last_upkeep_ = 0;
  try {  // the change is made: what fails here is left to the next one
    const LinkProgress check = stop_check(op, context);
    for (;;) {
      if (!job_) job_ = next_job();
      if (!job_ || credit_ <= 0 || (credit_ < earned && credit_ < static_cast<double>(job_->next_work()))) return;
      context.check(op, executor_);
      const auto work = static_cast<double>(job_->step());
      credit_ -= work;
      last_upkeep_ += work / (static_cast<double>(rows) * link_work_);
      if (!job_->done()) continue;
      job_.reset();
      end_job(check);
    }
  } catch (const std::bad_alloc&) {
    drop_job();
  } catch (const Error& error) {
    const bool stopped = error.code() == ErrorCode::cancelled || error.code() == ErrorCode::deadline_exceeded;
    if (stopped) return;  // between two steps
    drop_job();
    if (error.code() != ErrorCode::allocation) throw;
  }
}

void GraphStore::finish_job(const LinkProgress& progress) {
  if (frozen_tombstones_ > 0) drop_job();  // all tombstones are consolidated together
  if (!job_) job_ = next_job();
  for (std::size_t jobs = 0; job_ && jobs < finished_jobs_max; ++jobs, job_ = next_job()) {
    while (!job_->done()) {
      progress(0);
      try {
        job_->step();
      } catch (...) {
        drop_job();
        throw;
      }
    }
    end_job(progress);
  }
  drop_job();
}

void GraphStore::end_job(const LinkProgress& progress) {
  drop_job();
  const std::shared_ptr<GraphStorage> before = storage_;
  std::shared_ptr<Epoch> next = next_epoch();
  shrink_if_due(progress);
  if (storage_ != before) publish(std::move(next));
}

std::optional<Steps> GraphStore::next_job() {
  const std::size_t live = table_.size();
  if (live == 0) return std::nullopt;
  if (encoding_outgrown(live) && !storage_->file) return encode_in_steps();
  if (consolidation_due(tombstones_.size())) return consolidate_in_steps();
  if (unchecked_rows_ >= std::max(changed_min, live / checked_divisor)) return check_links_in_steps();
  if (calibration_.due_in_steps(live)) return calibrate_in_steps();
  if (unsearched_rows_ >= std::max(changed_min, rows_ / searched_share_divisor)) return search_for_rows_in_steps();
  while (!recent_rows_.empty() && !storage_->versions.visible(recent_rows_.front(), epoch_)) recent_rows_.pop_front();
  if (!recent_rows_.empty() && calibration_.calibration) return measure_recent_row_in_steps();
  return std::nullopt;
}

void GraphStore::note_linked(std::span<const Slot> slots) {
  if (frozen_tombstones_ == 0) return;
  for (const Slot slot : slots) {
    if (slot < consolidated_slots_) linked_since_.push_back(slot);
  }
}

// Rows that are removed meanwhile are consolidated by the next job. Links to tombstones appear only in the lists of
// rows that are linked meanwhile; those are read too, so that no list leads to a slot that is free in the end.
Steps GraphStore::consolidate_in_steps() {
  own_links();
  publish();  // the rows of failed inserts are of this epoch at the latest
  const std::uint64_t frozen_at = epoch_;
  frozen_tombstones_ = tombstones_.size();
  const std::function<bool(Slot)> is_frozen = [&versions = storage_->versions, frozen_at](Slot slot) {
    return versions.deleted_at(slot) <= frozen_at && versions.created_at(slot) <= frozen_at;
  };
  DeleteConsolidator consolidator(storage_->graph);
  Work work = 0;
  while (consolidated_slots_ < rows_ || !linked_since_.empty()) {
    Slot slot = 0;
    if (consolidated_slots_ < rows_) {
      slot = static_cast<Slot>(consolidated_slots_++);
    } else {
      slot = linked_since_.back();
      linked_since_.pop_back();
    }
    ++work;
    if (!is_frozen(slot)) work += consolidator.consolidate(slot, is_frozen);
    if (work < consolidated_at_once) continue;
    co_yield Pause{.done = work, .next = consolidated_at_once};
    work = 0;
  }
  std::shared_ptr<Epoch> next = next_epoch();
  free_tombstones(frozen_tombstones_, live_entry_points());
  unsearched_rows_ += frozen_tombstones_;
  unchecked_rows_ = std::max(rows_, changed_min);
  publish(std::move(next));
}

Steps GraphStore::encode_in_steps() {
  constexpr Pause rows_encoded{.done = encoded_at_once * encoded_work, .next = encoded_at_once * encoded_work};
  // Live rows from all over the slots, each at most once. As many as there are: an encoding that was trained on fewer
  // counts as outgrown too soon, and is trained for ever.
  const std::size_t slots = rows_;
  const std::size_t stride = spreading_stride(slots);
  const std::size_t sampled = std::min(table_.size(), training_rows_max);
  std::vector<float> sample;
  sample.reserve(sampled * dim_);
  for (std::size_t i = 0; i < slots && sample.size() < sampled * dim_; ++i) {
    if (i % encoded_at_once == encoded_at_once - 1) co_yield rows_encoded;
    const auto slot = static_cast<Slot>(i * stride % slots);
    if (!storage_->versions.visible(slot, epoch_)) continue;
    sample.resize(sample.size() + dim_);
    storage_->read_vector(slot, sample.data() + sample.size() - dim_);
  }
  if (sample.empty()) co_return;
  Encoding encoding;
  co_await train_encoding_in_steps(&executor_, metric_, dim_, sample, trained_at_once, &encoding);
  const bool full_precision = storage_->vectors.full_precision();
  const auto next = std::make_shared<GraphStorage>(std::move(encoding), params_, storage_->rows_max(), full_precision);
  encoded_storage_ = next;
  std::vector<float> vector(dim_);
  for (std::size_t slot = 0; slot < rows_; ++slot) {  // rows that are written meanwhile are encoded then, or here
    next->graph.codes.reserve(slot + 1);
    storage_->read_vector(static_cast<Slot>(slot), vector.data());
    encode_row(next->graph.encoding, vector.data(), next->graph.codes[static_cast<Slot>(slot)]);
    if (slot % encoded_at_once == 0) co_yield rows_encoded;
  }
  std::shared_ptr<Epoch> epoch = next_epoch();
  next->share_rows(*storage_);
  storages_before_.push_back(storage_);
  {
    const std::unique_lock lock(table_mutex_);
    storage_ = next;
  }
  encoded_storage_.reset();
  calibration_.forget();  // other codes need other searches
  publish(std::move(epoch));
}

void GraphStore::encode_for_others(std::span<const Slot> slots) {
  std::erase_if(storages_before_, [](const std::weak_ptr<GraphStorage>& storage) { return storage.expired(); });
  std::vector<std::shared_ptr<GraphStorage>> others;
  for (const std::weak_ptr<GraphStorage>& storage : storages_before_) {
    others.push_back(storage.lock());
    if (others.back()) others.back()->share_rows(*storage_);
  }
  others.push_back(encoded_storage_);
  std::vector<float> vector(dim_);
  for (const std::shared_ptr<GraphStorage>& storage : others) {
    if (!storage) continue;
    storage->graph.codes.reserve(rows_);
    for (const Slot slot : slots) {
      storage_->read_vector(slot, vector.data());
      encode_row(storage->graph.encoding, vector.data(), storage->graph.codes[slot]);
    }
  }
}

Steps GraphStore::check_links_in_steps() {
  const std::size_t unchecked = unchecked_rows_;
  const std::uint64_t begun_at = epoch_;
  const auto linked = [this, begun_at](Slot slot) {
    return storage_->versions.visible(slot, epoch_) && storage_->versions.created_at(slot) <= begun_at;
  };
  if (table_.size() >= 2 * entry_points_rows_) {
    choose_entry_points(table_.size(), linked);
    publish();
  }
  co_await connect_unreachable_in_steps(&storage_->graph, entry_points_, rows_, linked);
  unchecked_rows_ -= std::min(unchecked, unchecked_rows_);
  if (metric_ == Metric::inner_product) {
    norm_order_ = order_rows(*storage_, rows_, epoch_);
    publish();
  }
}

Steps GraphStore::search_for_rows_in_steps() {
  const std::size_t unsearched = unsearched_rows_;
  SearchScratch scratch(storage_->graph);
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (!storage_->versions.visible(slot, epoch_)) continue;
    const Work work = link_unfound_row(storage_->graph, entry_points_, slot, scratch);
    co_yield Pause{.done = work, .next = work};
  }
  unsearched_rows_ -= std::min(unsearched, unsearched_rows_);
}

namespace {

// The parameters of searches of an epoch, which must outlive them.
SearchParams search_of(const Epoch& epoch) {
  return {.storage = epoch.storage.get(),
          .entry_points = epoch.entry_points,
          .epoch = epoch.number,
          .rows = epoch.rows,
          .norm_order = epoch.norm_order.get()};
}

}  // namespace

// A calibration is a reader like any other search: while it holds the epoch, no row that it can see is reused.
Steps GraphStore::calibrate_in_steps() {
  const std::shared_ptr<const Epoch> seen = now();
  co_await recalibrate_in_steps(search_of(*seen), seen->live, params_.seed + epoch_, &calibration_);
  calibration_.check_trust(table_.size());
  publish();
}

Steps GraphStore::measure_recent_row_in_steps() {
  const std::shared_ptr<const Epoch> seen = now();
  const Slot row = recent_rows_.front();
  recent_rows_.pop_front();
  co_await measure_recent_in_steps(search_of(*seen), seen->live, row, &calibration_);
  calibration_.check_trust(table_.size());
}

}  // namespace vectis::inline v0_1::graph
