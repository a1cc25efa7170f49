#include "allocation_faults.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <new>

#include "harness.hpp"

namespace vectis::test {

namespace {

struct State {
  const void* plugin_base = nullptr;
  std::uint32_t nth = 0;
  std::uint32_t seen = 0;
};
thread_local State state;

const void* base_of(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

bool must_fail(const void* caller) {
  if (state.plugin_base == nullptr || base_of(caller) != state.plugin_base) return false;
  return ++state.seen == state.nth;
}

void* allocate_or_fail(std::size_t bytes, const void* caller) {
  if (must_fail(caller)) throw std::bad_alloc();
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void arm_allocation_fault(std::uint32_t nth) { state = {base_of(&plugin()), nth, 0}; }

std::uint32_t disarm_allocation_fault() {
  state.plugin_base = nullptr;
  return state.seen;
}

}  // namespace vectis::test

// All that may meet each other: what one form allocates, another frees.
#define VECTIS_TEST_REPLACES __attribute__((noinline, visibility("default")))

VECTIS_TEST_REPLACES void* operator new(std::size_t bytes) {
  return vectis::test::allocate_or_fail(bytes, __builtin_return_address(0));
}
VECTIS_TEST_REPLACES void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);
}
VECTIS_TEST_REPLACES void operator delete(void* memory) noexcept { std::free(memory); }
VECTIS_TEST_REPLACES void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
VECTIS_TEST_REPLACES void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
