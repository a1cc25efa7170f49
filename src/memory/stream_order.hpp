// Stream-ordered release: when a block released on a stream may be reused, and by whom.
//
// The same stream may reuse a released block at once. Another stream must first wait for an event recorded after the
// release; the host must see that the event has completed. One event per stream suffices: recording it again moves it
// behind all releases so far, which only makes the other stream wait a little longer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/cores.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

// Counts the releases of blocks on one stream, numbered from 1, and knows which of them the device has passed. May
// outlive the stream, whose destructor waits for its work. Holds no lock while it waits for the device. Thread-safe.
class StreamOrder {
 public:
  // Makes the order of a stream, without a release so far. Records no event yet.
  explicit StreamOrder(const StreamCore& stream);

  // Counts a release, records the event behind the work enqueued so far and returns the number of the release. Call
  // on the thread that uses the stream, or after the stream was destroyed, which needs no event. Does not throw:
  // without an event, only that stream reuses the block until the stream is destroyed.
  std::uint64_t release() noexcept;

  // Returns whether all work before release `number` has finished: its event completed, or the stream was destroyed.
  // Once true, stays true. Returns false when no event was recorded or the query fails. Does not throw.
  [[nodiscard]] bool is_done(std::uint64_t number) noexcept;
  // Makes `other` wait on the device for release `number`; returns true at once when that work has finished or the
  // stream of this order was destroyed. Returns false when no event was recorded behind that release or `other` is of
  // another context; throws the error of the device when the wait cannot be enqueued.
  [[nodiscard]] bool hand_over(std::uint64_t number, Stream& other);
  // Blocks until the work before release `number` has finished, but not longer than until the deadline of `context`,
  // on the clock of `executor`, has passed or `context` is cancelled. Waits only for the releases behind which an event
  // was recorded, and gives up when waiting fails: is_done() returns what was reached. Does not throw.
  void wait(std::uint64_t number, const Context& context, const Executor& executor) noexcept;
  // Returns whether the order was made for `stream`. Compares more than the address, which a new stream may share
  // with a destroyed one. Does not throw.
  [[nodiscard]] bool is_of(const StreamCore& stream) const noexcept;
  // Returns whether the stream was destroyed, which ends all its work. Does not throw.
  [[nodiscard]] bool is_destroyed() const noexcept { return life_.expired(); }

 private:
  // An event and the number of releases before it. Null event: never recorded.
  struct Recorded {
    std::shared_ptr<EventCore> event;
    std::uint64_t releases = 0;
  };

  // Returns whether the work before release `number` is known to have finished, without a call of the device.
  [[nodiscard]] bool is_known_done(std::uint64_t number) const noexcept;
  // Returns a copy of recorded_. Its event may be recorded again meanwhile, and then completes later.
  [[nodiscard]] Recorded recorded();

  const StreamCore* stream_;              // valid while life_ is not expired
  std::weak_ptr<const StreamLife> life_;  // expires with the stream
  std::atomic<std::uint64_t> done_{0};    // releases whose work is known to have finished
  std::mutex mutex_;                      // guards what follows; not held while the device is waited for
  Recorded recorded_;
  bool is_waited_for_ = false;  // the event, which recorded again would complete later and later
  std::uint64_t released_ = 0;
};

// The StreamOrder of each stream that a pool has seen. Thread-safe.
class StreamOrders {
 public:
  // Returns the order of `stream`, which must be alive; creates it at the first call. Drops orders of destroyed
  // streams now and then.
  std::shared_ptr<StreamOrder> find(const Stream& stream);

 private:
  std::mutex mutex_;
  std::unordered_map<const StreamCore*, std::shared_ptr<StreamOrder>> orders_;
};

}  // namespace vectis::inline v0_1::detail
