// Training and evaluation of modules, and the drawings of a history.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "calls.hpp"
#include "errors.hpp"
#include "nn_config.hpp"
#include "nn_data.hpp"
#include "nn_module.hpp"
#include "nn_network.hpp"
#include "nn_observers.hpp"
#include "nn_optimizers.hpp"
#include "options.hpp"
#include "text.hpp"
#include "vectis/nn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

// Calls Python's loss of a batch. The generator of the training is handed over by its state, so that Python may keep
// the object.
class PythonLoss {
 public:
  // Needs the GIL, as the destructor does.
  PythonLoss(ModuleTree& tree, nb::handle function) : tree_(tree), function_(nb::borrow(function)) {}

  nn::BatchResult operator()(const nn::Batch& batch, const nn::Mode& mode) {
    nn::BatchResult result;
    const bool has_run = with_gil([&] {
      tree_.push();  // also buffers: training may have loaded or moved them
      nb::list fields;
      for (const Tensor& field : batch) fields.append(to_array(field));
      nb::object random = nb::none();
      if (mode.is_training()) random = generator_for(mode.random());
      read_result(function_(fields, random), result);
      if (mode.is_training()) mode.random().set_state(nb::cast<array::Generator&>(random).state());
      tree_.pull_buffers();
    });
    if (!has_run) throw Error(ErrorCode::cancelled, "train", "Python ends; nothing more is computed");
    return result;
  }

 private:
  nb::object generator_for(const array::Generator& random) {
    if (!generator_.is_valid()) generator_ = nb::cast(random);
    nb::cast<array::Generator&>(generator_).set_state(random.state());
    return generator_;
  }

  static void read_result(const nb::object& returned, nn::BatchResult& result) {
    nb::handle loss = returned;
    if (PyTuple_Check(returned.ptr()) && nb::len(returned) == 2 && PyDict_Check(nb::object(returned[1]).ptr())) {
      loss = nb::handle(PyTuple_GET_ITEM(returned.ptr(), 0));
      for (const auto& [name, value] : nb::borrow<nb::dict>(PyTuple_GET_ITEM(returned.ptr(), 1))) {
        result.metrics[nb::cast<std::string>(name)] =
            array::stop_gradient(as_tensor(value, std::nullopt, tensor_options(std::nullopt)));
      }
    }
    if (!is_array(loss)) {
      throw_invalid_input("train",
                          fmt::format("the loss of a batch is {}; return an array of one number, or a tuple of "
                                      "it and a dictionary of metrics",
                                      class_name(loss)));
    }
    result.loss = tensor_of(loss);
  }

  ModuleTree& tree_;
  nb::object function_;
  nb::object generator_;
};

nb::dict as_dict(const std::map<std::string, std::vector<double>, std::less<>>& metrics);

nb::list as_list(const std::vector<double>& numbers) {
  nb::list all;
  for (const double number : numbers) all.append(number);
  return all;
}

nb::dict as_dict(const std::map<std::string, std::vector<double>, std::less<>>& metrics) {
  nb::dict all;
  for (const auto& [name, numbers] : metrics) all[nb::cast(name)] = as_list(numbers);
  return all;
}

nb::tuple as_tuple(const nn::History& history) {
  return nb::make_tuple(as_list(history.loss), as_list(history.val_loss), as_dict(history.metrics),
                        as_dict(history.val_metrics), as_list(history.learning_rate), as_list(history.seconds));
}

std::vector<double> numbers_in(nb::handle list) {
  std::vector<double> numbers;
  for (const nb::handle number : nb::borrow(list)) numbers.push_back(nb::cast<double>(number));
  return numbers;
}

nn::History as_history(nb::handle history) {
  nn::History made{.loss = numbers_in(history.attr("loss")), .val_loss = numbers_in(history.attr("val_loss"))};
  for (const auto& [name, numbers] : nb::borrow<nb::dict>(history.attr("metrics"))) {
    made.metrics[nb::cast<std::string>(name)] = numbers_in(numbers);
  }
  for (const auto& [name, numbers] : nb::borrow<nb::dict>(history.attr("val_metrics"))) {
    made.val_metrics[nb::cast<std::string>(name)] = numbers_in(numbers);
  }
  made.learning_rate = numbers_in(history.attr("learning_rate"));
  made.seconds = numbers_in(history.attr("seconds"));
  return made;
}

void add_observers(nn::TrainingConfig& config, nb::handle observers, ModuleTree* tree) {
  for (const nb::handle observer : nb::borrow(observers)) config.observers.push_back(as_observer(observer, tree));
}

nb::tuple train_module(const nb::list& leaves, nb::handle loss, nb::handle training, nb::handle validation,
                       nb::handle config, nb::handle observers, const CallArguments& arguments) {
  ModuleTree tree(leaves, ModuleUse::train, "train");
  const ModuleHold hold(tree.natives(), ModuleUse::train, "train");
  PythonLoss evaluate(tree, loss);
  nn::TrainingConfig made = training_config(config);
  const OptimizerHold optimizer(made.optimizer.get());
  add_observers(made, observers, &tree);
  const std::shared_ptr<const nn::Dataset> examples = as_dataset(training);
  const std::shared_ptr<const nn::Dataset> held_out = validation.is_none() ? nullptr : as_dataset(validation);
  const Call call(arguments);
  const PushAtEnd push(tree);
  return as_tuple(call.run(
      [&](const Context& context) { return nn::train(tree, std::ref(evaluate), examples, held_out, made, context); }));
}

nb::tuple train_network(NativeNetwork& network, nb::handle training, nb::handle validation, nb::handle config,
                        nb::handle observers, const CallArguments& arguments) {
  const ModuleHold hold({&network}, ModuleUse::train, "train");
  nn::TrainingConfig made = training_config(config);
  const OptimizerHold optimizer(made.optimizer.get());
  add_observers(made, observers, nullptr);
  const std::shared_ptr<const nn::Dataset> examples = as_dataset(training);
  const std::shared_ptr<const nn::Dataset> held_out = validation.is_none() ? nullptr : as_dataset(validation);
  const Call call(arguments);
  return as_tuple(call.run([&](const Context& context) {
    return nn::train(network.module(), nn::loss_of(network.module()), examples, held_out, made, context);
  }));
}

nb::tuple as_tuple(const nn::Evaluation& evaluation) {
  nb::dict metrics;
  for (const auto& [name, value] : evaluation.metrics) metrics[nb::cast(name)] = value;
  return nb::make_tuple(evaluation.loss, metrics);
}

CallArguments call_arguments(const std::optional<double>& timeout, const CancelSource* cancel) {
  return {.timeout = timeout, .cancel = cancel};
}

void bind_train(nb::module_& module) {
  module.def(
      "train_module",
      [](const nb::list& leaves, nb::handle loss, nb::handle training, nb::handle validation, nb::handle config,
         nb::handle observers, const std::optional<double>& timeout, const CancelSource* cancel) {
        return train_module(leaves, loss, training, validation, config, observers, call_arguments(timeout, cancel));
      },
      "leaves"_a, "loss"_a, "training"_a, "validation"_a.none(), "config"_a, "observers"_a, "timeout"_a.none(),
      "cancel"_a.none(),
      nb::sig(
          "def train_module(leaves: list[tuple[typing.Any, ...]], loss: typing.Callable[..., typing.Any], training: "
          "typing.Any, validation: typing.Any, config: typing.Any, observers: list[typing.Any], timeout: float | "
          "None, cancel: vectis._vectis.CancelSource | None) -> tuple[typing.Any, ...]"),
      "Train Python modules with a Python function of (fields, generator).");
  module.def(
      "train_network",
      [](NativeNetwork& network, nb::handle training, nb::handle validation, nb::handle config, nb::handle observers,
         const std::optional<double>& timeout, const CancelSource* cancel) {
        return train_network(network, training, validation, config, observers, call_arguments(timeout, cancel));
      },
      "network"_a, "training"_a, "validation"_a.none(), "config"_a, "observers"_a, "timeout"_a.none(),
      "cancel"_a.none(),
      nb::sig("def train_network(network: Network, training: typing.Any, validation: typing.Any, config: typing.Any, "
              "observers: list[typing.Any], timeout: float | None, cancel: vectis._vectis.CancelSource | None) -> "
              "tuple[typing.Any, ...]"),
      "Train a network with its loss.");
}

void bind_evaluate(nb::module_& module) {
  module.def(
      "evaluate_module",
      [](const nb::list& leaves, nb::handle loss, nb::handle dataset, std::int64_t batch_size,
         const std::optional<double>& timeout, const CancelSource* cancel) {
        ModuleTree tree(leaves, ModuleUse::evaluate, "evaluate");
        const ModuleHold hold(tree.natives(), ModuleUse::evaluate, "evaluate");
        PythonLoss evaluate(tree, loss);
        const std::shared_ptr<const nn::Dataset> examples = as_dataset(dataset);
        const Call call(call_arguments(timeout, cancel));
        return as_tuple(call.run([&](const Context& context) {
          return nn::evaluate(tree, std::ref(evaluate), examples, batch_size, context);
        }));
      },
      "leaves"_a, "loss"_a, "dataset"_a, "batch_size"_a, "timeout"_a.none(), "cancel"_a.none(),
      nb::sig("def evaluate_module(leaves: list[tuple[typing.Any, ...]], loss: typing.Callable[..., typing.Any], "
              "dataset: typing.Any, batch_size: int, timeout: float | None, cancel: vectis._vectis.CancelSource | "
              "None) -> tuple[float, dict[str, float]]"),
      "Return loss and metrics of Python modules over a data set.");
  module.def(
      "evaluate_network",
      [](NativeNetwork& network, nb::handle dataset, std::int64_t batch_size, const std::optional<double>& timeout,
         const CancelSource* cancel) {
        const ModuleHold hold({&network}, ModuleUse::evaluate, "evaluate");
        const std::shared_ptr<const nn::Dataset> examples = as_dataset(dataset);
        const Call call(call_arguments(timeout, cancel));
        return as_tuple(call.run([&](const Context& context) {
          return nn::evaluate(network.module(), nn::loss_of(network.module()), examples, batch_size, context);
        }));
      },
      "network"_a, "dataset"_a, "batch_size"_a, "timeout"_a.none(), "cancel"_a.none(),
      nb::sig("def evaluate_network(network: Network, dataset: typing.Any, batch_size: int, timeout: float | None, "
              "cancel: vectis._vectis.CancelSource | None) -> tuple[float, dict[str, float]]"),
      "Return loss and metrics of a network over a data set.");
}

// The fields of MemoryPrediction in their order.
nb::tuple as_tuple(const nn::MemoryPrediction& memory) {
  return nb::make_tuple(memory.peak_bytes, memory.parameter_bytes, memory.gradient_bytes, memory.optimizer_bytes,
                        memory.batch_bytes, memory.activation_bytes, memory.workspace_bytes, memory.largest_bytes,
                        memory.host_bytes);
}

// The first example of a data set, of which shapes and types count.
nn::Batch first_example(nb::handle dataset) {
  const std::shared_ptr<const nn::Dataset> examples = as_dataset(dataset);
  constexpr std::int64_t first = 0;
  return Call().run([&](const Context&) {
    if (examples->size() == 0)
      throw_invalid_input("predict_memory", "the data set is empty; give at least one example");
    return examples->examples({&first, 1});
  });
}

// Calls `function` with a Python module as one of the library, its loss and an example, as for training.
template <class Function>
auto with_module(const nb::list& leaves, nb::handle loss, nb::handle dataset, const nn::TrainingConfig& config,
                 const Function& function) {
  ModuleTree tree(leaves, ModuleUse::train, "predict_memory");
  const ModuleHold hold(tree.natives(), ModuleUse::train, "predict_memory");
  const OptimizerHold optimizer(config.optimizer.get());
  PythonLoss evaluate(tree, loss);
  const nn::Batch example = first_example(dataset);
  const Call call;
  const PushAtEnd push(tree);
  return call.run([&](const Context&) { return function(tree, std::ref(evaluate), example); });
}

// Calls `function` with a network and an example, if there is a data set, as for training.
template <class Function>
auto with_network(NativeNetwork& network, nb::handle dataset, const nn::TrainingConfig& config,
                  const Function& function) {
  const ModuleHold hold({&network}, ModuleUse::train, "predict_memory");
  const OptimizerHold optimizer(config.optimizer.get());
  std::optional<nn::Batch> example;
  if (!dataset.is_none()) example = first_example(dataset);
  return Call().run([&](const Context&) { return function(network.module(), example); });
}

void bind_memory_of_networks(nb::module_& module) {
  module.def(
      "predict_network_memory",
      [](NativeNetwork& network, nb::handle dataset, std::int64_t batch_size, nb::handle config) {
        const nn::TrainingConfig made = training_config(config);
        return as_tuple(
            with_network(network, dataset, made, [&](nn::Network& of, const std::optional<nn::Batch>& example) {
              return example ? nn::predict_memory(of, nn::loss_of(of), *example, batch_size, made)
                             : nn::predict_memory(of, batch_size, made);
            }));
      },
      "network"_a, "dataset"_a.none(), "batch_size"_a, "config"_a,
      nb::sig("def predict_network_memory(network: Network, dataset: typing.Any, batch_size: int, config: typing.Any) "
              "-> tuple[int, ...]"),
      "Return the memory that training a network takes.");
  module.def(
      "recommended_network_batch_size",
      [](NativeNetwork& network, nb::handle dataset, const DeviceArgument& device, nb::handle config) {
        const nn::TrainingConfig made = training_config(config);
        const Device on = find_device(device).device;
        return with_network(network, dataset, made, [&](nn::Network& of, const std::optional<nn::Batch>& example) {
          return example ? nn::recommended_batch_size(of, nn::loss_of(of), *example, on, made)
                         : nn::recommended_batch_size(of, on, made);
        });
      },
      "network"_a, "dataset"_a.none(), "device"_a, "config"_a,
      nb::sig("def recommended_network_batch_size(network: Network, dataset: typing.Any, device: "
              "vectis._vectis.Device | int | str, config: typing.Any) -> int"),
      "Return a batch size with which training a network fits a device.");
}

void bind_memory_of_modules(nb::module_& module) {
  module.def(
      "predict_module_memory",
      [](const nb::list& leaves, nb::handle loss, nb::handle dataset, std::int64_t batch_size, nb::handle config) {
        const nn::TrainingConfig made = training_config(config);
        return as_tuple(
            with_module(leaves, loss, dataset, made, [&](ModuleTree& tree, auto evaluate, const nn::Batch& example) {
              return nn::predict_memory(tree, evaluate, example, batch_size, made);
            }));
      },
      "leaves"_a, "loss"_a, "dataset"_a, "batch_size"_a, "config"_a,
      nb::sig("def predict_module_memory(leaves: list[tuple[typing.Any, ...]], loss: typing.Callable[..., "
              "typing.Any], dataset: typing.Any, batch_size: int, config: typing.Any) -> tuple[int, ...]"),
      "Return the memory that training Python modules takes.");
  module.def(
      "recommended_module_batch_size",
      [](const nb::list& leaves, nb::handle loss, nb::handle dataset, const DeviceArgument& device, nb::handle config) {
        const nn::TrainingConfig made = training_config(config);
        const Device on = find_device(device).device;
        return with_module(leaves, loss, dataset, made, [&](ModuleTree& tree, auto evaluate, const nn::Batch& example) {
          return nn::recommended_batch_size(tree, evaluate, example, on, made);
        });
      },
      "leaves"_a, "loss"_a, "dataset"_a, "device"_a, "config"_a,
      nb::sig(
          "def recommended_module_batch_size(leaves: list[tuple[typing.Any, ...]], loss: typing.Callable[..., "
          "typing.Any], dataset: typing.Any, device: vectis._vectis.Device | int | str, config: typing.Any) -> int"),
      "Return a batch size with which training Python modules fits a device.");
}

}  // namespace

void bind_nn_training(nb::module_& module) {
  bind_nn_observers(module);
  bind_train(module);
  bind_evaluate(module);
  bind_memory_of_networks(module);
  bind_memory_of_modules(module);
  module.def(
      "history_svg", [](nb::handle history) { return as_history(history).to_svg(); }, "history"_a,
      nb::sig("def history_svg(history: typing.Any) -> str"), "Return a drawing of a history.");
  module.def(
      "history_text",
      [](nb::handle history, std::size_t columns, std::size_t rows) {
        std::ostringstream text;
        as_history(history).plot(text, columns, rows);
        return text.str();
      },
      "history"_a, "columns"_a, "rows"_a,
      nb::sig("def history_text(history: typing.Any, columns: int, rows: int) -> str"),
      "Return a chart of characters of a history.");
  module.def(
      "history_csv",
      [](nb::handle history) {
        std::ostringstream text;
        nn::write_csv(text, as_history(history));
        return text.str();
      },
      "history"_a, nb::sig("def history_csv(history: typing.Any) -> str"), "Return a history as CSV with a header.");
}

}  // namespace vectis::python
