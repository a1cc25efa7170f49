#include "memory.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "control.hpp"

namespace vectis::test_driver {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t end_alignment = 16;
constexpr std::size_t dirty_bytes = std::size_t{1} << 20;  // of more, only the beginning is not zero
constexpr unsigned char dirt = 0xCD;
constexpr std::uint64_t device_span = std::uint64_t{1} << 42;
constexpr std::uint64_t address_step = 512;

std::size_t rounded(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Allocation::Allocation(std::uint64_t where, std::size_t count, int whose)
    : address(where), bytes(count), device(whose) {
  const std::size_t body = rounded(rounded(count, end_alignment), page);
  mapped_ = body + page;
  void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw Refusal{2};
  mapping_ = static_cast<char*>(mapping);
  mprotect(mapping_ + body, page, PROT_NONE);
  host = mapping_ + body - rounded(count, end_alignment);
  std::memset(host, dirt, count < dirty_bytes ? count : dirty_bytes);
  std::memset(host + count, dirt, rounded(count, end_alignment) - count);
}

Allocation::~Allocation() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

bool Allocation::is_intact() const {
  for (std::size_t i = bytes; i < rounded(bytes, end_alignment); ++i) {
    if (static_cast<unsigned char>(host[i]) != dirt) return false;
  }
  return true;
}

void Allocation::retire() {
  madvise(mapping_, mapped_, MADV_DONTNEED);
  mprotect(mapping_, mapped_, PROT_NONE);
}

std::uint64_t AddressSpace::allocate(int device, std::size_t bytes, std::size_t device_bytes) {
  if (bytes == 0) refuse(1, "an allocation of no bytes");
  if (bytes > device_bytes - used_[device]) throw Refusal{2};
  std::uint64_t& next = next_[device];
  if (next == 0) next = device_span * static_cast<std::uint64_t>(device + 1);
  const std::uint64_t address = next;
  allocations_[address] = std::make_shared<Allocation>(address, bytes, device);
  next += rounded(bytes, address_step) + address_step;
  used_[device] += bytes;
  Control::get().count(VECTIS_DRIVER_MEMORIES, 1);
  return address;
}

void AddressSpace::free(int device, std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) refuse(1, "free of " + hexadecimal(address) + ", which is no allocation");
  if (found->second == nullptr) refuse(1, "free of " + hexadecimal(address) + ", which is freed already");
  const Allocation& memory = *found->second;
  if (memory.device != device) refuse(1, "free of memory of another device than the current one");
  if (memory.pending > 0) {
    Control::get().violate("free of " + hexadecimal(address) + " while " + std::to_string(memory.pending) +
                           " pieces of queued work use it");
  }
  if (!memory.is_intact()) Control::get().violate("something was written behind the end of " + hexadecimal(address));
  used_[device] -= memory.bytes;
  Control::get().count(VECTIS_DRIVER_MEMORIES, -1);
  found->second.reset();
}

std::shared_ptr<Allocation> AddressSpace::find(int device, std::uint64_t address, std::size_t bytes,
                                               const std::string& what) {
  auto found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) refuse(1, what + ": " + hexadecimal(address) + " is no address of the device");
  std::shared_ptr<Allocation> memory = (--found)->second;
  if (memory == nullptr) refuse(1, what + ": " + hexadecimal(address) + " is freed memory, or behind it");
  const std::uint64_t offset = address - memory->address;
  if (offset >= memory->bytes || bytes > memory->bytes - offset) {
    refuse(1, what + ": " + std::to_string(bytes) + " bytes at " + std::to_string(offset) + " of memory of " +
                  std::to_string(memory->bytes) + " bytes");
  }
  if (memory->device != device) refuse(1, what + ": memory of another device");
  return memory;
}

std::size_t AddressSpace::used(int device) const {
  const auto found = used_.find(device);
  return found == used_.end() ? 0 : found->second;
}

void* PinnedMemory::allocate(int device, std::size_t bytes) {
  if (bytes == 0) refuse(1, "pinned memory of no bytes");
  auto memory = std::make_shared<Allocation>(0, bytes, device);
  char* address = memory->host;
  memories_[reinterpret_cast<std::uint64_t>(address)].memory = std::move(memory);
  Control::get().count(VECTIS_DRIVER_PINNED, 1);
  return address;
}

int PinnedMemory::free(const void* address) {
  const auto found = memories_.find(reinterpret_cast<std::uint64_t>(address));
  if (found == memories_.end()) refuse(1, "free of host memory that is not pinned");
  if (found->second.freed) refuse(1, "free of pinned memory that is freed already");
  Allocation& memory = *found->second.memory;
  if (memory.pending > 0) {
    Control::get().violate("free of pinned memory while " + std::to_string(memory.pending) +
                           " pieces of queued work use it");
  }
  if (!memory.is_intact()) Control::get().violate("something was written behind the end of pinned memory");
  if (memory.pending == 0) memory.retire();
  found->second.freed = true;
  Control::get().count(VECTIS_DRIVER_PINNED, -1);
  return memory.device;
}

std::shared_ptr<Allocation> PinnedMemory::find(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  auto found = memories_.upper_bound(begin);
  if (found == memories_.begin()) return nullptr;
  const auto& [start, pinned] = *--found;
  if (begin - start >= pinned.memory->bytes) return nullptr;
  if (pinned.freed) refuse(1, "a copy uses pinned memory that is freed");
  if (bytes > pinned.memory->bytes - (begin - start)) refuse(1, "a copy reaches beyond pinned memory");
  return pinned.memory;
}

}  // namespace vectis::test_driver
