#include "calls.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>

#include "bindings.hpp"
#include "errors.hpp"
#include "memory.hpp"
#include "text.hpp"
#include "vectis/base/time.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

unsigned long main_thread = 0;  // set when the module is imported

// Made by the first call of the main thread, and never destroyed: signals may arrive until the process ends.
InterruptWatcher* watcher = nullptr;

// A forked child shares the watcher's pipe with its parent, whose calls signals of the child must not cancel. Calls in
// the child fail anyway, unless Vectis was not used before the fork.
void forget_main_thread_after_fork() {
  if (watcher != nullptr) main_thread = 0;
}

// Makes Python's signal handler write to this descriptor, and returns the one before, -1 for none.
int set_wakeup_descriptor(int descriptor) {
  static const auto* const set = new nb::object(nb::module_::import_("signal").attr("set_wakeup_fd"));
  static const auto* const quietly = new nb::dict([] {
    nb::dict named;
    named["warn_on_full_buffer"] = false;
    return named;
  }());
  return nb::cast<int>((*set)(descriptor, **(*quietly)));
}

Duration as_duration(double seconds) {
  if (!(seconds >= 0)) {
    throw_invalid_input("timeout", "the timeout must be 0 seconds or more; leave it out for none");
  }
  constexpr double century = 100.0 * 365 * 24 * 3600;  // far enough, and no overflow of nanoseconds
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::fmin(seconds, century)));
}

// Counts the progress callbacks that this thread is in. A change of the same index would wait for the reporting one.
class InProgressCallback {
 public:
  InProgressCallback() noexcept { ++depth; }
  ~InProgressCallback() { --depth; }
  InProgressCallback(const InProgressCallback&) = delete;
  InProgressCallback& operator=(const InProgressCallback&) = delete;

  static inline thread_local int depth = 0;
};

// Calls a Python object with (operation, done, total) at most every 50 ms, and when all is done. Copies share the time.
class ProgressReport {
 public:
  explicit ProgressReport(PyObject* callback)
      : callback_(callback), next_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

  void operator()(const Progress& progress) const {
    constexpr std::uint64_t interval = 50'000'000;
    const std::uint64_t now = monotonic_nanoseconds();
    std::uint64_t next = next_->load(std::memory_order_relaxed);
    const bool last = progress.total != 0 && progress.done == progress.total;
    if (!last && (now < next || !next_->compare_exchange_strong(next, now + interval))) return;
    with_gil([&] {
      const InProgressCallback inside;
      nb::borrow(callback_)(progress.operation, progress.done, progress.total);
    });
  }

 private:
  PyObject* callback_;  // the Call owns it
  std::shared_ptr<std::atomic<std::uint64_t>> next_;
};

}  // namespace

// Python's handler writes to one descriptor; asyncio may use it too, and gets every byte passed on.
InterruptGuard::InterruptGuard(const CancelSource& source) {
  if (watcher == nullptr) watcher = new InterruptWatcher;
  descriptor_before_ = set_wakeup_descriptor(watcher->descriptor());
  target_before_ = watcher->watch({&source, descriptor_before_});
  const bool nested = descriptor_before_ == watcher->descriptor();
  if (nested) watcher->watch({&source, target_before_.forward});
}

InterruptGuard::~InterruptGuard() {
  watcher->watch(target_before_);
  try {
    set_wakeup_descriptor(descriptor_before_);
  } catch (nb::python_error&) {  // someone closed it meanwhile
    set_wakeup_descriptor(-1);
  }
}

Call::Call(const CallArguments& arguments) {
  if (InProgressCallback::depth > 0 && !arguments.only_reads) {
    throw_invalid_input("progress",
                        "a progress callback may search and read, but not change or save an index or store, or run "
                        "kernels: the call that reports to it is not finished");
  }
  context_ = with_scope_tag(context_);
  if (arguments.timeout) context_ = context_.with_timeout(as_duration(*arguments.timeout));
  constexpr std::size_t long_call = 1'000'000;
  if (arguments.progress.ptr() != Py_False && (!arguments.progress.is_none() || arguments.elements >= long_call)) {
    progress_ = nb::module_::import_("vectis._progress").attr("make_callback")(arguments.progress);
    if (!progress_.is_none()) context_ = context_.with_progress(ProgressReport(progress_.ptr()));
  }
  const bool on_main_thread = !arguments.brief && PyThread_get_thread_ident() == main_thread;
  if (arguments.cancel == nullptr && !on_main_thread) return;
  const CancelSource& source = arguments.cancel != nullptr ? *arguments.cancel : own_source_.emplace();
  context_ = context_.with_cancel(source);
  if (on_main_thread) interrupt_guard_.emplace(source);
}

void bind_calls(nb::module_& module) {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  nb::module_::import_("os").attr("register_at_fork")("after_in_child"_a =
                                                          nb::cpp_function(&forget_main_thread_after_fork));
  nb::class_<CancelSource>(module, "CancelSource",
                           "Cancels the calls that were given it as `cancel`: they raise CancelledError and change "
                           "nothing.\n\nAny thread may cancel; it cannot be undone.")
      .def(nb::init<>())
      .def("cancel", &CancelSource::cancel, "Cancel every call that has this source.")
      .def_prop_ro("cancelled", &CancelSource::cancelled, "Whether cancel() was called.");
}

}  // namespace vectis::python
