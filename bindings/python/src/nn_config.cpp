#include "nn_config.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "array_object.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "nn_optimizers.hpp"
#include "options.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace vectis::python {
namespace {

// A value as a message shows it.
std::string shown(nb::handle value) {
  constexpr std::size_t length_max = 80;
  std::string text = text_of(nb::repr(value));
  if (text.size() > length_max) text = text.substr(0, length_max) + "...";
  return fmt::format("{} ({})", text, class_name(value));
}

[[noreturn]] void throw_type(std::string_view name, nb::handle value, std::string_view expected) {
  throw nb::type_error(fmt::format("{} is {}; give {}", name, shown(value), expected).c_str());
}

// An object with fields, and what stands before their names in messages.
struct Fields {
  nb::handle object;
  std::string prefix = {};

  [[nodiscard]] nb::object value(const char* name) const { return object.attr(name); }
  [[nodiscard]] std::string label(const char* name) const { return prefix + name; }

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  [[nodiscard]] T get(const char* name) const {
    const nb::object found = value(name);
    if (PyIndex_Check(found.ptr()) == 0) throw_type(label(name), found, "an integer");
    T number = 0;
    if (nb::try_cast(found, number)) return number;
    throw_invalid_input("train", fmt::format("{} is {}; give an integer {}", label(name), text_of(nb::repr(found)),
                                             std::is_signed_v<T> ? "of at most 64 bits" : "from 0 to 2^64 - 1"));
  }
  template <std::same_as<bool> T>
  [[nodiscard]] T get(const char* name) const {
    const nb::object found = value(name);
    if (!PyBool_Check(found.ptr())) throw_type(label(name), found, "True or False");
    return found.ptr() == Py_True;
  }
  template <std::same_as<double> T>
  [[nodiscard]] T get(const char* name) const {
    const nb::object found = value(name);
    double number = 0;
    if (!nb::try_cast(found, number)) throw_type(label(name), found, "a number");
    return number;
  }
  // Fields of a field; nothing when it is None. `expected` has the field `sample`.
  [[nodiscard]] std::optional<Fields> part(const char* name, const char* sample, std::string_view expected) const {
    const nb::object found = value(name);
    if (found.is_none()) return std::nullopt;
    if (!nb::hasattr(found, sample)) throw_type(label(name), found, expected);
    return Fields{found, fmt::format("{}.", label(name))};
  }
};

void read_parts(nn::TrainingConfig& made, const Fields& fields) {
  if (const auto plateau = fields.part("plateau", "cooldown", "a vectis.nn.PlateauOptions, or None")) {
    made.plateau = {plateau->get<double>("factor"), plateau->get<std::int64_t>("patience"),
                    plateau->get<double>("threshold"), plateau->get<std::int64_t>("cooldown"),
                    plateau->get<double>("factor_min")};
  }
  if (const auto early = fields.part("early_stopping", "restore_best", "a vectis.nn.EarlyStopping, or None")) {
    made.early_stopping = {early->get<std::int64_t>("patience"), early->get<double>("min_improvement"),
                           early->get<bool>("restore_best")};
  }
}

void read_objects(nn::TrainingConfig& made, const Fields& fields) {
  if (const nb::object type = fields.value("mixed_precision"); !type.is_none()) {
    made.mixed_precision = as_dtype(type, "mixed_precision");
  }
  if (const nb::object device = fields.value("device"); !device.is_none()) {
    DeviceArgument argument = 0;
    if (!nb::try_cast(device, argument)) throw_type("device", device, "a vectis.Device, its number or its name");
    made.device = find_device(argument).device;
  }
  if (const nb::object path = fields.value("checkpoint_path"); !path.is_none()) made.checkpoint_path = file_path(path);
  if (const nb::object optimizer = fields.value("optimizer"); !optimizer.is_none()) {
    if (!nb::isinstance<nn::Optimizer>(optimizer)) {
      throw_type("optimizer", optimizer, "an optimizer, such as vectis.nn.Adam(0.001)");
    }
    made.optimizer = std::shared_ptr<nn::Optimizer>(nb::cast<nn::Optimizer*>(optimizer), [](nn::Optimizer*) {});
  }
}

}  // namespace

nn::TrainingConfig training_config(nb::handle config) {
  const Fields fields{config};
  nn::TrainingConfig made;
  made.batch_size = fields.get<std::int64_t>("batch_size");
  made.max_epochs = fields.get<std::int64_t>("max_epochs");
  made.validation_split = fields.get<double>("validation_split");
  made.shuffle = fields.get<bool>("shuffle");
  made.drop_last = fields.get<bool>("drop_last");
  made.seed = fields.get<std::uint64_t>("seed");
  made.schedule = as_schedule(fields.value("schedule"));
  if (!fields.value("clip_norm").is_none()) made.clip_norm = fields.get<double>("clip_norm");
  made.accumulated_batches = fields.get<std::int64_t>("accumulated_batches");
  made.prefetch = fields.get<std::size_t>("prefetch");
  made.checkpoint_interval = fields.get<std::int64_t>("checkpoint_interval");
  read_parts(made, fields);
  read_objects(made, fields);
  return made;
}

}  // namespace vectis::python
