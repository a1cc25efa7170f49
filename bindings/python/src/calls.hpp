// What every call of the module that can last does: releases the GIL, ends at Ctrl-C, a deadline or a cancellation, and
// reports progress.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <optional>

#include "gil.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/interrupt.hpp"

namespace vectis::python {

// Optional arguments that calls share. `progress` is None (a progress bar for long changes on a terminal or in a
// notebook), False, a callable (operation, done, total), or an object like tqdm's with `update` and `total`.
struct CallArguments {
  std::optional<double> timeout = std::nullopt;  // seconds
  const CancelSource* cancel = nullptr;          // null: only Ctrl-C cancels
  nanobind::handle progress = Py_False;
  std::size_t elements = 0;  // floats that the call processes: few of them get no automatic progress bar
  bool only_reads = false;   // a progress callback may make the call: it waits for no change of an index or store
  bool brief = false;        // ends within milliseconds: Ctrl-C is handled after the call, which saves microseconds
};

// While it exists, Ctrl-C cancels the source. For the main thread, which alone runs Python's signal handlers. Make and
// destroy it with the GIL; the last one made must be destroyed first.
class InterruptGuard {
 public:
  // `source` must outlive the guard.
  explicit InterruptGuard(const CancelSource& source);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  InterruptTarget target_before_;
  int descriptor_before_ = -1;
};

// The context of one call, and how the call runs. Ctrl-C cancels it if the main thread made it. Make and destroy it
// with the GIL.
class Call {
 public:
  explicit Call(const CallArguments& arguments = {});

  [[nodiscard]] const Context& context() const noexcept { return context_; }

  // Runs the function without the GIL and returns its result.
  template <class Function>
  auto run(const Function& function) const {
    const ReleasedGil released;
    return function(context_);
  }

 private:
  std::optional<CancelSource> own_source_;
  nanobind::object progress_;  // what the context's callback calls
  Context context_;
  std::optional<InterruptGuard> interrupt_guard_;
};

}  // namespace vectis::python
