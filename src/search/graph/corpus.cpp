#include "search/graph/corpus.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "search/exact/changes.hpp"
#include "search/exact/checks.hpp"
#include "search/graph/build.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/random.hpp"

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t entries_max = 16;
constexpr std::size_t encode_grain = 256;
// Removed rows are unlinked when they are this part of all, and their memory is given back when it is a third of all.
constexpr std::size_t repair_part = 20;
constexpr std::size_t repair_min = 64;
constexpr std::size_t shrink_min = 1024;

constexpr std::size_t calibrated_vectors_min = 2000;
constexpr std::size_t recalibrated_part = 3;  // when this part was added or removed since the last time
constexpr std::size_t held_out_max = 1000;
constexpr std::size_t held_out_min = 100;
constexpr std::size_t truth_scores_max = 500'000'000;
// Bounds a calibration by what it costs to link the added rows, about 3,000 scores each: every held-out vector is
// compared with all rows once for the ground truth, and a few times by searches where the data has no structure.
constexpr std::size_t calibration_scores_per_row = 1000;

void shuffle(std::span<Slot> slots, Random random) {
  for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random.below(i)]);
}

}  // namespace

std::uint64_t Epoch::bytes() const noexcept { return (body ? rows * body->row_bytes() : 0) + table_bytes; }
std::uint64_t Epoch::mapped_bytes() const noexcept { return body ? rows * body->mapped_bytes() : 0; }

Corpus::Corpus(Executor& executor, Metric distance, std::size_t dim, const GraphShape& shape)
    : executor_(executor), distance_(distance), dim_(dim), shape_(shape) {
  publish();
}

Corpus::Corpus(Executor& executor, const GraphShape& shape, Contents contents)
    : executor_(executor),
      distance_(contents.body->graph.frame.distance),
      dim_(contents.body->graph.frame.dim),
      shape_(shape) {
  adopt(std::move(contents));
  publish();
}

std::shared_ptr<const Epoch> Corpus::now() const {
  const std::lock_guard lock(epoch_mutex_);
  return now_;
}

void Corpus::publish() {
  auto next = std::make_shared<Epoch>();
  next->body = body_;
  next->number = ++epoch_;
  next->entries = entries_;
  next->live = table_.size();
  next->removed = rows_ - table_.size();
  next->rows = rows_;
  next->table_bytes = table_.bytes();
  next->calibration = calibration_;
  next->gone = std::make_shared<std::atomic<bool>>(false);
  forget_ended_epochs();
  epochs_.emplace_back(epoch_, next->gone);
  const std::lock_guard lock(epoch_mutex_);
  now_ = std::move(next);
}

void Corpus::forget_ended_epochs() {
  while (!epochs_.empty() && epochs_.front().second->load(std::memory_order_acquire)) epochs_.pop_front();
}

void Corpus::collect_free() {
  forget_ended_epochs();
  const std::uint64_t oldest = epochs_.empty() ? epoch_ : epochs_.front().first;
  while (!limbo_.empty() && limbo_.front().epoch < oldest) {
    free_.insert(free_.end(), limbo_.front().slots.begin(), limbo_.front().slots.end());
    limbo_.pop_front();
  }
}

std::vector<Slot> Corpus::new_slots(std::size_t count) {
  const std::size_t reused = std::min(count, free_.size());
  body_->reserve(rows_ + (count - reused));
  std::vector<Slot> slots(free_.end() - static_cast<std::ptrdiff_t>(reused), free_.end());
  free_.resize(free_.size() - reused);
  while (slots.size() < count) slots.push_back(static_cast<Slot>(rows_++));
  return slots;
}

void Corpus::place(std::span<const Slot> slots, std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  executor_.parallel_for(slots.size(), encode_grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* const vector = vectors.data() + i * dim_;
      encode_row(body_->graph.frame, vector, body_->graph.codes[slots[i]]);
      body_->vectors.write(slots[i], vector);
      body_->heads.born(slots[i], ids[i], epoch_ + 1);
      body_->graph.links.write(slots[i], {});
    }
  });
}

bool Corpus::wants_calibration(std::size_t added) const noexcept {
  const std::size_t all = table_.size() + added;
  return added >= 2 * held_out_min && all >= calibrated_vectors_min &&
         (calibration_ == nullptr || all >= 2 * calibration_->vectors ||
          changed_since_calibration_ >= all / recalibrated_part);
}

void Corpus::link_beside(std::span<const Slot> slots, std::size_t linked) {
  if (linking_) {
    linking_(*body_, rows_, entries_, slots, linked);
  } else {
    link_rows(executor_, body_->graph, entries_, slots, linked);
  }
}

void Corpus::link(std::span<const Slot> slots) {
  std::vector<Slot> order(slots.begin(), slots.end());
  shuffle(order, Random(shape_.seed + epoch_));
  for (std::size_t i = 0; entries_.size() < entries_max && i < order.size(); ++i) entries_.push_back(order[i]);
  const std::size_t linked = table_.size() + dead_.size();
  changed_since_calibration_ += slots.size();
  if (!wants_calibration(slots.size())) {
    link_beside(order, linked);
    return;
  }
  // The last ones are asked for before they are linked.
  const std::size_t all = table_.size() + slots.size();
  const std::size_t held =
      std::clamp(std::min({all / 10, truth_scores_max / all, calibration_scores_per_row * slots.size() / all}),
                 held_out_min, held_out_max);
  const std::size_t first =
      std::max(slots.size() - std::min(held, slots.size() / 2), std::min(entries_max, slots.size() / 2));
  link_beside(std::span(order).first(first), linked);
  std::vector<Slot> findable(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first));
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (body_->heads.visible(slot, epoch_)) findable.push_back(slot);
  }
  std::vector<float> queries((slots.size() - first) * dim_);
  for (std::size_t i = first; i < order.size(); ++i) {
    body_->read_row(order[i], queries.data() + (i - first) * dim_);
  }
  const Look look{.body = body_.get(), .entries = entries_, .epoch = epoch_ + 1};
  changed_since_calibration_ = 0;
  calibration_ = std::make_shared<const Calibration>(calibrate(executor_, look, findable, queries));
  link_beside(std::span(order).subspan(first), linked + first);
}

void Corpus::insert(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  if (ids.empty()) return;
  make_room(vectors, ids.size());
  {
    const std::unique_lock lock(table_mutex_);
    table_.reserve(table_.size() + ids.size());
  }
  dead_.reserve(dead_.size() + 2 * ids.size());
  const std::vector<Slot> slots = new_slots(ids.size());
  try {
    place(slots, vectors, ids);
    link(slots);
  } catch (...) {
    bury(slots);
    throw;
  }
  {
    const std::unique_lock lock(table_mutex_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      // Both belong to the next epoch, so a search finds the one or the other.
      if (const auto before = table_.find(ids[i])) {
        body_->heads.dies(*before, epoch_ + 1);
        dead_.push_back(*before);
        table_.erase(ids[i]);
      }
      table_.insert(ids[i], slots[i]);
    }
  }
  const std::uint64_t highest = *std::ranges::max_element(ids);
  highest_id_ = std::max(highest_id_.value_or(highest), highest);
  publish();
  repair_if_due();
}

std::uint64_t Corpus::add(std::span<const float> vectors) {
  return exact::with_memory("add", vectors.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    const std::uint64_t first = highest_id_ ? *highest_id_ + 1 : 0;
    insert(vectors, exact::next_ids("add", highest_id_, vectors.size() / dim_));
    return first;
  });
}

void Corpus::add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  exact::with_memory("add_with_ids", vectors.size_bytes(), [&] {
    exact::check_distinct("add_with_ids", ids);
    const std::lock_guard lock(writer_);
    for (const std::uint64_t id : ids) {
      if (table_.find(id)) exact::refuse_present("add_with_ids", id);
    }
    insert(vectors, ids);
  });
}

std::size_t Corpus::remove(std::span<const std::uint64_t> ids) {
  return exact::with_memory("remove", ids.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    dead_.reserve(dead_.size() + ids.size());
    const std::size_t before = dead_.size();
    {
      const std::unique_lock table_lock(table_mutex_);
      for (const std::uint64_t id : ids) {
        const auto slot = table_.find(id);
        if (!slot) continue;
        body_->heads.dies(*slot, epoch_ + 1);
        table_.erase(id);
        dead_.push_back(*slot);
      }
    }
    const std::size_t count = dead_.size() - before;
    changed_since_calibration_ += count;
    if (count > 0) publish();
    repair_if_due();
    return count;
  });
}

void Corpus::update(std::uint64_t id, std::span<const float> vector) {
  exact::with_memory("update", vector.size_bytes(), [&] {
    const std::lock_guard lock(writer_);
    if (!table_.find(id)) exact::refuse_absent("update", id);
    insert(vector, std::span(&id, 1));
  });
}

void Corpus::upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids) {
  exact::with_memory("upsert", vectors.size_bytes(), [&] {
    exact::check_distinct("upsert", ids);
    const std::lock_guard lock(writer_);
    insert(vectors, ids);
  });
}

void Corpus::bury(std::span<const Slot> slots) {
  for (const Slot slot : slots) body_->heads.dies(slot, 0);
  dead_.insert(dead_.end(), slots.begin(), slots.end());
}

void Corpus::repair_if_due() {
  if (dead_.size() < std::max(repair_min, rows_ / repair_part)) return;
  try {
    repair();
    std::size_t unused = free_.size();
    for (const Limbo& waiting : limbo_) unused += waiting.slots.size();
    if (unused > shrink_min && unused > rows_ / 3) adopt(dense(body_->graph.frame, 0, body_->vectors.whole()));
  } catch (const std::bad_alloc&) {
    return;  // what was removed cannot be found, which is what was asked for; the next change tries again
  } catch (const Error& error) {
    if (error.code() != ErrorCode::allocation) throw;
    return;
  }
  publish();
}

void Corpus::repair() {
  const Heads& heads = body_->heads;
  const auto removed = [&](Slot slot) { return heads.death(slot) <= epoch_; };
  std::vector<Slot> linked;
  linked.reserve(table_.size());
  for (Slot slot = 0; slot < rows_; ++slot) {
    if (!removed(slot)) linked.push_back(slot);
  }
  relink_around(executor_, body_->graph, linked, removed);
  std::erase_if(entries_, removed);
  Random random(shape_.seed + epoch_);
  while (entries_.size() < std::min(entries_max, linked.size())) {
    const Slot slot = linked[random.below(linked.size())];
    if (std::ranges::find(entries_, slot) == entries_.end()) entries_.push_back(slot);
  }
  limbo_.push_back({epoch_, std::move(dead_)});
  dead_.clear();
}

std::optional<std::vector<float>> Corpus::get(std::uint64_t id) const {
  const std::shared_lock lock(table_mutex_);
  const auto slot = table_.find(id);
  if (!slot) return std::nullopt;
  std::vector<float> vector(dim_);
  body_->read_row(*slot, vector.data());
  return vector;
}

std::optional<std::vector<Slot>> Corpus::rows_of(const IdFilter& filter, const Body& body) const {
  std::vector<Slot> slots;
  const std::shared_lock lock(table_mutex_);
  if (body_.get() != &body) return std::nullopt;
  for (std::size_t word = 0; word < filter.words.size(); ++word) {
    for (std::uint64_t bits = filter.words[word]; bits != 0; bits &= bits - 1) {
      const std::uint64_t id = filter.first_id + word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
      if (const auto slot = table_.find(id)) slots.push_back(*slot);
    }
  }
  return slots;
}

}  // namespace vectis::inline v0_1::graph
