#include "vectis/base/context.hpp"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

struct CancelSource::State {
  std::atomic<bool> cancelled{false};
};

CancelSource::CancelSource() : state_(std::make_shared<State>()) {}
void CancelSource::cancel() noexcept { state_->cancelled.store(true, std::memory_order_release); }
bool CancelSource::cancelled() const noexcept { return state_->cancelled.load(std::memory_order_acquire); }

struct Context::Fields {
  std::optional<TimePoint> deadline;
  std::shared_ptr<const CancelSource::State> cancel;
  std::string request_id;
  std::string memory_tag;
  Priority priority = Priority::normal;
};

std::shared_ptr<Context::Fields> Context::copy() const {
  return fields_ == nullptr ? std::make_shared<Fields>() : std::make_shared<Fields>(*fields_);
}

Context Context::with(std::shared_ptr<const Fields> fields) {
  Context context;
  context.fields_ = std::move(fields);
  return context;
}

Context Context::with_deadline(TimePoint deadline) const {
  auto fields = copy();
  fields->deadline = deadline;
  return with(std::move(fields));
}

Context Context::with_cancel(const CancelSource& source) const {
  auto fields = copy();
  fields->cancel = source.state_;
  return with(std::move(fields));
}

Context Context::with_request_id(std::string id) const {
  auto fields = copy();
  fields->request_id = std::move(id);
  return with(std::move(fields));
}

Context Context::with_memory_tag(std::string tag) const {
  auto fields = copy();
  fields->memory_tag = std::move(tag);
  return with(std::move(fields));
}

Context Context::with_priority(Priority priority) const {
  auto fields = copy();
  fields->priority = priority;
  return with(std::move(fields));
}

std::optional<TimePoint> Context::deadline() const noexcept {
  return fields_ == nullptr ? std::nullopt : fields_->deadline;
}

bool Context::cancelled() const noexcept {
  return fields_ != nullptr && fields_->cancel != nullptr && fields_->cancel->cancelled.load(std::memory_order_acquire);
}

std::string_view Context::request_id() const noexcept {
  return fields_ == nullptr ? std::string_view{} : fields_->request_id;
}

std::string_view Context::memory_tag() const noexcept {
  return fields_ == nullptr ? std::string_view{} : fields_->memory_tag;
}

Priority Context::priority() const noexcept { return fields_ == nullptr ? Priority::normal : fields_->priority; }

void Context::check(std::string_view op, const Executor& executor) const {
  if (fields_ == nullptr) return;
  const std::string request = request_id().empty() ? "" : fmt::format(", request {}", request_id());
  if (cancelled()) {
    throw Error(ErrorCode::cancelled, op,
                fmt::format("the caller cancelled the call{}; call again if the answer is still wanted", request));
  }
  if (!fields_->deadline) return;
  const TimePoint now = executor.now();
  if (now < *fields_->deadline) return;
  const auto late = std::chrono::duration<double, std::milli>(now - *fields_->deadline).count();
  throw Error(
      ErrorCode::deadline_exceeded, op,
      fmt::format("the deadline passed {:.3f} ms ago{}; allow more time or ask for less at once", late, request));
}

}  // namespace vectis::inline v0_1
