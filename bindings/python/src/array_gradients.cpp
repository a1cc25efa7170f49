// Gradients of Python functions, and what is done around evaluations.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
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

// --- Trees of arrays ------------------------------------------------------------------------------------------------
// Lists, tuples and dictionaries, nested in each other, whose leaves are arrays or numbers. None has no leaves.

// Counts a level of nesting, and raises RecursionError where Python would: a list may contain itself.
class Nesting {
 public:
  Nesting() {
    if (Py_EnterRecursiveCall(" in an argument of a gradient") != 0) throw nb::python_error();
  }
  ~Nesting() { Py_LeaveRecursiveCall(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
};

Tensor leaf_of(nb::handle object) {
  if (is_array(object)) return tensor_of(object);
  const std::optional<Argument> argument = as_argument(object);
  if (!argument) {
    throw_invalid_input("grad", fmt::format("gradients are taken with respect to arrays, and lists, tuples and "
                                            "dictionaries of them, not {}; choose others by argnums",
                                            class_name(object)));
  }
  return argument->is_tensor() ? argument->tensor() : as_tensor(object, std::nullopt, tensor_options(std::nullopt));
}

void collect_leaves(nb::handle tree, std::vector<Tensor>& leaves) {
  if (tree.is_none()) return;
  const Nesting nesting;
  if (PyDict_Check(tree.ptr())) {
    for (const auto& [key, value] : nb::borrow<nb::dict>(tree)) collect_leaves(value, leaves);
  } else if (PyList_Check(tree.ptr()) || PyTuple_Check(tree.ptr())) {
    for (const nb::handle part : nb::borrow(tree)) collect_leaves(part, leaves);
  } else {
    leaves.push_back(leaf_of(tree));
  }
}

// Returns `tree` with the next leaves in the place of its own.
nb::object with_leaves(nb::handle tree, std::span<const Tensor>& leaves) {
  if (tree.is_none()) return nb::none();
  if (PyDict_Check(tree.ptr())) {
    nb::object copy = tree.attr("copy")();
    for (const auto& [key, value] : nb::borrow<nb::dict>(tree)) copy[key] = with_leaves(value, leaves);
    return copy;
  }
  if (!PyList_Check(tree.ptr()) && !PyTuple_Check(tree.ptr())) {
    if (leaves.empty()) throw_invalid_input("grad", "an argument has changed while its gradient was taken");
    nb::object leaf = to_array(leaves.front());
    leaves = leaves.subspan(1);
    return leaf;
  }
  nb::list parts;
  for (const nb::handle part : nb::borrow(tree)) parts.append(with_leaves(part, leaves));
  if (PyList_Check(tree.ptr())) return parts;
  const nb::tuple all(parts);
  return nb::hasattr(tree, "_fields") ? tree.type()(*all) : nb::object(all);
}

// --- Functions ------------------------------------------------------------------------------------------------------

Tensor returned(nb::handle result, std::string_view op) {
  if (is_array(result)) return tensor_of(result);
  throw_invalid_input(op, fmt::format("the function returned {}; return an array", class_name(result)));
}

nb::tuple arguments_of(std::span<const Tensor> tensors) {
  nb::list all;
  for (const Tensor& tensor : tensors) all.append(to_array(tensor));
  return nb::tuple(all);
}

// A Python function of arrays, which any thread may release.
class PythonFunction {
 public:
  explicit PythonFunction(nb::handle function)
      : held_(held_for_threads(std::make_unique<nb::object>(nb::borrow(function)))) {}

  // Needs the GIL.
  [[nodiscard]] const nb::object& get() const noexcept { return *static_cast<const nb::object*>(held_.get()); }

 private:
  std::shared_ptr<const void> held_;
};

array::Function tensor_function(nb::handle function, std::string_view op) {
  return [held = PythonFunction(function), op](std::span<const Tensor> arguments) {
    const nb::gil_scoped_acquire gil;
    return returned(held.get()(*arguments_of(arguments)), op);
  };
}

array::CustomGradient tensor_gradient(nb::handle gradient) {
  return
      [held = PythonFunction(gradient)](const Tensor& value, std::span<const Tensor> arguments, const Tensor& adjoint) {
        const nb::gil_scoped_acquire gil;
        nb::object made = held.get()(to_array(value), arguments_of(arguments), to_array(adjoint));
        if (!PyTuple_Check(made.ptr()) && !PyList_Check(made.ptr())) made = nb::make_tuple(made);
        std::vector<Tensor> gradients;
        for (const nb::handle one : made) {
          gradients.push_back(one.is_none() ? Tensor() : returned(one, "custom_function"));
        }
        return gradients;
      };
}

std::vector<Tensor> tensors_in(nb::handle arguments) {
  std::vector<Tensor> tensors;
  for (const nb::handle one : nb::borrow(arguments)) tensors.push_back(leaf_of(one));
  return tensors;
}

// What grad() and value_and_grad() return.
struct GradientFunction {
  nb::object function;
  std::vector<std::int64_t> numbers;  // of the arguments
  bool one = true;                    // number was given, not a sequence
  bool with_value = false;
  bool has_aux = false;
};

// A method of an object that keeps its own gradient function is a cycle, which Python's collector finds by these.
int visit_function(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<GradientFunction>(self)->function.ptr());
  return 0;
}
int clear_function(PyObject* self) {
  nb::inst_ptr<GradientFunction>(self)->function.reset();
  return 0;
}
const PyType_Slot gradient_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&visit_function)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear_function)},
    {0, nullptr},
};

std::size_t checked_number(std::int64_t number, std::size_t count) {
  const auto limit = static_cast<std::int64_t>(count);
  if (number < -limit || number >= limit) {
    throw_invalid_input("grad", fmt::format("argnums names argument {}, the call has {}; give 0 to {}, and pass such "
                                            "arguments by position",
                                            number, count, limit - 1));
  }
  return static_cast<std::size_t>(number < 0 ? number + limit : number);
}

nb::object call_gradient(const GradientFunction& self, const nb::args& arguments, const nb::kwargs& named) {
  std::vector<std::size_t> numbers;
  std::vector<Tensor> leaves;
  for (const std::int64_t number : self.numbers) {
    numbers.push_back(checked_number(number, arguments.size()));
    collect_leaves(arguments[numbers.back()], leaves);
  }
  nb::object aux;
  const auto function = [&](std::span<const Tensor> variables) -> Tensor {
    nb::list all(arguments);
    for (const std::size_t number : numbers) all[number] = with_leaves(arguments[number], variables);
    nb::object result = self.function(*all, **named);
    if (!self.has_aux) return returned(result, "grad");
    if (!PyTuple_Check(result.ptr()) || nb::len(result) != 2) {
      throw_invalid_input("grad", "with has_aux the function returns a value and something else, as a tuple");
    }
    aux = result[1];
    return returned(result[0], "grad");
  };
  const array::ValueAndGradients found = array::value_and_grad(function, leaves);
  std::span<const Tensor> gradients = found.gradients;
  nb::list trees;
  for (const std::size_t number : numbers) trees.append(with_leaves(arguments[number], gradients));
  nb::object gradient = self.one ? nb::object(trees[0]) : nb::object(nb::tuple(trees));
  if (!self.with_value) return self.has_aux ? nb::object(nb::make_tuple(gradient, aux)) : gradient;
  nb::object value = to_array(found.value);
  if (self.has_aux) value = nb::make_tuple(value, aux);
  return nb::make_tuple(value, gradient);
}

GradientFunction make_gradient(nb::object function, nb::handle argnums, bool with_value, bool has_aux) {
  if (PyCallable_Check(function.ptr()) == 0) {
    throw nb::type_error(fmt::format("gradients are taken of functions, not of {}", class_name(function)).c_str());
  }
  Shape numbers;
  if (!as_shape(argnums, numbers) || numbers.empty()) {
    throw nb::type_error("argnums is the number of an argument, or several in a sequence");
  }
  return {
      std::move(function), {numbers.begin(), numbers.end()}, PyIndex_Check(argnums.ptr()) != 0, with_value, has_aux};
}

// --- no_grad --------------------------------------------------------------------------------------------------------

// A context in which the thread records no gradients. Contexts of a thread end in the reverse order of their beginning.
class NoGradientContext {
 public:
  NoGradientContext() = default;
  NoGradientContext(const NoGradientContext&) = delete;
  NoGradientContext& operator=(const NoGradientContext&) = delete;
  ~NoGradientContext() {
    if (level_ != 0 && level_ == depth) leave();  // else the thread that entered it has ended, or an inner one lives
  }

  void enter() {
    if (level_ != 0) throw_invalid_input("no_grad", "the context is entered already; make another one");
    ::new (static_cast<void*>(storage_)) array::NoGradient();
    level_ = ++depth;
    thread_ = PyThread_get_thread_ident();
  }
  void exit() {
    if (level_ == 0 || level_ != depth || thread_ != PyThread_get_thread_ident()) {
      throw_invalid_input("no_grad", "contexts end in their thread, in the reverse order of their beginning");
    }
    leave();
  }

 private:
  void leave() noexcept {
    reinterpret_cast<array::NoGradient*>(storage_)->~NoGradient();
    level_ = 0;
    --depth;
  }

  static inline thread_local int depth = 0;

  alignas(array::NoGradient) std::byte storage_[sizeof(array::NoGradient)];
  int level_ = 0;  // 0: not entered
  unsigned long thread_ = 0;
};

void bind_contexts(nb::module_& module) {
  nb::class_<NoGradientContext>(module, "no_grad",
                                "A context in which this thread records nothing for gradients that are being taken.")
      .def(nb::init<>())
      .def(
          "__enter__",
          [](nb::handle self) {
            nb::inst_ptr<NoGradientContext>(self)->enter();
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> no_grad"))
      .def(
          "__exit__", [](NoGradientContext& self, const nb::args&) { self.exit(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
}

void bind_functions_with_gradients(nb::module_& module) {
  module.def(
      "call_custom",
      [](nb::handle function, nb::handle gradient, nb::handle arguments) {
        return to_array(array::custom_function(tensor_function(function, "custom_function"), tensor_gradient(gradient),
                                               tensors_in(arguments)));
      },
      "function"_a, "gradient"_a, "arguments"_a,
      nb::sig("def call_custom(function: typing.Callable[..., Array], gradient: typing.Callable[..., typing.Any], "
              "arguments: collections.abc.Sequence[vectis._types.ArrayLike]) -> Array"),
      "Call a function whose gradient another function gives.");
  module.def(
      "call_checkpoint",
      [](nb::handle function, nb::handle arguments) {
        return to_array(array::checkpoint(tensor_function(function, "checkpoint"), tensors_in(arguments)));
      },
      "function"_a, "arguments"_a,
      nb::sig("def call_checkpoint(function: typing.Callable[..., Array], arguments: "
              "collections.abc.Sequence[vectis._types.ArrayLike]) -> Array"),
      "Call a function without keeping its intermediate values.");
  module.def(
      "vjp",
      [](nb::handle function, nb::handle arguments, const Tensor& adjoint) {
        array::ValueAndGradients found = array::vjp(tensor_function(function, "vjp"), tensors_in(arguments), adjoint);
        return nb::make_tuple(to_array(found.value), arguments_of(found.gradients));
      },
      "function"_a, "arguments"_a, "adjoint"_a,
      nb::sig("def vjp(function: typing.Callable[..., Array], arguments: "
              "collections.abc.Sequence[vectis._types.ArrayLike], adjoint: Array) -> tuple[Array, tuple[Array, ...]]"),
      "Return the value of a function, and the gradients of sum(value * adjoint) for each argument.");
  nb::class_<array::GradientCheck>(module, "GradientCheck", "The largest difference that check_gradient found.")
      .def_ro("error_max", &array::GradientCheck::error_max, "The difference, relative to max(1, |derivative|).")
      .def_ro("argument", &array::GradientCheck::argument, "The number of the argument.")
      .def_ro("element", &array::GradientCheck::element, "The position of the element in the argument.")
      .def_ro("from_gradient", &array::GradientCheck::from_gradient, "The derivative that the gradient gives.")
      .def_ro("from_differences", &array::GradientCheck::from_differences, "The derivative from central differences.")
      .def("__repr__", [](const array::GradientCheck& self) {
        return fmt::format(
            "GradientCheck(error_max={:.3g}, argument={}, element={}, from_gradient={:.9g}, "
            "from_differences={:.9g})",
            self.error_max, self.argument, self.element, self.from_gradient, self.from_differences);
      });
  module.def(
      "check_gradient",
      [](nb::handle function, const nb::args& arguments, double step) {
        return array::check_gradient(tensor_function(function, "check_gradient"), tensors_in(arguments), step);
      },
      "function"_a, "arguments"_a, nb::kw_only(), "step"_a = 0x1p-17,
      nb::sig("def check_gradient(function: typing.Callable[..., Array], /, *arguments: Array, step: float = "
              "7.62939453125e-06) -> GradientCheck"),
      "Compare the gradients of a function of float64 arrays with central differences.");
}

}  // namespace

void bind_gradients(nb::module_& module) {
  nb::class_<GradientFunction>(module, "GradientFunction", nb::type_slots(gradient_slots),
                               "A function that returns gradients of another one.")
      .def("__call__", &call_gradient,
           nb::sig("def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any"))
      .def_prop_ro(
          "__wrapped__", [](const GradientFunction& self) { return self.function; },
          nb::sig("def __wrapped__(self) -> typing.Callable[..., typing.Any]"))
      .def("__repr__", [](const GradientFunction& self) {
        return fmt::format("{}({})", self.with_value ? "value_and_grad" : "grad", text_of(nb::repr(self.function)));
      });
  for (const bool with_value : {false, true}) {
    const char* const name = with_value ? "value_and_grad" : "grad";
    module.def(
        name,
        [with_value](nb::object function, nb::handle argnums, bool has_aux) {
          return make_gradient(std::move(function), argnums, with_value, has_aux);
        },
        "function"_a, "argnums"_a = 0, "has_aux"_a = false,
        nb::sig(fmt::format("def {}(function: typing.Callable[..., typing.Any], argnums: int | "
                            "collections.abc.Sequence[int] = 0, has_aux: bool = False) -> GradientFunction",
                            name)
                    .c_str()),
        with_value ? "Return a function that returns the value of `function` and its gradient.\n\n"
                     "The gradient has the structure of the argument that `argnums` names: an array, or lists, tuples "
                     "and dictionaries of arrays; several argnums give a tuple. With has_aux `function` returns "
                     "(value, anything), and so does the new function in place of the value."
                   : "Return a function that returns the gradient of `function`.\n\n"
                     "See value_and_grad; with has_aux it returns (gradient, anything).");
  }
  bind_functions_with_gradients(module);
  bind_contexts(module);
}

}  // namespace vectis::python
