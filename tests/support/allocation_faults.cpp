#include "tests/support/allocation_faults.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace vectis::test {

namespace {

struct State {
  bool armed = false;
  const void* module = nullptr;  // null: every module
  NewForm form = NewForm::throwing;
  std::uint32_t nth = 0;
  bool persistent = false;  // all later ones fail as well
  std::uint32_t seen = 0;
};
thread_local State state;

const void* module_of(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

bool must_fail(NewForm form, const void* caller) {
  if (!state.armed || state.form != form) return false;
  if (state.module != nullptr && module_of(caller) != state.module) return false;
  ++state.seen;
  return state.persistent ? state.nth != 0 && state.seen >= state.nth : state.seen == state.nth;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, std::max<std::size_t>(bytes, 1)) == 0 ? memory : nullptr;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* memory = must_fail(NewForm::throwing, caller) ? nullptr : allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* allocate_or_null(std::size_t bytes, std::size_t alignment, const void* caller) {
  return must_fail(NewForm::nothrow, caller) ? nullptr : allocate(bytes, alignment);
}

constexpr std::size_t usual_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void arm_allocation_fault(const void* address, NewForm form, std::uint32_t nth, bool persistent) {
  state = {true, address == nullptr ? nullptr : module_of(address), form, nth, persistent, 0};
}

std::uint32_t disarm_allocation_fault() {
  state.armed = false;
  return state.seen;
}

}  // namespace vectis::test

// All forms are replaced together, since memory of one form may be freed by another.
#define VECTIS_TEST_REPLACES __attribute__((noinline, visibility("default")))

using vectis::test::usual_alignment;

VECTIS_TEST_REPLACES void* operator new(std::size_t bytes) {
  return vectis::test::allocate_or_throw(bytes, usual_alignment, __builtin_return_address(0));
}
VECTIS_TEST_REPLACES void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return vectis::test::allocate_or_throw(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
VECTIS_TEST_REPLACES void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return vectis::test::allocate_or_null(bytes, usual_alignment, __builtin_return_address(0));
}
VECTIS_TEST_REPLACES void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return vectis::test::allocate_or_null(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
VECTIS_TEST_REPLACES void operator delete(void* memory) noexcept { std::free(memory); }
VECTIS_TEST_REPLACES void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
VECTIS_TEST_REPLACES void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
VECTIS_TEST_REPLACES void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
VECTIS_TEST_REPLACES void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
VECTIS_TEST_REPLACES void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
