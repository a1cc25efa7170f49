// Modules of vectis.nn: the library's modules behind Python classes, and trees of Python modules as one module.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "array_casters.hpp"
#include "array_object.hpp"
#include "vectis/nn/gradients.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::python {

// What a call does with a module. Calls that read or change a module do so with the GIL; evaluation reads it without,
// training changes it without, and the gradients of a Python function change it while Python code runs.
enum class ModuleUse : std::uint8_t { read, change, evaluate, train };

// A module of the library that a Python object owns. Needs the GIL, except while a ModuleHold of this thread exists.
class NativeModule {
 public:
  NativeModule() = default;
  NativeModule(const NativeModule&) = delete;
  NativeModule& operator=(const NativeModule&) = delete;
  virtual ~NativeModule() = default;
  virtual void visit(nn::Visitor& visitor) = 0;

  // Throws InvalidInput, naming the call `op`, when what another thread does with the module excludes this use. Needs
  // the GIL.
  void check_use(ModuleUse use, std::string_view op) const;

 private:
  friend class ModuleHold;
  struct Holder {
    std::thread::id thread;
    ModuleUse use;
  };
  std::vector<Holder> holders_;  // guarded by the GIL
};

// Reserves modules for a use by this thread while it exists, so that calls of other threads which do not go together
// with that use throw. Calls of this thread, such as those of an observer of the training, do not. Make and destroy it
// with the GIL.
class ModuleHold {
 public:
  // Throws as check_use does.
  ModuleHold(std::vector<NativeModule*> modules, ModuleUse use, std::string_view op);
  ~ModuleHold();
  ModuleHold(const ModuleHold&) = delete;
  ModuleHold& operator=(const ModuleHold&) = delete;

 private:
  std::vector<NativeModule*> modules_;
};

template <nn::Visitable M>
class Native final : public NativeModule {
 public:
  explicit Native(M held) : module_(std::move(held)) {}
  void visit(nn::Visitor& visitor) override { module_.visit(visitor); }

  // The module, for a call that a ModuleHold covers or that uses none of its tensors.
  [[nodiscard]] M& module() noexcept { return module_; }
  // The module for a call that computes with it; a generator is for training, which may change its buffers. Throws as
  // check_use does.
  [[nodiscard]] M& computing(std::string_view op, const array::Generator* random = nullptr) {
    check_use(random == nullptr ? ModuleUse::read : ModuleUse::change, op);
    return module_;
  }

 private:
  M module_;
};

// How a module computes: for inference without a generator, for training with one.
[[nodiscard]] inline nn::Mode mode_of(array::Generator* random) noexcept {
  return random == nullptr ? nn::Mode() : nn::Mode::training(*random);
}

// The tensors of a tree of Python modules, as a module of the library for one call. Arrays of Python are copied into
// slots, which the library reads and assigns without the GIL: push() and pull() exchange them with Python.
class ModuleTree {
 public:
  // Takes what Module._leaves() returns. Throws as NativeModule::check_use does. Needs the GIL, as the destructor does.
  ModuleTree(const nanobind::list& leaves, ModuleUse use, std::string_view op);

  void visit(nn::Visitor& visitor);
  // Gives the slots to the Python modules: those of parameters, or all. Needs the GIL.
  void push_parameters();
  void push();
  // Takes what Python code has assigned: to buffers, or to all. Throws InvalidInput when one is no array any more, or a
  // parameter has another shape. Needs the GIL.
  void pull_buffers();
  void pull();
  // Gives the Python modules their arrays of the beginning back; called before push(). Needs the GIL.
  void restore_parameters() noexcept;
  // The modules of the library in the tree.
  [[nodiscard]] std::vector<NativeModule*> natives() const;

 private:
  struct Slot {
    std::string path;
    nn::TensorRole role;
    nanobind::object container;  // has `array` at `key`
    nanobind::object key;
    nanobind::object array;
    Tensor value;
  };
  static void take(Slot& slot);

  struct NativePart {
    std::string path;
    bool is_frozen;
    nanobind::object owner;
    NativeModule* module;
  };
  struct Part {  // in the order of the visit
    bool is_native;
    std::size_t index;
  };

  std::vector<Part> parts_;
  std::vector<Slot> slots_;
  std::vector<NativePart> natives_;
};

// Gives a tree's arrays to its Python modules at the end of a scope, also after an exception. Needs the GIL there.
class PushAtEnd {
 public:
  explicit PushAtEnd(ModuleTree& tree) noexcept : tree_(tree) {}
  ~PushAtEnd();
  PushAtEnd(const PushAtEnd&) = delete;
  PushAtEnd& operator=(const PushAtEnd&) = delete;

 private:
  ModuleTree& tree_;
};

// Gradients, which Python has as a dictionary by the names of the parameters. Need the GIL.
nanobind::dict to_dict(const std::vector<std::string>& names, std::span<const Tensor> values);
// Takes the arrays of `values` in the order of `parameters`. Throws InvalidInput for names that only one side has.
std::vector<Tensor> in_order_of(const std::vector<nn::NamedTensor>& parameters, const nanobind::dict& values,
                                std::string_view op);

// State dictionaries. Need the GIL.
nanobind::dict to_dict(const nn::StateDict& state);
nn::StateDict as_state_dict(const nanobind::dict& state, std::string_view op);

// Calls a Python function of a loss with the tree's parameters, which are variables then, and returns its first result.
// The function's result, when it is a tuple, is kept in `result`. Needs the GIL.
Tensor call_loss(ModuleTree& tree, nanobind::handle function, const nanobind::args& arguments,
                 const nanobind::kwargs& named, nanobind::object& result);
// Returns the value of a loss, or the tuple that begins with it, and the gradients by name. Needs the GIL.
nanobind::object with_gradients(ModuleTree& tree, const nn::LossAndGradients& found, const nanobind::object& result);

void bind_nn_layers(nanobind::module_& module);
void bind_nn_attention(nanobind::module_& module);
void bind_nn_functions(nanobind::module_& module);
void bind_nn_network(nanobind::module_& module);
void bind_nn_optimizers(nanobind::module_& module);
void bind_nn_data(nanobind::module_& module);
void bind_nn_training(nanobind::module_& module);
void bind_nn_checkpoints(nanobind::module_& module);
void bind_nn_safetensors(nanobind::module_& module);
void bind_nn_text(nanobind::module_& module);

}  // namespace vectis::python
