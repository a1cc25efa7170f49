#include "memory/stream_order.hpp"

#include "device/cores.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::size_t prune_above = 64;  // streams; with more, the orders of destroyed ones are dropped

}  // namespace

StreamOrder::StreamOrder(const StreamCore& stream) : stream_(&stream), alive_(stream.sticky) {}

bool StreamOrder::is_of(const StreamCore& stream) const noexcept { return alive_.lock() == stream.sticky; }

std::uint64_t StreamOrder::release() noexcept {
  const std::lock_guard lock(mutex_);
  ++released_;
  const auto alive = alive_.lock();
  if (alive == nullptr) return released_;
  try {
    if (event_ == nullptr) event_ = Event(DeviceContext(stream_->context)).core();
    record_event(*stream_, *event_);
    recorded_ = released_;
  } catch (const Error&) {
    // Without an event only the same stream reuses the block until the stream is destroyed: slower, still correct.
    return released_;
  }
  return released_;
}

bool StreamOrder::is_done(std::uint64_t number) noexcept {
  if (is_destroyed()) return true;
  const std::lock_guard lock(mutex_);
  try {
    return number <= recorded_ && Event{event_}.completed();
  } catch (const Error&) {
    return false;
  }
}

bool StreamOrder::hand_over(std::uint64_t number, Stream& other) {
  if (is_destroyed()) return true;
  const std::lock_guard lock(mutex_);
  if (number > recorded_) return false;
  other.wait(Event{event_});
  return true;
}

bool StreamOrder::wait(std::uint64_t number) noexcept {
  if (is_destroyed()) return true;
  const std::lock_guard lock(mutex_);
  if (number > recorded_) return false;
  try {
    Event{event_}.synchronize();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::shared_ptr<StreamOrder> StreamOrders::find(const Stream& stream) {
  const StreamCore* core = stream.core();
  const std::lock_guard lock(mutex_);
  if (orders_.size() >= prune_above)
    std::erase_if(orders_, [](const auto& entry) { return entry.second->is_destroyed(); });
  auto& order = orders_[core];
  // A new stream may have the address of a destroyed one.
  if (order == nullptr || !order->is_of(*core)) order = std::make_shared<StreamOrder>(*core);
  return order;
}

}  // namespace vectis::inline v0_1::detail
