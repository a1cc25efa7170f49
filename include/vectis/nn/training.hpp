// Training of modules: the loop over epochs and batches with validation, early stopping, checkpoints and observers.
//
//   nn::TrainingConfig config{.batch_size = 64, .max_epochs = 20, .validation_split = 0.1};
//   nn::History history = nn::train(network, images, labels, config);
//   std::cout << history.val_metrics["accuracy"].back() << '\n';
//
// docs/training.md is the guide; examples/training_loop.cpp is a loop of one's own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "vectis/array/tensor.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"
#include "vectis/nn/dataset.hpp"
#include "vectis/nn/history.hpp"
#include "vectis/nn/loader.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/network.hpp"
#include "vectis/nn/observer.hpp"
#include "vectis/nn/optimizer.hpp"
#include "vectis/nn/schedule.hpp"

namespace vectis::inline v0_1::nn {

// Ends training when the loss stops falling: the validation loss where there is one.
struct EarlyStopping {
  std::int64_t patience = 5;   // epochs without improvement that are tolerated
  double min_improvement = 0;  // by which the loss must fall to count as an improvement
  bool restore_best = true;    // leaves the module as it was after its best epoch
};

// How to train. Every field has a usable default.
struct TrainingConfig {
  std::int64_t batch_size = 32;
  std::int64_t max_epochs = 10;
  double validation_split = 0;  // the share of the examples, the last ones, kept for validation unless there are others
  bool shuffle = true;
  bool drop_last = false;  // leaves out the last batch when it is smaller: one example has no variance for BatchNorm
  std::uint64_t seed = 0;  // of the order of examples and of dropout
  std::shared_ptr<Optimizer> optimizer = nullptr;        // null: Adam with its defaults. Keeps its state afterwards
  Schedule schedule = {};                                // empty: the learning rate of the optimizer stays
  std::optional<PlateauOptions> plateau = std::nullopt;  // reduces the learning rate by the loss of early stopping
  std::optional<EarlyStopping> early_stopping = std::nullopt;
  std::optional<double> clip_norm = std::nullopt;       // see clip_by_norm()
  std::int64_t accumulated_batches = 1;                 // batches for one update of the parameters
  std::optional<DType> mixed_precision = std::nullopt;  // float16 or bfloat16: see MixedPrecision
  // Where the module is moved. Empty: a module on the CPU is trained where the planner predicts a step to be fastest,
  // among the devices that the settings allow, and moved back at the end; any other stays where it is.
  std::optional<Device> device = std::nullopt;
  std::size_t prefetch = 2;  // batches read ahead
  // Where training is saved after each epoch, and after each `checkpoint_interval` batches unless that is 0. When the
  // file exists, training continues from it, bit for bit as if it had not been interrupted. Empty: nothing is saved.
  std::string checkpoint_path = {};
  std::int64_t checkpoint_interval = 0;
  std::ostream* verbose = nullptr;  // where progress is written; null: nowhere
  std::vector<std::shared_ptr<TrainingObserver>> observers = {};
};

// What a batch gives: means over its examples.
struct BatchResult {
  Tensor loss = {};                                         // one number
  std::map<std::string, Tensor, std::less<>> metrics = {};  // of one number each, without gradients
};
// Computes loss and metrics of a batch with a module, for training or, without gradients, for validation.
using EvaluateBatch = std::function<BatchResult(const Batch& batch, const Mode& mode)>;

// Means over the examples of a data set.
struct Evaluation {
  double loss = 0;
  Metrics metrics = {};
};

// Trains `module` with the loss that `evaluate` computes, and returns the record of all epochs, those before a
// checkpoint included. `validation` may be null: `validation_split` of the configuration then holds. Throws
// InvalidInput for a configuration out of range, a data set without a batch, or a checkpoint of another training; Io
// for a checkpoint that cannot be written; Allocation, with a batch size that fits, when memory is short; Cancelled and
// DeadlineExceeded by `context`, which are checked before each batch; and what `evaluate`, the data sets and the
// observers throw. The module then keeps what it has learned.
VECTIS_API History train(ModuleRef module, const EvaluateBatch& evaluate,
                         const std::shared_ptr<const Dataset>& training,
                         const std::shared_ptr<const Dataset>& validation, const TrainingConfig& config = {},
                         const Context& context = {});

// Returns loss and metrics of `module` over a data set, without training. Batches are copied to the device of its
// tensors. Throws InvalidInput without examples, and what `evaluate` and the data set throw.
VECTIS_API Evaluation evaluate(ModuleRef module, const EvaluateBatch& evaluate,
                               const std::shared_ptr<const Dataset>& dataset, std::int64_t batch_size = 32,
                               const Context& context = {});

// Computes loss and metrics from the predictions of a module and the labels.
using LossAndMetrics = std::function<BatchResult(const Tensor& predictions, const Tensor& labels)>;
// Cross-entropy and "accuracy" of logits of shape (batch, classes, extents ...); labels are class numbers or
// probabilities.
VECTIS_API BatchResult classification_loss(const Tensor& logits, const Tensor& labels);
// The mean squared error, and "mae", the mean absolute error.
VECTIS_API BatchResult regression_loss(const Tensor& predictions, const Tensor& targets);
// Returns the share of predictions, of shape (batch, classes, extents ...), whose largest class is that of the label: a
// class number of shape (batch, extents ...), or the largest of probabilities of the predictions' shape.
VECTIS_API Tensor accuracy(const Tensor& predictions, const Tensor& labels);

// The data sets for training and validation of rows that are examples: the last `validation_split` of them, rounded
// down, are for validation. Throws InvalidInput when no example is left for one of them, or the split is not in [0, 1).
struct SplitData {
  std::shared_ptr<const Dataset> training;
  std::shared_ptr<const Dataset> validation;  // null: without validation
};
[[nodiscard]] VECTIS_API SplitData split_data(const Tensor& data, const Tensor& labels, double validation_split);
[[nodiscard]] VECTIS_API SplitData split_data(const std::shared_ptr<const Dataset>& data, double validation_split);

// Throws InvalidInput unless a batch has two fields at least, inputs and labels.
VECTIS_API void check_labels(const Batch& batch);

// Returns the loss of batches of two fields, what `module` computes predictions from and the labels. Both arguments
// must outlive the result, which throws InvalidInput for batches of fewer fields.
template <Module M>
[[nodiscard]] EvaluateBatch evaluate_by(M& module, const LossAndMetrics& loss) {
  return [&module, &loss](const Batch& batch, const Mode& mode) {
    check_labels(batch);
    return loss(module.forward(batch[0], mode), batch[1]);
  };
}

// Trains a module that computes predictions from `data`, whose rows are examples. Throws as above.
template <Module M>
History train(M& module, const LossAndMetrics& loss, const Tensor& data, const Tensor& labels,
              const TrainingConfig& config = {}, const Context& context = {}) {
  const SplitData split = split_data(data, labels, config.validation_split);
  return train(ModuleRef(module), evaluate_by(module, loss), split.training, split.validation, config, context);
}

// Returns the loss of a network as train() computes it: with "accuracy" for cross-entropy, else "mae". For data sets of
// two fields, inputs and labels. `network` must outlive the result.
[[nodiscard]] VECTIS_API EvaluateBatch loss_of(Network& network);
// Trains a network with its loss. Metrics are "accuracy" for cross-entropy, else "mae". Throws as above.
VECTIS_API History train(Network& network, const Tensor& data, const Tensor& labels, const TrainingConfig& config = {},
                         const Context& context = {});
// Returns loss and metrics of a network for rows that are examples. Throws as above.
VECTIS_API Evaluation evaluate(Network& network, const Tensor& data, const Tensor& labels, std::int64_t batch_size = 32,
                               const Context& context = {});

}  // namespace vectis::inline v0_1::nn
