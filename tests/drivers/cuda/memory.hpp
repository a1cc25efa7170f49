// Device memory behind addresses that are not host addresses: each is looked up, so a wrong one is found. Addresses are
// never reused. An inaccessible page follows every allocation, and its contents begin as 0xCD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace vectis::test_driver {

class Allocation {
 public:
  Allocation(std::uint64_t address, std::size_t bytes, int device);
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  [[nodiscard]] bool is_intact() const;  // nothing was written past its end
  void retire();                         // its pages stay reserved and become inaccessible

  const std::uint64_t address;
  const std::size_t bytes;
  const int device;
  std::int64_t pending = 0;  // pieces of queued work that use it
  char* host = nullptr;

 private:
  char* mapping_ = nullptr;
  std::size_t mapped_ = 0;
};

class AddressSpace {
 public:
  // Fails with code 2 when the device has no memory left.
  std::uint64_t allocate(int device, std::size_t bytes, std::size_t device_bytes);
  // Violations: an address that is no allocation's beginning, freed twice, or used by queued work.
  void free(int device, std::uint64_t address);
  // The memory in which [address, address + bytes) lies. Everything else is a violation; `what` says whose range it is.
  std::shared_ptr<Allocation> find(int device, std::uint64_t address, std::size_t bytes, const std::string& what);
  [[nodiscard]] std::size_t used(int device) const;

 private:
  std::map<std::uint64_t, std::shared_ptr<Allocation>> allocations_;  // by address; null: freed
  std::map<int, std::size_t> used_;
  std::map<int, std::uint64_t> next_;
};

// Pinned host memory. Freed memory stays inaccessible and is never reused.
class PinnedMemory {
 public:
  void* allocate(int device, std::size_t bytes);
  // The device it was made for. Violations: no beginning of such memory, freed twice, or used by queued work.
  int free(const void* address);
  // The memory in which the range lies; null: memory of others. A range that leaves it, or is freed, is a violation.
  std::shared_ptr<Allocation> find(const void* address, std::size_t bytes);

 private:
  struct Pinned {
    std::shared_ptr<Allocation> memory;
    bool freed = false;
  };
  std::map<std::uint64_t, Pinned> memories_;  // by address
};

}  // namespace vectis::test_driver
