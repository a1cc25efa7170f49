// Networks of layers whose sizes follow from the input.
#include "nn_network.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bindings.hpp"
#include "nn_layers.hpp"
#include "nn_names.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

using array::Generator;
using nn::LayerBuilder;

nn::RecurrentOptions recurrent_options(std::int64_t layers, bool bidirectional, bool bias, double dropout) {
  return {.layers = layers, .bidirectional = bidirectional, .bias = bias, .dropout = dropout};
}

void bind_layers_of_builders(nb::class_<LayerBuilder>& builder) {
  builder.def_static("dense", &LayerBuilder::dense, "units"_a, "bias"_a)
      .def_static("global_average_pool", &LayerBuilder::global_average_pool)
      .def_static("flatten", &LayerBuilder::flatten)
      .def_static("batch_norm", &LayerBuilder::batch_norm)
      .def_static("group_norm", &LayerBuilder::group_norm, "groups"_a)
      .def_static("layer_norm", &LayerBuilder::layer_norm)
      .def_static("rms_norm", &LayerBuilder::rms_norm)
      .def_static("dropout", &LayerBuilder::dropout, "probability"_a)
      .def_static("embedding", &LayerBuilder::embedding, "rows"_a, "features"_a)
      .def_static("last_of_sequence", &LayerBuilder::last_of_sequence)
      .def_static("positional_encoding", &LayerBuilder::positional_encoding, "positions_max"_a)
      .def_static("attention", &LayerBuilder::attention, "heads"_a)
      .def_static(
          "transformer_encoder",
          [](std::int64_t layers, std::int64_t heads, std::int64_t feed_forward, double dropout,
             const std::string& activation, bool norm_first) {
            return LayerBuilder::transformer_encoder(layers, heads,
                                                     {feed_forward, dropout, activation_named(activation), norm_first});
          },
          "layers"_a, "heads"_a, "feed_forward"_a, "dropout"_a, "activation"_a, "norm_first"_a);
  using Recurrent = LayerBuilder (*)(std::int64_t, const nn::RecurrentOptions&);
  for (const auto& [name, function] : {std::pair<const char*, Recurrent>{"rnn", &LayerBuilder::rnn},
                                       std::pair<const char*, Recurrent>{"lstm", &LayerBuilder::lstm},
                                       std::pair<const char*, Recurrent>{"gru", &LayerBuilder::gru}}) {
    builder.def_static(
        name,
        [chosen = function](std::int64_t hidden, std::int64_t layers, bool bidirectional, bool bias, double dropout) {
          return chosen(hidden, recurrent_options(layers, bidirectional, bias, dropout));
        },
        "hidden"_a, "layers"_a, "bidirectional"_a, "bias"_a, "dropout"_a);
  }
}

void bind_windows_of_builders(nb::class_<LayerBuilder>& builder) {
  using Conv = LayerBuilder (*)(std::int64_t, const Shape&, const nn::ConvolutionOptions&);
  for (const auto& [name, function] : {std::pair<const char*, Conv>{"conv1d", &LayerBuilder::conv1d},
                                       std::pair<const char*, Conv>{"conv2d", &LayerBuilder::conv2d},
                                       std::pair<const char*, Conv>{"conv3d", &LayerBuilder::conv3d}}) {
    builder.def_static(
        name,
        [chosen = function](std::int64_t filters, const Shape& kernel, const Shape& stride, const Shape& padding,
                            const Shape& dilation, std::int64_t groups,
                            bool bias) { return chosen(filters, kernel, {stride, padding, dilation, groups, bias}); },
        "filters"_a, "kernel"_a, "stride"_a, "padding"_a, "dilation"_a, "groups"_a, "bias"_a);
  }
  using Pool = LayerBuilder (*)(const Shape&, const nn::PoolingOptions&);
  for (const auto& [name, function] : {std::pair<const char*, Pool>{"max_pool", &LayerBuilder::max_pool},
                                       std::pair<const char*, Pool>{"average_pool", &LayerBuilder::average_pool}}) {
    builder.def_static(
        name,
        [chosen = function](const Shape& kernel, const std::optional<Shape>& stride, const Shape& padding) {
          return chosen(kernel, {stride.value_or(Shape()), padding});
        },
        "kernel"_a, "stride"_a.none(), "padding"_a);
  }
}

nn::Network build(const Shape& input, const std::vector<LayerBuilder>& layers, const std::string& loss,
                  const Generator& random, const DTypeArgument& input_type) {
  nn::NetworkBuilder builder(input);
  for (const LayerBuilder& layer : layers) builder.add_layer(layer);
  builder.loss(loss_named(loss)).random(random);
  if (input_type.type) builder.input_type(*input_type.type);
  return builder.build();
}

}  // namespace

void bind_nn_network(nb::module_& module) {
  nb::class_<LayerBuilder> builder(module, "LayerBuilder", "Describes one layer without the size of its input.");
  bind_layers_of_builders(builder);
  bind_windows_of_builders(builder);
  builder.def(
      "activation",
      [](LayerBuilder& self, const std::string& function) { self.activation(activation_named(function)); },
      "function"_a, "Append an activation function.");
  bind_layer<nn::Network>(module, "Network", "Layers in a row with a loss.")
      .def(
          "__init__",
          [](NativeNetwork* self, const Shape& input, const std::vector<LayerBuilder>& layers, const std::string& loss,
             const DTypeArgument& input_type,
             const Generator& random) { new (self) NativeNetwork(build(input, layers, loss, random, input_type)); },
          "input"_a, "layers"_a, "loss"_a, "input_type"_a.none(), "random"_a,
          nb::sig("def __init__(self, input: int | collections.abc.Sequence[int], layers: "
                  "collections.abc.Sequence[LayerBuilder], loss: str, input_type: vectis._types.ArrayDType | None, "
                  "random: Generator) -> None"))
      .def(
          "predict", [](NativeNetwork& self, const Tensor& x) { return self.computing("predict").predict(x); }, "x"_a)
      .def(
          "logits",
          [](NativeNetwork& self, const Tensor& x, Generator* random) {
            return self.computing("logits", random).logits(x, mode_of(random));
          },
          "x"_a, "random"_a.none())
      .def(
          "output", [](NativeNetwork& self, const Tensor& logits) { return self.module().output(logits); }, "logits"_a)
      .def(
          "loss",
          [](NativeNetwork& self, const Tensor& logits, const Tensor& targets) {
            return self.module().loss(logits, targets);
          },
          "logits"_a, "targets"_a)
      .def("summary", [](NativeNetwork& self) { return self.computing("summary").summary(); })
      .def_prop_ro("loss_function",
                   [](NativeNetwork& self) { return std::string(nn::name(self.module().loss_function())); })
      .def_prop_ro(
          "input_type", [](NativeNetwork& self) { return self.computing("input_type").input_type(); },
          nb::sig("def input_type(self) -> vectis._array.DType"))
      .def_prop_ro(
          "input_shape", [](NativeNetwork& self) { return self.module().input_shape(); },
          nb::sig("def input_shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "output_shape", [](NativeNetwork& self) { return self.module().output_shape(); },
          nb::sig("def output_shape(self) -> tuple[int, ...]"));
}

}  // namespace vectis::python
