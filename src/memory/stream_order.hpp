// Stream-ordered release: when a block released on a stream may be reused, and by whom.
//
// The same stream may reuse a released block at once. Another stream must first wait for an event recorded after the
// release; the host must see that the event has completed. One event per stream suffices: recording it again moves it
// behind all releases so far, which only makes the other stream wait a little longer.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/cores.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

// The releases on one stream, numbered from 1. Thread-safe.
class StreamOrder {
 public:
  explicit StreamOrder(const StreamCore& stream);

  // Counts a release, records the event behind it and returns the release's number. Call on the thread that uses the
  // stream.
  std::uint64_t release() noexcept;

  // True when all work before release `number` has finished: its event completed, or the stream was destroyed.
  [[nodiscard]] bool is_done(std::uint64_t number) noexcept;
  // Makes `other` wait for release `number`. False when recording an event behind it failed.
  [[nodiscard]] bool hand_over(std::uint64_t number, Stream& other);
  // Blocks until the work before release `number` has finished. False when no event was recorded or waiting failed.
  [[nodiscard]] bool wait(std::uint64_t number) noexcept;
  // True for the stream that this order was made for; a new stream may have the address of a destroyed one.
  [[nodiscard]] bool is_of(const StreamCore& stream) const noexcept;
  // True when the stream was destroyed, and with that all its work finished.
  [[nodiscard]] bool is_destroyed() const noexcept { return alive_.expired(); }

 private:
  const StreamCore* stream_;          // valid while alive_ is not expired
  std::weak_ptr<StickyError> alive_;  // expires with the stream
  std::mutex mutex_;
  std::shared_ptr<EventCore> event_;
  std::uint64_t released_ = 0;
  std::uint64_t recorded_ = 0;  // releases before the event
};

// The StreamOrder of each stream. Thread-safe.
class StreamOrders {
 public:
  // The order of a stream, created if needed.
  std::shared_ptr<StreamOrder> find(const Stream& stream);

 private:
  std::mutex mutex_;
  std::unordered_map<const StreamCore*, std::shared_ptr<StreamOrder>> orders_;
};

}  // namespace vectis::inline v0_1::detail
