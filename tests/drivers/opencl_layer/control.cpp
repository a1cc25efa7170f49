#include "control.hpp"

namespace vectis::test {

Control& Control::get() {
  static auto* control = new Control;  // outlives the driver's own threads
  return *control;
}

std::uint32_t Control::add_function(const char* name) {
  const std::lock_guard lock(mutex_);
  functions_.push_back({name});
  return static_cast<std::uint32_t>(functions_.size() - 1);
}

void Control::reset() {
  const std::lock_guard lock(mutex_);
  plan_.reset();
  struck_ = false;
  for (Function& function : functions_) function.calls = 0;
}

void Control::plan(const char* function, std::uint32_t nth, std::int32_t code, bool of_command) {
  const std::lock_guard lock(mutex_);
  plan_ = Plan{function, nth, code, of_command};
  struck_ = false;
}

bool Control::struck() {
  const std::lock_guard lock(mutex_);
  return struck_;
}

std::uint32_t Control::function_count() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(functions_.size());
}

const char* Control::function_name(std::uint32_t function) {
  const std::lock_guard lock(mutex_);
  return functions_.at(function).name;
}

std::uint32_t Control::calls(std::uint32_t function) {
  const std::lock_guard lock(mutex_);
  return functions_.at(function).calls;
}

std::int64_t Control::live(std::int32_t kind) {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const auto& [object, references] : references_.at(static_cast<std::size_t>(kind))) sum += references;
  return sum;
}

std::int64_t Control::wrong_releases() {
  const std::lock_guard lock(mutex_);
  return wrong_releases_;
}

Verdict Control::enter(std::uint32_t function) {
  const std::lock_guard lock(mutex_);
  Function& called = functions_[function];
  ++called.calls;
  if (!plan_ || plan_->function != called.name || --plan_->calls_left != 0) return {};
  const Plan plan = *plan_;
  plan_.reset();
  struck_ = true;
  if (plan.of_command) return {std::nullopt, plan.code};
  return {plan.code, std::nullopt};
}

void Control::made(std::int32_t kind, const void* object) {
  const std::lock_guard lock(mutex_);
  ++references_.at(static_cast<std::size_t>(kind))[object];
}

void Control::released(std::int32_t kind, const void* object) {
  const std::lock_guard lock(mutex_);
  auto& references = references_.at(static_cast<std::size_t>(kind));
  const auto found = references.find(object);
  if (found == references.end()) {
    ++wrong_releases_;
    return;
  }
  if (--found->second > 0) return;
  references.erase(found);
  if (kind == VECTIS_LAYER_EVENTS) failed_status_.erase(static_cast<cl_event>(const_cast<void*>(object)));
}

void Control::fail_event(cl_event event, cl_int status) {
  const std::lock_guard lock(mutex_);
  failed_status_[event] = status;
}

std::optional<cl_int> Control::failed_status(cl_event event) {
  const std::lock_guard lock(mutex_);
  const auto found = failed_status_.find(event);
  return found == failed_status_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace vectis::test
