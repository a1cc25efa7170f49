// Evaluations of arrays release the GIL, also those that an operation starts, and end at Ctrl-C.
#include "array_evaluation.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>

#include "gil.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/base/time.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

struct RunningEvaluation {
  ReleasedGil released;
  std::uint64_t signals_at = 0;  // when signals are handled next, in nanoseconds
};

class PythonObserver final : public array::EvaluationObserver {
 public:
  void* begin() noexcept override { return PyGILState_Check() != 0 ? new RunningEvaluation : nullptr; }
  void end(void* begun) noexcept override { delete static_cast<RunningEvaluation*>(begun); }

  void step(void* begun) override {
    if (begun == nullptr) return;
    constexpr std::uint64_t interval = 50'000'000;
    auto& running = *static_cast<RunningEvaluation*>(begun);
    const std::uint64_t now = monotonic_nanoseconds();
    if (running.signals_at == 0) running.signals_at = now + interval;
    if (now < running.signals_at) return;
    running.signals_at = now + interval;
    with_gil([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }
};

}  // namespace

void observe_evaluations(Runtime& runtime) {
  static auto* const observer = new PythonObserver;  // Runtimes of the module are never destroyed
  array::set_evaluation_observer(runtime, observer);
}

}  // namespace vectis::python
