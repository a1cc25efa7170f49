// The threads of a block as fibers: each has its own stack and runs until it yields.
#pragma once

#include <cstddef>

#include "kernel_abi.h"

namespace vectis::test_driver {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // start() runs body(argument) on the fiber's stack, resume() continues it; both return when it yields or ends.
  void start(void (*body)(void*), void* argument);
  void resume();
  // Called on the fiber: returns to the caller of start() or resume().
  static void yield_to_caller();
  static Fiber* running();

  int line = 0;  // the barrier or instruction of a warp that it waits at
  VtdTriple thread{};

 private:
  static void enter();
  void switch_in();

  char* mapping_ = nullptr;
  void* inside_ = nullptr;   // where the fiber continues
  void* outside_ = nullptr;  // where its caller continues
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  // The sanitizers' state of the stacks.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* outer_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outer_bytes_ = 0;
  [[maybe_unused]] void* thread_inside_ = nullptr;
  [[maybe_unused]] void* thread_outside_ = nullptr;
};

}  // namespace vectis::test_driver
