#include "array_object.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <string>

#include "array_casters.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "html.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {

PyTypeObject* array_type = nullptr;

namespace {

// --- Operators ------------------------------------------------------------------------------------------------------
// Slots of the class, not functions of nanobind: Python calls them without packing arguments.

using Unary = Tensor (*)(const Operand& x);
using Binary = Tensor (*)(const Operand& a, const Operand& b);

// Calls a function that returns a new reference; null, with a Python exception set, when it throws.
template <class Function>
PyObject* guarded(const Function& function) noexcept {
  try {
    return function();
  } catch (...) {
    set_current_exception();
    return nullptr;
  }
}

template <Unary function>
PyObject* unary_slot(PyObject* x) noexcept {
  return guarded([&] {
    const Argument argument(tensor_of(x));
    return to_array(function(argument.operand())).release().ptr();
  });
}

PyObject* call_binary(Binary function, PyObject* a, PyObject* b) noexcept {
  return guarded([&]() -> PyObject* {
    const std::optional<Argument> first = as_argument(a);
    const std::optional<Argument> second = first ? as_argument(b) : std::nullopt;
    if (!second) Py_RETURN_NOTIMPLEMENTED;
    return to_array(function(first->operand(), second->operand())).release().ptr();
  });
}

template <Binary function>
PyObject* binary_slot(PyObject* a, PyObject* b) noexcept {
  return call_binary(function, a, b);
}

PyObject* power_slot(PyObject* a, PyObject* b, PyObject* modulus) noexcept {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return call_binary(&array::power, a, b);
}

PyObject* compare_slot(PyObject* a, PyObject* b, int how) noexcept {
  static constexpr Binary functions[] = {&array::less,      &array::less_equal, &array::equal,
                                         &array::not_equal, &array::greater,    &array::greater_equal};
  static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
  return call_binary(functions[how], a, b);
}

Tensor positive(const Operand& x) { return *x.tensor(); }

int truth_slot(PyObject* x) noexcept {
  try {
    const Tensor tensor = tensor_of(x);
    return static_cast<int>(tensor.item<double>() != 0);
  } catch (...) {
    set_current_exception();
    return -1;
  }
}

// The only element of an array as a number of Python.
nb::object item(const Tensor& tensor) {
  if (tensor.dtype() == DType::boolean) return nb::bool_(tensor.item<bool>());
  if (is_floating_point(tensor.dtype())) return nb::float_(tensor.item<double>());
  return nb::int_(tensor.item<std::int64_t>());
}

PyObject* float_slot(PyObject* x) noexcept {
  return guarded([&] {
    const Tensor tensor = tensor_of(x);
    return PyNumber_Float(item(tensor).ptr());
  });
}

PyObject* int_slot(PyObject* x) noexcept {
  return guarded([&] {
    const Tensor tensor = tensor_of(x);
    return PyNumber_Long(item(tensor).ptr());
  });
}

PyObject* index_slot(PyObject* x) noexcept {
  return guarded([&]() -> PyObject* {
    const Tensor tensor = tensor_of(x);
    nb::object number = item(tensor);
    if (!PyLong_Check(number.ptr()) || PyBool_Check(number.ptr())) {
      PyErr_Format(PyExc_TypeError, "only integer arrays of one element can be an index, not %s",
                   std::string(array_dtype_name(tensor.dtype())).c_str());
      return nullptr;
    }
    return number.release().ptr();
  });
}

// --- Items ----------------------------------------------------------------------------------------------------------

Py_ssize_t length_slot(PyObject* x) noexcept {
  const Shape& shape = tensor_of(x).shape();
  if (!shape.empty()) return static_cast<Py_ssize_t>(shape[0]);
  PyErr_SetString(PyExc_TypeError, "an array without axes has no length");
  return -1;
}

PyObject* get_slot(PyObject* x, PyObject* key) noexcept {
  return guarded([&] {
    const Tensor tensor = tensor_of(x);
    return to_array(get_item(tensor, key)).release().ptr();
  });
}

int set_slot(PyObject* x, PyObject* key, PyObject* value) noexcept {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
    return -1;
  }
  try {
    const Tensor tensor = tensor_of(x);
    ArrayObject replaced;  // releases the old value as an Array does
    replaced.tensor = set_item(tensor, key, value);
    std::swap(nb::inst_ptr<ArrayObject>(x)->tensor, replaced.tensor);
    return 0;
  } catch (...) {
    set_current_exception();
    return -1;
  }
}

// Functions make arrays; an object without a value must not exist, since slots do not check for it.
PyObject* reject_new(PyTypeObject*, PyObject*, PyObject*) noexcept {
  PyErr_SetString(PyExc_TypeError, "make arrays by vectis.array.asarray() and other functions");
  return nullptr;
}

const PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(&reject_new)},
    {Py_nb_add, reinterpret_cast<void*>(&binary_slot<array::add>)},
    {Py_nb_subtract, reinterpret_cast<void*>(&binary_slot<array::subtract>)},
    {Py_nb_multiply, reinterpret_cast<void*>(&binary_slot<array::multiply>)},
    {Py_nb_true_divide, reinterpret_cast<void*>(&binary_slot<array::divide>)},
    {Py_nb_floor_divide, reinterpret_cast<void*>(&binary_slot<floor_divide>)},
    {Py_nb_remainder, reinterpret_cast<void*>(&binary_slot<array::remainder>)},
    {Py_nb_power, reinterpret_cast<void*>(&power_slot)},
    {Py_nb_matrix_multiply, reinterpret_cast<void*>(&binary_slot<array::matmul>)},
    {Py_nb_and, reinterpret_cast<void*>(&binary_slot<array::bitwise_and>)},
    {Py_nb_or, reinterpret_cast<void*>(&binary_slot<array::bitwise_or>)},
    {Py_nb_xor, reinterpret_cast<void*>(&binary_slot<array::bitwise_xor>)},
    {Py_nb_lshift, reinterpret_cast<void*>(&binary_slot<array::left_shift>)},
    {Py_nb_rshift, reinterpret_cast<void*>(&binary_slot<array::right_shift>)},
    {Py_nb_negative, reinterpret_cast<void*>(&unary_slot<array::negative>)},
    {Py_nb_positive, reinterpret_cast<void*>(&unary_slot<positive>)},
    {Py_nb_absolute, reinterpret_cast<void*>(&unary_slot<array::absolute>)},
    {Py_nb_invert, reinterpret_cast<void*>(&unary_slot<array::bitwise_not>)},
    {Py_nb_bool, reinterpret_cast<void*>(&truth_slot)},
    {Py_nb_float, reinterpret_cast<void*>(&float_slot)},
    {Py_nb_int, reinterpret_cast<void*>(&int_slot)},
    {Py_nb_index, reinterpret_cast<void*>(&index_slot)},
    {Py_tp_richcompare, reinterpret_cast<void*>(&compare_slot)},
    {Py_tp_hash, reinterpret_cast<void*>(&PyObject_HashNotImplemented)},
    {Py_mp_length, reinterpret_cast<void*>(&length_slot)},
    {Py_mp_subscript, reinterpret_cast<void*>(&get_slot)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(&set_slot)},
    {0, nullptr},
};

// --- Text -----------------------------------------------------------------------------------------------------------

std::string describe(const Tensor& tensor) {
  const nb::object text = nb::module_::import_("numpy").attr("array2string")(
      to_numpy(tensor, false), "separator"_a = ", ", "prefix"_a = "Array(");
  return fmt::format("Array({}, dtype={})", nb::cast<std::string>(text), array_dtype_name(tensor.dtype()));
}

std::string html_of(const Tensor& tensor) {
  const std::string caption = fmt::format("Array of {}, shape {}, on {}", array_dtype_name(tensor.dtype()),
                                          to_string(tensor.shape()), tensor.device().label());
  constexpr std::int64_t cells_max = 400;
  const bool is_table = tensor.rank() == 2 && tensor.elements() <= cells_max && tensor.elements() > 0;
  if (!is_table) return fmt::format("<p>{}</p><pre>{}</pre>", escape_html(caption), escape_html(describe(tensor)));
  std::vector<TableRow> rows;
  for (const nb::handle row : to_numpy(tensor, false)) {
    TableRow& cells = rows.emplace_back();
    for (const nb::handle cell : row) cells.push_back(text_of(cell));
  }
  return fmt::format("<p>{}</p>{}", escape_html(caption), html_table({}, rows));
}

nb::object transposed(const Tensor& tensor) {
  if (tensor.rank() != 2) {
    throw_invalid_input("T", fmt::format("shape {} has {} axes; call permute_dims, or mT for the last two",
                                         to_string(tensor.shape()), tensor.rank()));
  }
  return to_array(array::matrix_transpose(tensor));
}

Tensor moved(const Tensor& tensor, const std::optional<DeviceArgument>& device) {
  const TensorOptions options = tensor_options(device);
  return options.device ? tensor.on(*options.device) : tensor;
}

// Makes a function of a Tensor a method of ArrayObject, which copies the Tensor: another thread may replace it.
template <class Result, class... Rest>
auto of_tensor(Result (*function)(const Tensor&, Rest...)) {
  return [function](const ArrayObject& self, Rest... rest) -> Result {
    const Tensor tensor = self.tensor;
    return function(tensor, rest...);
  };
}

nb::object shape_of(const Tensor& tensor) { return nb::cast(tensor.shape()); }
std::size_t rank_of(const Tensor& tensor) { return tensor.rank(); }
std::int64_t size_of_array(const Tensor& tensor) { return tensor.elements(); }
std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.elements() * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

void bind_properties(nb::class_<ArrayObject>& type) {
  type.def_prop_ro("shape", of_tensor(&shape_of), nb::sig("def shape(self) -> tuple[int, ...]"),
                   "The extent along each axis.")
      .def_prop_ro(
          "dtype", [](const ArrayObject& self) { return self.tensor.dtype(); }, nb::sig("def dtype(self) -> DType"),
          "The type of the elements.")
      .def_prop_ro(
          "device",
          [](const ArrayObject& self) { return PyDevice{&array::runtime_of(self.tensor), self.tensor.device()}; },
          nb::sig("def device(self) -> vectis._vectis.Device"), "The device whose memory holds the elements.")
      .def_prop_ro("ndim", of_tensor(&rank_of), "Number of axes.")
      .def_prop_ro("size", of_tensor(&size_of_array), "Number of elements.")
      .def_prop_ro("nbytes", of_tensor(&bytes_of), "Bytes of all elements.")
      .def_prop_ro("T", of_tensor(&transposed), nb::sig("def T(self) -> Array"), "The transposed matrix.")
      .def_prop_ro("mT", of_tensor(+[](const Tensor& x) { return to_array(array::matrix_transpose(x)); }),
                   nb::sig("def mT(self) -> Array"), "The array with its last two axes exchanged.");
}

void bind_methods(nb::class_<ArrayObject>& type) {
  type.def("item", of_tensor(&item), nb::sig("def item(self) -> bool | int | float"),
           "Compute an array of one element and return it as a number.")
      .def("tolist", of_tensor(+[](const Tensor& x) { return nb::object(to_numpy(x, false).attr("tolist")()); }),
           nb::sig("def tolist(self) -> typing.Any"), "Compute the array and return its elements as nested lists.")
      .def(
          "eval",
          [](nb::handle self) {
            const Tensor tensor = tensor_of(self);
            tensor.eval();
            return nb::borrow(self);
          },
          nb::sig("def eval(self) -> Array"), "Compute the array now, and return it.")
      .def(
          "astype",
          [](const ArrayObject& self, nb::handle dtype, bool, const std::optional<DeviceArgument>& device) {
            const Tensor tensor = self.tensor;
            return to_array(moved(tensor.astype(as_dtype(dtype, "astype")), device));
          },
          "dtype"_a, nb::kw_only(), "copy"_a = true, "device"_a = nb::none(),
          nb::sig("def astype(self, dtype: vectis._types.ArrayDType, *, copy: bool = True, device: "
                  "vectis._vectis.Device | int | str | None = None) -> Array"),
          "Return the array converted to another element type.")
      .def(
          "reshape",
          [](const ArrayObject& self, const nb::args& extents) {
            const Tensor tensor = self.tensor;
            Shape shape;
            const nb::object one = extents.size() == 1 ? nb::object(extents[0]) : nb::object(extents);
            if (!as_shape(one, shape)) throw nb::type_error("reshape() takes integers, or a sequence of them");
            return to_array(tensor.reshape(shape));
          },
          nb::sig("def reshape(self, *shape: int | collections.abc.Sequence[int]) -> Array"),
          "Return the elements in the same order in another shape; one extent may be -1, which is computed.")
      .def(
          "to_device",
          [](const ArrayObject& self, const std::optional<DeviceArgument>& device, const nb::object&) {
            const Tensor tensor = self.tensor;
            return to_array(moved(tensor, device));
          },
          "device"_a.none(), nb::kw_only(), "stream"_a = nb::none(),
          nb::sig("def to_device(self, device: vectis._vectis.Device | int | str | None, /, *, stream: object = None) "
                  "-> Array"),
          "Return the array on a device, to which it is copied when it is computed. The stream is ignored.")
      .def(
          "__iter__",
          [](const ArrayObject& self) {
            const Tensor tensor = self.tensor;
            if (tensor.rank() == 0) throw nb::type_error("an array without axes cannot be iterated");
            nb::list parts;
            for (Tensor& part : array::unstack(tensor)) parts.append(to_array(std::move(part)));
            return nb::iter(parts);
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Array]"))
      .def("__complex__",
           of_tensor(+[](const Tensor& x) { return nb::steal(PyComplex_FromDoubles(x.item<double>(), 0)); }),
           nb::sig("def __complex__(self) -> complex"))
      .def("__copy__", of_tensor(+[](const Tensor& x) { return to_array(x); }), nb::sig("def __copy__(self) -> Array"))
      .def(
          "__deepcopy__", [](const ArrayObject& self, const nb::object&) { return to_array(self.tensor); }, "memo"_a,
          nb::sig("def __deepcopy__(self, memo: object) -> Array"))
      .def(
          "__array_namespace__",
          [](const ArrayObject&, const nb::object& version) {
            if (!version.is_none() && text_of(version) > "2024.12") {
              throw_invalid_input("__array_namespace__",
                                  fmt::format("version {} of the array API is not offered; leave it out for 2024.12",
                                              text_of(version)));
            }
            return nb::module_::import_("vectis.array");
          },
          nb::kw_only(), "api_version"_a = nb::none(),
          nb::sig("def __array_namespace__(self, *, api_version: str | None = None) -> types.ModuleType"))
      .def("__repr__", of_tensor(&describe))
      .def("_repr_html_", of_tensor(&html_of));
}

void bind_dtype(nb::module_& module) {
  nb::enum_<DType>(module, "DType", "The type of the elements of an array.")
      .value("float32", DType::float32)
      .value("float64", DType::float64)
      .value("float16", DType::float16)
      .value("bfloat16", DType::bfloat16)
      .value("int8", DType::int8)
      .value("uint8", DType::uint8)
      .value("int32", DType::int32)
      .value("int64", DType::int64)
      .value("bool", DType::boolean);
}

}  // namespace

ArrayObject::~ArrayObject() {
  constexpr std::int64_t small = 8;  // elements that are stored without the pool
  if (tensor.is_empty() || tensor.node().use_count() > 1 || PyGILState_Check() == 0) return;
  if (tensor.is_computed() && tensor.elements() <= small) return;
  const ReleasedGil released;
  tensor = Tensor();
}

Tensor floor_divide(const Operand& a, const Operand& b) {
  const Tensor quotient = array::floor_divide(a, b);
  if (!is_floating_point(quotient.dtype())) return quotient;
  const Tensor ratio = array::divide(a, b);
  return array::where(array::logical_or(array::equal(ratio, 0), array::isinf(ratio)), ratio, quotient);
}

nb::object to_array(Tensor tensor) {
  nb::object made = nb::inst_alloc_zero(nb::handle(reinterpret_cast<PyObject*>(array_type)));
  nb::inst_ptr<ArrayObject>(made)->tensor = std::move(tensor);
  return made;
}

void bind_array_object(nb::module_& module) {
  bind_dtype(module);
  nb::class_<ArrayObject> type(
      module, "Array", nb::is_final(), nb::type_slots(slots),
      "An array: an immutable value that is computed when it is needed.\n\n"
      "Made by asarray() and the other functions of vectis.array. `x[i] = v` replaces the value of "
      "this object; other objects keep theirs.");
  array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  bind_properties(type);
  bind_methods(type);
}

}  // namespace vectis::python
