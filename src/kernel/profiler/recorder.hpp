// The inside of a Profiler: what ranges and streams tell it, on its way into the ledger and to the sinks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/observer.hpp"
#include "kernel/profiler/device_times.hpp"
#include "kernel/profiler/ledger.hpp"
#include "kernel/profiler/pool_sampler.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/kernel/profiler.hpp"

namespace vectis::inline v0_1::detail {

// A call that gives work to a stream, under way. No stream: nobody was looking when it began.
struct WorkInFlight {
  const StreamCore* stream = nullptr;
  SpanRecord record;
  std::optional<EventPair> events;
};

// Thread-safe.
class Recorder {
 public:
  Recorder(Runtime& runtime, const ProfilerOptions& options);

  // A range of the calling thread, ended by `close` with the number. InvalidInput for a device that does not exist.
  [[nodiscard]] std::uint64_t open(const NamedRange& range);
  void close(std::uint64_t id);
  // Ends the thread's last range of that name. InvalidInput when there is none.
  void close(std::string_view name, std::uint64_t bytes, int device);

  [[nodiscard]] WorkInFlight before(const StreamCore& stream, const Work& work);
  void after(WorkInFlight& flight, WorkOutcome outcome);

  // The hub's to call, one thread at a time.
  void set_looking(bool looking);
  [[nodiscard]] bool looking() const noexcept { return looking_.load(std::memory_order_relaxed); }
  // Looks at the pools now.
  void sample() { sample(now_(), true); }
  // Waits for the work that was seen and lets go of events and contexts.
  void rest();
  void clear();

  // Both wait for the work that was seen.
  [[nodiscard]] std::vector<ProfileRow> rows();
  [[nodiscard]] ProfileCopy copy();
  [[nodiscard]] ProfileFrame frame() const;

  int add_sink(std::shared_ptr<ProfilerSink> sink);
  void remove_sink(int number);
  // Something went wrong on the way here: a piece of work is not in the ledger.
  void lose() noexcept { ++lost_; }

 private:
  using Sinks = std::vector<std::pair<int, std::shared_ptr<ProfilerSink>>>;
  struct OpenRange {
    SpanRecord record;
    bool seen = false;  // it began while somebody was looking
  };
  struct ThreadState {
    std::uint32_t number = 0;
    std::vector<OpenRange> open;  // innermost last
  };

  // With the lock held:
  ThreadState& this_thread();
  std::uint32_t number_of(std::string_view name);
  [[nodiscard]] HostSpan host_span(const SpanRecord& record) const;
  [[nodiscard]] std::uint64_t looked(std::uint64_t now) const;
  [[nodiscard]] ProfileFrame frame_at(std::uint64_t now) const;

  // Without:
  void check_device(int device) const;
  [[nodiscard]] std::string_view label(int device) const;
  void settle(bool wait);
  void apply(const std::vector<SettledWork>& settled);
  void sample(std::uint64_t now, bool at_once);
  template <class Tell>
  void tell(const std::shared_ptr<const Sinks>& sinks, const Tell& tell_one);

  ProfilerOptions options_;
  HostClock now_;
  std::vector<std::string> device_labels_;  // by id
  std::vector<std::string> device_names_;
  DeviceTimes times_;
  PoolSampler sampler_;
  std::mutex settle_mutex_;  // taken before mutex_
  std::atomic<bool> looking_{false};
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::uint32_t> unsettled_{0};  // pieces of work since it was last tried
  std::atomic<std::uint64_t> sink_failures_{0};
  std::atomic<std::uint64_t> lost_{0};

  mutable std::mutex mutex_;  // guards what follows
  NameTable names_;
  Ledger ledger_;
  std::map<std::thread::id, ThreadState> threads_;
  std::uint32_t threads_seen_ = 0;
  std::shared_ptr<const Sinks> sinks_ = std::make_shared<const Sinks>();
  int next_sink_ = 1;
  std::uint64_t origin_;
  std::uint64_t looking_since_ = 0;
  std::uint64_t looked_before_ = 0;
  std::uint64_t untimed_ = 0;
  std::uint64_t renamed_ = 0;
};

}  // namespace vectis::inline v0_1::detail
