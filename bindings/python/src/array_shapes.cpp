// Functions of vectis.array that make, rearrange, choose and order elements.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "array_casters.hpp"
#include "array_object.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

#define VECTIS_DEVICE "device: vectis._vectis.Device | int | str | None = None"
#define VECTIS_X "x: vectis._types.ArrayLike"

// The type of an array of one of Python's numbers.
DType natural_type(const Scalar& value) {
  if (value.kind() == Scalar::Kind::boolean) return DType::boolean;
  if (value.kind() == Scalar::Kind::real) return DType::float32;
  return std::in_range<std::int32_t>(value.integer()) ? DType::int32 : DType::int64;
}

std::vector<Tensor> tensors_of(nb::handle arrays, std::string_view op) {
  std::vector<Tensor> tensors;
  if (is_array(arrays)) {
    const Tensor joined = tensor_of(arrays);
    return array::unstack(joined);
  }
  for (const nb::handle one : nb::borrow(arrays)) {
    const std::optional<Argument> argument = as_argument(one);
    if (!argument || !argument->is_tensor()) {
      throw_invalid_input(op, fmt::format("takes a sequence of arrays, not of {}", class_name(one)));
    }
    tensors.push_back(argument->tensor());
  }
  return tensors;
}

nb::tuple tuple_of(std::vector<Tensor> tensors) {
  nb::list all;
  for (Tensor& tensor : tensors) all.append(to_array(std::move(tensor)));
  return nb::tuple(all);
}

// The type of an operation on arrays, element types and numbers, of which at least one is given.
DType common_type(nb::handle operands) {
  const TensorOptions options = tensor_options(std::nullopt);
  const Tensor truth = array::full({}, true, DType::boolean, options);
  std::optional<Tensor> typed;
  std::vector<Argument> numbers;
  for (const nb::handle one : nb::borrow(operands)) {
    std::optional<Argument> argument = as_argument(one);
    if (argument && !argument->is_tensor()) {
      numbers.push_back(std::move(*argument));
      continue;
    }
    const DType type = argument ? argument->tensor().dtype() : as_dtype(one, "result_type");
    const Tensor element = array::full({}, 0, type, options);
    typed = typed ? array::where(truth, *typed, element) : element;
  }
  if (!typed && numbers.empty()) throw_invalid_input("result_type", "no operands; give at least one");
  for (const Argument& number : numbers) {
    typed =
        typed ? array::where(truth, *typed, number.operand()) : array::where(truth, number.operand(), number.operand());
  }
  return typed->dtype();
}

void bind_creation(nb::module_& module) {
  module.def("common_type", &common_type, "operands"_a,
             nb::sig("def common_type(operands: collections.abc.Sequence[vectis._types.ArrayLike | "
                     "vectis._types.ArrayDType]) -> DType"),
             "Return the type of an operation on arrays, element types and numbers.");
  module.def(
      "full",
      [](const Shape& shape, const Argument& value, const DTypeArgument& dtype,
         const std::optional<DeviceArgument>& device) {
        const TensorOptions options = tensor_options(device);
        if (value.is_tensor()) {
          const Tensor typed = dtype.type ? value.tensor().astype(*dtype.type) : value.tensor();
          return to_array(array::broadcast_to(typed, shape));
        }
        return to_array(array::full(shape, value.scalar(), dtype.type.value_or(natural_type(value.scalar())), options));
      },
      "shape"_a, "fill_value"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def full(shape: int | collections.abc.Sequence[int], fill_value: bool | int | float | Array, *, dtype: "
              "vectis._types.ArrayDType | None = None, " VECTIS_DEVICE ") -> Array"),
      "Make an array whose elements are all equal, stored once.");
  for (const auto& [name, value] : {std::pair{"zeros", 0}, std::pair{"ones", 1}, std::pair{"empty", 0}}) {
    module.def(
        name,
        [number = value](const Shape& shape, const DTypeArgument& dtype, const std::optional<DeviceArgument>& device) {
          return to_array(array::full(shape, number, dtype.type.value_or(DType::float32), tensor_options(device)));
        },
        "shape"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(),
        nb::sig(fmt::format("def {}(shape: int | collections.abc.Sequence[int], *, dtype: vectis._types.ArrayDType | "
                            "None = None, " VECTIS_DEVICE ") -> Array",
                            name)
                    .c_str()),
        value == 1 ? "Make an array of ones." : "Make an array of zeros.");
  }
  module.def(
      "linspace",
      [](double start, double stop, std::int64_t num, const DTypeArgument& dtype,
         const std::optional<DeviceArgument>& device, bool endpoint) {
        const TensorOptions options = tensor_options(device);
        const DType type = dtype.type.value_or(DType::float32);
        if (endpoint || num < 1) return to_array(array::linspace(start, stop, num, type, options));
        const Tensor longer = array::linspace(start, stop, num + 1, type, options);
        return to_array(array::slice(longer, 0, {.stop = num}));
      },
      "start"_a, "stop"_a, "num"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(), "endpoint"_a = true,
      nb::sig("def linspace(start: float, stop: float, /, num: int, *, dtype: vectis._types.ArrayDType | None = "
              "None, " VECTIS_DEVICE ", endpoint: bool = True) -> Array"),
      "Make `num` numbers at equal distances from `start` to `stop`.");
  module.def(
      "range_of",
      [](double start, double stop, double step, const DTypeArgument& dtype,
         const std::optional<DeviceArgument>& device) {
        const TensorOptions options = tensor_options(device);
        return to_array(array::arange(start, stop, step, dtype.type.value_or(DType::float32), options));
      },
      "start"_a, "stop"_a, "step"_a, "dtype"_a, "device"_a = nb::none(),
      nb::sig("def range_of(start: float, stop: float, step: float, dtype: vectis._types.ArrayDType, " VECTIS_DEVICE
              ") -> Array"),
      "Make start, start + step, ... up to but without `stop`.");
  module.def(
      "eye",
      [](std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t k, const DTypeArgument& dtype,
         const std::optional<DeviceArgument>& device) {
        return to_array(
            array::eye(rows, columns.value_or(rows), k, dtype.type.value_or(DType::float32), tensor_options(device)));
      },
      "n_rows"_a, "n_cols"_a = nb::none(), nb::kw_only(), "k"_a = 0, "dtype"_a = nb::none(), "device"_a = nb::none(),
      nb::sig("def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: vectis._types.ArrayDType | "
              "None = None, " VECTIS_DEVICE ") -> Array"),
      "Make a matrix with ones on a diagonal and zeros elsewhere.");
  for (const auto& [name, function] : {std::pair{"tril", &array::tril}, std::pair{"triu", &array::triu}}) {
    module.def(
        name, [chosen = function](const Argument& x, std::int64_t k) { return to_array(chosen(x.operand(), k)); },
        "x"_a, nb::kw_only(), "k"_a = 0,
        nb::sig(fmt::format("def {}(" VECTIS_X ", /, *, k: int = 0) -> Array", name).c_str()),
        "Keep one triangle of the matrices in the last two axes; the other elements become 0.");
  }
}

void bind_views(nb::module_& module) {
  module.def(
      "reshape",
      [](const Argument& x, const Shape& shape, const nb::object&) {
        return to_array(array::reshape(x.operand(), shape));
      },
      "x"_a, "shape"_a, nb::kw_only(), "copy"_a = nb::none(),
      nb::sig("def reshape(" VECTIS_X ", /, shape: int | collections.abc.Sequence[int], *, copy: bool | None = None) "
              "-> Array"),
      "Return the elements in the same order in another shape; one extent may be -1, which is computed.");
  module.def(
      "permute_dims",
      [](const Argument& x, const Shape& axes) { return to_array(array::permute_dims(x.operand(), axes)); }, "x"_a,
      "axes"_a, nb::sig("def permute_dims(" VECTIS_X ", /, axes: collections.abc.Sequence[int]) -> Array"),
      "Return the array with its axes in this order.");
  module.def(
      "swapaxes",
      [](const Argument& x, std::int64_t a, std::int64_t b) { return to_array(array::swapaxes(x.operand(), a, b)); },
      "x"_a, "axis1"_a, "axis2"_a, nb::sig("def swapaxes(" VECTIS_X ", /, axis1: int, axis2: int) -> Array"),
      "Return the array with two axes exchanged.");
  module.def(
      "expand_dims",
      [](const Argument& x, std::int64_t axis) { return to_array(array::expand_dims(x.operand(), axis)); }, "x"_a,
      "axis"_a = 0, nb::sig("def expand_dims(" VECTIS_X ", /, axis: int = 0) -> Array"),
      "Return the array with a new axis of one element.");
  module.def(
      "squeeze",
      [](const Tensor& x, const Axes& axes) {
        return to_array(!axes.all && axes.axes.empty() ? x : array::squeeze(x, axes.axes));
      },
      "x"_a, "axis"_a = nb::none(),
      nb::sig("def squeeze(x: Array, /, axis: int | collections.abc.Sequence[int] | None = None) -> Array"),
      "Return the array without these axes of one element, or without all of them.");
  module.def(
      "broadcast_to",
      [](const Argument& x, const Shape& shape) { return to_array(array::broadcast_to(x.operand(), shape)); }, "x"_a,
      "shape"_a, nb::sig("def broadcast_to(" VECTIS_X ", /, shape: int | collections.abc.Sequence[int]) -> Array"),
      "Return the array repeated to a shape.");
  module.def(
      "flip",
      [](const Tensor& x, const Axes& axes) {
        return to_array(!axes.all && axes.axes.empty() ? x : array::flip(x, axes.axes));
      },
      "x"_a, nb::kw_only(), "axis"_a = nb::none(),
      nb::sig("def flip(x: Array, /, *, axis: int | collections.abc.Sequence[int] | None = None) -> Array"),
      "Return the array with the order of elements reversed along axes.");
}

void bind_joins(nb::module_& module) {
  module.def(
      "concat",
      [](nb::handle arrays, std::optional<std::int64_t> axis) {
        std::vector<Tensor> tensors = tensors_of(arrays, "concat");
        if (!axis) {
          for (Tensor& tensor : tensors) tensor = array::flatten(tensor);
        }
        return to_array(array::concat(tensors, axis.value_or(0)));
      },
      "arrays"_a, nb::kw_only(), "axis"_a.none() = 0,
      nb::sig("def concat(arrays: collections.abc.Sequence[vectis._types.ArrayLike] | Array, /, *, axis: int | None = "
              "0) -> Array"),
      "Join arrays along an axis; None: flattened.");
  module.def(
      "stack",
      [](nb::handle arrays, std::int64_t axis) { return to_array(array::stack(tensors_of(arrays, "stack"), axis)); },
      "arrays"_a, nb::kw_only(), "axis"_a = 0,
      nb::sig("def stack(arrays: collections.abc.Sequence[vectis._types.ArrayLike] | Array, /, *, axis: int = 0) -> "
              "Array"),
      "Join arrays of one shape along a new axis.");
  module.def(
      "split",
      [](const Argument& x, std::int64_t parts, std::int64_t axis) {
        return tuple_of(array::split(x.operand(), parts, axis));
      },
      "x"_a, "parts"_a, "axis"_a = 0,
      nb::sig("def split(" VECTIS_X ", /, parts: int, axis: int = 0) -> tuple[Array, ...]"),
      "Return parts of equal extent along an axis.");
  module.def(
      "unstack", [](const Argument& x, std::int64_t axis) { return tuple_of(array::unstack(x.operand(), axis)); },
      "x"_a, nb::kw_only(), "axis"_a = 0,
      nb::sig("def unstack(" VECTIS_X ", /, *, axis: int = 0) -> tuple[Array, ...]"),
      "Return the sub-arrays along an axis.");
  module.def(
      "pad",
      [](const Argument& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, const Argument& value) {
        return to_array(array::pad(x.operand(), widths, value.scalar()));
      },
      "x"_a, "widths"_a, "value"_a = 0,
      nb::sig("def pad(" VECTIS_X ", /, widths: collections.abc.Sequence[tuple[int, int]], value: float = 0) -> Array"),
      "Surround an array by a number: `widths` has the elements before and after each axis.");
  module.def(
      "tile",
      [](const Argument& x, const Shape& repetitions) { return to_array(array::tile(x.operand(), repetitions)); },
      "x"_a, "repetitions"_a,
      nb::sig("def tile(" VECTIS_X ", repetitions: int | collections.abc.Sequence[int], /) -> Array"),
      "Repeat the whole array along its axes.");
  module.def(
      "repeat",
      [](const Tensor& x, const Argument& repeats, std::optional<std::int64_t> axis) {
        const Tensor flat = axis ? x : array::flatten(x);
        if (!repeats.is_tensor()) return to_array(array::repeat(flat, repeats.scalar().integer(), axis.value_or(0)));
        return to_array(without_gil([&] { return array::repeat(flat, repeats.tensor(), axis.value_or(0)); }));
      },
      "x"_a, "repeats"_a, nb::kw_only(), "axis"_a = nb::none(),
      nb::sig("def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array"),
      "Repeat each element along an axis, or of the flattened array: an equal number of times, or each as often as an "
      "array says.");
}

void bind_choices(nb::module_& module) {
  module.def(
      "where",
      [](const Argument& condition, const Argument& x1, const Argument& x2) {
        return to_array(array::where(condition.operand(), x1.operand(), x2.operand()));
      },
      "condition"_a, "x1"_a, "x2"_a,
      nb::sig("def where(condition: vectis._types.ArrayLike, x1: vectis._types.ArrayLike, x2: "
              "vectis._types.ArrayLike, /) -> Array"),
      "Return x1 where the condition is true, else x2.");
  module.def(
      "take",
      [](const Argument& x, const Argument& indices, std::optional<std::int64_t> axis) {
        const bool is_vector = x.is_tensor() && x.tensor().rank() == 1;
        if (!axis && !is_vector) throw_invalid_input("take", "name the axis of an array that is not a vector");
        return to_array(array::take(x.operand(), indices.operand(), axis.value_or(0)));
      },
      "x"_a, "indices"_a, nb::kw_only(), "axis"_a = nb::none(),
      nb::sig("def take(" VECTIS_X ", indices: vectis._types.ArrayLike, /, *, axis: int | None = None) -> Array"),
      "Return the elements at indices of an axis.");
  module.def(
      "take_along_axis",
      [](const Argument& x, const Argument& indices, std::int64_t axis) {
        return to_array(array::take_along_axis(x.operand(), indices.operand(), axis));
      },
      "x"_a, "indices"_a, nb::kw_only(), "axis"_a = -1,
      nb::sig("def take_along_axis(" VECTIS_X ", indices: vectis._types.ArrayLike, /, *, axis: int = -1) -> Array"),
      "Return the elements that each index names along an axis.");
  using Put = Tensor (*)(const Operand&, const Operand&, const Operand&, std::int64_t);
  struct PutFunction {
    const char* name;
    Put function;
    const char* description;
  };
  for (const PutFunction& one :
       {PutFunction{"put_along_axis", &array::put_along_axis,
                    "Write values over the elements that indices name along an axis."},
        PutFunction{"add_along_axis", &array::add_along_axis,
                    "Add values to the elements that indices name along an axis."},
        PutFunction{"index_add", &array::index_add, "Add values at a vector of indices of an axis."}}) {
    module.def(
        one.name,
        [function = one.function](const Argument& x, const Argument& indices, const Argument& values,
                                  std::int64_t axis) {
          return to_array(function(x.operand(), indices.operand(), values.operand(), axis));
        },
        "x"_a, "indices"_a, "values"_a, "axis"_a,
        nb::sig(fmt::format("def {}(" VECTIS_X ", indices: vectis._types.ArrayLike, values: vectis._types.ArrayLike, "
                            "axis: int) -> Array",
                            one.name)
                    .c_str()),
        one.description);
  }
}

void bind_orders(nb::module_& module) {
  for (const auto& [name, function, description] :
       {std::tuple{"sort", &array::sort, "Return the elements in order along an axis; NaN comes last."},
        std::tuple{"argsort", &array::argsort,
                   "Return the positions (int32) of the elements in order along an axis."}}) {
    module.def(
        name,
        [chosen = function](const Argument& x, std::int64_t axis, bool descending, bool) {
          return to_array(chosen(x.operand(), axis, descending));
        },
        "x"_a, nb::kw_only(), "axis"_a = -1, "descending"_a = false, "stable"_a = true,
        nb::sig(fmt::format("def {}(" VECTIS_X ", /, *, axis: int = -1, descending: bool = False, stable: bool = "
                            "True) -> Array",
                            name)
                    .c_str()),
        description);
  }
  module.def(
      "top_k",
      [](const Argument& x, std::int64_t k, std::int64_t axis, bool largest) {
        auto [values, positions] = array::top_k(x.operand(), k, axis, largest);
        return nb::make_tuple(to_array(std::move(values)), to_array(std::move(positions)));
      },
      "x"_a, "k"_a, "axis"_a = -1, "largest"_a = true,
      nb::sig("def top_k(" VECTIS_X ", /, k: int, axis: int = -1, largest: bool = True) -> tuple[Array, Array]"),
      "Return the k largest or smallest elements along an axis in order, and their positions (int32).");
  for (const auto& [name, function, identity, description] :
       {std::tuple{"cumulative_sum", &array::cumulative_sum, 0,
                   "Return the sums of the elements along an axis up to each."},
        std::tuple{"cumulative_prod", &array::cumulative_prod, 1,
                   "Return the products of the elements along an axis up to each."}}) {
    module.def(
        name,
        [chosen = function, first = identity](const Tensor& x, std::optional<std::int64_t> axis,
                                              const DTypeArgument& dtype, bool include_initial) {
          if (!axis && x.rank() != 1) {
            throw_invalid_input("cumulative", "name the axis of an array that is not a vector");
          }
          const std::int64_t along = axis.value_or(0);
          Tensor result = chosen(dtype.type ? x.astype(*dtype.type) : x, along);
          if (dtype.type) result = result.astype(*dtype.type);
          if (!include_initial) return to_array(result);
          Shape shape = result.shape();
          shape[static_cast<std::size_t>(along < 0 ? along + static_cast<std::int64_t>(x.rank()) : along)] = 1;
          const Tensor initial =
              array::broadcast_to(array::full(Shape(x.rank(), 1), first, result.dtype(),
                                              {.device = x.device(), .runtime = &array::runtime_of(x)}),
                                  shape);
          return to_array(array::concat(std::vector{initial, result}, along));
        },
        "x"_a, nb::kw_only(), "axis"_a = nb::none(), "dtype"_a = nb::none(), "include_initial"_a = false,
        nb::sig(fmt::format("def {}(x: Array, /, *, axis: int | None = None, dtype: vectis._types.ArrayDType | None = "
                            "None, include_initial: bool = False) -> Array",
                            name)
                    .c_str()),
        description);
  }
  module.def(
      "searchsorted",
      [](const Tensor& x1, const Argument& x2, const std::string& side, const std::optional<Tensor>& sorter) {
        if (side != "left" && side != "right") {
          throw_invalid_input("searchsorted", fmt::format("the side is '{}'; give 'left' or 'right'", side));
        }
        const Tensor sorted = sorter ? array::take(x1, *sorter) : x1;
        const Tensor values =
            x2.is_tensor() ? x2.tensor() : array::full({}, x2.scalar(), x1.dtype(), tensor_options(std::nullopt));
        return to_array(
            without_gil([&] { return array::searchsorted(sorted, values, side == "right").astype(DType::int32); }));
      },
      "x1"_a, "x2"_a, nb::kw_only(), "side"_a = "left", "sorter"_a = nb::none(),
      nb::sig("def searchsorted(x1: Array, x2: vectis._types.ArrayLike, /, *, side: typing.Literal['left', 'right'] = "
              "'left', sorter: Array | None = None) -> Array"),
      "Return the position (int32) at which each element of x2 keeps the vector x1 in order.");
  module.def(
      "nonzero", [](const Tensor& x) { return tuple_of(without_gil([&] { return array::nonzero(x); })); }, "x"_a,
      nb::sig("def nonzero(x: Array, /) -> tuple[Array, ...]"),
      "Return, for each axis, the indices (int64) of the elements that are not 0.");
  module.def(
      "unique",
      [](const Tensor& x) {
        array::Unique found = without_gil([&] { return array::unique(x); });
        return tuple_of({found.values, found.indices, found.inverse, found.counts});
      },
      "x"_a, nb::sig("def unique(x: Array, /) -> tuple[Array, Array, Array, Array]"),
      "Return the different elements in order, their first positions, the position of each element among them, and how "
      "often each occurs.");
}

void bind_products(nb::module_& module) {
  module.def(
      "einsum",
      [](const std::string& equation, const nb::args& arrays) {
        return to_array(array::einsum(equation, tensors_of(arrays, "einsum")));
      },
      nb::sig("def einsum(equation: str, *arrays: vectis._types.ArrayLike) -> Array"),
      "Return the sum of products that an equation describes.\n\n'ij,jk->ik' is the product of matrices.");
  module.def(
      "contract",
      [](const Argument& x1, const Argument& x2, const Shape& axes1, const Shape& axes2) {
        return to_array(array::tensordot(x1.operand(), x2.operand(), axes1, axes2));
      },
      "x1"_a, "x2"_a, "axes1"_a, "axes2"_a,
      nb::sig("def contract(x1: vectis._types.ArrayLike, x2: vectis._types.ArrayLike, axes1: "
              "collections.abc.Sequence[int], axes2: collections.abc.Sequence[int]) -> Array"),
      "Return the sums of products over pairs of axes.");
  module.def(
      "vecdot",
      [](const Argument& x1, const Argument& x2, std::int64_t axis) {
        if (axis == -1) return to_array(array::vecdot(x1.operand(), x2.operand()));
        return to_array(
            array::vecdot(array::moveaxis(x1.operand(), axis, -1), array::moveaxis(x2.operand(), axis, -1)));
      },
      "x1"_a, "x2"_a, nb::kw_only(), "axis"_a = -1,
      nb::sig("def vecdot(x1: vectis._types.ArrayLike, x2: vectis._types.ArrayLike, /, *, axis: int = -1) -> Array"),
      "Return the sums of products along an axis.");
  for (const auto& [name, function, description] :
       {std::tuple{"softmax", &array::softmax, "Return the exponentials divided by their sum along an axis."},
        std::tuple{"log_softmax", &array::log_softmax, "Return the logarithm of softmax along an axis."}}) {
    module.def(
        name, [chosen = function](const Argument& x, std::int64_t axis) { return to_array(chosen(x.operand(), axis)); },
        "x"_a, "axis"_a = -1, nb::sig(fmt::format("def {}(" VECTIS_X ", /, axis: int = -1) -> Array", name).c_str()),
        description);
  }
  module.def(
      "diff_of",
      [](const Tensor& x, std::int64_t times, std::int64_t axis) { return to_array(array::diff(x, times, axis)); },
      "x"_a, "times"_a, "axis"_a, nb::sig("def diff_of(x: Array, times: int, axis: int) -> Array"),
      "Return the differences of adjacent elements along an axis.");
  module.def(
      "roll_axis",
      [](const Tensor& x, std::int64_t shift, std::int64_t axis) { return to_array(array::roll(x, shift, axis)); },
      "x"_a, "shift"_a, "axis"_a, nb::sig("def roll_axis(x: Array, shift: int, axis: int) -> Array"),
      "Move the elements along an axis; those that leave it come in at the other end.");
  module.def(
      "eval",
      [](const nb::args& arrays) {
        const std::vector<Tensor> tensors = tensors_of(arrays, "eval");
        array::eval(tensors);
      },
      nb::sig("def eval(*arrays: Array) -> None"),
      "Compute several arrays together, which shares the work that they have in common.");
}

#undef VECTIS_DEVICE
#undef VECTIS_X

}  // namespace

void bind_array_shapes(nb::module_& module) {
  bind_creation(module);
  bind_views(module);
  bind_joins(module);
  bind_choices(module);
  bind_orders(module);
  bind_products(module);
}

}  // namespace vectis::python
