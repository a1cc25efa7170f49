// Forwards the events of all streams of a Runtime to its enabled profilers.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/observer.hpp"
#include "kernel/profiler/recorder.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::detail {

// Forwards the events of all streams of a Runtime to the enabled recorders. It is a service of the Runtime, since
// streams may still call it after the last profiler is destroyed. Thread-safe.
class ProfilerService final : public StreamObserver {
 public:
  // Collects the backends of the runtime's devices. Throws what the runtime's DeviceRegistry throws.
  explicit ProfilerService(Runtime& runtime);
  ~ProfilerService() override;

  // Enables a recorder, which must not be null; has no effect if the recorder is enabled already. Streams call the
  // service only while a recorder is enabled.
  void add(const std::shared_ptr<Recorder>& recorder);
  // Disables a recorder; has no effect if it is not enabled. Work that is being submitted is still recorded.
  void remove(const std::shared_ptr<Recorder>& recorder);

  // Starts recording one piece of work in every enabled recorder, just before the work is enqueued on the stream.
  // Returns a token that after() must free; null if memory is exhausted. A recorder that fails counts the event as
  // dropped; never throws.
  void* before(const StreamCore& stream, const Work& work) noexcept override;
  // Ends the recording that before() started, with the outcome of enqueuing, and frees the token. The token must not
  // be used again; null has no effect. A recorder that fails counts the event as dropped; never throws.
  void after(void* token, WorkOutcome outcome) noexcept override;
  // Opens a named range of the calling thread in every enabled recorder. Returns a token that close() must free; null
  // if memory is exhausted. A recorder that fails (unknown device, no memory) counts it as dropped; never throws.
  void* open(const NamedRange& range) noexcept override;
  // Closes the range that open() opened, on the thread that opened it, and frees the token; null has no effect.
  void close(void* token) noexcept override;

 private:
  using Recorders = std::vector<std::shared_ptr<Recorder>>;
  [[nodiscard]] std::shared_ptr<const Recorders> recorders() const;
  void install(StreamObserver* observer);

  std::vector<std::shared_ptr<BackendCore>> backends_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Recorders> recorders_ = std::make_shared<const Recorders>();  // guarded by mutex_
};

}  // namespace vectis::inline v0_1::detail
