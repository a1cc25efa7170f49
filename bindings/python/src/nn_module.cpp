// Trees of Python modules, their gradients and states, and the native module vectis._nn.
#include "nn_module.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bindings.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

// Reports the parameters of a frozen module as buffers: part of the state, but not trained.
class AsBuffers final : public nn::Visitor {
 public:
  explicit AsBuffers(nn::Visitor& outer) noexcept : outer_(outer) {}

 private:
  void on_tensor(const std::string& path, nn::TensorRole /*role*/, Tensor& value) override {
    outer_.buffer(path, value);
  }
  nn::Visitor& outer_;
};
struct Frozen {
  NativeModule& module;
  void visit(nn::Visitor& visitor) const {
    AsBuffers frozen(visitor);
    module.visit(frozen);
  }
};

void assign(nb::handle container, nb::handle key, nb::handle value) {
  if (PyObject_SetItem(container.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
}

std::vector<std::string> names_of(const std::vector<nn::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const nn::NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

// Whether a thread may not begin `wanted` while another one is at `held`.
bool excludes(ModuleUse held, ModuleUse wanted) noexcept {
  if (held == ModuleUse::train || wanted == ModuleUse::train) return true;
  if (held == ModuleUse::change) return wanted != ModuleUse::read;
  return wanted == ModuleUse::change;
}

std::string_view doing(ModuleUse use) noexcept {
  switch (use) {
    case ModuleUse::train:
      return "is being trained";
    case ModuleUse::change:
      return "is being differentiated";
    default:
      return "is being evaluated";
  }
}

Tensor loss_in(nb::handle result) {
  if (is_array(result)) return tensor_of(result);
  throw_invalid_input("value_and_grad",
                      fmt::format("the function returned {}; return the loss, an array of one number, "
                                  "or a tuple that begins with it",
                                  class_name(result)));
}

}  // namespace

void NativeModule::check_use(ModuleUse use, std::string_view op) const {
  for (const Holder& holder : holders_) {
    if (holder.thread == std::this_thread::get_id() || !excludes(holder.use, use)) continue;
    throw_invalid_input(op, fmt::format("the module {} by another thread; wait until that ends, or use a copy that was "
                                        "made before (copy.deepcopy)",
                                        doing(holder.use)));
  }
}

ModuleHold::ModuleHold(std::vector<NativeModule*> modules, ModuleUse use, std::string_view op)
    : modules_(std::move(modules)) {
  for (const NativeModule* const module : modules_) module->check_use(use, op);
  for (NativeModule* const module : modules_) module->holders_.push_back({std::this_thread::get_id(), use});
}

ModuleHold::~ModuleHold() {
  const std::thread::id thread = std::this_thread::get_id();
  for (NativeModule* const module : modules_) {
    auto& holders = module->holders_;
    const auto mine = std::find_if(holders.rbegin(), holders.rend(),
                                   [&](const NativeModule::Holder& holder) { return holder.thread == thread; });
    holders.erase(std::next(mine).base());
  }
}

ModuleTree::ModuleTree(const nb::list& leaves, ModuleUse use, std::string_view op) {
  slots_.reserve(leaves.size());
  natives_.reserve(leaves.size());
  for (const nb::handle leaf : leaves) {
    const auto path = nb::cast<std::string>(leaf[0]);
    const bool is_trained = nb::cast<bool>(leaf[1]);
    nb::object container = leaf[2];
    if (nb::isinstance<NativeModule>(container)) {
      parts_.push_back({true, natives_.size()});
      auto* const module = nb::cast<NativeModule*>(container);
      module->check_use(use, op);
      natives_.push_back({path, !is_trained, std::move(container), module});
      continue;
    }
    nb::object key = leaf[3];
    nb::object array = container[key];
    parts_.push_back({false, slots_.size()});
    const Tensor value = tensor_of(array);
    slots_.push_back({path, is_trained ? nn::TensorRole::parameter : nn::TensorRole::buffer, std::move(container),
                      std::move(key), std::move(array), value});
  }
}

void ModuleTree::visit(nn::Visitor& visitor) {
  for (const Part& part : parts_) {
    if (!part.is_native) {
      Slot& slot = slots_[part.index];
      slot.role == nn::TensorRole::parameter ? visitor.parameter(slot.path, slot.value)
                                             : visitor.buffer(slot.path, slot.value);
      continue;
    }
    NativePart& native = natives_[part.index];
    if (native.is_frozen) {
      Frozen frozen{*native.module};
      visitor.child(native.path, frozen);
    } else {
      visitor.child(native.path, *native.module);
    }
  }
}

void ModuleTree::push_parameters() {
  for (const Slot& slot : slots_) {
    if (slot.role == nn::TensorRole::parameter) assign(slot.container, slot.key, to_array(slot.value));
  }
}

void ModuleTree::push() {
  for (const Slot& slot : slots_) assign(slot.container, slot.key, to_array(slot.value));
}

void ModuleTree::take(Slot& slot) {
  const nb::object array = slot.container[slot.key];
  const bool is_parameter = slot.role == nn::TensorRole::parameter;
  if (!is_array(array)) {
    throw_invalid_input("train", fmt::format("the {} {} has become {}; assign arrays to it",
                                             is_parameter ? "parameter" : "buffer", slot.path, class_name(array)));
  }
  const Tensor value = tensor_of(array);
  if (is_parameter && value.shape() != slot.value.shape()) {
    throw_invalid_input("train", fmt::format("the parameter {} has shape {}, the array assigned to it {}; assign one "
                                             "of its shape",
                                             slot.path, to_string(slot.value.shape()), to_string(value.shape())));
  }
  slot.value = value;
}

void ModuleTree::pull_buffers() {
  for (Slot& slot : slots_) {
    if (slot.role == nn::TensorRole::buffer) take(slot);
  }
}

void ModuleTree::pull() {
  for (Slot& slot : slots_) take(slot);
}

void ModuleTree::restore_parameters() noexcept {
  for (const Slot& slot : slots_) {
    if (slot.role != nn::TensorRole::parameter) continue;
    if (PyObject_SetItem(slot.container.ptr(), slot.key.ptr(), slot.array.ptr()) != 0) {
      PyErr_WriteUnraisable(slot.container.ptr());
    }
  }
}

std::vector<NativeModule*> ModuleTree::natives() const {
  std::vector<NativeModule*> all;
  all.reserve(natives_.size());
  for (const NativePart& native : natives_) all.push_back(native.module);
  return all;
}

PushAtEnd::~PushAtEnd() {
  try {
    tree_.push();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("vectis.nn");
  }
}

nb::dict to_dict(const std::vector<std::string>& names, std::span<const Tensor> values) {
  nb::dict all;
  for (std::size_t i = 0; i < names.size(); ++i) all[nb::cast(names[i])] = to_array(values[i]);
  return all;
}

std::vector<Tensor> in_order_of(const std::vector<nn::NamedTensor>& parameters, const nb::dict& values,
                                std::string_view op) {
  std::vector<Tensor> ordered;
  for (const nn::NamedTensor& parameter : parameters) {
    const nb::object name = nb::cast(parameter.name);
    if (!values.contains(name)) {
      throw_invalid_input(op, fmt::format("the gradient of {} is missing; give those of all parameters of the module, "
                                          "as value_and_grad() returns them",
                                          parameter.name));
    }
    ordered.push_back(loss_in(values[name]));
  }
  if (values.size() != parameters.size()) {
    throw_invalid_input(op, fmt::format("there are {} gradients for {} parameters; give those of the same module",
                                        values.size(), parameters.size()));
  }
  return ordered;
}

nb::dict to_dict(const nn::StateDict& state) {
  nb::dict all;
  for (const auto& [name, value] : state) all[nb::cast(name)] = to_array(value);
  return all;
}

nn::StateDict as_state_dict(const nb::dict& state, std::string_view op) {
  nn::StateDict all;
  for (const auto& [name, value] : state) {
    if (!PyUnicode_Check(name.ptr()) || !is_array(value)) {
      throw_invalid_input(
          op, fmt::format("a state dictionary has arrays by name, not {} by {}", class_name(value), class_name(name)));
    }
    all.add(as_utf8(name, op, fmt::format("the name {}", text_of(name))), tensor_of(value));
  }
  return all;
}

Tensor call_loss(ModuleTree& tree, nb::handle function, const nb::args& arguments, const nb::kwargs& named,
                 nb::object& result) {
  tree.push_parameters();
  result = function(*arguments, **named);
  if (PyTuple_Check(result.ptr()) && nb::len(result) > 0) return loss_in(result[0]);
  return loss_in(result);
}

nb::object with_gradients(ModuleTree& tree, const nn::LossAndGradients& found, const nb::object& result) {
  nb::object value = to_array(found.loss);
  if (PyTuple_Check(result.ptr())) {
    nb::list parts(result);
    parts[0] = value;
    value = nb::tuple(parts);
  }
  return nb::make_tuple(value, to_dict(names_of(nn::named_parameters(tree)), found.gradients));
}

namespace {

nb::object value_and_grad(const nb::list& leaves, nb::handle function, const nb::args& arguments,
                          const nb::kwargs& named) {
  ModuleTree tree(leaves, ModuleUse::change, "value_and_grad");
  const ModuleHold hold(tree.natives(), ModuleUse::change, "value_and_grad");
  nb::object result;
  const auto loss = [&] { return call_loss(tree, function, arguments, named, result); };
  try {
    const nn::LossAndGradients found = nn::value_and_grad(tree, loss);
    tree.restore_parameters();
    return with_gradients(tree, found, result);
  } catch (...) {
    tree.restore_parameters();
    throw;
  }
}

nn::Tensor* find_tensor(NativeModule& module, std::string_view name) {
  for (const nn::NamedTensor& tensor : nn::named_tensors(module)) {
    if (tensor.name == name) return tensor.value;
  }
  return nullptr;
}

void bind_native_module(nb::module_& module) {
  nb::class_<NativeModule>(module, "NativeModule", "A module of the library.")
      .def(
          "names",
          [](NativeModule& self) {
            self.check_use(ModuleUse::read, "names");
            nb::dict roles;
            for (const nn::NamedTensor& tensor : nn::named_tensors(self)) {
              roles[nb::cast(tensor.name)] = tensor.role == nn::TensorRole::parameter;
            }
            return roles;
          },
          nb::sig("def names(self) -> dict[str, bool]"),
          "Return the names of all tensors, in order, and whether each is a parameter.")
      .def(
          "get",
          [](NativeModule& self, const std::string& name) -> nb::object {
            self.check_use(ModuleUse::read, name);
            const Tensor* const tensor = find_tensor(self, name);
            return tensor == nullptr ? nb::none() : to_array(*tensor);
          },
          "name"_a, nb::sig("def get(self, name: str) -> Array | None"), "Return a tensor; None when there is none.")
      .def(
          "set",
          [](NativeModule& self, const std::string& name, const Tensor& value) {
            self.check_use(ModuleUse::change, "set");
            Tensor* const tensor = find_tensor(self, name);
            if (tensor == nullptr) throw_invalid_input("set", fmt::format("the module has no tensor {}", name));
            if (tensor->shape() != value.shape()) {
              throw_invalid_input("set", fmt::format("{} has shape {}, the new array {}; give one of its shape", name,
                                                     to_string(tensor->shape()), to_string(value.shape())));
            }
            *tensor = value;
          },
          "name"_a, "value"_a, "Replace a tensor by another one of its shape.");
}

void bind_module_functions(nb::module_& module) {
  module.def("value_and_grad", &value_and_grad,
             nb::sig("def value_and_grad(leaves: list[tuple[typing.Any, ...]], function: typing.Callable[..., "
                     "typing.Any], *args: typing.Any, **kwargs: typing.Any) -> tuple[typing.Any, dict[str, Array]]"),
             "Return what a function returns, and the gradients of its loss for the parameters of a module.");
  module.def(
      "check_trainable", [](const nb::list& leaves) { ModuleTree(leaves, ModuleUse::train, "train"); }, "leaves"_a,
      nb::sig("def check_trainable(leaves: list[tuple[typing.Any, ...]]) -> None"),
      "Raise InvalidInputError when another thread uses the modules so that they cannot be trained now.");
  module.def(
      "state_dict",
      [](const nb::list& leaves) {
        ModuleTree tree(leaves, ModuleUse::read, "state_dict");
        return to_dict(nn::state_dict(tree));
      },
      "leaves"_a, nb::sig("def state_dict(leaves: list[tuple[typing.Any, ...]]) -> dict[str, Array]"),
      "Return parameters and buffers by name.");
  module.def(
      "parameters",
      [](const nb::list& leaves) {
        ModuleTree tree(leaves, ModuleUse::read, "parameters");
        nb::dict all;
        for (const nn::NamedTensor& tensor : nn::named_parameters(tree)) {
          all[nb::cast(tensor.name)] = to_array(*tensor.value);
        }
        return all;
      },
      "leaves"_a, nb::sig("def parameters(leaves: list[tuple[typing.Any, ...]]) -> dict[str, Array]"),
      "Return the parameters by name.");
  module.def(
      "load_state_dict",
      [](const nb::list& leaves, const nb::dict& state, bool strict) {
        ModuleTree tree(leaves, ModuleUse::change, "load_state_dict");
        nn::load_state_dict(tree, as_state_dict(state, "load_state_dict"),
                            strict ? nn::StateMatch::exact : nn::StateMatch::partial);
        tree.push();
      },
      "leaves"_a, "state"_a, "strict"_a,
      nb::sig("def load_state_dict(leaves: list[tuple[typing.Any, ...]], state: dict[str, Array], strict: bool) -> "
              "None"),
      "Replace parameters and buffers by those of the same names.");
  module.def(
      "move_to",
      [](const nb::list& leaves, const DeviceArgument& device) {
        ModuleTree tree(leaves, ModuleUse::change, "to");
        nn::move_to(tree, find_device(device).device);
        tree.push();
      },
      "leaves"_a, "device"_a,
      nb::sig("def move_to(leaves: list[tuple[typing.Any, ...]], device: vectis._vectis.Device | int | str) -> None"),
      "Copy all tensors to a device.");
  module.def(
      "convert_to",
      [](const nb::list& leaves, const DTypeArgument& type) {
        ModuleTree tree(leaves, ModuleUse::change, "astype");
        nn::convert_to(tree, type.type.value_or(DType::float32));
        tree.push();
      },
      "leaves"_a, "dtype"_a,
      nb::sig("def convert_to(leaves: list[tuple[typing.Any, ...]], dtype: vectis._types.ArrayDType) -> None"),
      "Convert the floating-point tensors.");
}

}  // namespace

// As vectis._array, the module vectis._nn has no file of its own.
void bind_networks(nb::module_& module) {
  nb::module_ networks = nb::steal<nb::module_>(PyModule_New("vectis._nn"));
  networks.attr("__doc__") = "The native part of vectis.nn.";
  networks.attr("Array") = nb::module_::import_("vectis._array").attr("Array");
  networks.attr("Generator") = nb::module_::import_("vectis._array").attr("Generator");
  bind_native_module(networks);
  bind_module_functions(networks);
  bind_nn_layers(networks);
  bind_nn_attention(networks);
  bind_nn_functions(networks);
  bind_nn_network(networks);
  bind_nn_optimizers(networks);
  bind_nn_data(networks);
  bind_nn_training(networks);
  bind_nn_checkpoints(networks);
  bind_nn_safetensors(networks);
  bind_nn_text(networks);
  nb::module_::import_("sys").attr("modules")["vectis._nn"] = networks;
  module.attr("_nn") = networks;
}

}  // namespace vectis::python
