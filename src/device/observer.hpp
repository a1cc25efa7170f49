// Hook that observes the work enqueued on streams, for the profiler. When off it costs one load and one branch per
// call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "device/cores.hpp"

namespace vectis::inline v0_1::detail {

// The kind of work that is enqueued on a stream: a kernel, a named operation of the backend, a copy or a fill.
enum class WorkKind : std::uint8_t { launch, operation, copy_to_device, copy_to_host, copy_on_device, fill };

// The work about to be enqueued on a stream, as StreamObserver::before gets it. `name` is valid during that call
// only.
struct Work {
  WorkKind kind = WorkKind::launch;
  std::string_view name;    // of the entry point, operation or copy
  std::uint64_t bytes = 0;  // moved, where that is known
};

// What became of observed work, as StreamObserver::after gets it.
enum class WorkOutcome : std::uint8_t {
  enqueued,  // the device may still be running it
  declined,  // the backend does not support it; the fallback is observed separately
  failed,    // threw an Error
};

// A named interval of host time, around the launches of one named operation, as StreamObserver::open gets it. `name`
// is valid during that call only.
struct NamedRange {
  std::string_view name;
  std::uint64_t bytes = 0;  // minimum memory traffic: each operand once
  double operations = 0;    // arithmetic operations
  int device = -1;
};

// Observes the work enqueued on the streams of a backend; the profiler implements it. The threads that use the
// streams call it, also concurrently, so it must be thread-safe. Each before/after and open/close pair is called by
// one thread, and the pairs nest. No call may throw.
class StreamObserver {
 public:
  StreamObserver() = default;
  StreamObserver(const StreamObserver&) = delete;
  StreamObserver& operator=(const StreamObserver&) = delete;
  virtual ~StreamObserver() = default;

  // Called before `work` is enqueued on `stream`; returns a token, which may be null, for after(). Must not throw,
  // and must not keep `work.name` beyond the call.
  virtual void* before(const StreamCore& stream, const Work& work) noexcept = 0;
  // Called after the attempt to enqueue work, with the token of its before() and the outcome; the device may still be
  // running the work. Must not throw.
  virtual void after(void* token, WorkOutcome outcome) noexcept = 0;
  // Called when a named range begins; returns a token, which may be null, for close(). Must not throw, and must not
  // keep `range.name` beyond the call.
  virtual void* open(const NamedRange& range) noexcept = 0;
  // Called when the named range of `token`, a result of open(), ends. Must not throw.
  virtual void close(void* token) noexcept = 0;
};

// Returns the observer of the stream's backend, valid as long as the Runtime; null when no profiler observes it. Does
// not throw.
[[nodiscard]] inline StreamObserver* observer_of([[maybe_unused]] const StreamCore& stream) noexcept {
#if defined(VECTIS_WITHOUT_OBSERVER)  // set by tests/profiler/overhead.py alone, to measure the cost of the hook
  return nullptr;
#else
  return stream.context->device->backend->observer.load(std::memory_order_acquire);
#endif
}

// Calls `call`, which must enqueue `work` and return whether the backend accepted it, between observer.before() and
// observer.after(); returns the result of `call`. Rethrows what `call` throws, after reporting WorkOutcome::failed.
// Callers check observer_of() first and enqueue directly when there is no observer.
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

// Opens a named range of an observer in the constructor and closes it in the destructor. The observer must outlive
// it. Does not throw.
class ObservedRange {
 public:
  // Calls observer.open(range); `observer` must outlive this object. Does not throw.
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
