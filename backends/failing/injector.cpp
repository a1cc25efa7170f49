#include "backends/failing/injector.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <utility>

namespace failing {

namespace {

constexpr std::array<std::pair<const char*, VectisStatus>, 7> statuses = {{
    {"invalid_input", VECTIS_INVALID_INPUT},
    {"allocation", VECTIS_ALLOCATION},
    {"backend_creation", VECTIS_BACKEND_CREATION},
    {"unsupported", VECTIS_UNSUPPORTED},
    {"device_lost", VECTIS_DEVICE_LOST},
    {"compile_failed", VECTIS_COMPILE_FAILED},
    {"driver_failure", VECTIS_DRIVER_FAILURE},
}};

VectisStatus say(VectisMessage* message, VectisStatus status, const char* text, const char* slot) {
  std::snprintf(message->text, message->capacity, "%s in %s", text, slot);
  return status;
}

}  // namespace

bool Injector::command(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  if (key == "fail") return add_fault(value);
  if (key == "lose") return lose_after(value);
  if (key != "reset") return false;
  faults_.clear();
  calls_until_lost_ = 0;
  lost_ = false;
  return true;
}

bool Injector::add_fault(const std::string& value) {
  std::istringstream words(value);
  Fault fault{};
  std::string status;
  if (!(words >> fault.slot >> fault.calls_left >> status) || fault.calls_left == 0) return false;
  const auto* found = std::ranges::find(statuses, status, &std::pair<const char*, VectisStatus>::first);
  if (found == statuses.end()) return false;
  fault.status = found->second;
  faults_.push_back(std::move(fault));
  return true;
}

bool Injector::lose_after(const std::string& value) {
  std::istringstream words(value);
  return static_cast<bool>(words >> calls_until_lost_) && calls_until_lost_ > 0;
}

VectisStatus Injector::before(const char* slot, VectisMessage* message) {
  const std::lock_guard lock(mutex_);
  if (calls_until_lost_ > 0 && --calls_until_lost_ == 0) lost_ = true;
  if (lost_) return say(message, VECTIS_DEVICE_LOST, "the device was lost", slot);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (fault->slot != "any" && fault->slot != slot) continue;
    if (--fault->calls_left > 0) continue;
    const VectisStatus status = fault->status;
    faults_.erase(fault);
    return say(message, status, "an injected failure", slot);
  }
  return VECTIS_OK;
}

Injector& injector() {
  static Injector one;
  return one;
}

}  // namespace failing
