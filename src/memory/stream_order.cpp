#include "memory/stream_order.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "device/cores.hpp"
#include "memory/tags.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::size_t prune_above = 64;  // streams; with more, the orders of destroyed ones are dropped

// Devices have no wait with a deadline, so that such a wait queries the event, at first often: most waits are short.
constexpr Duration query_interval_min = std::chrono::microseconds(20);
constexpr Duration query_interval_max = std::chrono::milliseconds(1);

// Waits until `event` has completed; returns false when `context` ends the wait before. Throws the error of the
// event's work.
bool wait_until_completed(const Event& event, const Context& context, const Executor& executor) {
  if (!context.can_stop()) {
    event.synchronize();
    return true;
  }
  for (Duration interval = query_interval_min; !event.completed();
       interval = std::min(2 * interval, query_interval_max)) {
    if (context.cancelled() || context.expired(executor)) return false;
    pause_thread(interval);
  }
  return true;
}

}  // namespace

StreamOrder::StreamOrder(const StreamCore& stream) : stream_(&stream), life_(stream.life) {}

bool StreamOrder::is_of(const StreamCore& stream) const noexcept { return life_.lock() == stream.life; }

bool StreamOrder::is_known_done(std::uint64_t number) const noexcept {
  return number <= done_.load(std::memory_order_relaxed) || is_destroyed();
}

StreamOrder::Recorded StreamOrder::recorded() {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

std::uint64_t StreamOrder::release() noexcept {
  const std::lock_guard lock(mutex_);
  ++released_;
  if (is_destroyed()) return released_;
  try {
    if (recorded_.event == nullptr || is_waited_for_) {
      auto event = Event(DeviceContext(stream_->context)).core();
      record_event(*stream_, *event);
      recorded_.event = std::move(event);
      is_waited_for_ = false;
    } else {
      record_event(*stream_, *recorded_.event);
    }
    recorded_.releases = released_;
  } catch (const std::exception&) {
    // Without an event only the same stream reuses the block until the stream is destroyed: slower, still correct.
    return released_;
  }
  return released_;
}

bool StreamOrder::is_done(std::uint64_t number) noexcept {
  if (is_known_done(number)) return true;
  Recorded last = recorded();
  if (number > last.releases) return false;
  try {
    if (!Event{std::move(last.event)}.completed()) return false;
  } catch (const Error&) {
    return false;
  }
  raise_to(done_, last.releases);
  return true;
}

bool StreamOrder::hand_over(std::uint64_t number, Stream& other) {
  if (is_known_done(number)) return true;
  const Recorded last = recorded();
  if (number > last.releases) return false;
  if (last.event->context != other.core()->context) return false;  // a device waits for events of one context only
  other.wait(Event{last.event});
  return true;
}

void StreamOrder::wait(std::uint64_t number, const Context& context, const Executor& executor) noexcept {
  if (is_known_done(number)) return;
  Recorded last;
  {
    const std::lock_guard lock(mutex_);
    if (recorded_.event == nullptr) return;
    is_waited_for_ = true;
    last = recorded_;
  }
  try {
    if (wait_until_completed(Event{last.event}, context, executor)) raise_to(done_, last.releases);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): is_done() stays false
  }
}

std::shared_ptr<StreamOrder> StreamOrders::find(const Stream& stream) {
  const StreamCore* core = stream.core();
  const std::lock_guard lock(mutex_);
  if (orders_.size() >= prune_above)
    std::erase_if(orders_, [](const auto& entry) { return entry.second->is_destroyed(); });
  const auto known = orders_.find(core);
  // A new stream may have the address of a destroyed one.
  if (known != orders_.end() && known->second->is_of(*core)) return known->second;
  auto order = std::make_shared<StreamOrder>(*core);
  orders_.insert_or_assign(core, order);
  return order;
}

}  // namespace vectis::inline v0_1::detail
