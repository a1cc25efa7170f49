// Safetensors files as dictionaries of arrays and of texts.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <string>

#include "errors.hpp"
#include "gil.hpp"
#include "nn_module.hpp"
#include "options.hpp"
#include "text.hpp"
#include "vectis/nn/safetensors.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

constexpr std::string_view save_op = "save_safetensors";

nn::SafeTensorsMetadata as_metadata(const nb::dict& texts) {
  nn::SafeTensorsMetadata metadata;
  for (const auto& [name, text] : texts) {
    if (!PyUnicode_Check(name.ptr()) || !PyUnicode_Check(text.ptr())) {
      throw_invalid_input(save_op,
                          fmt::format("metadata has texts by name, not {} by {}", class_name(text), class_name(name)));
    }
    const std::string shown = text_of(name);
    metadata.emplace(as_utf8(name, save_op, fmt::format("the name {}", shown)),
                     as_utf8(text, save_op, fmt::format("the text {}", shown)));
  }
  return metadata;
}

nb::dict texts_of(const nn::SafeTensorsMetadata& metadata) {
  nb::dict texts;
  for (const auto& [name, text] : metadata) texts[nb::cast(name)] = nb::cast(text);
  return texts;
}

}  // namespace

void bind_nn_safetensors(nb::module_& module) {
  module.def(
      "read_safetensors",
      [](nb::handle path) {
        const std::string file = file_path(path);
        const nn::SafeTensors content = without_gil([&] { return nn::read_safetensors(file); });
        return nb::make_tuple(to_dict(content.tensors), texts_of(content.metadata));
      },
      "path"_a,
      nb::sig("def read_safetensors(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, str]]"),
      "Return the arrays of a safetensors file by name, on the CPU, and its metadata.\n\nThe arrays are in the order "
      "of "
      "the file.");
  module.def(
      "save_safetensors",
      [](nb::handle path, const nb::dict& state, const nb::dict& metadata) {
        const std::string file = file_path(path);
        const nn::StateDict tensors = as_state_dict(state, save_op);
        const nn::SafeTensorsMetadata texts = as_metadata(metadata);
        without_gil([&] { nn::save_safetensors(file, tensors, texts); });
      },
      "path"_a, "state"_a, "metadata"_a,
      nb::sig(
          "def save_safetensors(path: str | os.PathLike[str], state: dict[str, Array], metadata: dict[str, str]) -> "
          "None"),
      "Write arrays and texts to a safetensors file, which is replaced in one step.");
}

}  // namespace vectis::python
