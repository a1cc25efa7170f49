// When devices began and ended their work: events recorded around it and read later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/cores.hpp"
#include "kernel/profiler/device_clock.hpp"
#include "kernel/profiler/ledger.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

struct EventPair {
  Event start;
  Event stop;
};

// Work whose device's times are not known yet, and its place in the ledger.
struct PendingWork {
  std::uint64_t place = 0;
  SpanRecord record;
  EventPair events;
};

struct SettledWork {
  std::uint64_t place = 0;
  SpanRecord record;
  bool timed = false;  // else the device kept no time or the work failed
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct HostTimes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// A device's times on the host's clock. Matching has some doubt, but no work begins before it was given; where nothing
// could be matched, it is drawn as if it began at once.
[[nodiscard]] HostTimes host_times(const std::map<int, DeviceClock>& clocks, const SpanRecord& record,
                                   std::uint64_t device_begin, std::uint64_t device_end);

// Thread-safe.
class DeviceTimes {
 public:
  static constexpr std::size_t pending_max = 65536;
  static constexpr std::size_t idle_max = 1024;

  explicit DeviceTimes(HostClock now) : now_(std::move(now)) {}

  // Events around the work that comes next on the stream, the first already recorded. Empty when this device keeps no
  // time, too much is pending, or recording fails. Never disturbs the stream.
  [[nodiscard]] std::optional<EventPair> before(const StreamCore& stream) noexcept;
  // Records the second. False when that fails.
  [[nodiscard]] bool after(const StreamCore& stream, const EventPair& events) noexcept;
  void add(const StreamCore& stream, PendingWork work);
  // Takes back events whose work was not done after all.
  void give_back(EventPair events);

  // What is done by now or, with `wait`, everything, waiting for it. One caller at a time.
  [[nodiscard]] std::vector<SettledWork> settle(bool wait);
  // Clocks as they are matched now. `settle(true)` matches them once more.
  [[nodiscard]] std::map<int, DeviceClock> clocks() const;
  // Lets go of idle events and of the contexts kept for matching clocks.
  void release();

 private:
  using StreamKey = std::pair<const BackendCore*, std::uint64_t>;
  using Queue = std::deque<PendingWork>;

  Event event_for(const std::shared_ptr<ContextCore>& context);
  void match(const std::shared_ptr<ContextCore>& context);
  void match_again();
  // In the order the work was given; `last_end` is that of the stream's work before, on the device's clock.
  void settle_queue(Queue& queue, bool wait, std::uint64_t& last_end, std::vector<SettledWork>& settled);

  HostClock now_;
  mutable std::mutex mutex_;
  std::map<StreamKey, Queue> pending_;
  std::size_t pending_count_ = 0;
  std::map<StreamKey, std::uint64_t> ends_;                // touched by settle alone
  std::map<const ContextCore*, std::vector<Event>> idle_;  // an event keeps its context alive
  std::size_t idle_count_ = 0;
  std::map<int, DeviceClock> clocks_;
  std::map<int, DeviceContext> contexts_;  // the last one used of each device
};

}  // namespace vectis::inline v0_1::detail
