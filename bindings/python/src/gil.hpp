// The GIL, also while the interpreter ends.
//
// A thread that takes the GIL after Python began to end never returns: CPython 3.11 ends it by pthread_exit, which
// aborts the process where it meets a noexcept function of C++. Therefore calls of this module do not take it any more
// then. Only daemon threads and threads of the library are left at that time.
#pragma once

#include <nanobind/nanobind.h>

namespace vectis::python {

// Releases the GIL while it exists. In a thread other than the main one, the destructor blocks forever after the
// interpreter began to end.
class ReleasedGil {
 public:
  ReleasedGil() noexcept;
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// Calls the function without the GIL and returns its result: for calls of the library that may wait for a lock, whose
// holder may need the GIL to log.
template <class Function>
auto without_gil(const Function& function) {
  const ReleasedGil released;
  return function();
}

// Destroys an object of the library without the GIL: its destructor may wait for threads that are about to log.
struct DestroyWithoutGil {
  template <class T>
  void operator()(T* object) const {
    if (PyGILState_Check() == 0) {
      delete object;
      return;
    }
    const ReleasedGil released;
    delete object;
  }
};

// Counts a thread that is about to take the GIL; not allowed after the interpreter began to end.
class GilWaiter {
 public:
  GilWaiter() noexcept;
  ~GilWaiter();
  GilWaiter(const GilWaiter&) = delete;
  GilWaiter& operator=(const GilWaiter&) = delete;
  [[nodiscard]] bool allowed() const noexcept { return allowed_; }

 private:
  bool allowed_;
};

// Takes the GIL in a thread of the library and calls the function, and returns whether it did: not after the
// interpreter began to end. Rethrows what the function throws.
template <class Function>
bool with_gil(const Function& function) {
  const GilWaiter waiter;
  if (!waiter.allowed()) return false;
  const nanobind::gil_scoped_acquire gil;
  function();
  return true;
}

// Has Python call the end of this module when it ends. Needs the GIL.
void register_end();

}  // namespace vectis::python
