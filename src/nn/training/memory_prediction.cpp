#include "vectis/nn/memory_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "array/dry_run.hpp"
#include "nn/check.hpp"
#include "nn/training/trainer.hpp"
#include "vectis/array/exchange.hpp"
#include "vectis/base/format.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view predict_op = "predict_memory";

// What memory is for, in the order of MemoryPrediction.
enum Use : array::MemoryUse {
  of_parameters,
  of_gradients,
  of_optimizer,
  of_batch,
  of_activations,
  of_workspaces,
  uses
};

std::uint64_t bytes_of_elements(const Tensor& x) {
  return static_cast<std::uint64_t>(x.elements()) * size_of(x.dtype());
}

// Replaces the tensors of a module by arrays without memory, while it exists.
class StandInModule {
 public:
  StandInModule(ModuleRef module, const Device& device, array::DryRun& run) : tensors_(named_tensors(module)) {
    for (const NamedTensor& tensor : tensors_) {
      values_.push_back(*tensor.value);
      stand_ins_.push_back(run.stand_in(tensor.value->shape(), tensor.value->dtype(), device, of_parameters));
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) *tensors_[i].value = std::move(stand_ins_[i]);
  }
  ~StandInModule() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) *tensors_[i].value = std::move(values_[i]);
  }
  StandInModule(const StandInModule&) = delete;
  StandInModule& operator=(const StandInModule&) = delete;

  [[nodiscard]] std::vector<Tensor> values() const {
    std::vector<Tensor> now;
    for (const NamedTensor& tensor : tensors_) now.push_back(*tensor.value);
    return now;
  }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<Tensor> values_;
  std::vector<Tensor> stand_ins_;
};

// Replaces the state of an optimizer in the same way.
class StandInState {
 public:
  StandInState(Optimizer& optimizer, StateDict before, const Device& device, array::DryRun& run)
      : optimizer_(optimizer), before_(std::move(before)) {
    StateDict state;
    for (const auto& [name, value] : before_) {
      const bool is_number = value.rank() == 0;  // the rate, or the number of updates
      state.add(name, is_number ? value : run.stand_in(value.shape(), value.dtype(), device, of_optimizer));
    }
    optimizer_.load_state_dict(state);
  }
  ~StandInState() {
    try {
      optimizer_.load_state_dict(before_);
    } catch (const std::exception& error) {  // memory of the host: a state that was saved can be loaded
      static_cast<void>(error);
    }
  }
  StandInState(const StandInState&) = delete;
  StandInState& operator=(const StandInState&) = delete;

 private:
  Optimizer& optimizer_;
  StateDict before_;
};

// Has no examples that could be read: the batches of a dry run are stand-ins.
class NoExamples final : public Dataset {
 public:
  [[nodiscard]] std::int64_t size() const override { return 1; }
  [[nodiscard]] std::vector<Tensor> examples(std::span<const std::int64_t> /*indices*/) const override { return {}; }
};

// A configuration of the same memory for steps without a loop around them.
TrainingConfig config_of_steps(const TrainingConfig& config, const Device& device) {
  constexpr std::int64_t different_batches = 3;  // the first one, and those that are added to a sum
  TrainingConfig steps = config;
  steps.device = device;
  steps.accumulated_batches = std::min(config.accumulated_batches, different_batches);
  steps.prefetch = 0;
  steps.checkpoint_path.clear();
  steps.verbose = nullptr;
  steps.observers.clear();
  if (!steps.optimizer) steps.optimizer = std::make_shared<Adam>();
  return steps;
}

// Shape and type of a field of a batch.
struct Field {
  Shape shape;
  DType type;
};
using Fields = std::vector<Field>;

Fields fields_of(const Batch& example) {
  Fields fields;
  for (const Tensor& field : example) {
    if (field.is_empty() || field.rank() == 0) {
      throw_invalid(predict_op,
                    "a field of the batch has no axis that counts the examples; give arrays of rank 1 or more");
    }
    fields.push_back({field.shape(), field.dtype()});
  }
  return fields;
}

// Inputs and labels of the network. Labels are as large as those that the loss takes can be.
Fields fields_of(Network& network) {
  Shape inputs = network.input_shape();
  Shape labels = network.output_shape();
  inputs.insert(0, 1);
  labels.insert(0, 1);
  if (network.loss_function() != LossFunction::SparseCategoricalCrossEntropy) {
    return {{inputs, network.input_type()}, {labels, DType::float32}};
  }
  labels.erase(labels.rank() - 1);
  return {{inputs, network.input_type()}, {labels, DType::int32}};
}

Fields with_batch_size(Fields fields, std::int64_t size) {
  for (Field& field : fields) field.shape[0] = size;
  return fields;
}

Batch stand_in_batch(const Fields& fields, const Device& device, array::DryRun& run) {
  Batch batch;
  for (const Field& field : fields) batch.push_back(run.stand_in_beside_pool(field.shape, field.type).on(device));
  return batch;
}

// Runs two updates, of which the second one finds the state of the optimizer, or three when the module as it was after
// an earlier epoch is kept beside that of the update before.
void run_updates(ModuleRef module, const EvaluateBatch& evaluate, const Fields& fields, const TrainingConfig& config,
                 array::DryRun& run) {
  const StandInModule stand_ins(module, *config.device, run);
  const EvaluateBatch observed = [&](const Batch& batch, const Mode& mode) {
    run.begin_use(of_activations);
    BatchResult result = evaluate(batch, mode);
    run.begin_use(of_workspaces);
    return result;
  };
  Trainer trainer(module, observed, std::make_shared<NoExamples>(), nullptr, config, {});
  trainer.watch_gradients([&](std::span<const Tensor> gradients) { run.set_use(gradients, of_gradients); });
  const bool keeps_best = config.early_stopping && config.early_stopping->restore_best;
  StateDict best;
  for (int update = 0; update < (keeps_best ? 3 : 2); ++update) {
    for (std::int64_t i = 0; i < config.accumulated_batches; ++i) {
      run.begin_use(of_batch);
      trainer.train_batch(stand_in_batch(fields, *config.device, run));
      run.set_use(stand_ins.values(), of_parameters);
      for (const auto& [name, value] : config.optimizer->state_dict()) run.set_use({&value, 1}, of_optimizer);
    }
    if (keeps_best && update == 0) best = state_dict(module);
  }
}

MemoryPrediction prediction_of(const array::DryRun& run, std::uint64_t host_bytes) {
  const std::vector<std::uint64_t> parts = run.ledger().peak(uses);
  MemoryPrediction prediction{.parameter_bytes = parts[of_parameters],
                              .gradient_bytes = parts[of_gradients],
                              .optimizer_bytes = parts[of_optimizer],
                              .batch_bytes = parts[of_batch],
                              .activation_bytes = parts[of_activations],
                              .workspace_bytes = parts[of_workspaces],
                              .largest_bytes = run.largest(),
                              .host_bytes = host_bytes};
  for (const std::uint64_t part : parts) prediction.peak_bytes += part;
  return prediction;
}

// The bytes of the module that are in the memory of the device now.
std::uint64_t bytes_on(const Device& device, ModuleRef module) {
  std::uint64_t bytes = 0;
  for (const NamedTensor& tensor : named_tensors(module)) {
    if (tensor.value->is_computed() && tensor.value->device() == device) bytes += bytes_of_elements(*tensor.value);
  }
  return bytes;
}

// The bytes of a device that a training of the module may use.
std::uint64_t room_on(const Device& device, ModuleRef module, Runtime& runtime) {
  const MemoryStats stats = memory_pool(runtime).get_memory_stats(device.id()).value();
  std::uint64_t room = stats.limit_bytes - std::min(stats.in_use_bytes, stats.limit_bytes);
  if (const std::optional<DeviceMemoryState> state = device.memory()) {
    room = std::min(room, state->free_bytes + stats.cached_bytes);
  }
  return room + bytes_on(device, module);
}

// The batch size from which smaller ones are tried.
std::int64_t first_batch_size(const Device& device) {
  constexpr std::int64_t batch_max = 1024;  // larger batches are hardly faster, and need another learning rate
  constexpr std::uint64_t large_memory = std::uint64_t{8} << 30;
  if (device.memory()) return batch_max;
  if (device.backend() == "cuda") return device.info().memory_bytes > large_memory ? 256 : 128;
  return device.backend() == "opencl" ? 64 : 32;
}

// Whether half of the room is left: near its limit a pool has gaps between arrays, where those of other sizes do not
// fit. Of random networks, a fifth failed with 1.35 times the predicted memory, and few with twice as much.
bool fits(const MemoryPrediction& memory, std::uint64_t room, const Device& device) {
  constexpr std::uint64_t segments = std::uint64_t{8} << 20;  // some of the pool's, which gaps are parts of
  const std::uint64_t beside = device.backend() == "cpu" ? memory.host_bytes : 0;
  return memory.peak_bytes + beside <= (room - std::min(room, segments)) / 2 &&
         memory.largest_bytes <= device.info().limits.allocation_bytes_max;
}

const Tensor& some_parameter(ModuleRef module) {
  const std::vector<Tensor*> all = parameters(module);
  if (!all.empty()) return *all.front();
  throw_invalid(predict_op, "the module has no parameters, so that it cannot be trained; name them in its visit()");
}

MemoryPrediction predict(ModuleRef module, const EvaluateBatch& evaluate, const Fields& example,
                         std::int64_t batch_size, const TrainingConfig& config) {
  check_min(predict_op, "batch_size", batch_size);
  check_min(predict_op, "accumulated_batches", config.accumulated_batches);
  const Fields fields = with_batch_size(example, batch_size);
  const TrainingConfig steps = config_of_steps(config, config.device.value_or(some_parameter(module).device()));
  StateDict state = steps.optimizer->state_dict();
  array::DryRun run(*steps.device);
  run.set_use_of_workspaces(of_workspaces);
  std::uint64_t bytes_of_batch = 0;
  for (const Field& field : fields)
    bytes_of_batch += bytes_of_elements(run.stand_in_beside_pool(field.shape, field.type));
  const StandInState stand_in_state(*steps.optimizer, std::move(state), *steps.device, run);
  run_updates(module, evaluate, fields, steps, run);
  return prediction_of(run, (config.prefetch + 1) * bytes_of_batch);
}

[[noreturn]] void throw_does_not_fit(const MemoryPrediction& memory, std::int64_t batch_size, const Device& device,
                                     std::uint64_t room) {
  throw Error(
      ErrorCode::allocation, "recommended_batch_size",
      fmt::format("training takes {} with a batch of {}, of which {} are parameters, but {} has {} for it, and the "
                  "gaps of its memory pool need half of that; use a smaller module or a device with more memory, "
                  "raise the limit of the pool, or try a batch size of your own",
                  format_bytes(memory.peak_bytes), batch_size, format_bytes(memory.parameter_bytes), device.label(),
                  format_bytes(room)));
}

std::int64_t recommend(ModuleRef module, const EvaluateBatch& evaluate, const Fields& example, const Device& device,
                       TrainingConfig config) {
  config.device = device;
  const std::uint64_t room = room_on(device, module, array::runtime_of(some_parameter(module)));
  std::int64_t size = first_batch_size(device);
  MemoryPrediction memory = predict(module, evaluate, example, size, config);
  while (!fits(memory, room, device)) {
    if (size == 1) throw_does_not_fit(memory, size, device, room);
    try {
      memory = predict(module, evaluate, example, size / 2, config);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;
      throw_does_not_fit(memory, size, device, room);  // there are modules that need more than one example
    }
    size /= 2;
  }
  return size;
}

}  // namespace

MemoryPrediction predict_memory(ModuleRef module, const EvaluateBatch& evaluate, const Batch& example,
                                std::int64_t batch_size, const TrainingConfig& config) {
  return predict(module, evaluate, fields_of(example), batch_size, config);
}

MemoryPrediction predict_memory(const Network& network, std::int64_t batch_size, const TrainingConfig& config) {
  Network copy = network;
  return predict(copy, loss_of(copy), fields_of(copy), batch_size, config);
}

std::int64_t recommended_batch_size(ModuleRef module, const EvaluateBatch& evaluate, const Batch& example,
                                    const Device& device, const TrainingConfig& config) {
  return recommend(module, evaluate, fields_of(example), device, config);
}

std::int64_t recommended_batch_size(const Network& network, const Device& device, const TrainingConfig& config) {
  Network copy = network;
  return recommend(copy, loss_of(copy), fields_of(copy), device, config);
}

}  // namespace vectis::inline v0_1::nn
