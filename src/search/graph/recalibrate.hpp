// When the calibration of a graph is repeated, and with which rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "search/graph/calibrate.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Some queries and how far their nearest rows are. Under inner product few rows may answer all queries, so that the
// number of changed rows says little: these show how many answers change.
struct AnswerProbes {
  std::size_t dim = 0;
  std::vector<float> queries;  // rows of `dim` floats
  std::vector<double> limits;  // distance of the calibrated_k-th nearest row of each

  [[nodiscard]] bool empty() const noexcept { return limits.empty(); }
  // Returns for how many of the queries the vector, `dim` floats, is among the nearest. Does not throw.
  [[nodiscard]] std::size_t answered_by(std::span<const float> vector) const noexcept;
};

// Makes probes of some of the visible rows, which are left out of their own answers; none without params.norm_order.
// Throws std::bad_alloc.
[[nodiscard]] AnswerProbes make_probes(const SearchParams& params, std::span<const Slot> sample);
// Does the same in steps, each of which scans for `together` of the probes, and leaves the result in `probes`, which
// must be empty. All that `params` refers to, `sample` and `probes` must outlive the steps.
Steps make_probes_in_steps(SearchParams params, std::span<const Slot> sample, std::size_t together,
                           AnswerProbes* probes);

// The calibration of a graph that changes. Some of the added rows are searched for before they are linked, which shows
// how new vectors are found; when an eighth of the graph has changed, they make the next calibration. When they are
// easier to find than those of before, these count in proportion to their number: queries may ask for either.
struct CalibrationState {
  std::shared_ptr<const Calibration> calibration;  // null: not calibrated with the present encoding
  SearchCosts costs;
  std::uint64_t changed = 0;   // rows added or removed since the calibration
  std::uint64_t added = 0;     // of these
  RecallTable measured;        // that the calibration was made of; empty after loading
  RecallTable recent;          // of rows that were held out since
  double held_out_due = 0;     // rows that should have been held out and were not
  bool unmeasured = false;     // rows were added of which none was held out
  std::size_t costs_rows = 0;  // rows when the costs were measured
  AnswerProbes probes;         // empty unless under inner product
  double answers_changed = 0;  // share of all answers, since the calibration
  bool distrusted = false;     // all rows are scanned until the next calibration

  // Sets how many of `live` rows were added or removed since the calibration before they were saved. Does not throw.
  void set_loaded(std::uint64_t changed_rows, std::size_t live) noexcept;
  // Forgets the calibration, so that all rows are scanned until the next one. Does not throw.
  void forget() noexcept;
  // Returns whether `live` rows should be calibrated now: when they are not, when an eighth of them or a tenth of the
  // answers changed since, or when new ones could not be compared with it. Does not throw.
  [[nodiscard]] bool due(std::size_t live) const noexcept;
  // Returns whether to begin with a calibration in steps: earlier, so that it ends in time. Does not throw.
  [[nodiscard]] bool due_in_steps(std::size_t live) const noexcept;
  // Distrusts the calibration when more changed than a calibration in steps may take, or when new rows are found less
  // often than it promises. Does not throw.
  void check_trust(std::size_t live) noexcept;
  // Returns the calibration by which rows may be searched; null: all are scanned. Does not throw.
  [[nodiscard]] std::shared_ptr<const Calibration> trusted() const noexcept {
    return distrusted ? nullptr : calibration;
  }
  // Counts added rows, and returns how many of them should be searched for before they are linked. `live` is the number
  // of rows with them. Does not throw.
  [[nodiscard]] std::size_t count_added(std::size_t rows, std::size_t live) noexcept;
  void count_removed(std::size_t rows) noexcept { changed += rows; }
  // Counts answers of the probes that changed, `weight` times each. Does not throw.
  void count_answers(std::size_t answers, double weight) noexcept;
};

// Searches for rows that are not linked yet, if any, and adds what it found to state.recent. All other rows that are
// visible in params.epoch must be linked. Throws what `stop` throws, and std::bad_alloc; then `state` is unchanged.
void measure_held_out(Executor& executor, const SearchParams& params, std::span<const Slot> held_out,
                      const StopCheck& stop, CalibrationState& state);

// Calibrates when that is due, or when new rows were found less often than the calibration promises. Uses the rows that
// were held out. When they are too few, much was removed, or few rows are near to all queries, it uses random rows of
// the graph, each as if it were not in it, which is less reliable otherwise. All rows that are visible in params.epoch,
// `live` in number, must be linked. Throws what `stop` throws, and std::bad_alloc; then `state` is unchanged.
void recalibrate_if_due(Executor& executor, const SearchParams& params, std::size_t live, std::uint64_t seed,
                        const StopCheck& stop, CalibrationState& state);

// Calibrates in steps, with fewer queries, whether it is due or not. Rows may be linked and removed in between, and
// counted in `state`, but nothing else of it may change but by forget(); no slot of a row that is visible in
// params.epoch may be reused. `live` is the number of these rows. Storage and entry points of `params` and `state` must
// outlive the steps.
Steps recalibrate_in_steps(SearchParams params, std::size_t live, std::uint64_t seed, CalibrationState* state);

// Searches in steps for a row that was linked last, as if it were not linked, and adds what it found to state->recent.
// The same rules hold. There must be a calibration.
Steps measure_recent_in_steps(SearchParams params, std::size_t live, Slot row, CalibrationState* state);

}  // namespace vectis::inline v0_1::graph
