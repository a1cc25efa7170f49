// Checkpoints as dictionaries of arrays, numbers and texts.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <string>

#include "array_object.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "nn_module.hpp"
#include "options.hpp"
#include "text.hpp"
#include "vectis/nn/checkpoint.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

// A dictionary's values become tensors, integers, numbers or texts by their types; state dictionaries in it become
// tensors with the name before their names.
void add_value(nn::Checkpoint& checkpoint, const std::string& name, nb::handle value) {
  if (is_array(value)) {
    checkpoint.tensors.add(name, tensor_of(value));
  } else if (PyDict_Check(value.ptr())) {
    for (const auto& [key, part] : nb::borrow<nb::dict>(value)) {
      add_value(checkpoint, fmt::format("{}.{}", name, text_of(key)), part);
    }
  } else if (PyLong_Check(value.ptr())) {
    checkpoint.integers[name] = nb::cast<std::int64_t>(value);
  } else if (PyFloat_Check(value.ptr())) {
    checkpoint.numbers[name] = nb::cast<double>(value);
  } else if (PyUnicode_Check(value.ptr())) {
    checkpoint.texts[name] = nb::cast<std::string>(value);
  } else {
    throw_invalid_input("save_checkpoint",
                        fmt::format("{} is {}; give arrays, state dictionaries, integers, numbers and "
                                    "texts",
                                    name, class_name(value)));
  }
}

nn::Checkpoint as_checkpoint(const nb::dict& values) {
  nn::Checkpoint checkpoint;
  for (const auto& [name, value] : values) add_value(checkpoint, text_of(name), value);
  return checkpoint;
}

nb::dict values_of(const nn::Checkpoint& checkpoint) {
  nb::dict all = to_dict(checkpoint.tensors);
  for (const auto& [name, value] : checkpoint.integers) all[nb::cast(name)] = value;
  for (const auto& [name, value] : checkpoint.numbers) all[nb::cast(name)] = value;
  for (const auto& [name, value] : checkpoint.texts) all[nb::cast(name)] = nb::cast(value);
  return all;
}

}  // namespace

void bind_nn_checkpoints(nb::module_& module) {
  module.def(
      "save_checkpoint",
      [](nb::handle path, const nb::dict& values) {
        const std::string file = file_path(path);
        const nn::Checkpoint checkpoint = as_checkpoint(values);
        without_gil([&] { nn::save_checkpoint(file, checkpoint); });
      },
      "path"_a, "values"_a,
      nb::sig("def save_checkpoint(path: str | os.PathLike[str], values: dict[str, typing.Any]) -> None"),
      "Write arrays, state dictionaries, integers, numbers and texts by name to a file.\n\nThe file is replaced in one "
      "step: a process that is killed at any point leaves the old file or the new one.");
  module.def(
      "load_checkpoint",
      [](nb::handle path) {
        const std::string file = file_path(path);
        return values_of(without_gil([&] { return nn::load_checkpoint(file); }));
      },
      "path"_a, nb::sig("def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, typing.Any]"),
      "Return what save_checkpoint() wrote, with arrays on the CPU.");
}

}  // namespace vectis::python
