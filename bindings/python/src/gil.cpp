#include "gil.hpp"

#include <atomic>
#include <cstdint>

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

// When a thread took the GIL at the end of a call of this module, in nanoseconds; 0 after it released it for the next
// call. Another thread whose call ends meanwhile spins for as long as Python usually needs between two calls: CPython
// would put it to sleep, which takes longer than many searches. A thread that keeps the GIL for longer, or that
// released it elsewhere, is not waited for.
std::atomic<std::uint64_t> taken_at{0};
constexpr std::uint64_t spin_max = 20'000;   // nanoseconds
constexpr std::uint64_t taken_max = 50'000;  // a longer time says nothing about who has the GIL

void await_turn() noexcept {
  const std::uint64_t begin = monotonic_nanoseconds();
  for (std::uint64_t now = begin; now - begin < spin_max; now = monotonic_nanoseconds()) {
    std::uint64_t taken = taken_at.load(std::memory_order_relaxed);
    const bool free = taken == 0 || (now > taken && now - taken > taken_max);
    if (free && taken_at.compare_exchange_strong(taken, now, std::memory_order_relaxed)) return;
  }
}

}  // namespace

ReleasedGil::ReleasedGil() noexcept : state_(PyEval_SaveThread()) { taken_at.store(0, std::memory_order_relaxed); }

GilWaiter::GilWaiter() noexcept {
  waiting_threads.fetch_add(1);
  allowed_ = !interpreter_ends.load();
}

GilWaiter::~GilWaiter() { waiting_threads.fetch_sub(1); }

ReleasedGil::~ReleasedGil() {
  {
    const GilWaiter waiter;
    if (waiter.allowed() || PyThread_get_thread_ident() == ending_thread) {
      await_turn();
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
