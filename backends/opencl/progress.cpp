#include "progress.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "status.hpp"

namespace vectis::opencl {

namespace {

constexpr std::size_t kept_min = 64;

cl_int execution_status(const Api& api, cl_event event) {
  cl_int status = CL_QUEUED;
  check(api.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr), "clGetEventInfo");
  return status;
}

}  // namespace

Progress::Progress(const Api& api) : api_(api), kept_max_(kept_min) { commands_.reserve(kept_max_); }

void Progress::make_room() {
  const std::lock_guard lock(mutex_);
  if (commands_.size() < kept_max_) return;
  forget_finished();
  kept_max_ = std::max(kept_min, 2 * commands_.size());
  commands_.reserve(kept_max_);
}

void Progress::add(Owned<cl_event> event, const char* call) noexcept {
  const std::lock_guard lock(mutex_);
  commands_.push_back({++added_, std::move(event), call});
}

std::uint64_t Progress::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

void Progress::wait() noexcept {
  const std::lock_guard lock(mutex_);
  if (commands_.empty()) return;
  const cl_event last = commands_.back().event.get();
  api_.WaitForEvents(1, &last);
}

void Progress::check(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  forget_finished();
  if (failure_ && failure_->place <= count) {
    throw Failure(status_of(failure_->code),
                  "a command given by " + std::string(failure_->call) + " ended with " + describe(failure_->code));
  }
}

void Progress::forget_finished() {
  std::optional<Ended> failure = failure_;
  auto next = commands_.begin();
  for (; next != commands_.end(); ++next) {
    const cl_int status = execution_status(api_, next->event.get());
    if (status > CL_COMPLETE) break;
    if (status < CL_COMPLETE && !failure) failure = {next->place, next->call, status};
  }
  failure_ = failure;
  commands_.erase(commands_.begin(), next);
}

}  // namespace vectis::opencl
