// Threads of a group as fibres: each has a stack and runs until it gives way.
#pragma once

#include <cstddef>

#include "kernel_abi.h"

namespace vectis::test_driver {

class Fibre {
 public:
  Fibre();
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  // Runs `body(argument)` on the fibre's stack, or goes on where it gave way; returns when it gives way or ends.
  void start(void (*body)(void*), void* argument);
  void resume();
  // To be called on the fibre: back to whoever started or resumed it.
  static void give_way();
  static Fibre* running();

  int line = 0;  // the barrier it waits at
  VtdTriple thread{};

 private:
  static void enter();
  void switch_in();

  char* mapping_ = nullptr;
  void* inside_ = nullptr;   // where the fibre goes on
  void* outside_ = nullptr;  // where its caller goes on
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  // What sanitizers keep about stacks.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  [[maybe_unused]] const void* outer_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outer_bytes_ = 0;
  [[maybe_unused]] void* thread_inside_ = nullptr;
  [[maybe_unused]] void* thread_outside_ = nullptr;
};

}  // namespace vectis::test_driver
