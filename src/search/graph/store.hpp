// The rows of a graph index: epochs that searches read, and the writer that changes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "search/graph/build.hpp"
#include "search/graph/id_table.hpp"
#include "search/graph/norm_order.hpp"
#include "search/graph/recalibrate.hpp"
#include "search/graph/storage.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Searches start at the nearest few of so many rows, which lie in most clusters of the data: a search that starts in
// another cluster than the query's may end there.
inline constexpr std::size_t entry_points_max = 256;

// Rows that the encoding is trained on, at most.
inline constexpr std::size_t training_rows_max = 10'000;

// The state of a graph store that a search reads. While a search holds an epoch, no row that it can reach is reused
// for another vector (epoch-based reclamation: Fraser, "Practical lock-freedom", 2004). Immutable; obtained by
// GraphStore::now().
struct Epoch {
  std::shared_ptr<GraphStorage> storage;  // null: nothing was ever added
  std::uint64_t number = 0;
  std::vector<Slot> entry_points;
  std::size_t live = 0;
  std::size_t removed = 0;  // tombstones and free rows
  std::size_t rows = 0;     // slots ever used: live + removed
  std::uint64_t table_bytes = 0;
  std::shared_ptr<const Calibration> calibration;
  SearchCosts costs;
  std::shared_ptr<const NormOrder> norm_order;  // see SearchParams
  std::shared_ptr<std::atomic<bool>> released;  // set by the destructor

  Epoch() = default;
  Epoch(const Epoch&) = default;
  Epoch& operator=(const Epoch&) = delete;
  ~Epoch() {
    if (released) released->store(true, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept;         // in memory
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept;  // in a mapped file
};

// A graph without tombstones and free rows, as files hold it. `storage` is null when no vector was ever added.
struct GraphContents {
  std::shared_ptr<GraphStorage> storage;
  std::size_t rows = 0;
  std::optional<std::uint64_t> highest_id;  // ever used
  std::vector<Slot> entry_points;
  Calibration calibration;  // empty: never calibrated
  std::uint64_t changed_since_calibration = 0;
};

// The rows of a graph index. Thread-safe: readers take now() and never wait for a change; changes wait for each
// other. Callers must pass whole rows of finite floats, which is not checked. A change that throws leaves the visible
// rows as they were; each throws Allocation when memory is exhausted.
class GraphStore {
 public:
  // Makes an empty store for vectors of `dim` floats. `params` and `metric` must pass validate_graph, not checked.
  // `executor` must outlive the store.
  GraphStore(Executor& executor, Metric metric, std::size_t dim, const GraphParams& params);
  // Makes a store of loaded contents, whose storage must not be null and whose ids must be distinct; not checked.
  // `executor` must outlive the store. Throws std::bad_alloc when memory is exhausted.
  GraphStore(Executor& executor, const GraphParams& params, GraphContents contents);

  // A function that links new rows in place of link_rows of build.hpp, for example on a device. `rows` is the number
  // of slots in use. What it throws ends the change, which then changes no visible row.
  using LinkRows =
      std::function<void(GraphStorage& storage, std::size_t rows, std::span<const Slot> entry_points,
                         std::span<const Slot> slots, std::size_t linked_rows, const LinkProgress& progress)>;
  // Sets the function that links new rows; an empty one means link_rows of build.hpp. Not thread-safe: call it before
  // the store is shared.
  void set_link_rows(LinkRows link_rows) { link_rows_ = std::move(link_rows); }

  // Returns the present epoch, never null; its rows stay readable as long as the caller holds it.
  [[nodiscard]] std::shared_ptr<const Epoch> now() const;
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] Metric metric() const noexcept { return metric_; }
  [[nodiscard]] const GraphParams& params() const noexcept { return params_; }

  // Links whole rows of finite floats under consecutive ids above the highest ever used, and returns the first id.
  // Throws InvalidInput when the ids would pass 2^64 - 1 or the store would exceed slots_max rows, Allocation when
  // memory is exhausted, Cancelled or DeadlineExceeded as `context` says, and what the function of set_link_rows()
  // throws; then nothing is added.
  std::uint64_t add(std::span<const float> vectors, const Context& context);
  // Links row i under ids[i]; there must be one id for each row, not checked. Throws InvalidInput when an id is
  // present or repeated or the store would exceed slots_max rows, Allocation when memory is exhausted, Cancelled or
  // DeadlineExceeded as `context` says, and what the function of set_link_rows() throws; then nothing is added.
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context);
  // Replaces the vector of an id by `vector`, dim() finite floats, not checked. Throws InvalidInput when the id is
  // absent, and Allocation when memory is exhausted; then the old vector stays.
  void update(std::uint64_t id, std::span<const float> vector);
  // Links row i under ids[i]: adds absent ids and replaces present ones; there must be one id for each row, not
  // checked. Throws InvalidInput when an id is repeated or the store would exceed slots_max rows, Allocation,
  // Cancelled or DeadlineExceeded as `context` says, and what the function of set_link_rows() throws; then nothing is
  // changed.
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context);
  // Turns the rows of the present ids into tombstones, ignores absent ids, and returns how many were present. Throws
  // Allocation, Cancelled or DeadlineExceeded as `context` says, and what its progress callback throws; then nothing
  // is removed. A Context that stops the call after the removal ends only the consolidation of tombstones, which a
  // later change repeats.
  std::size_t remove(std::span<const std::uint64_t> ids, const Context& context);
  // Reclaims the memory of tombstones and free rows by copying the live rows; does nothing in a store that never had
  // rows. Throws Allocation, Cancelled or DeadlineExceeded as `context` says, and what its progress callback throws;
  // then the visible rows are unchanged.
  void compact(const Context& context);
  // Stores one byte per element instead of floats, which loses information, and reclaims tombstones and free rows.
  // Throws what compact() throws; then the visible rows are unchanged.
  void drop_full_precision(const Context& context);

  // Returns the work of the steps of upkeep that the last change took, in costs of linking its rows: at most
  // steps_per_row, or one step. Infinity when the change did at once what was due. Waits for a running change.
  [[nodiscard]] double upkeep_of_last_change() const;
  // The largest number of these, for each row that is added or removed, unless a single step costs more.
  static constexpr double steps_per_row = 4;

  // Returns the dim() floats of the id's vector as stored, or nullopt when the id is absent.
  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const;
  // Returns the rows that the ids allowed by `filter` have in `epoch`. Returns nullopt when ids were added, replaced or
  // removed since that epoch, the filter is a predicate, or it lists more than twice as many ids as the store has.
  [[nodiscard]] std::optional<std::vector<Slot>> rows_of(const IdFilter& filter, const Epoch& epoch) const;
  // Returns a copy of the live rows, for a file, after consolidating tombstones; empty when no vector was ever added.
  // Waits for a running change. Throws Cancelled or DeadlineExceeded as `context` says, Allocation or std::bad_alloc
  // when memory is exhausted.
  [[nodiscard]] GraphContents contents(const Context& context);

 private:
  // Consolidated rows that must not be reused until all searches of `epoch` and earlier epochs have ended.
  struct Limbo {
    std::uint64_t epoch = 0;
    std::vector<Slot> slots;
  };

  // What a failed insert puts back when the storage is the same.
  struct Rollback {
    CalibrationState calibration;
    std::shared_ptr<const NormOrder> norm_order;
    std::vector<Slot> entry_points;
    std::size_t entry_points_rows = 0;
  };

  // What replace_storage replaces.
  struct StoredRows {
    std::shared_ptr<GraphStorage> storage;
    std::size_t rows = 0;
    std::vector<Slot> entry_points;
    std::size_t entry_points_rows = 0;
    std::size_t unchecked_rows = 0;
    std::size_t unsearched_rows = 0;
    std::vector<Slot> tombstones;
    std::vector<Slot> free_slots;
    std::deque<Limbo> limbo;
    IdTable table;
    std::shared_ptr<const NormOrder> norm_order;
    std::vector<std::weak_ptr<GraphStorage>> storages_before;
  };

  // Returns `count` unused slots, free ones first, with memory for them. Precondition: reserve_rows() made room.
  // Throws Allocation when memory is exhausted.
  std::vector<Slot> allocate_slots(std::size_t count);
  void write_rows(std::span<const Slot> slots, std::span<const std::uint64_t> ids, std::span<const float> vectors);
  // Links the rows, and calibrates when that is due; when many tombstones are consolidated next, that is done after
  // them, and all rows are scanned until then. `replaced` rows go with the next epoch. Throws what `progress` and
  // `stop` throw, and Allocation or std::bad_alloc.
  void link(std::span<const Slot> slots, std::size_t replaced, const LinkProgress& progress, const StopCheck& stop);
  // Links few rows; upkeep in steps does the rest. `replaced` rows go with the next epoch. Throws what `progress` and
  // `stop` throw, and Allocation or std::bad_alloc.
  void link_few(std::span<const Slot> slots, std::size_t replaced, const LinkProgress& progress, const StopCheck& stop);
  // Counts how many answers the rows, new or removed, change; see AnswerProbes. Throws std::bad_alloc.
  void count_answers(std::span<const Slot> slots);
  // Links those of `slots`, which were linked last, that a search for them does not find. When `checked`, also chooses
  // entry points and does the same for all rows, `live` in number, if that is due, and links the rows that no path
  // leads to, apart from `unlinked`. Returns how many rows were not found. Throws what `stop` throws, and
  // std::bad_alloc.
  std::size_t repair_links(std::span<const Slot> slots, std::span<const Slot> unlinked, std::size_t live, bool checked,
                           const StopCheck& stop);
  // Counts `changed` rows, and links those of `slots`, or of all linked rows when many changed, that searches do not
  // find. Returns how many these are. Throws what `stop` throws, and std::bad_alloc.
  std::size_t link_unfound_rows(std::span<const Slot> entry_points, std::span<const Slot> slots, std::size_t changed,
                                const std::function<bool(Slot)>& linked, const StopCheck& stop);
  // Replaces the entry points by random linked rows: those of before lie in the clusters that were added first. `live`
  // is the number of rows. Leaves them where fewer rows are linked. Throws std::bad_alloc; then nothing changed.
  void choose_entry_points(std::size_t live, const std::function<bool(Slot)>& linked);
  // Adds random linked rows to `entry_points` until they are `count`, or all linked rows; the first ones where most
  // slots are not linked. Throws std::bad_alloc.
  void add_entry_points(std::vector<Slot>& entry_points, std::size_t count,
                        const std::function<bool(Slot)>& linked) const;
  void link_beside(std::span<const Slot> slots, std::size_t linked_rows, const LinkProgress& progress);
  // Writes, links and publishes row i under ids[i]; the old rows of present ids become tombstones. The caller holds
  // writer_mutex_ and has checked that ids are distinct. Throws InvalidInput above slots_max rows, Cancelled,
  // DeadlineExceeded, Allocation or std::bad_alloc; then the visible rows are unchanged.
  void insert(std::string_view op, std::span<const std::uint64_t> ids, std::span<const float> vectors,
              const Context& context);
  // Publishes the rows as they are; when memory is exhausted, the next epoch shows them. Does not throw.
  void try_to_publish() noexcept;
  // Turns the rows of a failed insert into tombstones that no search can see, keeps the rows that they were to replace
  // and what `before` has, and publishes the number of tombstones. They are reclaimed by the next change, since the
  // stopped call must end soon. insert() has reserved the memory for that, so it does not throw.
  void abort_insert(std::span<const Slot> slots, std::span<const Slot> replaced, Rollback&& before);
  // Returns the rows below `slots_end` that are visible in the epoch `epoch`, by length; null unless under inner
  // product, and for a mapped file, which it would read. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const NormOrder> order_rows(const GraphStorage& storage, std::size_t slots_end,
                                                            std::uint64_t epoch) const;
  // Returns a callback that checks `context` for the call `op`. `context` must outlive it.
  [[nodiscard]] LinkProgress stop_check(std::string_view op, const Context& context) const;
  // Returns a callback that checks `context` for the call `op`, and reports `before` more rows than it is called with,
  // of `total`. `context` must outlive it.
  [[nodiscard]] LinkProgress progress_of(std::string_view op, const Context& context, std::size_t before,
                                         std::size_t total) const;
  // Returns the ids that have rows, in order. The caller holds writer_mutex_. Throws what `progress` throws, and
  // std::bad_alloc when memory is exhausted.
  [[nodiscard]] std::vector<std::uint64_t> present_ids(std::span<const std::uint64_t> ids,
                                                       const LinkProgress& progress) const;
  // Returns an epoch with all the memory that publish() needs. Throws std::bad_alloc when memory is exhausted; then
  // nothing changed.
  [[nodiscard]] std::shared_ptr<Epoch> next_epoch();
  // Shows the rows as they are to searches that begin from now on. `next` must be of next_epoch(). Does not throw, so
  // that a change whose epoch was made before cannot fail after the change.
  void publish(std::shared_ptr<Epoch> next) noexcept;
  void publish() { publish(next_epoch()); }
  // Makes room for `count` more rows; trains the encoding on `vectors` in an empty store, and again when the store
  // has outgrown it, unless `few` are added: then it returns the rows of before. Throws InvalidInput when the store
  // would exceed slots_max rows, Allocation when memory is exhausted, Cancelled or DeadlineExceeded as `context` says.
  [[nodiscard]] std::optional<StoredRows> reserve_rows(std::string_view op, std::span<const float> vectors,
                                                       std::size_t count, bool few, const Context& context);
  // Returns whether there are so many more rows than the encoding was trained on that it is trained again. Does not
  // throw.
  [[nodiscard]] bool encoding_outgrown(std::size_t live) const noexcept;
  // Appends live vectors, evenly spaced over all rows, until `sample` has training_rows_max. Preconditions: storage_ is
  // not null, and there are no more yet. Throws std::bad_alloc when memory is exhausted.
  void append_sample(std::vector<float>& sample) const;
  // Returns whether so many tombstones are consolidated. Does not throw.
  [[nodiscard]] bool consolidation_due(std::size_t tombstones) const noexcept;
  // Consolidates and publishes when there are many tombstones, and calibrates when that is due and `calibrates`. Ends
  // early, without throwing, when `context` stops the call or memory is exhausted: a later change does the rest.
  void consolidate_if_due(std::string_view op, const Context& context, bool calibrates);
  void consolidate(const LinkProgress& progress);
  // Copies the links of a mapped file into memory, unless they are there. Throws Allocation or std::bad_alloc.
  void own_links();
  // Returns the entry points that are live, and more live rows in place of the others. Throws std::bad_alloc.
  [[nodiscard]] std::vector<Slot> live_entry_points() const;
  // Moves the first `count` tombstones, which nothing links to any more, to limbo, and searches from `entry_points`
  // from the next epoch on. Throws std::bad_alloc; then nothing changed.
  void free_tombstones(std::size_t count, std::vector<Slot> entry_points);
  // Moves to smaller storage when a third of the rows is free. Throws what compact_storage throws.
  void shrink_if_due(const LinkProgress& progress);

  // Upkeep in steps (store_upkeep.cpp). A change of few rows pays for a bounded number of steps of the job under way:
  // consolidation, checks of the links, calibration or training. Larger changes do at once what is due.

  // Returns whether a change of so many rows leaves upkeep to steps. Does not throw.
  [[nodiscard]] bool is_few(std::size_t rows) const noexcept;
  // Takes steps that cost at most `links` times as much as linking `rows` rows, or one step that costs more. Ends
  // early, without throwing, when `context` stops the call or memory is exhausted: a later change does the rest.
  void take_steps(std::string_view op, const Context& context, std::size_t rows, double links);
  // Ends the job under way with what is done so far. Does not throw.
  void drop_job() noexcept;
  // Runs the job under way to its end. Throws what `progress` throws, and std::bad_alloc.
  void finish_job(const LinkProgress& progress);
  // Returns the job that is due first, if any. Throws std::bad_alloc.
  [[nodiscard]] std::optional<Steps> next_job();
  // Does what must not be done inside of a job: replaces the storage. Throws Allocation or std::bad_alloc.
  void end_job(const LinkProgress& progress);
  Steps consolidate_in_steps();
  Steps check_links_in_steps();
  Steps search_for_rows_in_steps();
  Steps calibrate_in_steps();
  Steps measure_recent_row_in_steps();
  // Trains the encoding again and encodes all rows; links, versions and vectors stay where they are.
  Steps encode_in_steps();
  // Encodes rows for the storage that is to come and for those of before, while there are any. Throws Allocation or
  // std::bad_alloc.
  void encode_for_others(std::span<const Slot> slots);
  // Notes the slots that were linked behind a consolidation under way. Throws std::bad_alloc.
  void note_linked(std::span<const Slot> slots);

  // The parameters of searches of the rows that the next epoch shows. Valid until the next change.
  [[nodiscard]] SearchParams next_search() const noexcept;
  void forget_released_epochs();
  void collect_free_slots();
  void compact_storage(bool full_precision, const LinkProgress& progress);
  // Consolidates tombstones and copies the live rows, as bytes unless `keep_floats` and they are floats.
  void rebuild(std::string_view op, bool keep_floats, const Context& context);
  // Returns a copy of the live rows in `encoding`, with links wide enough for `rows_max` rows, and vectors as floats
  // when `full_precision`, else as bytes. Links to tombstones are dropped, so consolidate() should come first. Throws
  // what `progress` throws, and Allocation or std::bad_alloc when memory is exhausted.
  [[nodiscard]] GraphContents dense_copy(const Encoding& encoding, std::size_t rows_max, bool full_precision,
                                         const LinkProgress& progress) const;
  // Replaces storage and ids by `contents`, and returns those of before. Throws std::bad_alloc when memory is
  // exhausted; then nothing changed.
  StoredRows replace_storage(GraphContents contents);
  // Puts back what replace_storage returned. Does not throw.
  void exchange_rows(StoredRows& rows) noexcept;

  Executor& executor_;
  const Metric metric_;
  const std::size_t dim_;
  GraphParams params_;
  LinkRows link_rows_;  // empty: link_rows of build.hpp

  mutable std::mutex writer_mutex_;  // held through a change
  std::shared_ptr<GraphStorage> storage_;
  std::size_t rows_ = 0;  // slots ever used
  std::uint64_t epoch_ = 0;
  std::optional<std::uint64_t> highest_id_;
  std::vector<Slot> entry_points_;
  std::size_t entry_points_rows_ = 0;  // rows that they were chosen from, fewer when others were removed
  std::vector<Slot> tombstones_;       // removed, and still linked
  std::vector<Slot> free_slots_;
  std::deque<Limbo> limbo_;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<std::atomic<bool>>>> epochs_;  // that may still be held
  CalibrationState calibration_;
  std::size_t unchecked_rows_ = 0;   // linked since it was checked that all rows can be reached
  std::size_t unsearched_rows_ = 0;  // linked or consolidated since all rows were searched for
  std::deque<Slot> recent_rows_;     // that should be searched for, as if they were not linked; some may be gone

  std::optional<Steps> job_;            // upkeep under way
  double credit_ = 0;                   // work that steps may cost; negative when they cost more
  double link_work_ = 2000;             // of linking a row, about
  double last_upkeep_ = 0;              // see upkeep_of_last_change()
  bool behind_ = false;                 // a large change was stopped: the next change does at once what is due
  std::size_t frozen_tombstones_ = 0;   // the first ones, which the job consolidates
  std::size_t consolidated_slots_ = 0;  // slots that the job is done with
  std::vector<Slot> linked_since_;      // of these, that were linked since
  // The storage with another encoding that the job fills, and those that it replaced. Searches of earlier epochs read
  // the latter, whose links lead to new rows too.
  std::shared_ptr<GraphStorage> encoded_storage_;
  std::vector<std::weak_ptr<GraphStorage>> storages_before_;
  // None of its sorted slots may be used again while it is there.
  std::shared_ptr<const NormOrder> norm_order_;

  mutable std::shared_mutex table_mutex_;
  IdTable table_;
  std::uint64_t table_epoch_ = 0;  // the first epoch that shows table_; guarded by table_mutex_

  mutable std::mutex epoch_mutex_;  // held while the pointer is copied
  std::shared_ptr<const Epoch> now_;
};

}  // namespace vectis::inline v0_1::graph
