// The faults that the `failing` backend injects: calls that fail, a lost device, and a limited device memory. State is
// per process, since the handles of the wrapped backend carry no pointer to it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vectis/device/backend.h"

namespace failing {

// Decides which call fails. Thread-safe.
class Injector {
 public:
  // "fail" with "<slot or any> <n> <status>": the n-th call of that slot from now on fails once; n counts from 1.
  //   Several faults are separated by semicolons. Statuses: invalid_input, allocation, backend_creation, unsupported,
  //   device_lost, compile_failed, driver_failure.
  // "lose" with "<n>": from the n-th call of any slot on, every call returns device_lost.
  // "reset" with "": removes all faults.
  // Returns false, and changes nothing, when key or value is none of these.
  bool command(const std::string& key, const std::string& value);

  // Called before each slot. A status other than VECTIS_OK must be returned instead of calling the slot.
  VectisStatus before(const char* slot, VectisMessage* message);

 private:
  struct Fault {
    std::string slot;
    std::uint64_t calls_left;
    VectisStatus status;
  };
  bool add_faults(const std::string& value);
  bool lose_after(const std::string& value);

  std::mutex mutex_;
  std::vector<Fault> faults_;
  std::uint64_t calls_until_lost_ = 0;  // 0: never
  bool lost_ = false;
};

// Accounts for a device memory of a given size: allocations of this process, and bytes attributed to other processes.
// Without a total size every allocation succeeds. Thread-safe.
class MemoryAccount {
 public:
  void set_total(std::uint64_t bytes);
  // Bytes that other processes are assumed to hold.
  void set_others(std::uint64_t bytes);

  // Reserves bytes for an allocation; false when fewer are free.
  [[nodiscard]] bool reserve(std::uint64_t bytes);
  // Returns bytes that were reserved for an allocation which then failed.
  void release(std::uint64_t bytes);
  // Binds reserved bytes to a handle, so that free() can release them. Slices are never bound: freeing one releases
  // nothing.
  void bind(const VectisMemory* memory, std::uint64_t bytes);
  void free(const VectisMemory* memory);

  // Writes total and free bytes; false when no total is set.
  bool state(std::uint64_t* total, std::uint64_t* free) const;

 private:
  [[nodiscard]] std::uint64_t free_bytes() const;

  mutable std::mutex mutex_;
  std::uint64_t total_ = 0;  // 0: not set
  std::uint64_t others_ = 0;
  std::uint64_t used_ = 0;
  std::map<const VectisMemory*, std::uint64_t> sizes_;
};

Injector& injector();
MemoryAccount& account();

}  // namespace failing
