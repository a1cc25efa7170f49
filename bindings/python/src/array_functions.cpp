// Functions of vectis.array of one name, one rule: element by element, and reductions.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <string>

#include "array_casters.hpp"
#include "array_object.hpp"
#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

struct UnaryFunction {
  const char* name;
  Tensor (*function)(const Operand& x);
  const char* description;
};
struct BinaryFunction {
  const char* name;
  Tensor (*function)(const Operand& a, const Operand& b);
  const char* description;
};
struct ReducingFunction {
  const char* name;
  Tensor (*function)(const Operand& x, const Shape& axes, bool keep_dims);
  const char* description;
};
struct DeviatingFunction {
  const char* name;
  Tensor (*function)(const Operand& x, const Shape& axes, double correction, bool keep_dims);
  const char* description;
};
struct PositionFunction {
  const char* name;
  Tensor (*function)(const Operand& x, std::optional<std::int64_t> axis, bool keep_dims);
  const char* description;
};

constexpr UnaryFunction unary_functions[] = {
    {"abs", &array::absolute, "The absolute value of each element."},
    {"acos", &array::acos, "The arc cosine of each element."},
    {"acosh", &array::acosh, "The inverse hyperbolic cosine of each element."},
    {"asin", &array::asin, "The arc sine of each element."},
    {"asinh", &array::asinh, "The inverse hyperbolic sine of each element."},
    {"atan", &array::atan, "The arc tangent of each element."},
    {"atanh", &array::atanh, "The inverse hyperbolic tangent of each element."},
    {"bitwise_invert", &array::bitwise_not, "Each integer with its bits inverted, each bool negated."},
    {"ceil", &array::ceil, "The smallest integer that is not below each element."},
    {"cos", &array::cos, "The cosine of each element."},
    {"cosh", &array::cosh, "The hyperbolic cosine of each element."},
    {"erf", &array::erf, "The error function of each element."},
    {"exp", &array::exp, "The exponential of each element."},
    {"exp2", &array::exp2, "Two to the power of each element."},
    {"expm1", &array::expm1, "The exponential minus 1 of each element, without cancellation."},
    {"flatten", &array::flatten, "The elements in row-major order along one axis."},
    {"floor", &array::floor, "The largest integer that is not above each element."},
    {"gelu", &array::gelu, "The Gaussian error linear unit of each element."},
    {"isfinite", &array::isfinite, "Whether each element is neither infinite nor NaN."},
    {"isinf", &array::isinf, "Whether each element is infinite."},
    {"isnan", &array::isnan, "Whether each element is NaN."},
    {"log", &array::log, "The natural logarithm of each element."},
    {"log10", &array::log10, "The decimal logarithm of each element."},
    {"log1p", &array::log1p, "The logarithm of 1 plus each element, without cancellation."},
    {"log2", &array::log2, "The binary logarithm of each element."},
    {"logical_not", &array::logical_not, "Whether each element is 0 or false."},
    {"matrix_transpose", &array::matrix_transpose, "The array with its last two axes exchanged."},
    {"negative", &array::negative, "The negated elements."},
    {"reciprocal", &array::reciprocal, "One divided by each element."},
    {"relu", &array::relu, "The positive part of each element."},
    {"round", &array::round, "The nearest integer of each element; ties go to the even one."},
    {"rsqrt", &array::rsqrt, "One divided by the square root of each element."},
    {"sigmoid", &array::sigmoid, "The logistic function of each element."},
    {"sign", &array::sign, "The sign of each element: -1, 0, 1 or NaN."},
    {"signbit", &array::signbit, "Whether each element is negative or -0."},
    {"silu", &array::silu, "Each element times its logistic function."},
    {"sin", &array::sin, "The sine of each element."},
    {"sinh", &array::sinh, "The hyperbolic sine of each element."},
    {"softplus", &array::softplus, "The logarithm of 1 plus the exponential of each element."},
    {"sqrt", &array::sqrt, "The square root of each element."},
    {"square", &array::square, "The square of each element."},
    {"stop_gradient", &array::stop_gradient, "The same value as a constant for gradients."},
    {"tan", &array::tan, "The tangent of each element."},
    {"tanh", &array::tanh, "The hyperbolic tangent of each element."},
    {"trunc", &array::trunc, "Each element without its fraction."},
};

constexpr BinaryFunction binary_functions[] = {
    {"add", &array::add, "The sum of the elements."},
    {"atan2", &array::atan2, "The angle of the point (x2, x1)."},
    {"bitwise_and", &array::bitwise_and, "The bitwise and of integers, the conjunction of bool."},
    {"bitwise_left_shift", &array::left_shift, "The bits of x1 shifted to the left by x2."},
    {"bitwise_or", &array::bitwise_or, "The bitwise or of integers, the disjunction of bool."},
    {"bitwise_right_shift", &array::right_shift, "The bits of x1 shifted to the right by x2."},
    {"bitwise_xor", &array::bitwise_xor, "The bitwise exclusive or of integers and bool."},
    {"copysign", &array::copysign, "The magnitude of x1 with the sign of x2."},
    {"divide", &array::divide, "The quotient of real numbers."},
    {"equal", &array::equal, "Whether the elements are equal."},
    {"floor_divide", &floor_divide, "The quotient rounded down; 0 for an integer divided by 0."},
    {"fmod", &array::fmod, "What truncated division leaves, with the sign of x1."},
    {"greater", &array::greater, "Whether x1 is greater than x2."},
    {"greater_equal", &array::greater_equal, "Whether x1 is greater than or equal to x2."},
    {"hypot", &array::hypot, "The length of the vector (x1, x2) without overflow."},
    {"less", &array::less, "Whether x1 is less than x2."},
    {"less_equal", &array::less_equal, "Whether x1 is less than or equal to x2."},
    {"logaddexp", &array::logaddexp, "The logarithm of exp(x1) + exp(x2) without overflow."},
    {"logical_and", &array::logical_and, "Whether both elements are true or not 0."},
    {"logical_or", &array::logical_or, "Whether one of the elements is true or not 0."},
    {"logical_xor", &array::logical_xor, "Whether exactly one of the elements is true or not 0."},
    {"matmul", &array::matmul, "The product of the matrices in the last two axes."},
    {"maximum", &array::maximum, "The larger element; NaN where one is."},
    {"minimum", &array::minimum, "The smaller element; NaN where one is."},
    {"multiply", &array::multiply, "The product of the elements."},
    {"not_equal", &array::not_equal, "Whether the elements differ."},
    {"outer", &array::outer, "The products of each element of x1 with each of x2, both vectors."},
    {"pow", &array::power, "The elements of x1 to the power of x2."},
    {"remainder", &array::remainder, "What floor_divide leaves, with the sign of x2."},
    {"subtract", &array::subtract, "The difference of the elements."},
};
// They compute at the call.
constexpr BinaryFunction searching_functions[] = {
    {"isin", &array::isin, "Whether the array x2 has an element equal to each of x1."},
    {"nextafter", &array::nextafter, "The floating-point number after x1 in the direction of x2."},
};

constexpr ReducingFunction reducing_functions[] = {
    {"all", &array::all, "Whether all elements along the axes are true or not 0."},
    {"any", &array::any, "Whether an element along the axes is true or not 0."},
    {"count_nonzero", &array::count_nonzero, "How many elements along the axes are not 0."},
    {"logsumexp", &array::logsumexp, "The logarithm of the sum of exponentials along the axes, without overflow."},
    {"max", &array::max, "The largest element along the axes; NaN when one is."},
    {"mean", &array::mean, "The mean of the elements along the axes."},
    {"min", &array::min, "The smallest element along the axes; NaN when one is."},
    {"norm", &array::norm, "The Euclidean norm of the elements along the axes."},
};
constexpr ReducingFunction summing_functions[] = {
    {"prod", &array::prod, "The product of the elements along the axes; of small integers in int32."},
    {"sum", &array::sum, "The sum of the elements along the axes; of small integers in int32."},
};
constexpr DeviatingFunction deviating_functions[] = {
    {"std", &array::stddev, "The standard deviation along the axes."},
    {"var", &array::var, "The variance along the axes, divided by the number of elements minus `correction`."},
};
constexpr PositionFunction position_functions[] = {
    {"argmax", &array::argmax, "The first position (int32) of the largest element along an axis, or of all elements."},
    {"argmin", &array::argmin, "The first position (int32) of the smallest element along an axis, or of all elements."},
};

constexpr std::string_view axis_parameter = "axis: int | collections.abc.Sequence[int] | None = None";

// Calls `reduce(x, axes, keep_dims)`. A caller who names no axes reduces none: an axis of one element is added for it.
template <class Reduce>
nb::object over_axes(const Argument& x, const Axes& axes, bool keep_dims, const Reduce& reduce) {
  if (axes.all || !axes.axes.empty()) return to_array(reduce(x.operand(), axes.axes, keep_dims));
  const Tensor column = array::expand_dims(x.operand(), -1);
  return to_array(reduce(Operand(column, std::source_location()), Shape{-1}, false));
}

void bind_element_functions(nb::module_& module) {
  for (const UnaryFunction& one : unary_functions) {
    module.def(
        one.name, [function = one.function](const Argument& x) { return to_array(function(x.operand())); }, "x"_a,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike, /) -> Array", one.name).c_str()), one.description);
  }
  const auto signature = [](const char* name) {
    return fmt::format("def {}(x1: vectis._types.ArrayLike, x2: vectis._types.ArrayLike, /) -> Array", name);
  };
  for (const BinaryFunction& one : binary_functions) {
    module.def(
        one.name,
        [function = one.function](const Argument& x1, const Argument& x2) {
          return to_array(function(x1.operand(), x2.operand()));
        },
        "x1"_a, "x2"_a, nb::sig(signature(one.name).c_str()), one.description);
  }
  for (const BinaryFunction& one : searching_functions) {
    module.def(
        one.name,
        [function = one.function](const Argument& x1, const Argument& x2) {
          return to_array(without_gil([&] { return function(x1.operand(), x2.operand()); }));
        },
        "x1"_a, "x2"_a, nb::sig(signature(one.name).c_str()), one.description);
  }
}

void bind_sums(nb::module_& module) {
  for (const ReducingFunction& one : reducing_functions) {
    module.def(
        one.name,
        [function = one.function](const Argument& x, const Axes& axes, bool keepdims) {
          return over_axes(x, axes, keepdims, function);
        },
        "x"_a, "axis"_a = nb::none(), "keepdims"_a = false,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike, /, {}, keepdims: bool = False) -> Array", one.name,
                            axis_parameter)
                    .c_str()),
        one.description);
  }
  for (const ReducingFunction& one : summing_functions) {
    module.def(
        one.name,
        [function = one.function](const Argument& x, const Axes& axes, const DTypeArgument& dtype, bool keepdims) {
          if (!dtype.type || !x.is_tensor()) return over_axes(x, axes, keepdims, function);
          const auto converted = [&](const Operand& of, const Shape& over, bool keep) {
            return function(of, over, keep).astype(*dtype.type);
          };
          return over_axes(Argument(x.tensor().astype(*dtype.type)), axes, keepdims, converted);
        },
        "x"_a, "axis"_a = nb::none(), "dtype"_a = nb::none(), "keepdims"_a = false,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike, /, {}, dtype: vectis._types.ArrayDType | None = "
                            "None, keepdims: bool = False) -> Array",
                            one.name, axis_parameter)
                    .c_str()),
        one.description);
  }
}

void bind_deviations(nb::module_& module) {
  for (const DeviatingFunction& one : deviating_functions) {
    module.def(
        one.name,
        [function = one.function](const Argument& x, const Axes& axes, double correction, bool keepdims) {
          return over_axes(x, axes, keepdims, [&](const Operand& of, const Shape& over, bool keep) {
            return function(of, over, correction, keep);
          });
        },
        "x"_a, "axis"_a = nb::none(), "correction"_a = 0.0, "keepdims"_a = false,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike, /, {}, correction: float = 0.0, keepdims: bool = "
                            "False) -> Array",
                            one.name, axis_parameter)
                    .c_str()),
        one.description);
  }
  for (const PositionFunction& one : position_functions) {
    module.def(
        one.name,
        [function = one.function](const Argument& x, std::optional<std::int64_t> along, bool keepdims) {
          return to_array(function(x.operand(), along, keepdims));
        },
        "x"_a, "axis"_a = nb::none(), "keepdims"_a = false,
        nb::sig(fmt::format("def {}(x: vectis._types.ArrayLike, /, axis: int | None = None, keepdims: bool = "
                            "False) -> Array",
                            one.name)
                    .c_str()),
        one.description);
  }
}

}  // namespace

void bind_array_functions(nb::module_& module) {
  bind_element_functions(module);
  bind_sums(module);
  bind_deviations(module);
}

}  // namespace vectis::python
