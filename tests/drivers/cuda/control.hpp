// What a library of the test driver remembers of its use: settings, planned faults, calls, live objects, violations.
// Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "steer.h"

namespace vectis::test_driver {

// A call that the driver refuses, with the code it returns.
struct Refusal {
  int code;
};

class Control {
 public:
  static Control& get();

  void reset();
  void plan_call(const char* function, std::uint32_t nth, int code);
  void plan_work(std::uint32_t nth, int code);
  bool struck();
  std::uint32_t function_count();
  const char* function_name(std::uint32_t function);
  std::uint32_t calls(std::uint32_t function);
  std::int64_t live(int kind);
  std::int64_t violations();
  const char* last_violation();
  void forgive();
  void set(const std::string& key, std::uint64_t value);
  // The setting, from `set` or from the environment's VECTIS_TEST_DRIVER_<KEY>.
  std::uint64_t setting(const std::string& key, std::uint64_t otherwise);

  // Counts a call; the code it must fail with, or nothing.
  std::optional<int> enter(const char* function);
  // The code the piece of work that is about to run must end with, or nothing.
  std::optional<int> begin_work();
  void count(int kind, int change);
  // Prints it and remembers it.
  void violate(const std::string& text);
  // Prints what is still alive. Whether the process may end well.
  bool report_at_exit();

 private:
  struct Plan {
    std::string function;  // empty: work
    std::uint32_t left;
    int code;
  };

  std::mutex mutex_;
  std::optional<Plan> plan_;
  bool struck_ = false;
  std::vector<std::pair<std::string, std::uint32_t>> calls_;
  std::array<std::int64_t, VECTIS_DRIVER_KINDS> live_{};
  std::int64_t violations_ = 0;
  std::string last_violation_;
  std::map<std::string, std::uint64_t> settings_;
};

// Raises a violation and refuses the call.
[[noreturn]] void refuse(int code, const std::string& violation);

// Runs the body of a function of the interface. `Releasing` functions do their work even when they are to fail.
template <class Body>
int entered(const char* function, Body&& body, bool releasing = false) {
  const std::optional<int> planned = Control::get().enter(function);
  if (planned && !releasing) return *planned;
  try {
    body();
  } catch (const Refusal& refusal) {
    return refusal.code;
  }
  return planned.value_or(0);
}

}  // namespace vectis::test_driver
