// The number of queries that devices search at once, found by measuring.
#pragma once

#include <cstddef>
#include <mutex>

namespace vectis::inline v0_1::exact {

// Finds the batch size at which a search takes the least time per query: measures the largest size that is allowed, its
// half, its quarter and so on, and stays at the largest that none is faster than by 5 %. Thread-safe.
class BatchTuner {
 public:
  // Returns the number of queries for the next batch, from 1 to `limit`. Begins anew when `limit` changes, and when
  // `rows` or `k` have doubled or halved, because another size may be best then. `limit` must be at least 1.
  [[nodiscard]] std::size_t size(std::size_t limit, std::size_t rows, std::size_t k);
  // Records that a batch of `queries` took `seconds`. Ignores batches of another size than the one on trial.
  void record(std::size_t queries, double seconds);

 private:
  struct Workload {
    std::size_t limit = 0;
    int rows_log2 = 0;
    int k_log2 = 0;
    bool operator==(const Workload&) const = default;
  };

  void try_size(std::size_t size) noexcept;

  std::mutex mutex_;
  Workload workload_;
  std::size_t best_ = 0;      // the fastest size that was measured, 0 before the first
  double best_seconds_ = 0;   // of one query
  std::size_t trial_ = 0;     // the size that is measured
  double trial_seconds_ = 0;  // of one query, the least of the samples
  std::size_t samples_ = 0;   // of the trial
  bool settled_ = false;
};

}  // namespace vectis::inline v0_1::exact
