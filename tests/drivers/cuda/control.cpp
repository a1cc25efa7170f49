#include "control.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace vectis::test_driver {

namespace {

constexpr int exit_status = 86;

// The library's end, after all of the program's own objects are gone.
struct AtExit {
  AtExit() = default;
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() {
    if (Control::get().report_at_exit()) return;
    std::fflush(nullptr);
    _exit(exit_status);
  }
};

__attribute__((destructor)) void at_exit() { const AtExit report; }

}  // namespace

Control& Control::get() {
  static auto* control = new Control;  // never destroyed: it is asked at the very end
  return *control;
}

void Control::reset() {
  const std::lock_guard lock(mutex_);
  plan_.reset();
  struck_ = false;
  calls_.clear();
}

void Control::plan_call(const char* function, std::uint32_t nth, int code) {
  const std::lock_guard lock(mutex_);
  plan_ = Plan{function, nth, code};
  struck_ = false;
}

void Control::plan_work(std::uint32_t nth, int code) { plan_call("", nth, code); }

bool Control::struck() {
  const std::lock_guard lock(mutex_);
  return struck_;
}

std::uint32_t Control::function_count() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(calls_.size());
}

const char* Control::function_name(std::uint32_t function) {
  const std::lock_guard lock(mutex_);
  return calls_.at(function).first.c_str();
}

std::uint32_t Control::calls(std::uint32_t function) {
  const std::lock_guard lock(mutex_);
  return calls_.at(function).second;
}

std::int64_t Control::live(int kind) {
  const std::lock_guard lock(mutex_);
  return live_.at(static_cast<std::size_t>(kind));
}

std::int64_t Control::violations() {
  const std::lock_guard lock(mutex_);
  return violations_;
}

const char* Control::last_violation() {
  const std::lock_guard lock(mutex_);
  return last_violation_.c_str();
}

void Control::forgive() {
  const std::lock_guard lock(mutex_);
  violations_ = 0;
  last_violation_.clear();
}

void Control::set(const std::string& key, std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  settings_[key] = value;
}

std::uint64_t Control::setting(const std::string& key, std::uint64_t otherwise) {
  const std::lock_guard lock(mutex_);
  if (const auto found = settings_.find(key); found != settings_.end()) return found->second;
  std::string variable = "VECTIS_TEST_DRIVER_" + key;
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  const char* text = std::getenv(variable.c_str());
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::optional<int> Control::enter(const char* function) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(calls_.begin(), calls_.end(), [&](const auto& each) { return each.first == function; });
  if (found == calls_.end()) {
    calls_.emplace_back(function, 1);
  } else {
    ++found->second;
  }
  if (!plan_ || plan_->function != function || --plan_->left > 0) return std::nullopt;
  const int code = plan_->code;
  plan_.reset();
  struck_ = true;
  return code;
}

std::optional<int> Control::begin_work() {
  const std::lock_guard lock(mutex_);
  if (!plan_ || !plan_->function.empty() || --plan_->left > 0) return std::nullopt;
  const int code = plan_->code;
  plan_.reset();
  struck_ = true;
  return code;
}

void Control::count(int kind, int change) {
  const std::lock_guard lock(mutex_);
  live_.at(static_cast<std::size_t>(kind)) += change;
}

void Control::violate(const std::string& text) {
  const std::lock_guard lock(mutex_);
  ++violations_;
  last_violation_ = text;
  std::fprintf(stderr, "test driver: violation: %s\n", text.c_str());
}

bool Control::report_at_exit() {
  constexpr std::array<const char*, VECTIS_DRIVER_KINDS> kinds = {"contexts",        "memories", "streams",
                                                                  "events",          "modules",  "programs",
                                                                  "pinned memories", "sessions", "objects of cuBLASLt"};
  const std::lock_guard lock(mutex_);
  bool good = violations_ == 0;
  if (!good) {
    std::fprintf(stderr, "test driver: %lld violations, the last: %s\n", static_cast<long long>(violations_),
                 last_violation_.c_str());
  }
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    if (live_[kind] == 0) continue;
    std::fprintf(stderr, "test driver: %lld %s leaked\n", static_cast<long long>(live_[kind]), kinds[kind]);
    good = false;
  }
  return good;
}

void refuse(int code, const std::string& violation) {
  Control::get().violate(violation);
  throw Refusal{code};
}

}  // namespace vectis::test_driver
