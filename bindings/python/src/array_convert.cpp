// Objects of Python as arrays.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <new>
#include <string>

#include "array_casters.hpp"
#include "array_object.hpp"
#include "arrays.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "numbers.hpp"
#include "runtime.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

constexpr DType dtypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int8,
                            DType::uint8,   DType::int32,   DType::int64,   DType::boolean};

std::optional<DType> dtype_named(std::string_view name) {
  for (const DType type : dtypes) {
    if (array_dtype_name(type) == name) return type;
  }
  return std::nullopt;
}

// What this file uses of NumPy, looked up once and never released.
struct NumPyNames {
  nb::object ndarray, generic, asarray, dtype;
};
const NumPyNames& numpy_names() {
  static const auto* const found = [] {
    const nb::module_ module = nb::module_::import_("numpy");
    return new NumPyNames{module.attr("ndarray"), module.attr("generic"), module.attr("asarray"), module.attr("dtype")};
  }();
  return *found;
}

std::string numpy_dtype_name(nb::handle numpy_array) { return text_of(numpy_array.attr("dtype").attr("name")); }

// Whether the elements of a NumPy array are aligned, and stand at multiples of their size.
bool has_own_strides(nb::handle numpy_array, DType type) {
  bool fits = nb::cast<bool>(numpy_array.attr("flags").attr("aligned"));
  for (const nb::handle stride : numpy_array.attr("strides")) {
    fits = fits && nb::cast<std::int64_t>(stride) % static_cast<std::int64_t>(size_of(type)) == 0;
  }
  return fits;
}

// The memory of a NumPy array of one of our types; bfloat16 as the two bytes of each element.
array::HostElements memory_of(nb::handle numpy_array, DType type) {
  auto buffer = std::make_unique<Buffer>();
  const bool has_format = type != DType::bfloat16;
  if (!buffer->take(has_format ? nb::borrow(numpy_array) : nb::object(numpy_array.attr("view")("uint16")))) {
    throw_invalid_input("asarray", "the array's memory cannot be read");
  }
  const Py_buffer& view = buffer->view();
  const auto element = static_cast<Py_ssize_t>(size_of(type));
  array::HostElements memory{.data = static_cast<const std::byte*>(view.buf), .type = type};
  for (int axis = 0; axis < view.ndim; ++axis) {
    memory.shape.push_back(view.shape[axis]);
    memory.strides.push_back(view.strides[axis] / element);
  }
  memory.owner = held_for_threads(std::move(buffer));
  return memory;
}

// A NumPy array whose elements have a type of ours, converted by NumPy where `type` asks for it.
nb::object with_own_type(nb::object numpy_array, std::optional<DType> type) {
  const std::string name = numpy_dtype_name(numpy_array);
  if (dtype_named(name) && nb::cast<bool>(numpy_array.attr("dtype").attr("isnative"))) return numpy_array;
  const bool is_number =
      std::string_view("biuf").find(text_of(numpy_array.attr("dtype").attr("kind"))) != std::string_view::npos;
  if (type && is_number) {
    const DType target = *type == DType::bfloat16 ? DType::float32 : *type;
    return numpy_array.attr("astype")(std::string(array_dtype_name(target)));
  }
  throw_invalid_input("asarray",
                      fmt::format("arrays of {} do not exist; convert it with astype(), or name a dtype", name));
}

Tensor from_numpy(nb::object numpy_array, std::optional<DType> type, const TensorOptions& options, Sharing sharing) {
  nb::object own = with_own_type(numpy_array, type);
  const DType own_type = *dtype_named(numpy_dtype_name(own));
  const bool can_share = has_own_strides(own, own_type);
  const bool is_elsewhere = options.device && options.device->backend() != "cpu";
  if (sharing == Sharing::always && (!own.is(numpy_array) || !can_share || is_elsewhere)) {
    throw_invalid_input("asarray", "the elements are copied to convert, align or move them, which copy=False forbids");
  }
  if (!can_share) own = own.attr("copy")();
  const array::HostElements memory = memory_of(own, own_type);
  if (sharing == Sharing::always && type && *type != memory.type) {
    throw_invalid_input("asarray",
                        fmt::format("elements of {} are copied to convert them to {}, which copy=False forbids",
                                    array_dtype_name(memory.type), array_dtype_name(*type)));
  }
  return without_gil([&] {
    // Converted on the CPU, which has all types. A copy is made at once: the program may change its array afterwards.
    Tensor made = array::from_host_memory(memory, {.runtime = options.runtime});
    const bool is_there = !options.device || *options.device == made.device();
    if (is_there && sharing != Sharing::always) made = copy_of(made);
    if (type) made = made.astype(*type);
    return is_there ? made : made.on(*options.device, options.wide_types).eval();
  });
}

// Whether nested sequences hold numbers of Python itself, whose types are chosen here.
bool holds_python_numbers(nb::handle object) {
  nb::object first = nb::borrow(object);
  std::size_t depth = 0;  // a list may contain itself
  while ((PyList_Check(first.ptr()) || PyTuple_Check(first.ptr())) && depth++ < Shape::rank_max) {
    if (nb::len(first) == 0) return true;
    first = first[0];
  }
  return PyBool_Check(first.ptr()) || PyLong_CheckExact(first.ptr()) || PyFloat_CheckExact(first.ptr());
}

// The type of an array of Python's own numbers that NumPy made.
DType default_type(nb::handle numpy_array) {
  const std::string name = numpy_dtype_name(numpy_array);
  if (name == "bool") return DType::boolean;
  if (name != "int64") return DType::float32;
  if (nb::cast<std::int64_t>(numpy_array.attr("size")) == 0) return DType::int32;
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const auto low = nb::cast<std::int64_t>(numpy_array.attr("min")());
  const auto high = nb::cast<std::int64_t>(numpy_array.attr("max")());
  return low >= -limit && high < limit ? DType::int32 : DType::int64;
}

nb::object numpy_array_of(nb::handle object, std::optional<DType> type) {
  try {
    if (type && *type != DType::bfloat16 && !nb::hasattr(object, "dtype")) {
      return numpy_names().asarray(object, std::string(array_dtype_name(*type)));
    }
    return numpy_names().asarray(object);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError) && !error.matches(PyExc_OverflowError))
      throw;
    throw_invalid_input(
        "asarray", fmt::format("expected an array or numbers, not {}: {}", class_name(object), text_of(error.value())));
  }
}

Scalar integer_scalar(nb::handle object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow != 0) throw_invalid_input("array", "an integer has more than 64 bits; pass a float, or reduce it");
  return value;
}

std::optional<Scalar> as_scalar(nb::handle object) {
  if (PyFloat_Check(object.ptr())) return Scalar(PyFloat_AS_DOUBLE(object.ptr()));
  if (PyBool_Check(object.ptr())) return Scalar(object.ptr() == Py_True);
  if (PyLong_Check(object.ptr())) return integer_scalar(object);
  return std::nullopt;
}

}  // namespace

Tensor copy_of(const Tensor& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.elements()) * size_of(x.dtype()));
  x.copy_to(bytes, x.dtype());
  return Tensor::from_bytes(bytes, x.dtype(), x.shape(), {.device = x.device(), .runtime = &array::runtime_of(x)});
}

std::string_view array_dtype_name(DType type) { return type == DType::boolean ? "bool" : name(type); }

std::optional<Argument> as_argument(nb::handle object) {
  if (is_array(object)) return Argument(tensor_of(object));
  if (const std::optional<Scalar> scalar = as_scalar(object)) return Argument(*scalar);
  const NumPyNames& np = numpy_names();
  if (!nb::isinstance(object, np.ndarray) && !nb::isinstance(object, np.generic)) return std::nullopt;
  return Argument(as_tensor(object, std::nullopt, tensor_options(std::nullopt)));
}

TensorOptions tensor_options(const std::optional<DeviceArgument>& device) {
  if (!device) return {.device = std::nullopt, .runtime = &runtime()};
  const PyDevice found = find_device(device);
  return {.device = found.device, .runtime = found.runtime};
}

Tensor as_tensor(nb::handle object, std::optional<DType> type, const TensorOptions& options, Sharing sharing) {
  if (is_array(object)) {
    Tensor tensor = tensor_of(object);
    const bool is_there = !options.device || *options.device == tensor.device();
    if (sharing == Sharing::always && !is_there) {
      throw_invalid_input("asarray", "elements are copied to another device, which copy=False forbids");
    }
    if (sharing == Sharing::always && type && *type != tensor.dtype()) {
      throw_invalid_input("asarray", fmt::format("elements of {} are copied to convert them to {}, which copy=False "
                                                 "forbids",
                                                 array_dtype_name(tensor.dtype()), array_dtype_name(*type)));
    }
    if (type) tensor = tensor.astype(*type);
    return is_there ? tensor : tensor.on(*options.device, options.wide_types);
  }
  const bool is_numpy = nb::isinstance(object, numpy_names().ndarray);
  if (is_numpy) return from_numpy(nb::borrow(object), type, options, sharing);
  const bool is_number = holds_python_numbers(object);
  if (sharing == Sharing::always && (is_number || !PyObject_CheckBuffer(object.ptr()))) {
    throw_invalid_input("asarray",
                        fmt::format("{} has no memory to share, which copy=False demands", class_name(object)));
  }
  nb::object made = numpy_array_of(object, type);
  const std::optional<DType> wanted = type || !is_number ? type : default_type(made);
  return from_numpy(std::move(made), wanted, options, sharing);
}

Tensor as_elements(nb::handle object, const Tensor& of) {
  if (is_array(object)) return tensor_of(object).astype(of.dtype());
  const TensorOptions host = {.runtime = &array::runtime_of(of)};
  Tensor made;
  if (holds_python_numbers(object)) {
    nb::object numbers = numpy_array_of(object, std::nullopt);
    const DType type = default_type(numbers);
    made = from_numpy(std::move(numbers), type == DType::float32 ? DType::float64 : type, host, Sharing::never);
  } else {
    made = as_tensor(object, std::nullopt, host);
  }
  return made.astype(of.dtype()).on(of.device());
}

DType as_dtype(nb::handle object, std::string_view op) {
  DType type = DType::float32;
  if (nb::try_cast<DType>(object, type, false)) return type;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float32;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int32;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  std::string text = "None";
  if (PyUnicode_Check(object.ptr())) {
    text = text_of(object);
  } else if (!object.is_none()) {
    try {
      text = text_of(numpy_names().dtype(object).attr("name"));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      text = class_name(object);
    }
  }
  const std::optional<DType> found = dtype_named(text);
  if (!found) {
    throw_invalid_input(op, fmt::format("no arrays of {}; choose float32, float64, float16, bfloat16, int8, uint8, "
                                        "int32, int64 or bool",
                                        text));
  }
  return *found;
}

bool as_shape(nb::handle object, Shape& shape) {
  shape = Shape();
  if (PyLong_Check(object.ptr())) {
    shape.push_back(integer_value(object, "shape", "a number"));
    return true;
  }
  if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) {
    if (PyIndex_Check(object.ptr()) == 0) return false;
    shape.push_back(integer_value(object, "shape", "a number"));
    return true;
  }
  for (const nb::handle extent : nb::borrow(object)) {
    if (PyIndex_Check(extent.ptr()) == 0) return false;
    shape.push_back(integer_value(extent, "shape", "a number"));
  }
  return true;
}

void set_current_exception() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    try {
      set_exception(error);
    } catch (nb::python_error& other) {  // such as one that Ctrl-C raised meanwhile
      other.restore();
    }
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(error.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace vectis::python
