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

// How urgent a call is, for schedulers that order calls by it.
enum class Priority : std::uint8_t { low, normal, high };

// Cancels every Context made with it (Context::with_cancel). Copies share one state. Thread-safe.
class VECTIS_API CancelSource {
 public:
  // Not cancelled.
  CancelSource();
  // Calls that carry the source throw Cancelled at their next check. Cannot be undone.
  void cancel() noexcept;
  // True after cancel() on this source or a copy.
  [[nodiscard]] bool cancelled() const noexcept;

 private:
  friend class Context;
  struct State;
  std::shared_ptr<State> state_;
};

// How far a long call has come.
struct Progress {
  std::string_view operation;  // "add", "build", "save"; valid during the callback only
  std::uint64_t done = 0;      // units finished, at most `total`
  std::uint64_t total = 0;     // units in all; 0: not known
};

// Called by the thread that does the work, possibly by several threads at once. An exception that it throws ends the
// call that reports.
using ProgressCallback = std::function<void(const Progress&)>;

// Immutable and cheap to copy, thread-safe. A default Context has no deadline, cannot be cancelled, reports no progress
// and has an empty request id and memory tag.
//
//   auto context = Context{}.with_deadline(std::chrono::steady_clock::now() + 50ms).with_memory_tag("index");
class VECTIS_API Context {
 public:
  Context() = default;

  // The call throws DeadlineExceeded at its first check at or after `deadline`. A TimePoint is of the clock of the
  // Executor that runs the call (runtime.executor().now() + 50ms); a steady_clock time point is of real time, also
  // under a SimulatedExecutor. The later call replaces a deadline set before.
  [[nodiscard]] Context with_deadline(TimePoint deadline) const;
  [[nodiscard]] Context with_deadline(std::chrono::steady_clock::time_point deadline) const;
  // The call throws Cancelled at its first check after source.cancel().
  [[nodiscard]] Context with_cancel(const CancelSource& source) const;
  // Long calls (add, build, compact, save, load) report their progress to `callback`.
  [[nodiscard]] Context with_progress(ProgressCallback callback) const;
  // `id` appears in the error texts of the call.
  [[nodiscard]] Context with_request_id(std::string id) const;
  // Buffers that the call acquires are counted under `tag` in snapshots and out-of-memory errors.
  [[nodiscard]] Context with_memory_tag(std::string tag) const;
  // Sets the priority; the default is normal.
  [[nodiscard]] Context with_priority(Priority priority) const;

  // The deadline on the executor's clock; empty when there is none or when it is a steady_clock time point.
  [[nodiscard]] std::optional<TimePoint> deadline() const noexcept;
  // True when there is a deadline of either clock and it has passed.
  [[nodiscard]] bool expired(const Executor& executor) const;
  // True when the CancelSource was cancelled.
  [[nodiscard]] bool cancelled() const noexcept;
  // Empty when it was not set; valid as long as this Context or a copy. The same holds for memory_tag.
  [[nodiscard]] std::string_view request_id() const noexcept;
  [[nodiscard]] std::string_view memory_tag() const noexcept;
  [[nodiscard]] Priority priority() const noexcept;

  // Throws Cancelled or DeadlineExceeded when the call named `op` should stop. Long loops call it regularly.
  void check(std::string_view op, const Executor& executor) const;

  // Calls the progress callback, if there is one. `total` 0 means that the amount of work is not known.
  void report_progress(std::string_view operation, std::uint64_t done, std::uint64_t total) const;

 private:
  struct Fields;
  [[nodiscard]] std::shared_ptr<Fields> copy() const;
  static Context with(std::shared_ptr<const Fields> fields);
  std::shared_ptr<const Fields> fields_;
};

}  // namespace vectis::inline v0_1
