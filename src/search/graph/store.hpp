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
#include "search/graph/calibrate.hpp"
#include "search/graph/id_table.hpp"
#include "search/graph/storage.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// The store as a search sees it that begins now. While an epoch is held, no row that it can reach is reused for another
// vector (epoch-based reclamation: Fraser, "Practical lock-freedom", 2004). Immutable.
struct Epoch {
  std::shared_ptr<GraphStorage> storage;  // null: nothing was ever added
  std::uint64_t number = 0;
  std::vector<Slot> entry_points;
  std::size_t live = 0;
  std::size_t removed = 0;  // tombstones and free rows
  std::size_t rows = 0;     // slots ever used: live + removed
  std::uint64_t table_bytes = 0;
  std::shared_ptr<const Calibration> calibration;
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

// A graph without tombstones and free rows, as files hold it.
struct GraphContents {
  std::shared_ptr<GraphStorage> storage;
  std::size_t rows = 0;
  std::optional<std::uint64_t> highest_id;  // ever used
  std::vector<Slot> entry_points;
  Calibration calibration;
};

// Thread-safe: readers take now() and never wait for a change; changes wait for each other. Callers have validated the
// vectors. A change that throws leaves the visible rows as they were.
class GraphStore {
 public:
  GraphStore(Executor& executor, Metric metric, std::size_t dim, const GraphParams& params);
  GraphStore(Executor& executor, const GraphParams& params, GraphContents contents);

  // Replaces link_rows of build.hpp, for example by a device. `rows` is the number of slots in use.
  using LinkRows =
      std::function<void(GraphStorage& storage, std::size_t rows, std::span<const Slot> entry_points,
                         std::span<const Slot> slots, std::size_t linked_rows, const LinkProgress& progress)>;
  // Not thread-safe: call before the store is shared.
  void set_link_rows(LinkRows link_rows) { link_rows_ = std::move(link_rows); }

  [[nodiscard]] std::shared_ptr<const Epoch> now() const;
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] Metric metric() const noexcept { return metric_; }
  [[nodiscard]] const GraphParams& params() const noexcept { return params_; }

  // Each throws Allocation when memory is exhausted, and Cancelled or DeadlineExceeded when `context` says so. They
  // report progress in rows.

  // Returns the first id, one more than the highest ever used. Throws InvalidInput when ids would overflow.
  std::uint64_t add(std::span<const float> vectors, const Context& context);
  // Throws InvalidInput when an id is present or repeated.
  void add(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context);
  // Throws InvalidInput when the id is absent.
  void update(std::uint64_t id, std::span<const float> vector);
  // Adds absent ids and replaces present ones. Throws InvalidInput when an id is repeated.
  void upsert(std::span<const std::uint64_t> ids, std::span<const float> vectors, const Context& context);
  // Returns how many ids were present.
  std::size_t remove(std::span<const std::uint64_t> ids);
  // Reclaims tombstones and free rows.
  void compact();
  // Keeps one byte per element instead of floats, which loses information, and compacts.
  void drop_full_precision();

  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const;
  // The rows of the ids that `filter` allows; nothing when `storage` is no longer the store's, or when the filter
  // cannot list its ids or lists far more than there are.
  [[nodiscard]] std::optional<std::vector<Slot>> rows_of(const IdFilter& filter, const GraphStorage& storage) const;
  // A copy of the live rows, for a file. Consolidates tombstones first.
  [[nodiscard]] GraphContents contents();

 private:
  // Consolidated rows that wait for the epochs that may still reach them.
  struct Limbo {
    std::uint64_t epoch = 0;
    std::vector<Slot> slots;
  };

  // Requires reserve_rows.
  std::vector<Slot> allocate_slots(std::size_t count);
  void write_rows(std::span<const Slot> slots, std::span<const std::uint64_t> ids, std::span<const float> vectors);
  void link(std::span<const Slot> slots, const LinkProgress& progress);
  void link_beside(std::span<const Slot> slots, std::size_t linked_rows, const LinkProgress& progress);
  // Present ids get the new vector.
  void insert(std::string_view op, std::span<const std::uint64_t> ids, std::span<const float> vectors,
              const Context& context);
  // Turns the rows of a failed insert into tombstones that no search can see.
  void abort_insert(std::span<const Slot> slots);
  void publish();
  // Makes room for `count` rows. Retrains the encoding when the store has outgrown it.
  void reserve_rows(std::span<const float> vectors, std::size_t count);
  // Appends stored vectors, evenly spaced over all rows.
  void append_sample(std::vector<float>& sample) const;
  void consolidate_if_due();
  void consolidate();
  [[nodiscard]] bool needs_calibration(std::size_t added) const noexcept;
  // How many of `added` rows are held out of the graph to calibrate with.
  [[nodiscard]] std::size_t held_out_rows(std::size_t added) const noexcept;
  void calibrate_with(std::span<const Slot> held_out, std::span<const Slot> linked);
  void forget_released_epochs();
  void collect_free_slots();
  void compact_storage(bool full_precision);
  // A copy of the live rows. Requires that nothing links to tombstones.
  [[nodiscard]] GraphContents dense_copy(const Encoding& encoding, std::size_t rows_max, bool full_precision) const;
  void replace_storage(GraphContents contents);

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
  std::vector<Slot> tombstones_;  // removed, and still linked
  std::vector<Slot> free_slots_;
  std::deque<Limbo> limbo_;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<std::atomic<bool>>>> epochs_;  // that may still be held
  std::shared_ptr<const Calibration> calibration_;
  std::size_t changed_since_calibration_ = 0;  // rows added or removed

  mutable std::shared_mutex table_mutex_;
  IdTable table_;

  mutable std::mutex epoch_mutex_;  // held while the pointer is copied
  std::shared_ptr<const Epoch> now_;
};

}  // namespace vectis::inline v0_1::graph
