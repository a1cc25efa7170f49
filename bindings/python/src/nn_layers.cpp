// Layers of networks: what vectis.nn's classes of the same names own.
#include "nn_layers.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bindings.hpp"
#include "nn_names.hpp"
#include "text.hpp"
#include "vectis/nn.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace vectis::python {
namespace {

using array::Generator;

template <class M>
void bind_convolution(nb::module_& module, const char* name) {
  bind_layer<M>(module, name, "A convolution.")
      .def(
          "__init__",
          [](Native<M>* self, std::int64_t inputs, std::int64_t outputs, const Shape& kernel, const Shape& stride,
             const Shape& padding, const Shape& dilation, std::int64_t groups, bool bias, Generator& random) {
            new (self) Native<M>(M(inputs, outputs, kernel, random, {stride, padding, dilation, groups, bias}));
          },
          "inputs"_a, "outputs"_a, "kernel"_a, "stride"_a, "padding"_a, "dilation"_a, "groups"_a, "bias"_a, "random"_a);
}

template <class M>
void bind_pool(nb::module_& module, const char* name) {
  bind_layer<M>(module, name, "Pooling.")
      .def(
          "__init__",
          [](Native<M>* self, const Shape& kernel, const std::optional<Shape>& stride, const Shape& padding) {
            new (self) Native<M>(M(kernel, {stride.value_or(Shape()), padding}));
          },
          "kernel"_a, "stride"_a.none(), "padding"_a);
}

nn::NormOptions norm_options(double epsilon, bool affine, const Generator& random) {
  return {.epsilon = epsilon, .affine = affine, .where = random.options()};
}

template <class M>
void bind_shape_norm(nb::module_& module, const char* name) {
  bind_layer<M>(module, name, "A normalization of the last axes.")
      .def(
          "__init__",
          [](Native<M>* self, const Shape& shape, double epsilon, bool affine, const Generator& random) {
            new (self) Native<M>(M(shape, norm_options(epsilon, affine, random)));
          },
          "shape"_a, "epsilon"_a, "affine"_a, "random"_a);
}

void bind_norms(nb::module_& module) {
  bind_layer<nn::BatchNorm>(module, "BatchNorm", "Normalization over the batch.")
      .def(
          "__init__",
          [](Native<nn::BatchNorm>* self, std::int64_t channels, double epsilon, double momentum, bool affine,
             const Generator& random) {
            new (self) Native<nn::BatchNorm>(nn::BatchNorm(
                channels, {.epsilon = epsilon, .momentum = momentum, .affine = affine, .where = random.options()}));
          },
          "channels"_a, "epsilon"_a, "momentum"_a, "affine"_a, "random"_a);
  bind_layer<nn::GroupNorm>(module, "GroupNorm", "Normalization over groups of channels.")
      .def(
          "__init__",
          [](Native<nn::GroupNorm>* self, std::int64_t groups, std::int64_t channels, double epsilon, bool affine,
             const Generator& random) {
            new (self) Native<nn::GroupNorm>(nn::GroupNorm(groups, channels, norm_options(epsilon, affine, random)));
          },
          "groups"_a, "channels"_a, "epsilon"_a, "affine"_a, "random"_a);
  bind_shape_norm<nn::LayerNorm>(module, "LayerNorm");
  bind_shape_norm<nn::RMSNorm>(module, "RMSNorm");
}

// Layers without parameters that are made of nothing.
template <class M>
void bind_plain(nb::module_& module, const char* name) {
  bind_layer<M>(module, name, "A layer without parameters.").def("__init__", [](Native<M>* self) {
    new (self) Native<M>(M());
  });
}

// Layers without parameters that are made of one number.
template <class M, class Number>
void bind_numbered(nb::module_& module, const char* name) {
  bind_layer<M>(module, name, "A layer without parameters.")
      .def("__init__", [](Native<M>* self, Number number) { new (self) Native<M>(M(number)); }, "number"_a);
}

// RNN takes its function besides.
template <class M>
M make_recurrent(std::int64_t inputs, std::int64_t hidden, Generator& random, const nn::RecurrentOptions& options,
                 bool relu) {
  if constexpr (std::is_same_v<M, nn::RNN>) {
    return M(inputs, hidden, random, options, relu ? nn::RecurrentActivation::relu : nn::RecurrentActivation::tanh);
  } else {
    return M(inputs, hidden, random, options);
  }
}

template <class M>
void bind_recurrent(nb::module_& module, const char* name) {
  bind_layer<M>(module, name, "A recurrent layer.")
      .def(
          "__init__",
          [](Native<M>* self, std::int64_t inputs, std::int64_t hidden, std::int64_t layers, bool bidirectional,
             bool batch_first, bool bias, double dropout, bool relu, Generator& random) {
            new (self) Native<M>(
                make_recurrent<M>(inputs, hidden, random, {layers, bidirectional, batch_first, bias, dropout}, relu));
          },
          "inputs"_a, "hidden"_a, "layers"_a, "bidirectional"_a, "batch_first"_a, "bias"_a, "dropout"_a, "relu"_a,
          "random"_a)
      .def(
          "run",
          [](Native<M>& self, const Tensor& x, const std::optional<Tensor>& hidden, const std::optional<Tensor>& cell,
             Generator* random) {
            const nn::Recurrent::Result result =
                self.computing(M::kind, random)
                    .run(x, {hidden.value_or(Tensor()), cell.value_or(Tensor())}, mode_of(random));
            nb::object last = result.state.cell.is_empty() ? nb::none() : to_array(result.state.cell);
            return nb::make_tuple(to_array(result.output), to_array(result.state.hidden), last);
          },
          "x"_a, "hidden"_a.none(), "cell"_a.none(), "random"_a.none(),
          nb::sig("def run(self, x: Array, hidden: Array | None, cell: Array | None, random: Generator | None) -> "
                  "tuple[Array, Array, Array | None]"),
          "Return the outputs and the state after the sequence.");
}

void bind_embeddings(nb::module_& module) {
  bind_layer<nn::Embedding>(module, "Embedding", "A row of a table for each integer.")
      .def(
          "__init__",
          [](Native<nn::Embedding>* self, std::int64_t rows, std::int64_t features,
             const std::optional<std::int64_t>& padding_index, Generator& random) {
            new (self) Native<nn::Embedding>(nn::Embedding(rows, features, random, {padding_index}));
          },
          "rows"_a, "features"_a, "padding_index"_a.none(), "random"_a);
  const auto add_positions = [](auto& bound, auto kind) {
    using M = typename decltype(kind)::type;
    bound.def(
        "forward_from",
        [](Native<M>& self, const Tensor& x, std::int64_t first, Generator* random) {
          return self.computing(M::kind, random).forward(x, mode_of(random), first);
        },
        "x"_a, "first"_a, "random"_a.none(), "Apply the layer to a sequence that begins at a position.");
  };
  auto encoding = bind_layer<nn::PositionalEncoding>(module, "PositionalEncoding", "Sines and cosines of positions.");
  encoding.def(
      "__init__",
      [](Native<nn::PositionalEncoding>* self, std::int64_t features, std::int64_t positions_max, double dropout) {
        new (self) Native<nn::PositionalEncoding>(nn::PositionalEncoding(features, positions_max, dropout));
      },
      "features"_a, "positions_max"_a, "dropout"_a);
  add_positions(encoding, std::type_identity<nn::PositionalEncoding>());
  auto embedding = bind_layer<nn::PositionalEmbedding>(module, "PositionalEmbedding", "A learned row per position.");
  embedding.def(
      "__init__",
      [](Native<nn::PositionalEmbedding>* self, std::int64_t features, std::int64_t positions_max, Generator& random) {
        new (self) Native<nn::PositionalEmbedding>(nn::PositionalEmbedding(features, positions_max, random));
      },
      "features"_a, "positions_max"_a, "random"_a);
  add_positions(embedding, std::type_identity<nn::PositionalEmbedding>());
}

}  // namespace

void bind_nn_layers(nb::module_& module) {
  bind_layer<nn::Dense>(module, "Dense", "A fully connected layer.")
      .def(
          "__init__",
          [](Native<nn::Dense>* self, std::int64_t inputs, std::int64_t outputs, bool bias, Generator& random) {
            new (self) Native<nn::Dense>(nn::Dense(inputs, outputs, random, {.bias = bias}));
          },
          "inputs"_a, "outputs"_a, "bias"_a, "random"_a);
  bind_convolution<nn::Conv1d>(module, "Conv1d");
  bind_convolution<nn::Conv2d>(module, "Conv2d");
  bind_convolution<nn::Conv3d>(module, "Conv3d");
  bind_pool<nn::MaxPool>(module, "MaxPool");
  bind_pool<nn::AveragePool>(module, "AveragePool");
  bind_plain<nn::GlobalAveragePool>(module, "GlobalAveragePool");
  bind_plain<nn::LastOfSequence>(module, "LastOfSequence");
  bind_numbered<nn::Flatten, std::int64_t>(module, "Flatten");
  bind_numbered<nn::Dropout, double>(module, "Dropout");
  bind_numbered<nn::LeakyReLU, double>(module, "LeakyReLU");
  bind_numbered<nn::ELU, double>(module, "ELU");
  bind_layer<nn::Activation>(module, "Activation", "An activation function.")
      .def(
          "__init__",
          [](Native<nn::Activation>* self, const std::string& function) {
            new (self) Native<nn::Activation>(nn::Activation(activation_named(function)));
          },
          "function"_a);
  bind_norms(module);
  bind_embeddings(module);
  bind_recurrent<nn::RNN>(module, "RNN");
  bind_recurrent<nn::LSTM>(module, "LSTM");
  bind_recurrent<nn::GRU>(module, "GRU");
}

}  // namespace vectis::python
