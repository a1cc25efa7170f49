#include "runtime.hpp"

#include <map>
#include <string>
#include <utility>

#include "array_evaluation.hpp"
#include "gil.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// Passes a record to the logger `vectis.<component>` of Python. The levels of Python are 10, 20, 30 and 40.
void log_to_python(const LogRecord& record) {
  with_gil([&] {
    try {
      const nb::object logger =
          nb::module_::import_("logging").attr("getLogger")("vectis." + std::string(record.component));
      logger.attr("log")(10 * (static_cast<int>(record.level) + 1), "%s", record.message);
    } catch (nb::python_error& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) {
        PyErr_SetInterrupt();  // Ctrl-C met the handler: it ends the call instead
      } else {
        error.discard_as_unraisable("vectis: a handler of `logging` failed");
      }
    }
  });
}

struct Runtimes {
  std::size_t threads = 0;
  std::map<std::size_t, Runtime*> by_threads;  // never destroyed
};

// Guarded by the GIL.
Runtimes& runtimes() {
  static auto* const all = new Runtimes;
  return *all;
}

Runtime& make_runtime(std::size_t threads) {
  if (threads != 0) {
    RuntimeOptions options;
    options.log = log_to_python;
    options.log_level = LogLevel::info;
    options.threads = threads;
    return *new Runtime(std::move(options));
  }
  Runtime& made = Runtime::get_default();
  made.set_log_handler(log_to_python, LogLevel::info);
  return made;
}

}  // namespace

Runtime& runtime() {
  Runtimes& all = runtimes();
  Runtime*& found = all.by_threads[all.threads];
  if (found == nullptr) {
    found = &make_runtime(all.threads);
    observe_evaluations(*found);
  }
  return *found;
}

void set_threads(std::size_t threads) {
  Runtimes& all = runtimes();
  const std::size_t before = all.threads;
  all.threads = threads;
  try {
    runtime();
  } catch (...) {
    all.by_threads.erase(threads);
    all.threads = before;
    throw;
  }
}

void bind_runtime(nb::module_& module) {
  module.def("version", [] { return std::string(version()); }, "Return the version of the library, such as '0.1.0'.");
  module.def(
      "get_threads", [] { return runtime().executor().concurrency(); },
      "Return the number of threads that objects made from now on compute with.");
  module.def("set_threads", &set_threads, nb::arg("threads"),
             "Compute with this many threads in all objects made from now on; 0: one for each core.\n\n"
             "Objects that exist keep their threads.");
  register_end();
}

}  // namespace vectis::python
