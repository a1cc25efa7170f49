// Losses and activation functions of networks, and their names.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "errors.hpp"
#include "nn_module.hpp"
#include "nn_names.hpp"
#include "text.hpp"
#include "vectis/nn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

std::string simplified(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

// The way a name is written in Python: "LeakyReLU" -> "leaky_relu".
std::string in_python(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(name[i])) != 0;
    const bool begins_word = is_upper && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0 &&
                             i + 1 < name.size() && name.substr(i) != "LU" && name.substr(i) != "LU6";
    if (begins_word) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return text;
}

// The function of a name; `last` is the last one of its enumeration.
template <class Function, std::size_t N>
Function function_named(std::string_view op, std::string_view text, Function last,
                        const std::pair<const char*, Function> (&aliases)[N]) {
  const std::string wanted = simplified(text);
  std::string all;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto function = static_cast<Function>(i);
    if (simplified(nn::name(function)) == wanted) return function;
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", in_python(nn::name(function)));
  }
  for (const auto& [alias, function] : aliases) {
    if (wanted == alias) return function;
  }
  throw_invalid_input(op, fmt::format("no {} function is called '{}'; give one of {}", op, text, all));
}

}  // namespace

nn::ActivationFunction activation_named(std::string_view name) {
  using enum nn::ActivationFunction;
  static constexpr std::pair<const char*, nn::ActivationFunction> aliases[] = {{"silu", Swish}, {"identity", Linear}};
  return function_named("activation", name, LogSoftmax, aliases);
}

nn::LossFunction loss_named(std::string_view name) {
  using enum nn::LossFunction;
  static constexpr std::pair<const char*, nn::LossFunction> aliases[] = {{"mse", MeanSquaredError},
                                                                         {"mae", MeanAbsoluteError}};
  return function_named("loss", name, SparseCategoricalCrossEntropy, aliases);
}

nn::Reduction reduction_named(std::string_view name) {
  if (name == "mean") return nn::Reduction::mean;
  if (name == "sum") return nn::Reduction::sum;
  if (name == "none") return nn::Reduction::none;
  throw_invalid_input("reduction", fmt::format("the reduction is '{}'; give 'mean', 'sum' or 'none'", name));
}

namespace {

constexpr const char* reduction_default = "mean";

void bind_regression_losses(nb::module_& module) {
  using Loss = Tensor (*)(const Tensor&, const Tensor&, nn::Reduction);
  for (const auto& [name, function, description] :
       {std::tuple<const char*, Loss, const char*>{"mse_loss", &nn::mse_loss, "Return the squared difference."},
        std::tuple<const char*, Loss, const char*>{"mae_loss", &nn::mae_loss, "Return the absolute difference."},
        std::tuple<const char*, Loss, const char*>{
            "binary_cross_entropy", &nn::binary_cross_entropy,
            "Return -(t log p + (1 - t) log(1 - p)) of probabilities p and targets t."}}) {
    module.def(
        name,
        [chosen = function](const Tensor& predictions, const Tensor& targets, const std::string& reduction) {
          return chosen(predictions, targets, reduction_named(reduction));
        },
        "predictions"_a, "targets"_a, nb::kw_only(), "reduction"_a = reduction_default, description);
  }
  module.def(
      "huber_loss",
      [](const Tensor& predictions, const Tensor& targets, double delta, const std::string& reduction) {
        return nn::huber_loss(predictions, targets, delta, reduction_named(reduction));
      },
      "predictions"_a, "targets"_a, nb::kw_only(), "delta"_a = 1.0, "reduction"_a = reduction_default,
      "Return half the squared difference up to `delta`, and delta * (|difference| - delta / 2) beyond.");
  module.def(
      "binary_cross_entropy_with_logits",
      [](const Tensor& logits, const Tensor& targets, double positive_weight, const std::string& reduction) {
        return nn::binary_cross_entropy_with_logits(logits, targets, positive_weight, reduction_named(reduction));
      },
      "logits"_a, "targets"_a, nb::kw_only(), "positive_weight"_a = 1.0, "reduction"_a = reduction_default,
      "Return the binary cross-entropy of sigmoid(logits), computed without overflow.");
}

void bind_cross_entropies(nb::module_& module) {
  using Loss = Tensor (*)(const Tensor&, const Tensor&, const nn::CrossEntropyOptions&);
  for (const auto& [name, function, description] :
       {std::tuple<const char*, Loss, const char*>{
            "cross_entropy", &nn::cross_entropy,
            "Return -log softmax(logits) at the targets.\n\nLogits have shape (batch, classes, extents ...); targets "
            "are "
            "class numbers of shape (batch, extents ...), or probabilities in the shape of the logits."},
        std::tuple<const char*, Loss, const char*>{
            "cross_entropy_of_probabilities", &nn::cross_entropy_of_probabilities,
            "Return -log(predictions) at the targets, when predictions are probabilities already."}}) {
    module.def(
        name,
        [chosen = function](const Tensor& predictions, const Tensor& targets, double label_smoothing,
                            const std::optional<std::int64_t>& ignore_index, const std::optional<Tensor>& weight,
                            const std::string& reduction) {
          return chosen(predictions, targets,
                        {label_smoothing, ignore_index, weight.value_or(Tensor()), reduction_named(reduction)});
        },
        "logits"_a, "targets"_a, nb::kw_only(), "label_smoothing"_a = 0.0, "ignore_index"_a = nb::none(),
        "weight"_a = nb::none(), "reduction"_a = reduction_default, description);
  }
}

void bind_embedding_losses(nb::module_& module) {
  module.def(
      "info_nce_loss",
      [](const Tensor& queries, const Tensor& keys, double temperature, const std::string& reduction) {
        return nn::info_nce_loss(queries, keys, temperature, reduction_named(reduction));
      },
      "queries"_a, "keys"_a, nb::kw_only(), "temperature"_a = 0.1, "reduction"_a = reduction_default,
      "Return the cross-entropy of finding each query's own key among all keys by their cosine.");
  module.def(
      "triplet_loss",
      [](const Tensor& anchors, const Tensor& positives, const Tensor& negatives, double margin,
         const std::string& reduction) {
        return nn::triplet_loss(anchors, positives, negatives, margin, reduction_named(reduction));
      },
      "anchors"_a, "positives"_a, "negatives"_a, nb::kw_only(), "margin"_a = 1.0, "reduction"_a = reduction_default,
      "Return max(|anchor - positive| - |anchor - negative| + margin, 0).");
}

}  // namespace

void bind_nn_functions(nb::module_& module) {
  module.def(
      "activate",
      [](const Tensor& x, const std::string& function) { return nn::activate(x, activation_named(function)); }, "x"_a,
      "function"_a, "Apply an activation function by its name, such as \"relu\".");
  module.def(
      "linear",
      [](const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
        return nn::linear(x, weight, bias.value_or(Tensor()));
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "Return x @ weight.T + bias along the last axis.");
  module.def(
      "dropout",
      [](const Tensor& x, double probability, array::Generator* random) {
        return nn::dropout(x, probability, mode_of(random));
      },
      "x"_a, "probability"_a, "random"_a.none(),
      "Set elements to 0 with a probability and scale the others; without a generator, return `x`.");
  module.def("accuracy", &nn::accuracy, "predictions"_a, "labels"_a,
             "Return the share of the rows whose largest element is at the label.");
  bind_regression_losses(module);
  bind_cross_entropies(module);
  bind_embedding_losses(module);
}

}  // namespace vectis::python
