#include "numbers.hpp"

#include <fmt/format.h>

#include "errors.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// Throws InvalidInput for the exception that a conversion has set, if it says that `value` is no such number.
[[noreturn]] void throw_no_number(nb::handle value, std::string_view wanted, std::string_view op,
                                  std::string_view what) {
  nb::python_error error;
  if (error.matches(PyExc_OverflowError)) throw_invalid_input(op, fmt::format("{} is out of range", what));
  if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw error;
  throw_invalid_input(op, fmt::format("{} must be {}, not {}", what, wanted, class_name(value)));
}

}  // namespace

double real_value(nb::handle value, std::string_view op, std::string_view what) {
  const double real = PyFloat_AsDouble(value.ptr());
  if (real == -1.0 && PyErr_Occurred() != nullptr) throw_no_number(value, "a number", op, what);
  return real;
}

std::int64_t integer_value(nb::handle value, std::string_view op, std::string_view what) {
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw_no_number(value, "an integer", op, what);
  int overflow = 0;
  const std::int64_t integer = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) throw_invalid_input(op, fmt::format("{} is out of range", what));
  return integer;
}

}  // namespace vectis::python
