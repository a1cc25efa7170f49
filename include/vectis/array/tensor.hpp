// Arrays of any rank on any device: `Tensor`, an immutable value that is computed when it is needed.
//
//   using namespace vectis;
//   array::Tensor a = array::Tensor::from_cpu(std::vector<float>{1, 2, 3, 4}, {2, 2});
//   array::Tensor b = tanh(matmul(a, a) + 1);      // recorded
//   std::vector<float> values = b.to_cpu<float>(); // computed, in one pass over the data where it can
//
// docs/arrays.md is the guide.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "vectis/array/shape.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::array {

struct Node;

// The DType of a C++ element type; only the specializations exist.
template <class T>
inline constexpr bool has_dtype = false;
template <class T>
inline constexpr DType dtype_for = DType::float32;

#define VECTIS_ELEMENT_TYPE(type, value)        \
  template <>                                   \
  inline constexpr bool has_dtype<type> = true; \
  template <>                                   \
  inline constexpr DType dtype_for<type> = DType::value
VECTIS_ELEMENT_TYPE(float, float32);
VECTIS_ELEMENT_TYPE(double, float64);
VECTIS_ELEMENT_TYPE(Half, float16);
VECTIS_ELEMENT_TYPE(Bfloat16, bfloat16);
VECTIS_ELEMENT_TYPE(std::int8_t, int8);
VECTIS_ELEMENT_TYPE(std::uint8_t, uint8);
VECTIS_ELEMENT_TYPE(std::int32_t, int32);
VECTIS_ELEMENT_TYPE(std::int64_t, int64);
VECTIS_ELEMENT_TYPE(bool, boolean);
#undef VECTIS_ELEMENT_TYPE

// A C++ type whose values can be elements of a Tensor: float, double, Half, Bfloat16, int8, uint8, int32 and int64
// integers, bool.
template <class T>
concept Element = has_dtype<T>;

// A number that takes the type of the array it is combined with: bool, integer or floating point. `x + 1` stays
// float16 when x is.
class Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, real };

  // NOLINTBEGIN(google-explicit-constructor): numbers stand beside arrays in expressions.
  Scalar(bool value) noexcept : kind_(Kind::boolean), integer_(value), real_(value) {}
  template <class T>
    requires(std::integral<T> && !std::same_as<T, bool>)
  Scalar(T value) noexcept
      : kind_(Kind::integer), integer_(static_cast<std::int64_t>(value)), real_(static_cast<double>(value)) {}
  template <std::floating_point T>
  Scalar(T value) noexcept : kind_(Kind::real), real_(static_cast<double>(value)) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::int64_t integer() const noexcept { return integer_; }  // of boolean and integer
  [[nodiscard]] double real() const noexcept { return real_; }
  // Returns the number as T: a fraction is truncated to an integer, NaN becomes 0, and a number beyond T its nearest.
  template <class T>
    requires std::is_arithmetic_v<T>
  [[nodiscard]] T as() const noexcept {
    if (kind_ != Kind::real) return static_cast<T>(integer_);
    if constexpr (std::integral<T> && !std::same_as<T, bool>) {
      if (real_ != real_) return 0;
      // The largest T may not be a double: the number after it is.
      if (real_ >= 2 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1)) return std::numeric_limits<T>::max();
      if (real_ <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    }
    return static_cast<T>(real_);
  }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  double real_ = 0;
};

// What happens to float64 and int64 arrays that are given to a device other than the CPU, which computes with 32 bits.
enum class WideTypes : std::uint8_t {
  refuse,    // Unsupported is thrown
  downcast,  // they become float32 and int32, and the first time is logged as a warning
};

// Where a new array is made.
struct TensorOptions {
  std::optional<Device> device = std::nullopt;         // empty: the CPU
  Runtime* runtime = nullptr;                          // null: that of `device`, or the default Runtime
  std::optional<WideTypes> wide_types = std::nullopt;  // empty: by the setting `array.wide_types`
};

// An array: a handle to an immutable value of a shape, an element type and a device. Operations check shapes, types and
// devices at the call and record what to compute; eval(), item() and to_cpu() compute it. Copies share the value. Must
// not outlive its Runtime. A default-constructed Tensor is empty: only assignment, destruction and is_empty() are
// allowed. Thread-safe: several threads may use and evaluate one Tensor; assigning to one is not.
class VECTIS_API Tensor {
 public:
  Tensor() noexcept = default;

  // Copies `values`, in row-major order, into a new array. Throws InvalidInput when their number is not that of
  // `shape` or an extent is negative, Unsupported when the device lacks the element type, and Allocation when memory is
  // short.
  template <Element T>
  static Tensor from_cpu(std::span<const T> values, const Shape& shape, const TensorOptions& options = {}) {
    return from_bytes(std::as_bytes(values), dtype_for<T>, shape, options);
  }
  template <Element T>
    requires(!std::same_as<T, bool>)
  static Tensor from_cpu(const std::vector<T>& values, const Shape& shape, const TensorOptions& options = {}) {
    return from_cpu(std::span<const T>(values), shape, options);
  }
  // Copies elements of type `type`, in row-major order, from `bytes`. Throws as from_cpu does.
  static Tensor from_bytes(std::span<const std::byte> bytes, DType type, const Shape& shape,
                           const TensorOptions& options = {});

  [[nodiscard]] bool is_empty() const noexcept { return node_ == nullptr; }
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] std::size_t rank() const { return shape().rank(); }
  // Returns the extent along `axis`, which counts from the end when it is negative. Throws InvalidInput when there is
  // no such axis.
  [[nodiscard]] std::int64_t extent(std::int64_t axis) const;
  [[nodiscard]] std::int64_t elements() const { return shape().elements(); }
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device device() const;
  // Returns true once the value has been computed.
  [[nodiscard]] bool is_computed() const noexcept;

  // Computes the value, if it is not computed yet, and returns this Tensor. Throws Allocation when memory is short, and
  // the device's own errors; a later call tries again.
  const Tensor& eval() const;

  // Computes the value and returns its elements in row-major order. Throws InvalidInput when T is not the element type:
  // convert by astype() first; and what eval() throws.
  template <Element T>
  [[nodiscard]] std::vector<T> to_cpu() const {
    std::vector<T> values(static_cast<std::size_t>(elements()));
    if constexpr (std::same_as<T, bool>) {
      const std::unique_ptr<bool[]> bytes(new bool[values.size()]);
      copy_to(std::as_writable_bytes(std::span(bytes.get(), values.size())), dtype_for<T>);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = bytes[i];
    } else {
      copy_to(std::as_writable_bytes(std::span(values)), dtype_for<T>);
    }
    return values;
  }
  // Computes the value and writes its elements, in row-major order, to `target`. Throws InvalidInput when `type` is not
  // the element type or `target` has another size than the elements, and what eval() throws.
  void copy_to(std::span<std::byte> target, DType type) const;
  // Computes an array of one element and returns it converted to T. Throws InvalidInput when there are more or fewer
  // elements, and what eval() throws.
  template <class T = double>
    requires std::is_arithmetic_v<T>
  [[nodiscard]] T item() const {
    return item_scalar().as<T>();
  }

  // Returns the array on `device`, to which it is copied when it is computed; itself when it is there already.
  // Gradients come back the same way. Throws InvalidInput for a device of another Runtime, Unsupported for float64 and
  // int64 that `wide_types`, by default the setting `array.wide_types`, refuses.
  [[nodiscard]] Tensor on(const Device& device, std::optional<WideTypes> wide_types = std::nullopt,
                          std::source_location where = std::source_location::current()) const;
  // Returns the array converted to `type`; itself when it has that type already. Floating-point numbers are truncated
  // to integers, integers wrap, and numbers other than 0 become true.
  [[nodiscard]] Tensor astype(DType type) const;
  // Returns the elements in the same order in another shape, one of whose extents may be -1 and is then computed.
  // Throws InvalidInput when the numbers of elements differ.
  [[nodiscard]] Tensor reshape(const Shape& shape) const;
  // Returns the array with its axes in the order of `axes`, by default reversed. Throws InvalidInput unless `axes`
  // names each axis once.
  [[nodiscard]] Tensor transpose(const Shape& axes = {}) const;
  // Returns the sub-array at `index` of the first axis, which counts from the end when it is negative. Throws
  // InvalidInput when there is no axis or no such index.
  [[nodiscard]] Tensor operator[](std::int64_t index) const;

  // For the array layer and bindings.
  explicit Tensor(std::shared_ptr<Node> node) noexcept : node_(std::move(node)) {}
  [[nodiscard]] const std::shared_ptr<Node>& node() const noexcept { return node_; }

 private:
  [[nodiscard]] Scalar item_scalar() const;

  std::shared_ptr<Node> node_;
};

// An argument of an operation: an array or a number, and where the program called the operation, which the setting
// `debug` adds to messages. Refers to the array, and lives for one call.
class Operand {
 public:
  // NOLINTBEGIN(google-explicit-constructor): arguments of operations are written as arrays and numbers.
  Operand(const Tensor& tensor, std::source_location where = std::source_location::current()) noexcept
      : tensor_(&tensor), scalar_(0), where_(where) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value, std::source_location where = std::source_location::current()) noexcept
      : scalar_(value), where_(where) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] const Tensor* tensor() const noexcept { return tensor_; }  // null: a number
  [[nodiscard]] const Scalar& scalar() const noexcept { return scalar_; }
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_;
  std::source_location where_;
};

// Computes several arrays together, which shares the work that they have in common. Throws what Tensor::eval() throws.
VECTIS_API void eval(std::span<const Tensor> tensors);

}  // namespace vectis::inline v0_1::array
