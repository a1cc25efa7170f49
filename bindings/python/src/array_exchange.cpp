// Arrays for NumPy and other libraries: `__array__`, DLPack, NumPy's protocols, pickling.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <vector>

#include "array_casters.hpp"
#include "array_object.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

nb::dlpack::dtype dlpack_type(DType type) {
  const auto code = [&] {
    switch (type) {
      case DType::bfloat16:
        return nb::dlpack::dtype_code::Bfloat;
      case DType::int8:
      case DType::int32:
      case DType::int64:
        return nb::dlpack::dtype_code::Int;
      case DType::uint8:
        return nb::dlpack::dtype_code::UInt;
      case DType::boolean:
        return nb::dlpack::dtype_code::Bool;
      default:
        return nb::dlpack::dtype_code::Float;
    }
  }();
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(type)), 1};
}

std::optional<DType> type_of_dlpack(nb::dlpack::dtype type) {
  for (const DType one : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int8, DType::uint8,
                          DType::int32, DType::int64, DType::boolean}) {
    if (dlpack_type(one) == type) return one;
  }
  return std::nullopt;
}

// Releases memory of the library when another one no longer needs it.
nb::capsule owner_capsule(std::shared_ptr<const void> owner) {
  auto held = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  const nb::capsule capsule(held.get(), [](void* pointer) noexcept {
    const std::unique_ptr<std::shared_ptr<const void>> taken(static_cast<std::shared_ptr<const void>*>(pointer));
    if (taken->use_count() > 1 || PyGILState_Check() == 0) return;
    const ReleasedGil released;  // a thread that logs to Python may hold the pool's lock
    taken->reset();
  });
  (void)held.release();
  return capsule;
}

// The elements as an array of another library, which keeps their memory alive: read-only where it shares them, writable
// when they are a copy.
template <class Framework>
nb::object exported(const Tensor& tensor, bool copy) {
  const array::HostElements memory = array::host_memory(copy ? copy_of(tensor) : tensor);
  const std::vector<std::size_t> shape(memory.shape.begin(), memory.shape.end());
  const std::vector<std::int64_t> strides(memory.strides.begin(), memory.strides.end());
  const nb::capsule owner = owner_capsule(memory.owner);
  const auto made = [&]<class View>(View /*of*/, auto* data) {
    return nb::cast(View(data, shape.size(), shape.data(), owner, strides.data(), dlpack_type(memory.type),
                         nb::device::cpu::value, 0),
                    nb::rv_policy::reference);
  };
  if (!copy) return made(nb::ndarray<Framework, nb::ro>(), memory.data);
  // Nobody else has the copy.
  return made(nb::ndarray<Framework>(), const_cast<std::byte*>(memory.data));  // NOLINT(*-pro-type-const-cast)
}

// Consumers of unversioned capsules do not learn that memory is read-only: they get a copy.
nb::object dlpack_capsule(const ArrayObject& self, const nb::object& stream, const nb::object& max_version,
                          const nb::object& dl_device, const nb::object& copy) {
  const Tensor tensor = self.tensor;
  if (!stream.is_none()) throw_invalid_input("__dlpack__", "arrays on the CPU have no streams; pass None");
  const bool knows_read_only = PyTuple_Check(max_version.ptr()) && nb::len(max_version) == 2 &&
                               PyObject_RichCompareBool(max_version[0].ptr(), nb::int_(1).ptr(), Py_GE) == 1;
  if (copy.ptr() == Py_False && !knows_read_only) {
    throw nb::buffer_error("the memory is read-only, which capsules before version 1 cannot say; allow a copy");
  }
  return exported<nb::array_api>(tensor, copy.ptr() == Py_True || !knows_read_only)
      .attr("__dlpack__")("max_version"_a = max_version, "dl_device"_a = dl_device);
}

nb::object numpy_protocol(const char* function, nb::handle self, const nb::args& arguments, const nb::kwargs& named) {
  return nb::module_::import_("vectis._array_numpy").attr(function)(self, *arguments, **named);
}

nb::object array_for_numpy(const ArrayObject& self, const nb::object& dtype, const nb::object& copy) {
  const Tensor tensor = self.tensor;
  nb::object made = to_numpy(tensor, copy.ptr() == Py_True);
  const bool converts =
      !dtype.is_none() && !made.attr("dtype").equal(nb::module_::import_("numpy").attr("dtype")(dtype));
  if (copy.ptr() == Py_False && (converts || tensor.dtype() == DType::bfloat16)) {
    throw_invalid_input("__array__", fmt::format("elements of {} are copied to convert them, which copy=False forbids",
                                                 array_dtype_name(tensor.dtype())));
  }
  return converts ? nb::object(made.attr("astype")(dtype)) : made;
}

// Pickles by NumPy, whose arrays go out of band with protocol 5; bfloat16 as its bits.
nb::object reduced(const ArrayObject& self) {
  const Tensor tensor = self.tensor;
  const bool has_numpy_type = tensor.dtype() != DType::bfloat16;
  nb::object elements = to_numpy(tensor, false);
  if (!has_numpy_type) {
    elements = nb::object(elements.attr("view")("uint32")).attr("__rshift__")(16).attr("astype")("uint16");
  }
  const nb::object restore = nb::module_::import_("vectis._array_numpy").attr("restore");
  return nb::make_tuple(restore, nb::make_tuple(elements, std::string(array_dtype_name(tensor.dtype()))));
}

}  // namespace

nb::object to_numpy(const Tensor& tensor, bool copy) {
  return exported<nb::numpy>(tensor.dtype() == DType::bfloat16 ? tensor.astype(DType::float32) : tensor, copy);
}

Tensor import_dlpack(nb::handle object, bool copy, const TensorOptions& options) {
  if (is_array(object)) return as_tensor(object, std::nullopt, options);
  auto view = std::make_unique<nb::ndarray<nb::ro>>();
  if (!nb::try_cast(nb::borrow(object), *view, false)) {
    throw_invalid_input("from_dlpack",
                        fmt::format("{} has no `__dlpack__`, or refuses to share its memory", class_name(object)));
  }
  if (view->device_type() != nb::device::cpu::value) {
    throw_invalid_input("from_dlpack", "the array is not on the CPU; copy it there first");
  }
  const std::optional<DType> type = type_of_dlpack(view->dtype());
  if (!type) {
    throw_invalid_input("from_dlpack",
                        fmt::format("elements of {} bits and DLPack's type code {} are not offered; convert "
                                    "them first",
                                    view->dtype().bits, view->dtype().code));
  }
  array::HostElements memory{.data = static_cast<const std::byte*>(view->data()), .type = *type};
  for (std::size_t axis = 0; axis < view->ndim(); ++axis) {
    memory.shape.push_back(static_cast<std::int64_t>(view->shape(axis)));
    memory.strides.push_back(view->stride(axis));
  }
  memory.owner = held_for_threads(std::move(view));
  return without_gil([&] {
    const Tensor shared = array::from_host_memory(memory, options);
    return copy ? copy_of(shared) : shared;
  });
}

void bind_array_exchange(nb::module_& module) {
  nb::class_<ArrayObject> type = nb::borrow<nb::class_<ArrayObject>>(nb::type<ArrayObject>());
  type.def("__array__", &array_for_numpy, "dtype"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __array__(self, dtype: vectis._types.DTypeLike | None = None, copy: bool | None = None) -> "
                   "vectis._types.AnyArray"))
      .def("__dlpack__", &dlpack_capsule, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
           "dl_device"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig(
               "def __dlpack__(self, *, stream: object = None, max_version: tuple[int, int] | None = None, dl_device: "
               "tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"))
      .def(
          "__dlpack_device__", [](const ArrayObject&) { return nb::make_tuple(nb::device::cpu::value, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def(
          "__array_ufunc__",
          [](nb::handle self, const nb::args& arguments, const nb::kwargs& named) {
            return numpy_protocol("call_ufunc", self, arguments, named);
          },
          nb::sig(
              "def __array_ufunc__(self, ufunc: typing.Any, method: str, *inputs: typing.Any, **kwargs: typing.Any) -> "
              "typing.Any"))
      .def(
          "__array_function__",
          [](nb::handle self, const nb::args& arguments, const nb::kwargs& named) {
            return numpy_protocol("call_function", self, arguments, named);
          },
          nb::sig("def __array_function__(self, function: typing.Any, types: typing.Any, args: typing.Any, kwargs: "
                  "typing.Any) -> typing.Any"))
      .def("__reduce__", &reduced, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  module.def(
      "from_dlpack",
      [](nb::handle x, const std::optional<DeviceArgument>& device, const nb::object& copy) {
        return to_array(import_dlpack(x, copy.ptr() == Py_True, tensor_options(device)));
      },
      "x"_a, nb::kw_only(), "device"_a = nb::none(), "copy"_a = nb::none(),
      nb::sig("def from_dlpack(x: typing.Any, /, *, device: vectis._vectis.Device | int | str | None = None, copy: "
              "bool | None = None) -> Array"),
      "Return an array that shares the memory of another library's array, which must not change any more.");
  module.def(
      "asarray",
      [](nb::handle obj, const DTypeArgument& dtype, const std::optional<DeviceArgument>& device,
         const nb::object& copy) {
        const Sharing sharing = copy.ptr() == Py_False ? Sharing::always : Sharing::never;
        // Another object would not see `x[i] = v`.
        const bool is_same =
            is_array(obj) && copy.ptr() != Py_True && !device && (!dtype.type || *dtype.type == tensor_of(obj).dtype());
        return is_same ? nb::borrow(obj) : to_array(as_tensor(obj, dtype.type, tensor_options(device), sharing));
      },
      "obj"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(), "copy"_a = nb::none(),
      nb::sig("def asarray(obj: typing.Any, /, *, dtype: vectis._types.ArrayDType | None = None, device: "
              "vectis._vectis.Device | int | str | None = None, copy: bool | None = None) -> Array"),
      "Make an array of an array of another library, of a number, or of nested sequences of numbers.\n\n"
      "Memory of other libraries is copied unless copy=False, which shares it: it must not change any more then.");
}

}  // namespace vectis::python
