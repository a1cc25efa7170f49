// Losses with their metrics, and the division of data for validation.
#include <fmt/format.h>

#include "nn/check.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/loss.hpp"
#include "vectis/nn/training.hpp"

namespace vectis::inline v0_1::nn {

Tensor accuracy(const Tensor& predictions, const Tensor& labels) {
  check_rank("accuracy", predictions, 2, "(batch, classes)");
  const Tensor classes = labels.shape() == predictions.shape() ? argmax(labels, 1) : labels;
  if (classes.rank() != 1 || classes.extent(0) != predictions.extent(0)) {
    throw_invalid("accuracy",
                  fmt::format("labels of shape {} do not fit predictions of shape {}; give a class number or "
                              "the probabilities of the classes for each row",
                              to_string(labels.shape()), to_string(predictions.shape())));
  }
  return mean(equal(argmax(predictions, 1), classes).astype(DType::float32));
}

BatchResult classification_loss(const Tensor& logits, const Tensor& labels) {
  return {.loss = cross_entropy(logits, labels), .metrics = {{"accuracy", accuracy(logits, labels)}}};
}

BatchResult regression_loss(const Tensor& predictions, const Tensor& targets) {
  return {.loss = mse_loss(predictions, targets),
          .metrics = {{"mae", mae_loss(array::stop_gradient(predictions), targets)}}};
}

SplitData split_data(const Tensor& data, const Tensor& labels, double validation_split) {
  if (!(validation_split >= 0 && validation_split < 1)) {
    throw_invalid("train", fmt::format("validation_split is {}, it must be at least 0 and below 1", validation_split));
  }
  const auto all = std::make_shared<const TensorDataset>(data, labels);
  const auto kept = static_cast<std::int64_t>(static_cast<double>(all->size()) * validation_split);
  if (validation_split == 0) return {.training = all, .validation = nullptr};
  if (kept == 0) {
    throw_invalid("train", fmt::format("validation_split {} of {} examples is none; raise it, or give it as 0",
                                       validation_split, all->size()));
  }
  const std::int64_t first = all->size() - kept;
  return {.training = std::make_shared<DatasetRange>(all, 0, first),
          .validation = std::make_shared<DatasetRange>(all, first, all->size())};
}

}  // namespace vectis::inline v0_1::nn
