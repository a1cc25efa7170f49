// Cancelling a call by Ctrl-C in a program that handles the signal itself, such as a Python interpreter.
#pragma once

#include "vectis/base/context.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// While an InterruptGuard exists, SIGINT cancels its source before the program's own handler of the signal runs.
// Without such a handler (the default action, or ignored) the guard does nothing. Guards may nest, the innermost is
// cancelled; all must be made and destroyed by one thread, and the program must not change its handler meanwhile.
//
//   CancelSource source;
//   const InterruptGuard guard(source);
//   index->add(vectors, Context{}.with_cancel(source));   // throws Cancelled after Ctrl-C
class VECTIS_API InterruptGuard {
 public:
  // Starts to listen. `source` must outlive the guard. Does not throw.
  explicit InterruptGuard(const CancelSource& source) noexcept;
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  const CancelSource* outer_ = nullptr;  // of the guard around this one
  bool listens_ = false;
};

}  // namespace vectis::inline v0_1
