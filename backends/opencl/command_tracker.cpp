#include "command_tracker.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace vectis::opencl {

namespace {

constexpr std::size_t capacity_min = 64;

cl_int execution_status(const Api& api, cl_event event) {
  cl_int status = CL_QUEUED;
  check(api.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr), "clGetEventInfo");
  return status;
}

}  // namespace

CommandTracker::CommandTracker(const Api& api) : api_(api), capacity_(capacity_min) { commands_.reserve(capacity_); }

void CommandTracker::reserve() {
  const std::lock_guard lock(mutex_);
  if (commands_.size() < capacity_) return;
  drop_finished();
  const std::size_t capacity = std::max(capacity_min, 2 * commands_.size());
  commands_.reserve(capacity);  // may throw: the capacity changes only when there is room for it
  capacity_ = capacity;
}

void CommandTracker::add(Owned<cl_event> event, const char* call) noexcept {
  const std::lock_guard lock(mutex_);
  commands_.push_back({++added_, std::move(event), call});
}

std::uint64_t CommandTracker::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

void CommandTracker::wait() noexcept {
  const std::lock_guard lock(mutex_);
  if (commands_.empty()) return;
  const cl_event last = commands_.back().event.get();
  api_.WaitForEvents(1, &last);
}

void CommandTracker::check(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  drop_finished();
  if (failure_ && failure_->index <= count) {
    throw Failure(status_of(failure_->code),
                  "a command enqueued by " + std::string(failure_->call) + " failed with " + describe(failure_->code));
  }
}

void CommandTracker::drop_finished() {
  std::optional<FailedCommand> failure = failure_;
  auto next = commands_.begin();
  for (; next != commands_.end(); ++next) {
    const cl_int status = execution_status(api_, next->event.get());
    if (status > CL_COMPLETE) break;
    if (status < CL_COMPLETE && !failure) failure = {next->index, next->call, status};
  }
  failure_ = failure;
  commands_.erase(commands_.begin(), next);
}

}  // namespace vectis::opencl
