// Errors of the library as Python exceptions: vectis.errors has one class for each ErrorCode.
#include "errors.hpp"

#include <nanobind/nanobind.h>

#include <string>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {

void set_exception(const Error& error) {
  if (error.code() == ErrorCode::cancelled && PyErr_CheckSignals() != 0) return;
  const nb::object exception = nb::module_::import_("vectis.errors")
                                   .attr("make_error")(static_cast<int>(error.code()), std::string(error.what()),
                                                       std::string(error.op()), std::string(error.detail()));
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

void bind_errors(nb::module_& module) {
  nb::register_exception_translator([](const std::exception_ptr& caught, void*) {
    try {
      std::rethrow_exception(caught);
    } catch (const Error& error) {
      set_exception(error);
    }
  });
  module.def(
      "error_catalog",
      [] {
        nb::list all;
        for (const ErrorEntry& entry : error_catalog()) {
          all.append(nb::make_tuple(static_cast<int>(entry.code), std::string(entry.name),
                                    std::string(entry.description), std::string(entry.remedy)));
        }
        return all;
      },
      nb::sig("def error_catalog() -> list[tuple[int, str, str, str]]"),
      "Return code, name, description and remedy of every error of the library.");
}

}  // namespace vectis::python
