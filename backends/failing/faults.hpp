// The faults that the `failing` backend injects: calls that fail, a lost device, and a limited device memory. State is
// per process, since the handles of the wrapped backend carry no pointer to it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vectis/device/backend.h"

namespace failing {

// Decides which calls of the `failing` backend fail, as its settings `fail`, `lose` and `reset` command. Thread-safe.
class Injector {
 public:
  // Changes the faults; returns false, and changes nothing, when `key` or `value` is invalid. Keys and values:
  // "fail" with "<slot or any> <n> <status>": the n-th call of that slot from now on fails once; n counts from 1.
  //   Semicolons separate faults. Statuses: invalid_input, allocation, backend_creation, unsupported, device_lost,
  //   compile_failed, driver_failure.
  // "lose" with "<n>": from the n-th call of any slot on, every call returns device_lost.
  // "hold" with any value: from now on no work finishes. Events do not complete, and synchronizing waits.
  // "resume" with any value: ends "hold".
  // "reset" with any value: removes all faults, the device is no longer lost, and work finishes.
  bool command(const std::string& key, const std::string& value);

  // Counts a call of `slot`, and waits while "hold" delays it. Returns VECTIS_OK when the slot may be called;
  // otherwise writes `message`, which must not be null, and returns the injected status, or VECTIS_NOT_READY for an
  // event that "hold" delays, which the caller must return instead of calling the slot.
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
  bool held_ = false;
  std::condition_variable resumed_;
};

// Simulates a device memory of a given size: counts the allocations of this process and bytes attributed to other
// processes. Without a total size every reservation succeeds. Thread-safe.
class MemoryAccount {
 public:
  // Sets the size of the simulated memory; 0 removes the limit. A size below the bytes in use makes later
  // reservations fail, and changes no earlier one.
  void set_total(std::uint64_t bytes);
  // Sets the bytes that other processes are assumed to hold, which reserve() and state() treat as not free.
  void set_others(std::uint64_t bytes);

  // Reserves `bytes` for an allocation and returns true; returns false, and reserves nothing, when a total size is
  // set and fewer bytes are free. Follow it by bind() when the allocation succeeds, by release() when it fails.
  [[nodiscard]] bool reserve(std::uint64_t bytes);
  // Returns `bytes`, which reserve() must have reserved before, after their allocation failed.
  void release(std::uint64_t bytes);
  // Binds `bytes`, which reserve() must have reserved, to the handle `memory`, so that free() can release them.
  // Slices are never bound: freeing one releases nothing.
  void bind(const VectisMemory* memory, std::uint64_t bytes);
  // Releases the bytes bound to `memory`; does nothing when none are, as for a slice.
  void free(const VectisMemory* memory);

  // Writes the total and the free bytes, 0 free when more is held than exists, and returns true; returns false, and
  // writes nothing, when no total is set. Neither pointer may be null.
  bool state(std::uint64_t* total, std::uint64_t* free) const;

 private:
  [[nodiscard]] std::uint64_t free_bytes() const;

  mutable std::mutex mutex_;
  std::uint64_t total_ = 0;  // 0: not set
  std::uint64_t others_ = 0;
  std::uint64_t used_ = 0;
  std::map<const VectisMemory*, std::uint64_t> sizes_;
};

// Returns the Injector of the process, which lives until the process ends.
Injector& injector();
// Returns the MemoryAccount of the process, which lives until the process ends.
MemoryAccount& account();

}  // namespace failing
