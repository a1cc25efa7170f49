// Hook that observes the work enqueued on streams, for the profiler. When off it costs one load and one branch per
// call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "device/cores.hpp"

namespace vectis::inline v0_1::detail {

enum class WorkKind : std::uint8_t { launch, operation, copy_to_device, copy_to_host, copy_on_device, fill };

// Work about to be enqueued on a stream. `name` need not outlive the call.
struct Work {
  WorkKind kind = WorkKind::launch;
  std::string_view name;    // of the entry point, operation or copy
  std::uint64_t bytes = 0;  // moved, where that is known
};

enum class WorkOutcome : std::uint8_t {
  enqueued,  // the device may still be running it
  declined,  // the backend does not support it; the fallback is observed separately
  failed,    // threw an Error
};

// A named interval of host time: a named operation around its launches.
struct NamedRange {
  std::string_view name;
  std::uint64_t bytes = 0;  // minimum memory traffic: each operand once
  double operations = 0;    // arithmetic operations
  int device = -1;
};

// Called by the threads that use the streams, also concurrently. before/after and open/close pairs are called by one
// thread and nest properly.
class StreamObserver {
 public:
  StreamObserver() = default;
  StreamObserver(const StreamObserver&) = delete;
  StreamObserver& operator=(const StreamObserver&) = delete;
  virtual ~StreamObserver() = default;

  // The result of `before` is passed to `after`, that of `open` to `close`.
  virtual void* before(const StreamCore& stream, const Work& work) noexcept = 0;
  virtual void after(void* token, WorkOutcome outcome) noexcept = 0;
  virtual void* open(const NamedRange& range) noexcept = 0;
  virtual void close(void* token) noexcept = 0;
};

// The observer of the stream's Runtime, or null.
[[nodiscard]] inline StreamObserver* observer_of([[maybe_unused]] const StreamCore& stream) noexcept {
#if defined(VECTIS_WITHOUT_OBSERVER)  // set by tests/profiler/overhead.py alone, to measure the cost of the hook
  return nullptr;
#else
  return stream.context->device->backend->observer.load(std::memory_order_acquire);
#endif
}

// Calls `call`, which enqueues `work` and returns whether the backend accepted it, between before() and after().
// Callers check observer_of first and call the slot directly when there is no observer.
template <class Call>
[[gnu::noinline, gnu::cold]] bool call_observed(StreamObserver& observer, const StreamCore& stream, const Work& work,
                                                const Call& call) {
  void* token = observer.before(stream, work);
  bool accepted = false;
  try {
    accepted = call();
  } catch (...) {
    observer.after(token, WorkOutcome::failed);
    throw;
  }
  observer.after(token, accepted ? WorkOutcome::enqueued : WorkOutcome::declined);
  return accepted;
}

// Opens a named range in the constructor and closes it in the destructor.
class ObservedRange {
 public:
  ObservedRange(StreamObserver& observer, const NamedRange& range)
      : observer_(observer), token_(observer.open(range)) {}
  ObservedRange(const ObservedRange&) = delete;
  ObservedRange& operator=(const ObservedRange&) = delete;
  ~ObservedRange() { observer_.close(token_); }

 private:
  StreamObserver& observer_;
  void* token_;
};

}  // namespace vectis::inline v0_1::detail
