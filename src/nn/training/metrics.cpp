// Losses with their metrics, and the division of data for validation.
#include <fmt/format.h>

#include "nn/check.hpp"
#include "nn/training/trainer.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/loss.hpp"
#include "vectis/nn/training.hpp"

namespace vectis::inline v0_1::nn {

Tensor accuracy(const Tensor& predictions, const Tensor& labels) {
  if (predictions.rank() < 2) {
    throw_invalid("accuracy", fmt::format("expected predictions (batch, classes, extents ...), received shape {}",
                                          to_string(predictions.shape())));
  }
  const Tensor predicted = argmax(predictions, 1);
  const Tensor classes = labels.shape() == predictions.shape() ? argmax(labels, 1) : labels;
  if (classes.shape() != predicted.shape()) {
    throw_invalid("accuracy",
                  fmt::format("labels of shape {} do not fit predictions of shape {}; give class numbers of shape {} "
                              "or the probabilities of the classes",
                              to_string(labels.shape()), to_string(predictions.shape()), to_string(predicted.shape())));
  }
  return mean(equal(predicted, classes).astype(DType::float32));
}

BatchResult classification_loss(const Tensor& logits, const Tensor& labels) {
  return {.loss = cross_entropy(logits, labels), .metrics = {{"accuracy", accuracy(logits, labels)}}};
}

BatchResult regression_loss(const Tensor& predictions, const Tensor& targets) {
  return {.loss = mse_loss(predictions, targets),
          .metrics = {{"mae", mae_loss(array::stop_gradient(predictions), targets)}}};
}

void check_split(double validation_split) {
  if (validation_split >= 0 && validation_split < 1) return;
  throw_invalid("train", fmt::format("validation_split is {}, it must be at least 0 and below 1", validation_split));
}

SplitData split_data(const Tensor& data, const Tensor& labels, double validation_split) {
  return split_data(std::make_shared<const TensorDataset>(data, labels), validation_split);
}

SplitData split_data(const std::shared_ptr<const Dataset>& data, double validation_split) {
  check_split(validation_split);
  const std::int64_t examples = data->size();
  const auto kept = static_cast<std::int64_t>(static_cast<double>(examples) * validation_split);
  if (validation_split == 0) return {.training = data, .validation = nullptr};
  if (kept == 0) {
    throw_invalid("train", fmt::format("validation_split {} of {} examples is none; raise it, or give it as 0",
                                       validation_split, examples));
  }
  const std::int64_t first = examples - kept;
  return {.training = std::make_shared<DatasetRange>(data, 0, first),
          .validation = std::make_shared<DatasetRange>(data, first, examples)};
}

}  // namespace vectis::inline v0_1::nn
