#include "text.hpp"

#include <fmt/format.h>

#include "errors.hpp"

namespace nb = nanobind;

namespace vectis::python {

nb::str to_python_path(std::string_view path) {
  const nb::object text =
      nb::steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
  if (!text.is_valid()) throw nb::python_error();
  return nb::borrow<nb::str>(text);
}

std::string text_of(nb::handle object) {
  const nb::str text(object);
  const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!encoded.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(encoded.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr()))};
}

std::string class_name(nb::handle object) { return text_of(object.type().attr("__name__")); }

std::string dtype_name(nb::handle object) {
  std::string name;
  const nb::object dtype = nb::getattr(object, "dtype", nb::none());
  return nb::try_cast(nb::getattr(dtype, "name", nb::none()), name) ? name : std::string();
}

std::string as_utf8(nb::handle text, std::string_view op, std::string_view what) {
  std::string bytes;
  if (nb::try_cast(text, bytes)) return bytes;
  throw_invalid_input(op, fmt::format("{} contains surrogates, which UTF-8 does not have; remove them", what));
}

void check_no_nul(std::string_view text, std::string_view op, std::string_view what) {
  const std::size_t at = text.find('\0');
  if (at == std::string_view::npos) return;
  throw_invalid_input(op, fmt::format("{} contains the character NUL at byte {}; remove it", what, at));
}

}  // namespace vectis::python
