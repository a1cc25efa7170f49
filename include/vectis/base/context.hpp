// What a call carries with it: deadline, cancellation, progress callback, request id, memory tag and priority.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "vectis/base/executor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

// How urgent a call is: set by Context::with_priority and returned by Context::priority() to schedulers that order
// calls. Vectis itself does not order calls by priority.
enum class Priority : std::uint8_t { low, normal, high };

// Cancels the calls whose Context was made with this source (Context::with_cancel): they throw Cancelled at their
// next check. Copies share one state. Thread-safe.
class VECTIS_API CancelSource {
 public:
  // Makes a source that is not cancelled.
  CancelSource();
  // Makes every call whose Context carries this source, or a copy of it, throw Cancelled at its next check. Cannot be
  // undone; repeating it has no effect. Does not throw.
  void cancel() noexcept;
  // Returns true after cancel() was called on this source or a copy of it. Does not throw.
  [[nodiscard]] bool cancelled() const noexcept;

 private:
  friend class Context;
  struct State;
  std::shared_ptr<State> state_;
};

// How far a long call (add, build, compact, save, load) has come: the argument of the callback of
// Context::with_progress. `operation` is valid during the callback only.
struct Progress {
  std::string_view operation;  // "add", "build", "save"; valid during the callback only
  std::uint64_t done = 0;      // units finished, at most `total`
  std::uint64_t total = 0;     // units in all; 0: not known
};

// Receives the progress of a long call. Must be thread-safe: the threads that do the work call it, possibly several
// at once. An exception that it throws ends the reporting call.
using ProgressCallback = std::function<void(const Progress&)>;

// What one call carries: deadline, cancellation, progress callback, request id, memory tag and priority. Each with_
// function returns a changed copy. A default Context has no deadline, cannot be cancelled, reports no progress and
// has an empty request id and memory tag. Immutable, cheap to copy, thread-safe.
//
//   auto context = Context{}.with_deadline(std::chrono::steady_clock::now() + 50ms).with_memory_tag("index");
class VECTIS_API Context {
 public:
  Context() = default;

  // Returns a copy with `deadline`, which replaces an earlier deadline of either clock: a call throws
  // DeadlineExceeded at its first check at or after it. `deadline` must be a time of the clock of the Executor that
  // runs the call, such as runtime.executor().now() + 50ms.
  [[nodiscard]] Context with_deadline(TimePoint deadline) const;
  // Returns a copy with `deadline` in real time, which replaces an earlier deadline of either clock: a call throws
  // DeadlineExceeded at its first check at or after it. Under a SimulatedExecutor too this deadline is in real time,
  // not simulated time.
  [[nodiscard]] Context with_deadline(std::chrono::steady_clock::time_point deadline) const;
  // Returns a copy whose deadline is `timeout` from now in real time, which replaces an earlier deadline. A timeout of
  // 0 or less has passed already; one beyond the range of the clock never passes.
  [[nodiscard]] Context with_timeout(Duration timeout) const;
  // Returns a copy that `source` cancels, in place of an earlier source: a call throws Cancelled at its first check
  // after source.cancel().
  [[nodiscard]] Context with_cancel(const CancelSource& source) const;
  // Returns a copy whose long calls (add, build, compact, save, load) report their progress to `callback`, which
  // replaces an earlier one. `callback` must be thread-safe; an exception that it throws ends the reporting call. It
  // must not change or save the index or store whose call reports to it: that would wait for the reporting call
  // forever. It may search, get and ask for statistics. An empty `callback` means no reports.
  [[nodiscard]] Context with_progress(ProgressCallback callback) const;
  // Returns a copy with the request id `id`, which the texts of the errors Cancelled and DeadlineExceeded contain.
  [[nodiscard]] Context with_request_id(std::string id) const;
  // Returns a copy with `tag`: buffers that a call acquires are counted under it in memory snapshots and in
  // Allocation errors.
  [[nodiscard]] Context with_memory_tag(std::string tag) const;
  // Returns a copy with `priority`; a default Context has Priority::normal.
  [[nodiscard]] Context with_priority(Priority priority) const;

  // Returns the deadline on the executor's clock; empty when no deadline is set or when it is a steady_clock time
  // point. Does not throw.
  [[nodiscard]] std::optional<TimePoint> deadline() const noexcept;
  // Returns true when a deadline is set, on either clock, and has passed. `executor` must be the one whose clock the
  // deadline uses; its now() is read. Reports only: check() throws DeadlineExceeded.
  [[nodiscard]] bool expired(const Executor& executor) const;
  // Returns true when the CancelSource passed to with_cancel was cancelled; false without a source. Does not throw.
  [[nodiscard]] bool cancelled() const noexcept;
  // Returns true when a deadline, on either clock, or a CancelSource was set: a call that waits must then end its wait
  // once expired() or cancelled() returns true. Does not throw.
  [[nodiscard]] bool can_stop() const noexcept;
  // Returns the request id, empty when none was set; valid as long as this Context or a copy lives. Does not throw.
  [[nodiscard]] std::string_view request_id() const noexcept;
  // Returns the memory tag, empty when none was set; valid as long as this Context or a copy lives. Does not throw.
  [[nodiscard]] std::string_view memory_tag() const noexcept;
  [[nodiscard]] Priority priority() const noexcept;

  // Throws Cancelled when the CancelSource was cancelled, DeadlineExceeded when the deadline has passed; `op` names
  // the call in the error. `executor` must be the one whose clock the deadline uses. Long loops call check()
  // regularly.
  void check(std::string_view op, const Executor& executor) const;

  // Calls the progress callback with `operation`, `done` and `total`; does nothing when none is set. `done` must be
  // at most `total`; `total` 0 means that the amount of work is not known. Throws what the callback throws.
  void report_progress(std::string_view operation, std::uint64_t done, std::uint64_t total) const;

 private:
  struct Fields;
  [[nodiscard]] std::shared_ptr<Fields> copy() const;
  static Context with(std::shared_ptr<const Fields> fields);
  std::shared_ptr<const Fields> fields_;
};

}  // namespace vectis::inline v0_1
