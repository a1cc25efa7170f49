#include "vectis/nn/loss.hpp"

#include <fmt/format.h>

#include "nn/check.hpp"
#include "vectis/array/gradient.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

namespace {

void check_same(std::string_view op, const Tensor& predictions, const Tensor& targets) {
  if (predictions.shape() == targets.shape()) return;
  throw_invalid(op, fmt::format("predictions have shape {}, targets {}; give equal ones",
                                to_string(predictions.shape()), to_string(targets.shape())));
}

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::mean) return mean(losses);
  return reduction == Reduction::sum ? sum(losses) : losses;
}

// The targets in the type of the predictions.
Tensor typed(const Tensor& targets, const Tensor& predictions) { return targets.astype(predictions.dtype()); }

// The axis of the classes moved to the end: (batch, extents ..., classes).
Tensor classes_last(const Tensor& x) { return x.rank() > 2 ? moveaxis(x, 1, -1) : x; }

Tensor by_probabilities(const Tensor& logs, const Tensor& targets, const CrossEntropyOptions& options) {
  constexpr std::string_view op = "cross_entropy";
  if (options.ignore_index) {
    throw_invalid(op, "targets are probabilities, which have no number to ignore; give class numbers");
  }
  Tensor share = typed(classes_last(targets), logs);
  if (options.label_smoothing > 0) {
    share = share * (1 - options.label_smoothing) + options.label_smoothing / static_cast<double>(logs.extent(-1));
  }
  Tensor weighted = logs * share;
  if (!options.weight.is_empty()) weighted = weighted * typed(options.weight, logs);
  const Tensor losses = -sum(weighted, {-1});
  return reduced(losses, options.reduction);
}

Tensor by_numbers(const Tensor& logs, const Tensor& targets, const CrossEntropyOptions& options) {
  const bool has_weight = !options.weight.is_empty();
  const Tensor weight = has_weight ? typed(options.weight, logs) : Tensor();
  Tensor numbers = targets;
  Tensor counted;
  if (options.ignore_index) {
    const Tensor ignored = equal(targets, *options.ignore_index);
    numbers = where(ignored, 0, targets);
    counted = where(ignored, array::zeros({}, logs.dtype(), {.device = logs.device()}), 1);
  }
  Tensor losses = -squeeze(take_along_axis(logs, expand_dims(numbers, -1), -1, array::NegativeIndices::refused), {-1});
  Tensor shares = counted;  // what each element counts
  if (has_weight) {
    const Tensor own = take(weight, numbers);
    losses = losses * own;
    shares = shares.is_empty() ? own : shares * own;
  }
  if (!counted.is_empty()) losses = losses * counted;
  if (options.label_smoothing > 0) {
    const Tensor all = has_weight ? logs * weight : logs;
    Tensor even = -mean(all, {-1});
    if (!counted.is_empty()) even = even * counted;
    losses = losses * (1 - options.label_smoothing) + even * options.label_smoothing;
  }
  if (options.reduction != Reduction::mean || shares.is_empty()) return reduced(losses, options.reduction);
  return sum(losses) / sum(shares);
}

// Throws InvalidInput unless `targets` are class numbers or probabilities for `predictions`.
void check_targets(const Tensor& predictions, const Tensor& targets, const CrossEntropyOptions& options) {
  constexpr std::string_view op = "cross_entropy";
  if (predictions.rank() < 2) {
    throw_invalid(op, fmt::format("expected an array (batch, classes, extents ...), received shape {}; reshape it",
                                  to_string(predictions.shape())));
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    throw_invalid(op, fmt::format("label smoothing is {}; give a share of [0, 1]", options.label_smoothing));
  }
  const std::int64_t classes = predictions.extent(1);
  if (!options.weight.is_empty() && options.weight.shape() != Shape{classes}) {
    throw_invalid(op, fmt::format("weights of shape {} for {} classes; give one for each",
                                  to_string(options.weight.shape()), classes));
  }
  if (is_real(targets.dtype())) return check_same(op, predictions, targets);
  Shape expected = predictions.shape();
  expected.erase(1);
  if (targets.dtype() == DType::boolean || targets.shape() != expected) {
    throw_invalid(op,
                  fmt::format("predictions of shape {} need class numbers of shape {} or probabilities of their own "
                              "shape, received {} of shape {}; convert them",
                              to_string(predictions.shape()), to_string(expected), vectis::name(targets.dtype()),
                              to_string(targets.shape())));
  }
}

// The predictions as (batch, extents ..., classes). Those of ignored targets are `neutral`, so that neither loss nor
// gradients depend on them, whatever they are.
Tensor counted_predictions(const Tensor& predictions, const Tensor& targets, const CrossEntropyOptions& options,
                           double neutral) {
  const Tensor by_class = classes_last(predictions);
  if (!options.ignore_index || is_real(targets.dtype())) return by_class;
  return where(expand_dims(equal(targets, *options.ignore_index), -1), neutral, by_class);
}

Tensor of_log_probabilities(const Tensor& logs, const Tensor& targets, const CrossEntropyOptions& options) {
  return is_real(targets.dtype()) ? by_probabilities(logs, targets, options) : by_numbers(logs, targets, options);
}

// log(p), at least -100. Its gradient is that of log, but limited near 0, where log has none.
Tensor limited_log(const Tensor& p) {
  const double limit = p.dtype() == DType::float16 ? 1e-4 : 1e-12;  // whose reciprocal is a number of the type
  const Tensor is_small = array::less(p, limit);
  const Tensor fixed = array::stop_gradient(p);
  const Tensor limited = maximum(log(fixed), -100) + (p - fixed) * (1 / limit);
  return where(is_small, limited, log(where(is_small, 1, p)));
}

// x / |x| along the last axis; 0 stays 0.
Tensor unit(const Tensor& x) { return x / maximum(array::norm(x, {-1}, true), 1e-12); }

}  // namespace

Tensor mse_loss(const Tensor& predictions, const Tensor& targets, Reduction reduction) {
  check_same("mse_loss", predictions, targets);
  return reduced(square(predictions - typed(targets, predictions)), reduction);
}

Tensor mae_loss(const Tensor& predictions, const Tensor& targets, Reduction reduction) {
  check_same("mae_loss", predictions, targets);
  return reduced(absolute(predictions - typed(targets, predictions)), reduction);
}

Tensor huber_loss(const Tensor& predictions, const Tensor& targets, double delta, Reduction reduction) {
  check_same("huber_loss", predictions, targets);
  if (!(delta > 0)) throw_invalid("huber_loss", fmt::format("delta is {}; give a positive number", delta));
  const Tensor distance = absolute(predictions - typed(targets, predictions));
  const Tensor inner = minimum(distance, delta);
  return reduced(inner * (distance - inner * 0.5), reduction);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  check_targets(logits, targets, options);
  return of_log_probabilities(log_softmax(counted_predictions(logits, targets, options, 0)), targets, options);
}

Tensor cross_entropy_of_probabilities(const Tensor& predictions, const Tensor& targets,
                                      const CrossEntropyOptions& options) {
  check_targets(predictions, targets, options);
  const Tensor counted = counted_predictions(predictions, targets, options, 0.5);
  return of_log_probabilities(log(clip(counted, 1e-7, 1 - 1e-7)), targets, options);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets, double positive_weight,
                                        Reduction reduction) {
  check_same("binary_cross_entropy_with_logits", logits, targets);
  const Tensor t = typed(targets, logits);
  // softplus(-x) = -log sigmoid(x), and softplus(x) = x + softplus(-x).
  const Tensor negative_log = array::softplus(-logits);
  if (positive_weight == 1) return reduced(logits * (1 - t) + negative_log, reduction);
  return reduced(logits * (1 - t) + negative_log * (1 + t * (positive_weight - 1)), reduction);
}

Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& targets, Reduction reduction) {
  check_same("binary_cross_entropy", probabilities, targets);
  const Tensor p = is_real(probabilities.dtype()) ? probabilities : probabilities.astype(DType::float32);
  const Tensor t = typed(targets, p);
  const Tensor positive = limited_log(p);
  const Tensor negative = limited_log(1 - p);
  return reduced(-(t * positive + (1 - t) * negative), reduction);
}

Tensor info_nce_loss(const Tensor& queries, const Tensor& keys, double temperature, Reduction reduction) {
  check_rank("info_nce_loss", queries, 2, "(batch, features)");
  check_same("info_nce_loss", queries, keys);
  if (!(temperature > 0)) {
    throw_invalid("info_nce_loss", fmt::format("the temperature is {}; give a positive number", temperature));
  }
  const Tensor logits = matmul(unit(queries), matrix_transpose(unit(keys))) * (1 / temperature);
  const Tensor own =
      array::arange(0, static_cast<double>(queries.extent(0)), 1, DType::int32, {.device = queries.device()});
  return cross_entropy(logits, own, {.reduction = reduction});
}

Tensor triplet_loss(const Tensor& anchors, const Tensor& positives, const Tensor& negatives, double margin,
                    Reduction reduction) {
  check_same("triplet_loss", anchors, positives);
  check_same("triplet_loss", anchors, negatives);
  // The small number is PyTorch's; it keeps the distance differentiable where two are equal.
  const Tensor near = array::norm(anchors - positives + 1e-6, {-1});
  const Tensor far = array::norm(anchors - negatives + 1e-6, {-1});
  return reduced(array::relu(near - far + margin), reduction);
}

std::string_view name(LossFunction function) noexcept {
  switch (function) {
    case LossFunction::MeanSquaredError:
      return "MeanSquaredError";
    case LossFunction::MeanAbsoluteError:
      return "MeanAbsoluteError";
    case LossFunction::Huber:
      return "Huber";
    case LossFunction::BinaryCrossEntropy:
      return "BinaryCrossEntropy";
    case LossFunction::CategoricalCrossEntropy:
      return "CategoricalCrossEntropy";
    case LossFunction::SparseCategoricalCrossEntropy:
      return "SparseCategoricalCrossEntropy";
  }
  return "unknown";
}

}  // namespace vectis::inline v0_1::nn
