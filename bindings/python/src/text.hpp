// Text between the library and Python. Files that convert std::string or std::string_view include this header instead
// of those of nanobind.
//
// Text of the library is bytes of any origin: paths, names in files, messages of drivers and compilers, cut to a
// length. The text of Python is UTF-8, so bytes that are none become U+FFFD instead of an exception.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace vectis::python {

// Returns a new reference to a str of these bytes; null with an exception set when memory is short. Needs the GIL.
inline PyObject* to_python_text(std::string_view text) noexcept {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// Returns a path as Python's own functions do, which take it back unchanged. Needs the GIL.
nanobind::str to_python_path(std::string_view path);

// Returns str(object) for a message; surrogates, which UTF-8 does not have, are escaped. Throws what str() raises.
// Needs the GIL.
std::string text_of(nanobind::handle object);

// Returns the name of an object's class, for a message. Needs the GIL.
std::string class_name(nanobind::handle object);

// Returns the name of NumPy's type of an array or scalar, such as "float32"; empty for other objects. Needs the GIL.
std::string dtype_name(nanobind::handle object);

// Returns a str as UTF-8. Throws InvalidInput, naming `op` and `what`, when it contains surrogates, which UTF-8 does
// not have. Needs the GIL.
std::string as_utf8(nanobind::handle text, std::string_view op, std::string_view what);

// Throws InvalidInput, naming `op` and `what`, when text contains the character NUL, at which text of C ends.
void check_no_nul(std::string_view text, std::string_view op, std::string_view what);

}  // namespace vectis::python

namespace nanobind::detail {

template <class Text>
struct text_caster {
  NB_TYPE_CASTER(Text, const_name("str"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
    if (text == nullptr) {  // surrogates
      PyErr_Clear();
      return false;
    }
    value = Text(text, static_cast<std::size_t>(size));
    return true;
  }

  static handle from_cpp(std::string_view text, rv_policy, cleanup_list*) noexcept {
    return vectis::python::to_python_text(text);
  }
};

template <>
struct type_caster<std::string> : text_caster<std::string> {};
template <>
struct type_caster<std::string_view> : text_caster<std::string_view> {};

}  // namespace nanobind::detail
