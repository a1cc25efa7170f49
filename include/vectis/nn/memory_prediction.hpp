// How much memory training takes, before it runs.
//
//   const nn::MemoryPrediction memory = nn::predict_memory(network, 256);
//   std::cout << memory.peak_bytes << '\n';
//   config.batch_size = nn::recommended_batch_size(network, device);
//
// Nothing is computed: steps of training are recorded with arrays without memory, and the evaluator runs through them
// in its own order. docs/training.md says what is counted.
#pragma once

#include <cstdint>

#include "vectis/array/tensor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"
#include "vectis/nn/loader.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/network.hpp"
#include "vectis/nn/training.hpp"

namespace vectis::inline v0_1::nn {

// Bytes of the memory pool of a device while a module is trained there, as the pool rounds them: at the moment when
// most are in use. The parts from `parameter_bytes` to `workspace_bytes` add up to `peak_bytes`.
struct MemoryPrediction {
  std::uint64_t peak_bytes = 0;
  std::uint64_t parameter_bytes = 0;   // parameters and buffers; twice while an update replaces them
  std::uint64_t gradient_bytes = 0;    // of the parameters, as far as they exist at that moment
  std::uint64_t optimizer_bytes = 0;   // the state that the optimizer keeps
  std::uint64_t batch_bytes = 0;       // the batch, on devices other than the CPU
  std::uint64_t activation_bytes = 0;  // values of layers and loss, kept for the gradients
  std::uint64_t workspace_bytes = 0;   // what gradients, updates and single operations need meanwhile
  std::uint64_t largest_bytes = 0;     // of the largest array
  std::uint64_t host_bytes = 0;        // the running batch and those read ahead, in host memory beside the pool
};

// Returns what training `network` in batches of `batch_size` takes at most on `config.device`, or else on the device of
// the network. Uses of the configuration: optimizer with its state, `accumulated_batches`, `clip_norm`,
// `mixed_precision`, `early_stopping`, `prefetch`. Throws InvalidInput for a batch size below 1, a network without
// parameters, and more than 2^62 bytes; what forward() throws for a batch of that size; and what opening the device
// throws.
[[nodiscard]] VECTIS_API MemoryPrediction predict_memory(const Network& network, std::int64_t batch_size,
                                                         const TrainingConfig& config = {});
// The same for a module of any class. `example` is a batch of any size, of which shapes and types of the examples
// count. Calls `evaluate` a few times, with arrays whose elements are not computed and read as 1; it must not keep
// arrays. The module, its parameters and the optimizer are unchanged afterwards.
[[nodiscard]] VECTIS_API MemoryPrediction predict_memory(ModuleRef module, const EvaluateBatch& evaluate,
                                                         const Batch& example, std::int64_t batch_size,
                                                         const TrainingConfig& config = {});
// The same for a module that computes predictions from `data`, whose rows are examples.
template <Module M>
[[nodiscard]] MemoryPrediction predict_memory(M& module, const LossAndMetrics& loss, const Tensor& data,
                                              const Tensor& labels, std::int64_t batch_size,
                                              const TrainingConfig& config = {}) {
  return predict_memory(ModuleRef(module), evaluate_by(module, loss), {data, labels}, batch_size, config);
}

// Returns the largest power of two, up to 1024, as the size of batches with which training takes at most half of the
// memory of `device` that is free now, in the device and by the limit of its pool; the other half is for gaps in the
// pool. Where a device does not report its free memory, it is at most 256 for CUDA with more than 8 GiB, 128 for CUDA
// with less, 64 for OpenCL, 32 for others. Throws Allocation when not even the smallest batch fits, and as above.
[[nodiscard]] VECTIS_API std::int64_t recommended_batch_size(const Network& network, const Device& device,
                                                             const TrainingConfig& config = {});
[[nodiscard]] VECTIS_API std::int64_t recommended_batch_size(ModuleRef module, const EvaluateBatch& evaluate,
                                                             const Batch& example, const Device& device,
                                                             const TrainingConfig& config = {});
template <Module M>
[[nodiscard]] std::int64_t recommended_batch_size(M& module, const LossAndMetrics& loss, const Tensor& data,
                                                  const Tensor& labels, const Device& device,
                                                  const TrainingConfig& config = {}) {
  return recommended_batch_size(ModuleRef(module), evaluate_by(module, loss), {data, labels}, device, config);
}

}  // namespace vectis::inline v0_1::nn
