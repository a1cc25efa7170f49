// The vectors of a graph index and the one who changes them.
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
#include <vector>

#include "search/graph/body.hpp"
#include "search/graph/calibration.hpp"
#include "search/graph/id_table.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// The corpus as a search sees it that begins now. While one is held, no row it can reach is used for another vector.
// Immutable.
struct Epoch {
  std::shared_ptr<Body> body;  // null: nothing was ever added
  std::uint64_t number = 0;
  std::vector<Slot> entries;
  std::size_t live = 0;
  std::size_t removed = 0;  // rows that are not used again yet
  std::size_t rows = 0;     // ever used, the body's size
  std::uint64_t table_bytes = 0;
  std::shared_ptr<const Calibration> calibration;
  std::shared_ptr<std::atomic<bool>> gone;

  Epoch() = default;
  Epoch(const Epoch&) = default;
  Epoch& operator=(const Epoch&) = delete;
  ~Epoch() {
    if (gone) gone->store(true, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] std::uint64_t mapped_bytes() const noexcept;  // that lie in a file instead
};

// What is written to files and read from them.
struct Contents {
  std::shared_ptr<Body> body;
  std::size_t rows = 0;  // all of them live
  std::optional<std::uint64_t> highest_id;
  std::vector<Slot> entries;
  Calibration calibration;
};

// Thread-safe: readers take `now()` and never wait for a change; changes wait for each other. Arguments were checked,
// but for ids. A change that throws leaves what can be found as it was.
class Corpus {
 public:
  Corpus(Executor& executor, Metric distance, std::size_t dim, const GraphShape& shape);
  Corpus(Executor& executor, const GraphShape& shape, Contents contents);

  // Links rows `slots` of the body beside `linked` others, as link_rows does. Its first rows, of this number, are used.
  using LinkRows = std::function<void(Body& body, std::size_t rows, std::span<const Slot> entries,
                                      std::span<const Slot> slots, std::size_t linked)>;
  // From now on. Before others know the corpus.
  void set_linking(LinkRows linking) { linking_ = std::move(linking); }

  [[nodiscard]] std::shared_ptr<const Epoch> now() const;
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] Metric distance() const noexcept { return distance_; }
  [[nodiscard]] const GraphShape& shape() const noexcept { return shape_; }

  std::uint64_t add(std::span<const float> vectors);
  void add_with_ids(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  std::size_t remove(std::span<const std::uint64_t> ids);
  void update(std::uint64_t id, std::span<const float> vector);
  void upsert(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  // Keeps vectors as bytes, and nothing that was removed.
  void compact();

  [[nodiscard]] std::optional<std::vector<float>> get(std::uint64_t id) const;
  // The rows of the ids that a filter allows; nothing when `body` is no longer the corpus's.
  [[nodiscard]] std::optional<std::vector<Slot>> rows_of(const IdFilter& filter, const Body& body) const;
  // Rows without holes, for a file; the highest id stays known. Links to removed rows are repaired first.
  [[nodiscard]] Contents contents();

 private:
  // Rows that wait until every search that began before their last epoch has ended.
  struct Limbo {
    std::uint64_t epoch = 0;
    std::vector<Slot> slots;
  };

  // After make_room.
  std::vector<Slot> new_slots(std::size_t count);
  void place(std::span<const Slot> slots, std::span<const float> vectors, std::span<const std::uint64_t> ids);
  void link(std::span<const Slot> slots);
  void link_beside(std::span<const Slot> slots, std::size_t linked);
  // Ids that are there get the vector instead of the one they have.
  void insert(std::span<const float> vectors, std::span<const std::uint64_t> ids);
  // Rows of a change that failed: nobody ever finds them.
  void bury(std::span<const Slot> slots);
  void publish();
  // A body for this many rows more, with a frame that fits what is there by then.
  void make_room(std::span<const float> vectors, std::size_t count);
  // Adds vectors that are there, from all over the corpus.
  void append_spread(std::vector<float>& sample) const;
  void repair_if_due();
  void repair();
  [[nodiscard]] bool wants_calibration(std::size_t added) const noexcept;
  void forget_ended_epochs();
  void collect_free();
  // A copy without holes; nothing is linked to removed rows.
  [[nodiscard]] Contents dense(const Frame& frame, std::size_t rows_max, bool whole_vectors) const;
  void adopt(Contents contents);

  Executor& executor_;
  const Metric distance_;
  const std::size_t dim_;
  GraphShape shape_;
  LinkRows linking_;  // empty: link_rows

  mutable std::mutex writer_;  // held through a change
  std::shared_ptr<Body> body_;
  std::size_t rows_ = 0;  // ever used
  std::uint64_t epoch_ = 0;
  std::optional<std::uint64_t> highest_id_;
  std::vector<Slot> entries_;
  std::vector<Slot> dead_;  // removed, and still linked
  std::vector<Slot> free_;
  std::deque<Limbo> limbo_;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<std::atomic<bool>>>> epochs_;  // that may still be held
  std::shared_ptr<const Calibration> calibration_;
  std::size_t changed_since_calibration_ = 0;

  mutable std::shared_mutex table_mutex_;
  IdTable table_;

  mutable std::mutex epoch_mutex_;  // held while the pointer is copied
  std::shared_ptr<const Epoch> now_;
};

}  // namespace vectis::inline v0_1::graph
