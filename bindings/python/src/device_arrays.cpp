#include "device_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "calls.hpp"
#include "errors.hpp"
#include "runtime.hpp"
#include "streams.hpp"
#include "text.hpp"
#include "vectis/memory/pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

// Returns the element type of a format of the buffer protocol.
std::optional<DType> type_of(std::string_view format, Py_ssize_t element_bytes) {
  if (format == "f") return DType::float32;
  if (format == "e") return DType::float16;
  if (format == "d") return DType::float64;
  if (format == "b") return DType::int8;
  if (format == "B") return DType::uint8;
  if (format == "?") return DType::boolean;
  if (format == "Zf") return DType::complex64;
  if (format == "H") return DType::bfloat16;
  if (format == "i" || format == "l" || format == "q") {
    return element_bytes == 4 ? DType::int32 : DType::int64;
  }
  if ((format == "I" || format == "L") && element_bytes == 4) return DType::uint32;
  return std::nullopt;
}

// Returns the name of NumPy's type for elements of this type; bfloat16 has none, its bits are uint16.
std::string numpy_name(DType type) {
  if (type == DType::bfloat16) return "uint16";
  if (type == DType::boolean) return "bool";
  return std::string(name(type));
}

nb::object numpy_dtype(DType type) { return nb::module_::import_("numpy").attr("dtype")(numpy_name(type)); }

// Takes the buffer of an array; of one of ml_dtypes' bfloat16, which has no format, that of its bits.
bool take_buffer(Buffer& buffer, nb::handle object) {
  if (!PyObject_CheckBuffer(object.ptr())) return false;
  if (buffer.take(object)) return true;
  if (dtype_name(object) != "bfloat16") return false;
  return buffer.take(object.attr("view")("uint16"));
}

nb::object download_array(const DeviceArray& self) {
  nb::object made =
      nb::module_::import_("numpy").attr("empty")(nb::tuple(nb::cast(self.shape())), numpy_dtype(self.type()));
  if (self.elements() == 0) return made;
  const HostArray target(made, true, "numpy", "the array");
  const Call call({.only_reads = true});
  call.run([&](const Context&) {
    BorrowedStream stream(self.device());
    self.download(*stream, target.bytes());
    stream.finish();
  });
  return made;
}

DeviceArray upload_array(nb::handle object, const std::optional<DeviceArgument>& device) {
  const HostArray source(object, false, "to_device", "the array");
  const PyDevice found = find_device(device);
  const Call call;
  return call.run([&](const Context& context) {
    DeviceArray made(found, source.type(), source.shape(), context);
    if (source.bytes().empty()) return made;
    BorrowedStream stream(found);
    made.upload(*stream, source.bytes());
    stream.finish();
    return made;
  });
}

void copy_from(const DeviceArray& self, nb::handle object) {
  const HostArray source(object, false, "copy_from", "the array");
  if (source.type() != self.type() || source.shape() != self.shape()) {
    throw_invalid_input("copy_from",
                        fmt::format("expected an array of {} of shape {}, not of {} of shape {}", name(self.type()),
                                    format_shape(self.shape()), name(source.type()), format_shape(source.shape())));
  }
  if (source.bytes().empty()) return;
  const Call call;
  call.run([&](const Context&) {
    BorrowedStream stream(self.device());
    self.upload(*stream, source.bytes());
    stream.finish();
  });
}

DeviceArray make_empty(const std::variant<std::size_t, std::vector<std::size_t>>& shape, std::string_view dtype,
                       const std::optional<DeviceArgument>& device) {
  const auto* const size = std::get_if<std::size_t>(&shape);
  std::vector<std::size_t> chosen = size != nullptr ? std::vector{*size} : std::get<std::vector<std::size_t>>(shape);
  const DType type = parse_element(dtype, "empty");
  const PyDevice found = find_device(device);
  const Call call;
  return call.run([&](const Context& context) { return DeviceArray(found, type, std::move(chosen), context); });
}

// Returns the bytes to allocate for an array of this shape: whole words, which kernels read, and at least one. Throws
// InvalidInput when their number is not a size.
std::size_t allocated_bytes(DType type, std::span<const std::size_t> shape) {
  constexpr std::size_t word = 4;
  std::size_t bytes = size_of(type);
  bool too_many = false;
  for (const std::size_t extent : shape) too_many = __builtin_mul_overflow(bytes, extent, &bytes) || too_many;
  if (too_many || bytes > std::numeric_limits<std::size_t>::max() - word) {
    throw_invalid_input("DeviceArray", fmt::format("an array of shape {} has too many elements", format_shape(shape)));
  }
  return bytes == 0 ? word : (bytes + word - 1) / word * word;
}

}  // namespace

std::string format_shape(std::span<const std::size_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

DType parse_element(std::string_view text, std::string_view op) {
  if (const auto type = parse_dtype(text)) return *type;
  std::vector<std::string_view> names;
  for (const DType type : all_dtypes()) names.push_back(name(type));
  throw_invalid_input(op, fmt::format("there is no element type '{}'; types are {}", text, fmt::join(names, ", ")));
}

HostArray::HostArray(nb::handle object, bool in_place, std::string_view op, std::string_view what) {
  if (!take_buffer(buffer_, object)) {
    throw_invalid_input(
        op, fmt::format("{} must be a NumPy array or have the buffer protocol, not {}", what, class_name(object)));
  }
  const auto type = type_of(buffer_.format(), buffer_.view().itemsize);
  if (!type) {
    throw_invalid_input(
        op, fmt::format("{} has elements of the type '{}', which no device takes; convert it with astype()", what,
                        buffer_.format()));
  }
  type_ = *type;
  const bool contiguous = PyBuffer_IsContiguous(&buffer_.view(), 'C') != 0;
  if (in_place && !(contiguous && writable())) {
    throw_invalid_input(op, fmt::format("{} is written in place and must be {}", what,
                                        contiguous ? "writable" : "contiguous; pass a copy"));
  }
  if (contiguous) return;
  const nb::object copy = nb::module_::import_("numpy").attr("ascontiguousarray")(object);
  Buffer copied;
  if (!take_buffer(copied, copy)) throw_invalid_input(op, fmt::format("{} cannot be copied", what));
  buffer_ = std::move(copied);
}

std::vector<std::size_t> HostArray::shape() const {
  const Py_buffer& view = buffer_.view();
  return {view.shape, view.shape + view.ndim};
}

DeviceArray::DeviceArray(PyDevice device, DType type, std::vector<std::size_t> shape, const Context& context)
    : device_(std::move(device)), type_(type), shape_(std::move(shape)) {
  const std::size_t bytes = allocated_bytes(type_, shape_);
  buffer_ = memory_pool(*device_.runtime).allocate_bytes(device_.device.id(), bytes, {.context = context});
}

DeviceArray::~DeviceArray() {
  if (!buffer_ || PyGILState_Check() == 0) return;
  const ReleasedGil released;  // a thread that logs to Python may hold the pool's lock
  buffer_.release();
}

std::size_t DeviceArray::elements() const noexcept {
  return std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, std::multiplies<>());
}

void DeviceArray::upload(Stream& stream, std::span<const std::byte> source) const {
  if (!source.empty()) stream.copy_to_device(memory(), 0, source);
}

void DeviceArray::download(Stream& stream, std::span<std::byte> target) const {
  if (!target.empty()) stream.copy_to_host(target, memory(), 0);
}

void bind_device_arrays(nb::module_& module) {
  nb::class_<DeviceArray>(module, "DeviceArray",
                          "An array in the memory of a device, from to_device() or empty().\n\n"
                          "Kernels read and write it without copies. The memory returns to the pool with the object.")
      .def_prop_ro("device", [](const DeviceArray& self) { return self.device(); })
      .def_prop_ro(
          "dtype", [](const DeviceArray& self) { return std::string(name(self.type())); },
          "Name of the element type, such as 'float32' or 'bfloat16'.")
      .def_prop_ro(
          "shape", [](const DeviceArray& self) { return nb::tuple(nb::cast(self.shape())); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("ndim", [](const DeviceArray& self) { return self.shape().size(); })
      .def_prop_ro("size", &DeviceArray::elements, "Number of elements.")
      .def_prop_ro("nbytes", &DeviceArray::bytes, "Bytes of all elements.")
      .def("numpy", &download_array, nb::sig("def numpy(self) -> vectis._types.AnyArray"),
           "Copy the elements to a new NumPy array; those of bfloat16 are uint16, which NumPy has in their place.")
      .def(
          "__array__",
          [](const DeviceArray& self, const nb::object& dtype, const nb::object& copy) {
            if (copy.ptr() == Py_False) throw nb::value_error("an array on a device cannot be read without a copy");
            nb::object made = download_array(self);
            return dtype.is_none() ? made : nb::object(made.attr("astype")(dtype, "copy"_a = false));
          },
          "dtype"_a = nb::none(), "copy"_a = nb::none(),
          nb::sig("def __array__(self, dtype: vectis._types.DTypeLike | None = None, copy: bool | None = None) -> "
                  "vectis._types.AnyArray"))
      .def("copy_from", &copy_from, "array"_a, nb::sig("def copy_from(self, array: vectis._types.AnyArray) -> None"),
           "Copy all elements of an array of the same shape and type to the device.")
      .def("__repr__", [](const DeviceArray& self) {
        return fmt::format("DeviceArray(shape={}, dtype='{}', device='{}')", format_shape(self.shape()),
                           name(self.type()), self.device().device.label());
      });
  module.def("to_device", &upload_array, "array"_a, "device"_a = nb::none(),
             nb::sig("def to_device(array: numpy.typing.NDArray[typing.Any], device: Device | int | str | None = None) "
                     "-> DeviceArray"),
             "Copy an array to a device; None: to the active one.\n\n"
             "uint16 is taken as the bits of bfloat16, which NumPy does not have.");
  module.def("empty", &make_empty, "shape"_a, "dtype"_a = "float32", "device"_a = nb::none(),
             nb::sig("def empty(shape: int | collections.abc.Sequence[int], dtype: str = 'float32', device: Device | "
                     "int | str | None = None) -> DeviceArray"),
             "Make an array on a device without defined content.");
}

}  // namespace vectis::python
