// Between the streams of a Runtime and the profilers that look at it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/observer.hpp"
#include "kernel/profiler/recorder.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1::detail {

// A service of the Runtime: streams may still be inside it when the last profiler is gone. Thread-safe.
class ProfilerHub final : public StreamObserver {
 public:
  explicit ProfilerHub(Runtime& runtime);
  ~ProfilerHub() override;

  // Whether the recorder looks. The streams call the hub while any does.
  void add(const std::shared_ptr<Recorder>& recorder);
  void remove(const std::shared_ptr<Recorder>& recorder);

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
