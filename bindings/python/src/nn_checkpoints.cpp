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

constexpr int depth_max = 100;  // of dictionaries in each other

void add_values(nn::Checkpoint& checkpoint, const std::string& prefix, const nb::dict& values, int depth);

// Values become tensors, integers, numbers or texts by their types; those of dictionaries with the name of the
// dictionary before their names.
void add_value(nn::Checkpoint& checkpoint, const std::string& name, nb::handle value, int depth) {
  if (is_array(value)) {
    checkpoint.tensors.add(name, tensor_of(value));
  } else if (PyDict_Check(value.ptr())) {
    add_values(checkpoint, name + ".", nb::borrow<nb::dict>(value), depth);
  } else if (PyLong_Check(value.ptr())) {
    std::int64_t number = 0;
    if (!nb::try_cast(value, number)) {
      throw_invalid_input("save_checkpoint",
                          fmt::format("the integer {} is beyond 64 bits; save it as a text or a float", name));
    }
    checkpoint.integers[name] = number;
  } else if (PyFloat_Check(value.ptr())) {
    checkpoint.numbers[name] = nb::cast<double>(value);
  } else if (PyUnicode_Check(value.ptr())) {
    checkpoint.texts[name] = as_utf8(value, "save_checkpoint", fmt::format("the text {}", name));
  } else {
    throw_invalid_input("save_checkpoint",
                        fmt::format("{} is {}; give arrays, state dictionaries, integers, numbers and "
                                    "texts",
                                    name, class_name(value)));
  }
}

void add_values(nn::Checkpoint& checkpoint, const std::string& prefix, const nb::dict& values, int depth) {
  if (depth == depth_max) {
    throw_invalid_input("save_checkpoint",
                        fmt::format("dictionaries are nested more than {} deep at {}...; does one contain itself?",
                                    depth_max, prefix.substr(0, 40)));
  }
  for (const auto& [name, value] : values) add_value(checkpoint, prefix + text_of(name), value, depth + 1);
}

nn::Checkpoint as_checkpoint(const nb::dict& values) {
  nn::Checkpoint checkpoint;
  add_values(checkpoint, "", values, 0);
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
