#include "backends/failing/faults.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <string_view>
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

VectisStatus fail(VectisMessage* message, VectisStatus status, const char* text, const char* slot) {
  std::snprintf(message->text, message->capacity, "%s in %s", text, slot);
  return status;
}

}  // namespace

bool Injector::command(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  if (key == "fail") return add_faults(value);
  if (key == "lose") return lose_after(value);
  if (key == "hold") {
    held_ = true;
    return true;
  }
  if (key != "resume" && key != "reset") return false;
  held_ = false;
  resumed_.notify_all();
  if (key == "resume") return true;
  faults_.clear();
  calls_until_lost_ = 0;
  lost_ = false;
  return true;
}

bool Injector::add_faults(const std::string& value) {
  std::vector<Fault> added;
  std::istringstream list(value);
  for (std::string one; std::getline(list, one, ';');) {
    std::istringstream words(one);
    Fault fault{};
    std::string status;
    if (!(words >> fault.slot >> fault.calls_left >> status) || fault.calls_left == 0) return false;
    const auto* found = std::ranges::find(statuses, status, &std::pair<const char*, VectisStatus>::first);
    if (found == statuses.end()) return false;
    fault.status = found->second;
    added.push_back(std::move(fault));
  }
  faults_.insert(faults_.end(), added.begin(), added.end());
  return !added.empty();
}

bool Injector::lose_after(const std::string& value) {
  std::istringstream words(value);
  std::uint64_t calls = 0;
  if (!(words >> calls) || calls == 0) return false;
  calls_until_lost_ = calls;
  return true;
}

VectisStatus Injector::before(const char* slot, VectisMessage* message) {
  using namespace std::string_view_literals;
  std::unique_lock lock(mutex_);
  if (slot == "stream_synchronize"sv || slot == "event_synchronize"sv) {
    resumed_.wait(lock, [this] { return !held_; });
  }
  if (calls_until_lost_ > 0 && --calls_until_lost_ == 0) lost_ = true;
  if (lost_) return fail(message, VECTIS_DEVICE_LOST, "the device was lost", slot);
  for (auto fault = faults_.begin(); fault != faults_.end(); ++fault) {
    if (fault->slot != "any" && fault->slot != slot) continue;
    if (--fault->calls_left > 0) continue;
    const VectisStatus status = fault->status;
    faults_.erase(fault);
    return fail(message, status, "an injected failure", slot);
  }
  if (held_ && slot == "event_query"sv) return VECTIS_NOT_READY;
  return VECTIS_OK;
}

void MemoryAccount::set_total(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  total_ = bytes;
}

void MemoryAccount::set_others(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  others_ = bytes;
}

std::uint64_t MemoryAccount::free_bytes() const {
  const std::uint64_t held = used_ + others_;
  return held > total_ ? 0 : total_ - held;
}

bool MemoryAccount::reserve(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (total_ != 0 && bytes > free_bytes()) return false;
  used_ += bytes;
  return true;
}

void MemoryAccount::release(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

void MemoryAccount::bind(const VectisMemory* memory, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  sizes_[memory] = bytes;
}

void MemoryAccount::free(const VectisMemory* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(memory);
  if (found == sizes_.end()) return;
  used_ -= found->second;
  sizes_.erase(found);
}

bool MemoryAccount::state(std::uint64_t* total, std::uint64_t* free) const {
  const std::lock_guard lock(mutex_);
  if (total_ == 0) return false;
  *total = total_;
  *free = free_bytes();
  return true;
}

Injector& injector() {
  static Injector one;
  return one;
}

MemoryAccount& account() {
  static MemoryAccount one;
  return one;
}

}  // namespace failing
