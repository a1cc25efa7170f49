// Loss functions. Each compares predictions with targets and returns one number, unless the options ask for one for
// each element.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "vectis/array/tensor.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1::nn {

using array::Tensor;

// What becomes of the losses of the elements.
enum class Reduction : std::uint8_t { mean, sum, none };

// All functions below throw InvalidInput when shapes or types do not fit.

// Of the squared difference, for arrays of one shape.
VECTIS_API Tensor mse_loss(const Tensor& predictions, const Tensor& targets, Reduction reduction = Reduction::mean);
// Of the absolute difference.
VECTIS_API Tensor mae_loss(const Tensor& predictions, const Tensor& targets, Reduction reduction = Reduction::mean);
// Of half the squared difference up to `delta`, and of delta * (|difference| - delta / 2) beyond (Huber, 1964).
VECTIS_API Tensor huber_loss(const Tensor& predictions, const Tensor& targets, double delta = 1,
                             Reduction reduction = Reduction::mean);

struct CrossEntropyOptions {
  double label_smoothing = 0;                               // the share of the target that all classes have equally
  std::optional<std::int64_t> ignore_index = std::nullopt;  // this class number counts nothing
  Tensor weight = {};                                       // (classes,), by which the losses of the classes count
  Reduction reduction = Reduction::mean;
};
// Of -log softmax(logits) at the target. `logits` have shape (batch, classes, extents ...). Targets are class numbers
// of shape (batch, extents ...) or, as floating-point numbers in the shape of `logits`, the probabilities of the
// classes. The mean is over elements that are not ignored, by their weight; those that are ignored may have any logits.
// A class number below 0 or beyond the classes throws InvalidInput when the loss is computed.
VECTIS_API Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options = {});
// Of -log(predictions) at the target, when predictions are probabilities already; they are moved into [1e-7, 1 - 1e-7].
VECTIS_API Tensor cross_entropy_of_probabilities(const Tensor& predictions, const Tensor& targets,
                                                 const CrossEntropyOptions& options = {});

// Of -(t log sigmoid(x) + (1 - t) log(1 - sigmoid(x))), computed without overflow. `positive_weight` multiplies its
// first part.
VECTIS_API Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                                   double positive_weight = 1, Reduction reduction = Reduction::mean);
// Of -(t log p + (1 - t) log(1 - p)), with logarithms of at least -100, and with finite gradients also where p is 0 or
// 1.
VECTIS_API Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& targets,
                                       Reduction reduction = Reduction::mean);

// Cross-entropy of finding each query's own key among all keys by their cosine divided by `temperature` (van den Oord
// et al., 2018): row i of `queries` belongs to row i of `keys`, both of shape (batch, features).
VECTIS_API Tensor info_nce_loss(const Tensor& queries, const Tensor& keys, double temperature = 0.1,
                                Reduction reduction = Reduction::mean);
// Of max(|anchor - positive| - |anchor - negative| + margin, 0), Euclidean along the last axis.
VECTIS_API Tensor triplet_loss(const Tensor& anchors, const Tensor& positives, const Tensor& negatives,
                               double margin = 1, Reduction reduction = Reduction::mean);

// The losses that a Network can be built with. Cross-entropies take what a last Softmax, LogSoftmax or Sigmoid is
// applied to; a network that ends otherwise returns logits.
// NOLINTBEGIN(readability-identifier-naming): written as in the literature.
enum class LossFunction : std::uint8_t {
  MeanSquaredError,
  MeanAbsoluteError,
  Huber,
  BinaryCrossEntropy,             // targets are 0 or 1, or probabilities
  CategoricalCrossEntropy,        // targets are probabilities, such as one-hot vectors, or class numbers
  SparseCategoricalCrossEntropy,  // the same
};
// NOLINTEND(readability-identifier-naming)
// Returns the name of a function as it is written in code: "Huber".
[[nodiscard]] VECTIS_API std::string_view name(LossFunction function) noexcept;

}  // namespace vectis::inline v0_1::nn
