#include "fibers.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define VTD_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VTD_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define VTD_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VTD_THREAD_SANITIZER 1
#endif
#endif

#if defined(VTD_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(VTD_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__)
#error "the test driver's fibers are written for x86-64"
#endif

// Saves what a function must preserve on the stack at hand, stores that stack in *from, and goes on at the stack `to`.
asm(R"(
.text
.globl vtd_switch
.hidden vtd_switch
.type vtd_switch, @function
vtd_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size vtd_switch, . - vtd_switch
)");
extern "C" __attribute__((visibility("hidden"))) void vtd_switch(void** from, void* to);

namespace vectis::test_driver {

namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t stack_bytes = std::size_t{1} << 17;
constexpr int saved_registers = 6;

thread_local Fiber* running_fiber = nullptr;

}  // namespace

Fiber::Fiber() {
  void* mapping = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapping);
  mprotect(mapping_, guard_bytes, PROT_NONE);
#if defined(VTD_THREAD_SANITIZER)
  thread_inside_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(VTD_THREAD_SANITIZER)
  __tsan_destroy_fiber(thread_inside_);
#endif
  munmap(mapping_, guard_bytes + stack_bytes);
}

Fiber* Fiber::running() { return running_fiber; }

void Fiber::start(void (*body)(void*), void* argument) {
  body_ = body;
  argument_ = argument;
  fake_stack_ = nullptr;
  // As if `enter` had been interrupted at its first instruction: the stack is then eight bytes off a multiple of 16.
  auto* top = reinterpret_cast<std::uintptr_t*>(mapping_ + guard_bytes + stack_bytes);
  top -= 1;
  *--top = reinterpret_cast<std::uintptr_t>(&Fiber::enter);
  for (int i = 0; i < saved_registers; ++i) *--top = 0;
  inside_ = top;
#if defined(VTD_ADDRESS_SANITIZER)
  __asan_unpoison_memory_region(mapping_ + guard_bytes, stack_bytes);
#endif
  switch_in();
}

void Fiber::resume() { switch_in(); }

void Fiber::switch_in() {
  running_fiber = this;
#if defined(VTD_ADDRESS_SANITIZER)
  void* outer_fake = nullptr;
  __sanitizer_start_switch_fiber(&outer_fake, mapping_ + guard_bytes, stack_bytes);
#endif
#if defined(VTD_THREAD_SANITIZER)
  thread_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_inside_, 0);
#endif
  vtd_switch(&outside_, inside_);
#if defined(VTD_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(outer_fake, nullptr, nullptr);
#endif
  running_fiber = nullptr;
}

void Fiber::enter() {
  Fiber* self = running_fiber;
#if defined(VTD_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(self->fake_stack_, &self->outer_bottom_, &self->outer_bytes_);
#endif
  self->body_(self->argument_);
#if defined(VTD_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(nullptr, self->outer_bottom_, self->outer_bytes_);
#endif
#if defined(VTD_THREAD_SANITIZER)
  __tsan_switch_to_fiber(self->thread_outside_, 0);
#endif
  vtd_switch(&self->inside_, self->outside_);
  std::abort();  // an ended fiber is started, never resumed
}

void Fiber::yield_to_caller() {
  Fiber* self = running_fiber;
#if defined(VTD_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&self->fake_stack_, self->outer_bottom_, self->outer_bytes_);
#endif
#if defined(VTD_THREAD_SANITIZER)
  __tsan_switch_to_fiber(self->thread_outside_, 0);
#endif
  vtd_switch(&self->inside_, self->outside_);
#if defined(VTD_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(self->fake_stack_, &self->outer_bottom_, &self->outer_bytes_);
#endif
}

}  // namespace vectis::test_driver
