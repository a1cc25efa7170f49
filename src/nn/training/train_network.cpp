// Training of networks with their own loss.
#include <fmt/format.h>

#include "nn/check.hpp"
#include "nn/classes.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/network.hpp"
#include "vectis/nn/training.hpp"

namespace vectis::inline v0_1::nn {

namespace {

// Returns the share of the logits whose probability is on the side of 1/2 of their label.
Tensor binary_accuracy(const Tensor& logits, const Tensor& labels) {
  return mean(equal(greater(logits, 0), greater(labels, 0.5)).astype(DType::float32));
}

}  // namespace

void check_labels(const Batch& batch) {
  if (batch.size() >= 2) return;
  throw_invalid("train", fmt::format("a batch has {} fields; give a data set of two, inputs and labels", batch.size()));
}

EvaluateBatch loss_of(Network& network) {
  return [&network](const Batch& batch, const Mode& mode) {
    check_labels(batch);
    const Tensor logits = network.logits(batch[0], mode);
    BatchResult result{.loss = network.loss(logits, batch[1])};
    const Tensor constant = array::stop_gradient(logits);
    switch (network.loss_function()) {
      case LossFunction::CategoricalCrossEntropy:
      case LossFunction::SparseCategoricalCrossEntropy: {
        const auto [by_class, classes] = classes_second(constant, batch[1]);
        result.metrics["accuracy"] = accuracy(by_class, classes);
        break;
      }
      case LossFunction::BinaryCrossEntropy:
        result.metrics["accuracy"] = binary_accuracy(constant, batch[1]);
        break;
      default:
        result.metrics["mae"] = mae_loss(network.output(constant), batch[1]);
    }
    return result;
  };
}

History train(Network& network, const Tensor& data, const Tensor& labels, const TrainingConfig& config,
              const Context& context) {
  const SplitData split = split_data(data, labels, config.validation_split);
  return train(ModuleRef(network), loss_of(network), split.training, split.validation, config, context);
}

Evaluation evaluate(Network& network, const Tensor& data, const Tensor& labels, std::int64_t batch_size,
                    const Context& context) {
  return evaluate(ModuleRef(network), loss_of(network), split_data(data, labels, 0).training, batch_size, context);
}

}  // namespace vectis::inline v0_1::nn
