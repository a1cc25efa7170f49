// The order of releases on each stream: which released blocks may be used again, and by whom.
//
// A block released on a stream may be reused at once by work of the same stream. Another stream must first wait for an
// event recorded after the release; the host must see that event passed. One event a stream is enough: recording it
// again moves it behind all releases so far, and a later event only makes the other stream wait a little longer.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/cores.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

// Thread-safe.
class StreamOrder {
 public:
  explicit StreamOrder(const StreamCore& stream);

  // Counts a release and records the event behind it. Returns the release's number. Called by the thread that uses the
  // stream.
  std::uint64_t release() noexcept;

  // True when the work before release `number` is known to be done: its event has passed or the stream is gone.
  [[nodiscard]] bool done(std::uint64_t number) noexcept;
  // Makes `other` wait for release `number`; false when no event was recorded behind it.
  [[nodiscard]] bool hand_over(std::uint64_t number, Stream& other);
  // Waits on the host; false when no event was recorded behind it or waiting failed.
  [[nodiscard]] bool wait(std::uint64_t number) noexcept;
  [[nodiscard]] bool is_of(const StreamCore& stream) const noexcept;
  // The stream has ended, and with it all its work.
  [[nodiscard]] bool gone() const noexcept { return alive_.expired(); }

 private:
  const StreamCore* stream_;          // valid while alive_ is not expired
  std::weak_ptr<StickyError> alive_;  // lives exactly as long as the stream
  std::mutex mutex_;
  std::shared_ptr<EventCore> event_;
  std::uint64_t released_ = 0;
  std::uint64_t marked_ = 0;  // releases that lie before the event
};

// The orders of all streams seen. Thread-safe.
class StreamOrders {
 public:
  std::shared_ptr<StreamOrder> find(const Stream& stream);

 private:
  std::mutex mutex_;
  std::unordered_map<const StreamCore*, std::shared_ptr<StreamOrder>> orders_;
};

}  // namespace vectis::inline v0_1::detail
