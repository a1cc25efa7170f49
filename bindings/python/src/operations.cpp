#include "operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calls.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "html.hpp"
#include "launch.hpp"
#include "numbers.hpp"
#include "text.hpp"
#include "vectis/kernel/operation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

std::vector<std::string> operand_texts(const Operation& operation) {
  std::vector<std::string> texts;
  for (const OperandRule& operand : operation.operands) {
    std::vector<std::string_view> types;
    types.reserve(operand.types.size());
    for (const DType type : operand.types) types.push_back(name(type));
    texts.push_back(fmt::format("{}{}: {}", operand.name, operand.access == Access::read ? "" : " (written)",
                                fmt::join(types, " | ")));
  }
  return texts;
}

std::vector<std::string> parameter_texts(const Operation& operation) {
  std::vector<std::string> texts;
  texts.reserve(operation.parameters.size());
  for (const ParameterRule& parameter : operation.parameters) {
    texts.push_back(fmt::format("{}={}", parameter.name, parameter.default_value));
  }
  return texts;
}

// Returns the parameters in the order of the operation, those that are not named with their defaults.
std::vector<ParameterValue> parse_parameters(const Operation& operation, const nb::kwargs& named) {
  std::vector<ParameterValue> values;
  for (const ParameterRule& rule : operation.parameters) {
    if (rule.integer) {
      values.emplace_back(static_cast<std::int64_t>(rule.default_value));
    } else {
      values.emplace_back(rule.default_value);
    }
  }
  for (const auto [key, value] : named) {
    const std::string text = text_of(key);
    const auto rule = std::ranges::find(operation.parameters, text, &ParameterRule::name);
    if (rule == operation.parameters.end()) {
      throw_invalid_input("run", fmt::format("operation '{}' has no parameter '{}'; its parameters are: {}",
                                             operation.name, text, fmt::join(parameter_texts(operation), ", ")));
    }
    const std::string what = fmt::format("parameter '{}'", text);
    ParameterValue& target = values[static_cast<std::size_t>(rule - operation.parameters.begin())];
    if (rule->integer || PyLong_Check(value.ptr())) {
      target = integer_value(value, "run", what);
    } else {
      target = real_value(value, "run", what);
    }
  }
  return values;
}

// Returns the view of an array: one of a single dimension is a row.
View view_of(const ArrayArgument& array) {
  const std::vector<std::size_t> shape = array.shape();
  const std::size_t columns = shape.empty() ? 1 : shape.back();
  return {array.memory(), array.type(), shape.size() == 2 ? shape[0] : 1, columns};
}

std::vector<ArrayArgument> parse_operands(const Operation& operation, const nb::args& operands) {
  if (operands.size() != operation.operands.size()) {
    throw_invalid_input(
        "run", fmt::format("operation '{}' takes {} arrays ({}), not {}", operation.name, operation.operands.size(),
                           fmt::join(operand_texts(operation), "; "), operands.size()));
  }
  std::vector<ArrayArgument> arrays;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const OperandRule& rule = operation.operands[i];
    const std::string what = fmt::format("operand '{}'", rule.name);
    const ArrayArgument& array =
        arrays.emplace_back(operands[i], rule.access == Access::read ? ArrayUse::read : ArrayUse::write, "run", what);
    if (array.shape().size() > 2) {
      throw_invalid_input("run",
                          fmt::format("{} has {} dimensions; operations take matrices, and rows of one dimension", what,
                                      array.shape().size()));
    }
  }
  return arrays;
}

PyDevice device_of(const std::vector<ArrayArgument>& arrays, const std::optional<DeviceArgument>& device) {
  if (!device) {
    for (const ArrayArgument& array : arrays) {
      if (array.passed() != nullptr) return array.passed()->device();
    }
  }
  return find_device(device);
}

void run_operation(std::string_view operation, const nb::args& operands, const std::optional<DeviceArgument>& device,
                   const nb::kwargs& parameters) {
  const Operation* const found = find_operation(operation);
  if (found == nullptr) {
    throw_invalid_input("run",
                        fmt::format("there is no operation '{}'; vectis.kernel.operations() lists all", operation));
  }
  std::vector<ArrayArgument> arrays = parse_operands(*found, operands);
  const std::vector<ParameterValue> values = parse_parameters(*found, parameters);
  resolve_overlaps(arrays, Repeated::reject, "run",
                   [&](std::size_t i) { return fmt::format("operand '{}'", found->operands[i].name); });
  const PyDevice used = device_of(arrays, device);
  const Call call;
  call.run([&](const Context& context) {
    launch_on(used, arrays, context, [&](Stream& stream) {
      std::vector<View> views;
      views.reserve(arrays.size());
      for (const ArrayArgument& array : arrays) views.push_back(view_of(array));
      run(stream, found->name, views, values);
    });
  });
}

}  // namespace

void bind_operations(nb::module_& module) {
  nb::class_<Operation>(module, "Operation", "A named operation, which every device runs.")
      .def_ro("name", &Operation::name)
      .def_ro("summary", &Operation::summary, "What it computes.")
      .def_prop_ro("operands", &operand_texts, "Name and types of each array.")
      .def_prop_ro("parameters", &parameter_texts, "Name and default of each parameter.")
      .def("__repr__",
           [](const Operation& self) {
             return fmt::format("Operation('{}', operands=[{}], parameters=[{}])", self.name,
                                fmt::join(operand_texts(self), "; "), fmt::join(parameter_texts(self), ", "));
           })
      .def("_repr_html_", [](const Operation& self) {
        return html_table({}, {{"operation", self.name},
                               {"operands", fmt::format("{}", fmt::join(operand_texts(self), "; "))},
                               {"parameters", fmt::format("{}", fmt::join(parameter_texts(self), ", "))},
                               {"meaning", self.summary}});
      });
  module.def(
      "operations",
      [] {
        nb::list all;
        for (const Operation& operation : operations()) all.append(nb::cast(&operation, nb::rv_policy::reference));
        return all;
      },
      nb::sig("def operations() -> list[Operation]"), "Return all named operations in alphabetical order.");
  module.def(
      "run",
      [](const std::string& operation, const nb::args& operands, const std::optional<DeviceArgument>& device,
         const nb::kwargs& parameters) { run_operation(operation, operands, device, parameters); },
      "operation"_a, "operands"_a, "device"_a = nb::none(), "parameters"_a,
      nb::sig("def run(operation: str, *operands: numpy.typing.NDArray[typing.Any] | DeviceArray, device: Device | int "
              "| str | None = None, **parameters: float) -> None"),
      "Run a named operation on arrays and wait for it.\n\n"
      "    vectis.kernel.run('matmul', a, b, c, alpha=0.5)\n\n"
      "Arrays have up to two dimensions; one of a single dimension is a row. Those that the operation writes are\n"
      "changed in place, and must not overlap each other. docs/operations.md describes the operations.\n\n"
      "device: None is the device of the first DeviceArray, else the active one.");
}

}  // namespace vectis::python
