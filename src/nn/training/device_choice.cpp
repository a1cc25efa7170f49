#include "nn/training/device_choice.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "vectis/array/exchange.hpp"
#include "vectis/array/placement.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::inline v0_1::nn {

namespace {

std::vector<Tensor> first_batch(const Dataset& training, std::int64_t batch_size) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(batch_size, training.size())));
  std::iota(indices.begin(), indices.end(), 0);
  return training.examples(indices);
}

// Loss and gradients of a step on the CPU, recorded.
std::vector<Tensor> recorded_step(ModuleRef module, const EvaluateBatch& evaluate, const Batch& batch,
                                  std::uint64_t seed, const Device& host) {
  Generator random(seed, {.device = host});
  const StateDict before = state_dict(module);
  LossAndGradients step = value_and_grad(module, [&] { return evaluate(batch, Mode::training(random)).loss; });
  load_state_dict(module, before);  // buffers such as running means
  std::vector<Tensor> values = std::move(step.gradients);
  values.push_back(std::move(step.loss));
  return values;
}

}  // namespace

Device device_for_training(ModuleRef module, const EvaluateBatch& evaluate, const Dataset& training,
                           const TrainingConfig& config) {
  if (config.device) return *config.device;
  const Tensor& parameter = *parameters(module).front();
  const Device& device = parameter.device();
  if (device.backend() != "cpu") return device;
  const std::vector<Device> allowed = allowed_devices(array::runtime_of(parameter));
  if (std::ranges::all_of(allowed, [&](const Device& other) { return other == device; })) return device;
  const Batch batch = first_batch(training, config.batch_size);
  return array::fastest_device(recorded_step(module, evaluate, batch, config.seed, device), batch).device;
}

}  // namespace vectis::inline v0_1::nn
