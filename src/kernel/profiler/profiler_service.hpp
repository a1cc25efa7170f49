// Forwards the events of all streams of a Runtime to its enabled profilers.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/observer.hpp"
#include "kernel/profiler/recorder.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::detail {

// A service of the Runtime, since streams may still call it after the last profiler is destroyed. Thread-safe.
class ProfilerService final : public StreamObserver {
 public:
  explicit ProfilerService(Runtime& runtime);
  ~ProfilerService() override;

  // Enables or disables a recorder. Streams call the service only while a recorder is enabled.
  void add(const std::shared_ptr<Recorder>& recorder);
  void remove(const std::shared_ptr<Recorder>& recorder);

  // Each call of `before` or `open` allocates a token, which `after` or `close` frees; null if memory is exhausted.
  void* before(const StreamCore& stream, const Work& work) noexcept override;
  void after(void* token, WorkOutcome outcome) noexcept override;
  void* open(const NamedRange& range) noexcept override;
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
