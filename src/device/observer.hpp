// Seeing what streams are given, for the profiler. Off, it costs a call of the backend one load and one branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

#include "device/cores.hpp"

namespace vectis::inline v0_1::detail {

enum class WorkKind : std::uint8_t { launch, operation, copy_to_device, copy_to_host, copy_on_device, fill };

// One piece of work about to be given to a stream. `name` need not outlive the call.
struct Work {
  WorkKind kind = WorkKind::launch;
  std::string_view name;    // of the entry point, operation or copy
  std::uint64_t bytes = 0;  // moved, where that is known
};

enum class WorkOutcome : std::uint8_t {
  given,     // to the device, which may still be at it
  declined,  // the backend left it to another way, which is seen by itself
  failed,    // with an Error
};

// A part of the host's time that has a name: a named operation around the launches it consists of.
struct NamedRange {
  std::string_view name;
  std::uint64_t bytes = 0;  // read and written at least once
  double operations = 0;    // arithmetic
  int device = -1;
};

// Called by the thread that uses the stream, by several threads at once. Pairs are called in one thread, well nested.
class StreamObserver {
 public:
  StreamObserver() = default;
  StreamObserver(const StreamObserver&) = delete;
  StreamObserver& operator=(const StreamObserver&) = delete;
  virtual ~StreamObserver() = default;

  // What `before` returns is handed to `after`.
  virtual void* before(const StreamCore& stream, const Work& work) noexcept = 0;
  virtual void after(void* token, WorkOutcome outcome) noexcept = 0;
  virtual void* open(const NamedRange& range) noexcept = 0;
  virtual void close(void* token) noexcept = 0;
};

// The observer of the stream's Runtime, or null.
[[nodiscard]] inline StreamObserver* observer_of([[maybe_unused]] const StreamCore& stream) noexcept {
#if defined(VECTIS_WITHOUT_OBSERVER)  // only tests/profiler/overhead.py, which counts what the hook costs
  return nullptr;
#else
  return stream.context->device->backend->observer.load(std::memory_order_acquire);
#endif
}

// Gives `work` to the stream by `call`, which says whether it did, while somebody looks. Who calls it asks observer_of
// first, and does the call itself when nobody does: then nothing of this is set up.
template <class Call>
[[gnu::noinline, gnu::cold]] bool give_observed(StreamObserver& observer, const StreamCore& stream, const Work& work,
                                                const Call& call) {
  void* token = observer.before(stream, work);
  bool given = false;
  try {
    given = call();
  } catch (...) {
    observer.after(token, WorkOutcome::failed);
    throw;
  }
  observer.after(token, given ? WorkOutcome::given : WorkOutcome::declined);
  return given;
}

// A named range for as long as it lives.
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
