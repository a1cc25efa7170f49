// Functions of vectis.array for networks, and random arrays.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <string>

#include "array_casters.hpp"
#include "array_object.hpp"
#include "bindings.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

using array::Generator;

void bind_layers(nb::module_& module) {
  module.def(
      "conv",
      [](const Argument& x, const Argument& weights, const Shape& stride, const Shape& padding, const Shape& dilation,
         std::int64_t groups) {
        return to_array(array::conv(x.operand(), weights.operand(), {stride, padding, dilation, groups}));
      },
      "x"_a, "weights"_a, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1,
      nb::sig("def conv(x: vectis._types.ArrayLike, weights: vectis._types.ArrayLike, stride: int | "
              "collections.abc.Sequence[int] = 1, padding: int | collections.abc.Sequence[int] = 0, dilation: int | "
              "collections.abc.Sequence[int] = 1, groups: int = 1) -> Array"),
      "Cross-correlate (batch, channels, extents ...) with weights (outputs, channels / groups, window ...).");
  using Pool = Tensor (*)(const Operand&, const Shape&, const array::PoolOptions&);
  for (const auto& [name, function, description] :
       {std::tuple<const char*, Pool, const char*>{"max_pool", &array::max_pool,
                                                   "Return the largest element of each window."},
        std::tuple<const char*, Pool, const char*>{
            "mean_pool", &array::mean_pool, "Return the mean of each window, in which padding counts as zeros."}}) {
    module.def(
        name,
        [chosen = function](const Argument& x, const Shape& window, const std::optional<Shape>& stride,
                            const Shape& padding) {
          return to_array(chosen(x.operand(), window, {stride.value_or(Shape()), padding}));
        },
        "x"_a, "window"_a, "stride"_a = nb::none(), "padding"_a = 0,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike, window: int | collections.abc.Sequence[int], stride: "
                            "int | collections.abc.Sequence[int] | None = None, padding: int | "
                            "collections.abc.Sequence[int] = 0) -> Array",
                            name)
                    .c_str()),
        description);
  }
  module.def(
      "interpolate",
      [](const Argument& x, const Shape& extents, const std::string& how) {
        if (how != "linear" && how != "nearest") {
          throw_invalid_input("interpolate", fmt::format("how is '{}'; give 'linear' or 'nearest'", how));
        }
        return to_array(array::interpolate(
            x.operand(), extents, how == "linear" ? array::Interpolation::linear : array::Interpolation::nearest));
      },
      "x"_a, "extents"_a, "how"_a = "linear",
      nb::sig("def interpolate(x: vectis._types.ArrayLike, extents: int | collections.abc.Sequence[int], how: "
              "typing.Literal['linear', 'nearest'] = 'linear') -> Array"),
      "Resize the axes after the first two.");
  module.def(
      "layer_norm", [](const Argument& x, double epsilon) { return to_array(array::layer_norm(x.operand(), epsilon)); },
      "x"_a, "epsilon"_a = 1e-5,
      nb::sig("def layer_norm(x: vectis._types.ArrayLike, /, epsilon: float = 1e-5) -> Array"),
      "Return each row of the last axis minus its mean, times 1 / sqrt(variance + epsilon).");
  for (const auto& [name, parameter, value, function, description] :
       {std::tuple{"leaky_relu", "slope", 0.01, &array::leaky_relu,
                   "Each element, times `slope` where it is negative."},
        std::tuple{"elu", "alpha", 1.0, &array::elu, "Each element, or alpha * (exp(x) - 1) where it is negative."}}) {
    module.def(
        name, [chosen = function](const Argument& x, double number) { return to_array(chosen(x.operand(), number)); },
        "x"_a, nb::arg(parameter) = value,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike, /, {}: float = {}) -> Array", name, parameter, value)
                    .c_str()),
        description);
  }
}

void bind_generator(nb::module_& module) {
  nb::class_<Generator>(module, "Generator",
                        "Random arrays from a seed: equal seeds and calls give equal arrays, on every device.\n\n"
                        "One thread at a time.")
      .def(
          "__init__",
          [](Generator* self, std::uint64_t seed, const std::optional<DeviceArgument>& device) {
            new (self) Generator(seed, tensor_options(device));
          },
          "seed"_a = 0, "device"_a = nb::none(),
          nb::sig("def __init__(self, seed: int = 0, device: vectis._vectis.Device | int | str | None = None) -> None"))
      .def(
          "bits", [](Generator& self, const Shape& shape) { return to_array(self.bits(shape)); }, "shape"_a,
          nb::sig("def bits(self, shape: int | collections.abc.Sequence[int]) -> Array"),
          "Return 32 random bits per element, of type int32.")
      .def(
          "uniform",
          [](Generator& self, const Shape& shape, double low, double high, const DTypeArgument& dtype) {
            return to_array(self.uniform(shape, low, high, dtype.type.value_or(DType::float32)));
          },
          "shape"_a, "low"_a = 0.0, "high"_a = 1.0, "dtype"_a = nb::none(),
          nb::sig("def uniform(self, shape: int | collections.abc.Sequence[int], low: float = 0.0, high: float = 1.0, "
                  "dtype: "
                  "vectis._types.ArrayDType | None = None) -> Array"),
          "Return numbers of [low, high) with equal probability.")
      .def(
          "normal",
          [](Generator& self, const Shape& shape, double mean, double deviation, const DTypeArgument& dtype) {
            return to_array(self.normal(shape, mean, deviation, dtype.type.value_or(DType::float32)));
          },
          "shape"_a, "mean"_a = 0.0, "deviation"_a = 1.0, "dtype"_a = nb::none(),
          nb::sig(
              "def normal(self, shape: int | collections.abc.Sequence[int], mean: float = 0.0, deviation: float = 1.0, "
              "dtype: vectis._types.ArrayDType | None = None) -> Array"),
          "Return normally distributed numbers.")
      .def(
          "integers",
          [](Generator& self, const Shape& shape, std::int64_t low, std::int64_t high, const DTypeArgument& dtype) {
            return to_array(self.integers(shape, low, high, dtype.type.value_or(DType::int32)));
          },
          "shape"_a, "low"_a, "high"_a, "dtype"_a = nb::none(),
          nb::sig("def integers(self, shape: int | collections.abc.Sequence[int], low: int, high: int, dtype: "
                  "vectis._types.ArrayDType | None = None) -> Array"),
          "Return integers of [low, high).")
      .def(
          "bernoulli",
          [](Generator& self, const Shape& shape, double probability) {
            return to_array(self.bernoulli(shape, probability));
          },
          "shape"_a, "probability"_a,
          nb::sig("def bernoulli(self, shape: int | collections.abc.Sequence[int], probability: float) -> Array"),
          "Return true with this probability.")
      .def(
          "permutation", [](Generator& self, std::int64_t count) { return to_array(self.permutation(count)); },
          "count"_a, nb::sig("def permutation(self, count: int) -> Array"),
          "Return the numbers 0 to count - 1 in random order.");
}

}  // namespace

void bind_array_networks(nb::module_& module) {
  bind_layers(module);
  bind_generator(module);
}

// The module vectis._array has no file of its own: this module makes it, and Python finds it among the loaded ones.
void bind_arrays(nb::module_& module) {
  nb::module_ arrays = nb::steal<nb::module_>(PyModule_New("vectis._array"));
  arrays.attr("__doc__") = "The native part of vectis.array.";
  bind_array_object(arrays);
  bind_array_exchange(arrays);
  bind_array_functions(arrays);
  bind_array_shapes(arrays);
  bind_array_networks(arrays);
  bind_array_linalg(arrays);
  bind_gradients(arrays);
  nb::module_::import_("sys").attr("modules")["vectis._array"] = arrays;
  module.attr("_array") = arrays;
}

}  // namespace vectis::python
