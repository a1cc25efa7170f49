#include "gil.hpp"

#include <atomic>

#include "vectis/base/time.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

std::atomic<bool> interpreter_ends{false};
std::atomic<int> waiting_threads{0};  // that take the GIL right now, or have it for a callback
unsigned long ending_thread = 0;      // the one that ends the interpreter

// Runs when Python ends, with the GIL. Threads that wait for it must have it before Python refuses it.
void end() {
  ending_thread = PyThread_get_thread_ident();
  interpreter_ends.store(true);
  const nb::gil_scoped_release released;
  constexpr int milliseconds_max = 2000;  // a callback may take long
  for (int i = 0; i < milliseconds_max && waiting_threads.load() > 0; ++i) pause_thread(std::chrono::milliseconds(1));
}

}  // namespace

GilWaiter::GilWaiter() noexcept {
  waiting_threads.fetch_add(1);
  allowed_ = !interpreter_ends.load();
}

GilWaiter::~GilWaiter() { waiting_threads.fetch_sub(1); }

ReleasedGil::~ReleasedGil() {
  {
    const GilWaiter waiter;
    if (waiter.allowed() || PyThread_get_thread_ident() == ending_thread) {
      PyEval_RestoreThread(state_);
      return;
    }
  }
  for (;;) pause_thread(std::chrono::hours(1));
}

void register_end() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end));
  // Threads that waited for the GIL are not in a forked child.
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") =
                                                          nb::cpp_function([] { waiting_threads.store(0); }));
}

}  // namespace vectis::python
