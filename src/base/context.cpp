#include "vectis/base/context.hpp"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

struct CancelSource::State {
  std::atomic<bool> cancelled{false};
};

namespace {

template <class Point, class Now>
bool deadline_passed(const std::optional<Point>& deadline, const Now& now) {
  return deadline && now() >= *deadline;
}

// "2.000 ms ago". In double precision: the difference to a deadline such as TimePoint::min() exceeds 64 bits.
template <class Point>
std::string time_since(Point deadline, Point now) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const double ms = Milliseconds(now.time_since_epoch()).count() - Milliseconds(deadline.time_since_epoch()).count();
  constexpr double year_ms = 365.0 * 24 * 3600 * 1000;
  return ms < year_ms ? fmt::format("{:.3f} ms ago", ms) : "more than a year ago";
}

}  // namespace

CancelSource::CancelSource() : state_(std::make_shared<State>()) {}
void CancelSource::cancel() noexcept { state_->cancelled.store(true, std::memory_order_release); }
bool CancelSource::cancelled() const noexcept { return state_->cancelled.load(std::memory_order_acquire); }

struct Context::Fields {
  std::optional<TimePoint> deadline;
  std::optional<std::chrono::steady_clock::time_point> steady_deadline;  // at most one of the two is set
  ProgressCallback progress;
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
  fields->steady_deadline.reset();
  return with(std::move(fields));
}

Context Context::with_deadline(std::chrono::steady_clock::time_point deadline) const {
  auto fields = copy();
  fields->deadline.reset();
  fields->steady_deadline = deadline;
  return with(std::move(fields));
}

Context Context::with_timeout(Duration timeout) const {
  using Clock = std::chrono::steady_clock;
  const auto now = Clock::now();
  return with_deadline(timeout < Clock::time_point::max() - now ? now + timeout : Clock::time_point::max());
}

Context Context::with_progress(ProgressCallback callback) const {
  auto fields = copy();
  fields->progress = std::move(callback);
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

bool Context::expired(const Executor& executor) const {
  if (fields_ == nullptr) return false;
  return deadline_passed(fields_->deadline, [&] { return executor.now(); }) ||
         deadline_passed(fields_->steady_deadline, std::chrono::steady_clock::now);
}

bool Context::cancelled() const noexcept {
  return fields_ != nullptr && fields_->cancel != nullptr && fields_->cancel->cancelled.load(std::memory_order_acquire);
}

bool Context::can_stop() const noexcept {
  return fields_ != nullptr && (fields_->deadline || fields_->steady_deadline || fields_->cancel != nullptr);
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
                fmt::format("the caller cancelled the call{}; call again if the result is still needed", request));
  }
  if (!expired(executor)) return;
  const std::string ago = fields_->deadline ? time_since(*fields_->deadline, executor.now())
                                            : time_since(*fields_->steady_deadline, std::chrono::steady_clock::now());
  throw Error(ErrorCode::deadline_exceeded, op,
              fmt::format("the deadline passed {}{}; allow more time or request less per call", ago, request));
}

void Context::report_progress(std::string_view operation, std::uint64_t done, std::uint64_t total) const {
  if (fields_ != nullptr && fields_->progress) fields_->progress({operation, done, total});
}

}  // namespace vectis::inline v0_1
