// vectis.array.Array and the arguments of its functions.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string_view>
#include <utility>

#include "devices.hpp"
#include "gil.hpp"
#include "vectis/array.hpp"

namespace vectis::python {

using array::Operand;
using array::Scalar;
using array::Tensor;
using array::TensorOptions;

// A Python array: a Tensor that `x[i] = v` replaces.
struct ArrayObject {
  Tensor tensor;

  ArrayObject() = default;
  ArrayObject(const ArrayObject&) = delete;
  ArrayObject& operator=(const ArrayObject&) = delete;
  // Releases large memory without the GIL: a thread that logs to Python may hold the pool's lock.
  ~ArrayObject();
};

// The class Array, which is final: the type of an object says whether it is one. Set by bind_array_object.
extern PyTypeObject* array_type;

[[nodiscard]] inline bool is_array(nanobind::handle object) noexcept { return Py_TYPE(object.ptr()) == array_type; }
// Returns the value of an Array. Copy it before Python code can run: another thread may replace it then.
[[nodiscard]] inline const Tensor& tensor_of(nanobind::handle array) noexcept {
  return nanobind::inst_ptr<ArrayObject>(array)->tensor;
}
// Returns a new Array. Needs the GIL.
[[nodiscard]] nanobind::object to_array(Tensor tensor);

// An operand: an array, or a number that takes the type of the arrays beside it. It owns the array.
class Argument {
 public:
  Argument() = default;
  explicit Argument(Tensor tensor) noexcept : tensor_(std::move(tensor)) {}
  explicit Argument(const Scalar& scalar) noexcept : scalar_(scalar) {}

  [[nodiscard]] bool is_tensor() const noexcept { return !tensor_.is_empty(); }
  [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }
  [[nodiscard]] const Scalar& scalar() const noexcept { return scalar_; }
  // Valid as long as the Argument.
  [[nodiscard]] Operand operand() const noexcept {
    if (is_tensor()) return {tensor_, std::source_location()};
    switch (scalar_.kind()) {
      case Scalar::Kind::boolean:
        return {scalar_.integer() != 0, std::source_location()};
      case Scalar::Kind::integer:
        return {scalar_.integer(), std::source_location()};
      case Scalar::Kind::real:
        break;
    }
    return {scalar_.real(), std::source_location()};
  }

 private:
  Tensor tensor_;
  Scalar scalar_ = 0;
};

// Returns an Array, a number, or an array or number of NumPy as an operand; nothing for other objects. Throws
// InvalidInput for integers beyond 64 bits and for types that arrays do not have. Needs the GIL.
std::optional<Argument> as_argument(nanobind::handle object);

// The options of an array that is made for this argument of a call; nothing: on the CPU.
TensorOptions tensor_options(const std::optional<DeviceArgument>& device);

// How an array may share memory with the object that it is made of.
enum class Sharing : std::uint8_t { never, always };

// Returns what an object holds as an array: an Array, a NumPy array, an object with `__array__` or the buffer protocol,
// a number or nested sequences of numbers. Python's own floats become float32, integers int32 where it holds them.
// Throws InvalidInput for what is none, and for Sharing::always when it would have to be copied. Needs the GIL.
Tensor as_tensor(nanobind::handle object, std::optional<DType> type, const TensorOptions& options,
                 Sharing sharing = Sharing::never);
// Returns what an object holds as an array of the element type of `of`, on its device unless the object is an Array:
// Python's floats are converted from double precision. Throws as as_tensor does. Needs the GIL.
Tensor as_elements(nanobind::handle object, const Tensor& of);
// Returns an array of the same elements in memory of its own.
Tensor copy_of(const Tensor& x);
// Returns an array that shares the memory of an object with `__dlpack__`, or a copy of it. Needs the GIL.
Tensor import_dlpack(nanobind::handle object, bool copy, const TensorOptions& options);

// Returns a NumPy array of the value: read-only and without a copy, or a copy; of bfloat16, which NumPy does not have,
// as float32. Needs the GIL.
nanobind::object to_numpy(const Tensor& tensor, bool copy);

// Returns the element type that an object names: a DType, a type of NumPy, a text, or Python's bool, int or float.
// Throws InvalidInput, naming `op`, when there is no such type. Needs the GIL.
DType as_dtype(nanobind::handle object, std::string_view op);
// Returns the name of an element type, such as "float32" or "bool".
std::string_view array_dtype_name(DType type);

// Returns x[key], and x with `value` at x[key]. Need the GIL.
Tensor get_item(const Tensor& x, nanobind::handle key);
Tensor set_item(const Tensor& x, nanobind::handle key, nanobind::handle value);

[[nodiscard]] constexpr bool is_floating_point(DType type) noexcept {
  return type == DType::float32 || type == DType::float64 || type == DType::float16 || type == DType::bfloat16;
}

// array::floor_divide with the zeros and infinities of the array API standard: -1 // inf is -0, inf // 2 is inf.
Tensor floor_divide(const Operand& a, const Operand& b);

// Keeps an object that holds Python objects until its last user, in whatever thread, releases it.
template <class Held>
std::shared_ptr<const void> held_for_threads(std::unique_ptr<Held> held) {
  return {held.release(), [](const Held* object) { with_gil([&] { delete object; }); }};
}

// Sets the Python exception of the C++ exception that is handled now.
void set_current_exception() noexcept;

void bind_array_object(nanobind::module_& module);
void bind_array_exchange(nanobind::module_& module);
void bind_array_functions(nanobind::module_& module);
void bind_array_shapes(nanobind::module_& module);
void bind_array_networks(nanobind::module_& module);
void bind_array_linalg(nanobind::module_& module);
void bind_gradients(nanobind::module_& module);

}  // namespace vectis::python
