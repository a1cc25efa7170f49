#include "arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "arrow.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// What the module uses of NumPy, looked up once and never released.
struct NumPy {
  nb::object ndarray, integer, asarray, require, empty, from_dlpack;
  nb::object int64, float32, float64;
};

const NumPy& numpy() {
  static const auto* const found = [] {
    const nb::module_ module = nb::module_::import_("numpy");
    const auto dtype = [&](const char* name) { return nb::object(module.attr("dtype")(name)); };
    return new NumPy{module.attr("ndarray"), module.attr("integer"), module.attr("asarray"),
                     module.attr("require"), module.attr("empty"),   module.attr("from_dlpack"),
                     dtype("int64"),         dtype("float32"),       dtype("float64")};
  }();
  return *found;
}

// Returns a NumPy array of what the object holds: without a copy where it can be exchanged, else converted.
nb::object to_numpy(nb::handle object, std::string_view op) {
  if (nb::isinstance(object, numpy().ndarray)) return nb::borrow(object);
  try {
    if (nb::hasattr(object, "__arrow_c_array__")) return import_arrow(object, op);
    if (nb::hasattr(object, "__dlpack__")) return numpy().from_dlpack(object);
    return numpy().asarray(object);
  } catch (nb::python_error& error) {
    // What is no array raises one of these; KeyboardInterrupt, MemoryError and others have nothing to do with it.
    const bool is_no_array = error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError) ||
                             error.matches(PyExc_BufferError) || error.matches(PyExc_AttributeError) ||
                             error.matches(PyExc_RuntimeError) || error.matches(PyExc_OverflowError);
    if (!is_no_array) throw;
    throw_invalid_input(op, fmt::format("expected an array of numbers on the CPU, not {}: {}", class_name(object),
                                        text_of(error.value())));
  }
}

// Checks that the elements of a NumPy array are of one of these kinds ('i' signed, 'u' unsigned integers, 'f' floats).
void check_kind(nb::handle array, std::string_view kinds, std::string_view wanted, std::string_view op) {
  const nb::object dtype = array.attr("dtype");
  const std::string kind = text_of(dtype.attr("kind"));
  if (kinds.find(kind) == std::string_view::npos && nb::cast<std::size_t>(array.attr("size")) != 0) {
    throw_invalid_input(op, fmt::format("expected an array of {}, not of {}", wanted, text_of(dtype)));
  }
}

}  // namespace

Buffer::~Buffer() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

Buffer::Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, {})) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(view_, taken.view_);
  return *this;
}

bool Buffer::take(nb::handle object) {
  *this = Buffer();
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0) return true;
  PyErr_Clear();  // such as an array of a type that the buffer protocol does not know
  view_ = {};
  return false;
}

std::string_view Buffer::format() const noexcept {
  const std::string_view format = view_.format == nullptr ? "B" : view_.format;
  return format.starts_with('=') || format.starts_with('<') || format.starts_with('@') ? format.substr(1) : format;
}

FloatRows::FloatRows(nb::handle object, std::size_t dim, std::string_view op, bool copy) {
  if (!PyObject_CheckBuffer(object.ptr()) || !buffer_.take(object) || !read_in_place()) {
    const nb::object array = to_numpy(object, op);
    check_kind(array, "fiu", "real numbers", op);
    if (!buffer_.take(array) || !read_in_place()) {
      if (!copy) {
        throw_invalid_input(
            op, fmt::format("the array of {} with {} dimensions must be copied to contiguous rows of float32, "
                            "which copy=False forbids",
                            text_of(array.attr("dtype")), nb::cast<std::size_t>(array.attr("ndim"))));
      }
      const nb::object converted = numpy().require(array, numpy().float32, "CA");
      if (!buffer_.take(converted) || !read_in_place()) {
        throw_invalid_input(op, fmt::format("expected rows of {} floats, not an array of {} dimensions", dim,
                                            nb::cast<std::size_t>(array.attr("ndim"))));
      }
    }
  }
  check_shape(dim, op);
}

// Takes the rows of the buffer as they are, and returns whether that is possible: float32, whole floats from row to
// row.
bool FloatRows::read_in_place() {
  const Py_buffer& buffer = buffer_.view();
  constexpr auto element = static_cast<Py_ssize_t>(sizeof(float));
  if (buffer_.format() != "f" || buffer.ndim < 1 || buffer.ndim > 2) return false;
  one_row_ = buffer.ndim == 1;
  const Py_ssize_t dim = buffer.shape[buffer.ndim - 1];
  const Py_ssize_t rows = one_row_ ? 1 : buffer.shape[0];
  if (dim > 1 && buffer.strides[buffer.ndim - 1] != element) return false;
  const Py_ssize_t stride = one_row_ || rows <= 1 ? dim * element : buffer.strides[0];
  if (stride < dim * element || stride % element != 0) return false;
  if (reinterpret_cast<std::uintptr_t>(buffer.buf) % sizeof(float) != 0) return false;
  view_ = MatrixView(static_cast<const float*>(buffer.buf), static_cast<std::size_t>(rows),
                     static_cast<std::size_t>(dim), static_cast<std::size_t>(stride / element));
  return true;
}

void FloatRows::check_shape(std::size_t dim, std::string_view op) {
  if (view_.dim == dim) return;
  const bool no_rows = view_.rows == 0 || (one_row_ && view_.dim == 0);  // such as np.empty((0, 5)), or []
  if (!no_rows) {
    throw_invalid_input(
        op, fmt::format("vectors have {} dimensions, but the index has {}; pass an array of shape (rows, {})",
                        view_.dim, dim, dim));
  }
  view_ = MatrixView();
  one_row_ = false;
}

Ids::Ids(nb::handle object, std::string_view op) {
  if (PyLong_Check(object.ptr()) || nb::isinstance(object, numpy().integer)) {
    one_ = true;
    int overflow = 0;
    const nb::int_ number(object);
    const long long id = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0 || id < 0) throw_invalid_input(op, fmt::format("ids are 0 to 2^63 - 1, not {}", text_of(object)));
    single_ = static_cast<std::uint64_t>(id);
    ids_ = std::span(&single_, 1);
    return;
  }
  nb::object array = to_numpy(object, op);
  check_kind(array, "iu", "integer ids", op);
  array = numpy().require(array, numpy().int64, "CA");
  if (!buffer_.take(array) || buffer_.view().ndim != 1)
    throw_invalid_input(op, "ids must be an array of one dimension");
  ids_ = std::span(static_cast<const std::uint64_t*>(buffer_.view().buf),
                   static_cast<std::size_t>(buffer_.view().shape[0]));
  const auto negative = std::ranges::find_if(ids_, [](std::uint64_t id) { return id >> 63U != 0; });
  if (negative != ids_.end()) {
    throw_invalid_input(op, fmt::format("ids are 0 to 2^63 - 1, not {} at position {}",
                                        static_cast<std::int64_t>(*negative), negative - ids_.begin()));
  }
}

NewArray make_array(Element element, std::size_t rows, std::optional<std::size_t> columns) {
  const NumPy& np = numpy();
  const nb::object& dtype = element == Element::int64     ? np.int64
                            : element == Element::float32 ? np.float32
                                                          : np.float64;
  const nb::object shape = columns ? nb::object(nb::make_tuple(rows, *columns)) : nb::object(nb::int_(rows));
  PyObject* arguments[] = {shape.ptr(), dtype.ptr()};
  NewArray made;
  made.object = nb::steal(PyObject_Vectorcall(np.empty.ptr(), arguments, 2, nullptr));
  if (!made.object.is_valid()) throw nb::python_error();
  Py_buffer view;
  if (PyObject_GetBuffer(made.object.ptr(), &view, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0) throw nb::python_error();
  made.data = view.buf;  // NumPy never moves the data of an array that something refers to
  PyBuffer_Release(&view);
  return made;
}

nb::object make_id_array(std::span<const std::uint64_t> ids) {
  NewArray made = make_array(Element::int64, ids.size());
  if (!ids.empty()) std::memcpy(made.data, ids.data(), ids.size_bytes());
  return std::move(made.object);
}

nb::object make_float_array(std::span<const float> values) {
  NewArray made = make_array(Element::float32, values.size());
  if (!values.empty()) std::memcpy(made.data, values.data(), values.size_bytes());
  return std::move(made.object);
}

}  // namespace vectis::python
