// Which call fails next. One for the process: the handles of the wrapped backend carry no pointer back.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "vectis/device/backend.h"

namespace failing {

// Thread-safe.
class Injector {
 public:
  // "fail" with "<slot or any> <n> <status>": the n-th call from now of that slot fails once, n from 1. Statuses:
  // invalid_input, allocation, backend_creation, unsupported, device_lost, compile_failed, driver_failure.
  // "lose" with "<n>": from the n-th call of any slot on, all say device_lost.
  // "reset" with "": nothing fails any more.
  // False when the key or the value is none of these.
  bool command(const std::string& key, const std::string& value);

  // Called before each slot; a status other than VECTIS_OK is to be returned instead of calling it.
  VectisStatus before(const char* slot, VectisMessage* message);

 private:
  struct Fault {
    std::string slot;
    std::uint64_t calls_left;
    VectisStatus status;
  };
  bool add_fault(const std::string& value);
  bool lose_after(const std::string& value);

  std::mutex mutex_;
  std::vector<Fault> faults_;
  std::uint64_t calls_until_lost_ = 0;  // 0: never
  bool lost_ = false;
};

Injector& injector();

}  // namespace failing
