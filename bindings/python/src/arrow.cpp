#include "arrow.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>

#include "errors.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// The two structures of the Arrow C data interface, as its specification defines them.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

template <class T>
T* pointer_of(nb::handle capsule, const char* name) {
  void* const pointer = PyCapsule_GetPointer(capsule.ptr(), name);
  if (pointer == nullptr) throw nb::python_error();
  return static_cast<T*>(pointer);
}

[[noreturn]] void throw_type(std::string_view op, std::string_view format) {
  throw_invalid_input(
      op, fmt::format("expected an Arrow fixed-size list of numbers, or a column of numbers, not the Arrow format "
                      "\"{}\"",
                      format));
}

// The type string of NumPy's array interface for a primitive Arrow format.
std::string type_string(std::string_view format, std::string_view op) {
  constexpr std::array<std::array<std::string_view, 2>, 11> types{{{"f", "<f4"},
                                                                   {"e", "<f2"},
                                                                   {"g", "<f8"},
                                                                   {"c", "|i1"},
                                                                   {"C", "|u1"},
                                                                   {"s", "<i2"},
                                                                   {"S", "<u2"},
                                                                   {"i", "<i4"},
                                                                   {"I", "<u4"},
                                                                   {"l", "<i8"},
                                                                   {"L", "<u8"}}};
  for (const auto& [arrow, numpy] : types) {
    if (arrow == format) return std::string(numpy);
  }
  throw_type(op, format);
}

[[noreturn]] void throw_dictionary(std::string_view op) {
  throw_invalid_input(op, "dictionary-encoded Arrow arrays are not read; decode the array first");
}

// Checks `length` elements from `first` on. Some libraries do not count nulls (-1), so that a validity bitmap without a
// zero bit is accepted too.
void check_no_nulls(const ArrowArray& array, std::int64_t first, std::int64_t length, std::string_view op) {
  if (array.null_count == 0 || array.buffers[0] == nullptr) return;
  const auto* const bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  for (std::int64_t i = first; i < first + length; ++i) {
    const std::int64_t bit = array.offset + i;
    if (((static_cast<unsigned>(bits[bit / 8]) >> static_cast<unsigned>(bit % 8)) & 1U) == 0) {
      throw_invalid_input(
          op, fmt::format("the Arrow array has a null at position {}; fill or drop the nulls first", i - first));
    }
  }
}

// An object with `__array_interface__`, which NumPy keeps as the base of the array that it makes of it.
nb::object as_numpy(const void* values, nb::tuple shape, const std::string& type, nb::handle owner) {
  const nb::object holder = nb::module_::import_("types").attr("SimpleNamespace")();
  nb::dict interface;
  interface["version"] = 3;
  interface["shape"] = std::move(shape);
  interface["typestr"] = type;
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(values), true);
  holder.attr("__array_interface__") = interface;
  holder.attr("owner") = owner;
  return nb::module_::import_("numpy").attr("asarray")(holder);
}

}  // namespace

nb::object import_arrow(nb::handle object, std::string_view op) {
  const nb::object capsules = object.attr("__arrow_c_array__")();
  const auto* const schema = pointer_of<ArrowSchema>(capsules[0], "arrow_schema");
  const auto* const array = pointer_of<ArrowArray>(capsules[1], "arrow_array");
  if (schema->release == nullptr || array->release == nullptr) {
    throw_invalid_input(op, "the Arrow array was moved elsewhere; export it again");
  }
  const std::string_view format = schema->format;
  check_no_nulls(*array, 0, array->length, op);
  if (schema->dictionary != nullptr) throw_dictionary(op);
  constexpr std::string_view fixed_size_list = "+w:";
  if (!format.starts_with(fixed_size_list)) {
    const std::string type = type_string(format, op);
    const std::int64_t size = type.back() - '0';
    return as_numpy(static_cast<const std::byte*>(array->buffers[1]) + array->offset * size,
                    nb::make_tuple(array->length), type, capsules);
  }
  std::int64_t dim = 0;
  const std::string_view digits = format.substr(fixed_size_list.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), dim);
  const ArrowArray& values = *array->children[0];
  const std::string type = type_string(schema->children[0]->format, op);
  if (schema->children[0]->dictionary != nullptr) throw_dictionary(op);
  check_no_nulls(values, array->offset * dim, array->length * dim, op);
  const std::int64_t size = type.back() - '0';
  const std::int64_t first = values.offset + array->offset * dim;
  return as_numpy(static_cast<const std::byte*>(values.buffers[1]) + first * size, nb::make_tuple(array->length, dim),
                  type, capsules);
}

}  // namespace vectis::python
