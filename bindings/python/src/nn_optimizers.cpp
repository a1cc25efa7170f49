// Optimizers, schedules of the learning rate, and what is done with gradients before an update.
#include "nn_optimizers.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "nn_module.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {

nn::Schedule as_schedule(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<PySchedule>(object)) return nb::inst_ptr<PySchedule>(object)->schedule;
  if (PyCallable_Check(object.ptr()) == 0) {
    throw nb::type_error(
        fmt::format("a schedule is a function of the number of updates, not {}", class_name(object)).c_str());
  }
  auto held = held_for_threads(std::make_unique<nb::object>(nb::borrow(object)));
  return [held = std::move(held)](std::int64_t step) {
    double factor = 1;
    with_gil([&] {
      const nb::object returned = (*static_cast<const nb::object*>(held.get()))(step);
      if (nb::try_cast(returned, factor)) return;
      throw nb::type_error(
          fmt::format("the schedule returned {} for update {}; return a number", class_name(returned), step).c_str());
    });
    return factor;
  };
}

namespace {

struct Training {
  const nn::Optimizer* optimizer;
  std::thread::id thread;
};

// The optimizers in training, guarded by the GIL.
std::vector<Training>& trainings() {
  static std::vector<Training> all;
  return all;
}

// Returns the optimizer. Throws InvalidInput when another thread trains with it.
template <class O>
O& checked(O& optimizer) {
  for (const Training& training : trainings()) {
    if (training.optimizer != &optimizer || training.thread == std::this_thread::get_id()) continue;
    throw_invalid_input("optimizer", "another thread is training with this optimizer; make one for each training");
  }
  return optimizer;
}

}  // namespace

OptimizerHold::OptimizerHold(const nn::Optimizer* optimizer) : optimizer_(optimizer) {
  if (optimizer != nullptr) trainings().push_back({&checked(*optimizer), std::this_thread::get_id()});
}

OptimizerHold::~OptimizerHold() {
  if (optimizer_ == nullptr) return;
  const auto mine = std::find_if(trainings().begin(), trainings().end(),
                                 [&](const Training& training) { return training.optimizer == optimizer_; });
  trainings().erase(mine);  // others of this optimizer are of this thread, too
}

namespace {

void update(nn::Optimizer& optimizer, const nb::list& leaves, const nb::dict& gradients) {
  ModuleTree tree(leaves, ModuleUse::change, "update");
  const std::vector<nn::NamedTensor> parameters = nn::named_parameters(tree);
  const std::vector<Tensor> ordered = in_order_of(parameters, gradients, "update");
  const PushAtEnd push(tree);
  optimizer.update(parameters, ordered);
}

void bind_optimizer_class(nb::module_& module) {
  nb::class_<nn::Optimizer>(module, "Optimizer", "Changes parameters by their gradients.\n\nOne thread at a time.")
      .def(
          "update",
          [](nn::Optimizer& self, nb::handle module_object, const nb::dict& gradients) {
            update(checked(self), nb::list(module_object.attr("_leaves")()), gradients);
          },
          "module"_a, "gradients"_a,
          nb::sig("def update(self, module: vectis.nn.Module, gradients: dict[str, Array]) -> None"),
          "Replace each parameter that is not frozen by its next value, which is computed.")
      .def_prop_rw(
          "learning_rate", [](const nn::Optimizer& self) { return checked(self).learning_rate(); },
          [](nn::Optimizer& self, double rate) { checked(self).set_learning_rate(rate); },
          "The learning rate of the next update.")
      .def(
          "state_dict", [](const nn::Optimizer& self) { return to_dict(checked(self).state_dict()); },
          nb::sig("def state_dict(self) -> dict[str, Array]"),
          "Return the learning rate, and the state of each parameter by its name.")
      .def(
          "load_state_dict",
          [](nn::Optimizer& self, const nb::dict& state) {
            checked(self).load_state_dict(as_state_dict(state, "load_state_dict"));
          },
          "state"_a, nb::sig("def load_state_dict(self, state: dict[str, Array]) -> None"),
          "Replace the state by that of an optimizer of the same kind.")
      .def("__repr__", [](const nn::Optimizer& self) {
        return fmt::format("<{}, learning_rate={}>", self.name(), self.learning_rate());
      });
}

void bind_optimizers(nb::module_& module) {
  const nn::SgdOptions sgd;
  nb::class_<nn::Sgd, nn::Optimizer>(module, "SGD", "Stochastic gradient descent, with momentum.")
      .def(
          "__init__",
          [](nn::Sgd* self, double learning_rate, double momentum, double dampening, bool nesterov,
             double weight_decay) { new (self) nn::Sgd({learning_rate, momentum, dampening, nesterov, weight_decay}); },
          "learning_rate"_a = sgd.learning_rate, nb::kw_only(), "momentum"_a = sgd.momentum,
          "dampening"_a = sgd.dampening, "nesterov"_a = sgd.nesterov, "weight_decay"_a = sgd.weight_decay);
  const nn::AdamOptions adam;
  const auto bind_adam = [&]<class O>(std::type_identity<O>, const char* name, const char* doc, double weight_decay) {
    nb::class_<O, nn::Optimizer>(module, name, doc)
        .def(
            "__init__",
            [](O* self, double learning_rate, double beta1, double beta2, double epsilon, double decay) {
              new (self) O({learning_rate, beta1, beta2, epsilon, decay});
            },
            "learning_rate"_a = adam.learning_rate, nb::kw_only(), "beta1"_a = adam.beta1, "beta2"_a = adam.beta2,
            "epsilon"_a = adam.epsilon, "weight_decay"_a = weight_decay);
  };
  bind_adam(std::type_identity<nn::Adam>(), "Adam", "Adam; weight decay is added to the gradient.", adam.weight_decay);
  bind_adam(std::type_identity<nn::AdamW>(), "AdamW", "Adam with decoupled weight decay.",
            nn::AdamW::default_weight_decay);
  const nn::RmsPropOptions rms;
  nb::class_<nn::RmsProp, nn::Optimizer>(module, "RMSprop", "RMSProp, with momentum.")
      .def(
          "__init__",
          [](nn::RmsProp* self, double learning_rate, double alpha, double epsilon, double weight_decay,
             double momentum, bool centered) {
            new (self) nn::RmsProp({learning_rate, alpha, epsilon, weight_decay, momentum, centered});
          },
          "learning_rate"_a = rms.learning_rate, nb::kw_only(), "alpha"_a = rms.alpha, "epsilon"_a = rms.epsilon,
          "weight_decay"_a = rms.weight_decay, "momentum"_a = rms.momentum, "centered"_a = rms.centered);
}

void bind_schedules(nb::module_& module) {
  nb::class_<PySchedule>(module, "Schedule", "The factor of the learning rate at an update, counted from 0.")
      .def(
          "__call__", [](const PySchedule& self, std::int64_t step) { return self.schedule(step); }, "step"_a,
          "Return the factor.");
  module.def(
      "warm_up",
      [](std::int64_t steps, nb::handle after) { return PySchedule{nn::warm_up(steps, as_schedule(after))}; },
      "steps"_a, "after"_a = nb::none(),
      nb::sig("def warm_up(steps: int, after: typing.Callable[[int], float] | None = None) -> Schedule"),
      "Rise linearly to 1 in `steps` updates, then follow another schedule.");
  module.def(
      "cosine", [](std::int64_t steps, double final) { return PySchedule{nn::cosine(steps, final)}; }, "steps"_a,
      "final"_a = 0.0, "Fall from 1 to `final` in `steps` updates as half a cosine.");
  module.def(
      "step_decay", [](std::int64_t every, double factor) { return PySchedule{nn::step_decay(every, factor)}; },
      "every"_a, "factor"_a = 0.1, "Multiply by `factor` after every `every` updates.");
  const nn::PlateauOptions options;
  nb::class_<nn::PlateauSchedule>(module, "PlateauSchedule", "Reduces the learning rate when the loss stops falling.")
      .def(
          "__init__",
          [](nn::PlateauSchedule* self, double factor, std::int64_t patience, double threshold, std::int64_t cooldown,
             double factor_min) {
            new (self) nn::PlateauSchedule({factor, patience, threshold, cooldown, factor_min});
          },
          "factor"_a = options.factor, nb::kw_only(), "patience"_a = options.patience,
          "threshold"_a = options.threshold, "cooldown"_a = options.cooldown, "factor_min"_a = options.factor_min)
      .def("observe", &nn::PlateauSchedule::observe, "loss"_a,
           "Receive the loss of an epoch and return the factor of the learning rate from now on.")
      .def_prop_ro("factor", &nn::PlateauSchedule::factor, "The factor of the learning rate.")
      .def(
          "state_dict", [](const nn::PlateauSchedule& self) { return to_dict(self.state_dict()); },
          nb::sig("def state_dict(self) -> dict[str, Array]"), "Return what observe() has learned.")
      .def(
          "load_state_dict",
          [](nn::PlateauSchedule& self, const nb::dict& state) {
            self.load_state_dict(as_state_dict(state, "load_state_dict"));
          },
          "state"_a, nb::sig("def load_state_dict(self, state: dict[str, Array]) -> None"),
          "Restore what observe() has learned.");
}

// Names and values of a dictionary of gradients.
struct Gradients {
  std::vector<std::string> names;
  std::vector<Tensor> values;

  explicit Gradients(const nb::dict& all) {
    for (const auto& [name, value] : all) {
      if (!PyUnicode_Check(name.ptr()) || !is_array(value)) {
        throw_invalid_input("gradients", fmt::format("gradients are arrays by name, not {} by {}", class_name(value),
                                                     class_name(name)));
      }
      names.push_back(nb::cast<std::string>(name));
      values.push_back(tensor_of(value));
    }
  }
};

struct PyAccumulator {
  nn::GradientAccumulator accumulator;
  std::vector<std::string> names;
};

void bind_gradients_of_networks(nb::module_& module) {
  module.def(
      "clip_by_norm",
      [](const nb::dict& all, double norm_max) {
        Gradients gradients(all);
        const Tensor norm = nn::clip_by_norm(gradients.values, norm_max);
        return nb::make_tuple(to_dict(gradients.names, gradients.values), to_array(norm));
      },
      "gradients"_a, "norm_max"_a,
      nb::sig("def clip_by_norm(gradients: dict[str, Array], norm_max: float) -> tuple[dict[str, Array], Array]"),
      "Return the gradients scaled so that their norm together is at most `norm_max`, and the norm before.");
  module.def(
      "clip_by_value",
      [](const nb::dict& all, double limit) {
        Gradients gradients(all);
        nn::clip_by_value(gradients.values, limit);
        return to_dict(gradients.names, gradients.values);
      },
      "gradients"_a, "limit"_a,
      nb::sig("def clip_by_value(gradients: dict[str, Array], limit: float) -> dict[str, Array]"),
      "Return the gradients with each element limited to [-limit, limit].");
  nb::class_<PyAccumulator>(module, "GradientAccumulator",
                            "Averages the gradients of several batches, as if they were one batch.")
      .def(nb::init<>())
      .def(
          "add",
          [](PyAccumulator& self, const nb::dict& all) {
            Gradients gradients(all);
            if (self.accumulator.count() > 0 && self.names != gradients.names) {
              throw_invalid_input("add", "the gradients have other names than those before; give those of one module");
            }
            self.accumulator.add(gradients.values);
            self.names = std::move(gradients.names);
          },
          "gradients"_a, nb::sig("def add(self, gradients: dict[str, Array]) -> None"),
          "Add the gradients of a batch and compute the sum.")
      .def_prop_ro(
          "count", [](const PyAccumulator& self) { return self.accumulator.count(); }, "The number of batches added.")
      .def(
          "take",
          [](PyAccumulator& self) {
            const std::vector<Tensor> means = self.accumulator.take();
            return to_dict(self.names, means);
          },
          nb::sig("def take(self) -> dict[str, Array]"), "Return the means and begin again.");
}

nb::object mixed_value_and_grad(nn::MixedPrecision& self, const nb::list& leaves, nb::handle function,
                                const nb::args& arguments, const nb::kwargs& named) {
  ModuleTree tree(leaves, ModuleUse::change, "value_and_grad");
  const ModuleHold hold(tree.natives(), ModuleUse::change, "value_and_grad");
  nb::object result;
  const auto loss = [&] { return call_loss(tree, function, arguments, named, result); };
  try {
    const std::optional<nn::LossAndGradients> found = self.value_and_grad(tree, loss);
    tree.restore_parameters();
    return found ? with_gradients(tree, *found, result) : nb::none();
  } catch (...) {
    tree.restore_parameters();
    throw;
  }
}

void bind_mixed_precision(nb::module_& module) {
  const nn::LossScaleOptions options;
  nb::class_<nn::MixedPrecision>(
      module, "MixedPrecision",
      "Training in 16 bits: the loss is computed with parameters rounded to 16 bits, while the module keeps the "
      "float32 parameters that optimizers update.")
      .def(
          "__init__",
          [](nn::MixedPrecision* self, const DTypeArgument& dtype, double initial, double growth, double backoff,
             std::int64_t growth_interval) {
            new (self)
                nn::MixedPrecision(dtype.type.value_or(DType::bfloat16), {initial, growth, backoff, growth_interval});
          },
          "dtype"_a = "bfloat16", nb::kw_only(), "initial"_a = options.initial, "growth"_a = options.growth,
          "backoff"_a = options.backoff, "growth_interval"_a = options.growth_interval,
          nb::sig("def __init__(self, dtype: vectis._types.ArrayDType = 'bfloat16', *, initial: float = 32768.0, "
                  "growth: float = 2.0, backoff: float = 0.5, growth_interval: int = 2000) -> None"))
      .def_prop_ro(
          "dtype", [](const nn::MixedPrecision& self) { return std::string(array_dtype_name(self.type())); },
          "The 16-bit type's name; convert inputs to it.")
      .def_prop_ro("scale", &nn::MixedPrecision::scale, "The factor by which the next loss is multiplied.")
      .def(
          "state_dict", [](const nn::MixedPrecision& self) { return to_dict(self.state_dict()); },
          nb::sig("def state_dict(self) -> dict[str, Array]"), "Return the scale and the updates since it grew.")
      .def(
          "load_state_dict",
          [](nn::MixedPrecision& self, const nb::dict& state) {
            self.load_state_dict(as_state_dict(state, "load_state_dict"));
          },
          "state"_a, nb::sig("def load_state_dict(self, state: dict[str, Array]) -> None"),
          "Restore the scale and the updates since it grew.");
  module.def("mixed_value_and_grad", &mixed_value_and_grad,
             nb::sig("def mixed_value_and_grad(mixed: MixedPrecision, leaves: list[tuple[typing.Any, ...]], function: "
                     "typing.Callable[..., typing.Any], *args: typing.Any, **kwargs: typing.Any) -> tuple[typing.Any, "
                     "dict[str, Array]] | None"),
             "Return what value_and_grad() returns, of parameters rounded to 16 bits; None after an overflow.");
}

}  // namespace

void bind_nn_optimizers(nb::module_& module) {
  bind_optimizer_class(module);
  bind_optimizers(module);
  bind_schedules(module);
  bind_gradients_of_networks(module);
  bind_mixed_precision(module);
}

}  // namespace vectis::python
