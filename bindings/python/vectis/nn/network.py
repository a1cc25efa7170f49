"""Networks from a list of layers, whose sizes follow from the input."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from .. import _nn, array
from .._array import Array, Generator
from . import random
from .native import NativeModule

if TYPE_CHECKING:
    from .._types import ArrayDType
    from .layers import _Extents


class LayerBuilder:
    """Describes one layer without the size of its input, which the network knows. Networks keep copies."""

    def __init__(self, kind: str, *arguments: Any) -> None:
        """Describe a layer by the name and the arguments of a method of this class; use those methods."""
        self._call = (kind, arguments)
        self._function: str | None = None
        self._native = getattr(_nn.LayerBuilder, kind)(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_builder, (self._call, self._function)

    def activation(self, function: str) -> Self:
        """Append an activation function by its name, such as "relu"; at most one."""
        if self._function is not None:
            raise ValueError(f"the layer has the activation function {self._function!r} already, so {function!r} cannot follow; "
                             "make a builder for each layer")
        self._native.activation(function)
        self._function = function
        return self

    @staticmethod
    def dense(units: int, *, bias: bool = True) -> LayerBuilder:
        """Dense on the last axis."""
        return LayerBuilder("dense", units, bias)

    @staticmethod
    def conv1d(filters: int, kernel: _Extents, *, stride: _Extents = 1, padding: _Extents = 0, dilation: _Extents = 1,
               groups: int = 1, bias: bool = True) -> LayerBuilder:
        """Convolve (channels, extent)."""
        return LayerBuilder("conv1d", filters, kernel, stride, padding, dilation, groups, bias)

    @staticmethod
    def conv2d(filters: int, kernel: _Extents, *, stride: _Extents = 1, padding: _Extents = 0, dilation: _Extents = 1,
               groups: int = 1, bias: bool = True) -> LayerBuilder:
        """Convolve (channels, height, width)."""
        return LayerBuilder("conv2d", filters, kernel, stride, padding, dilation, groups, bias)

    @staticmethod
    def conv3d(filters: int, kernel: _Extents, *, stride: _Extents = 1, padding: _Extents = 0, dilation: _Extents = 1,
               groups: int = 1, bias: bool = True) -> LayerBuilder:
        """Convolve (channels, depth, height, width)."""
        return LayerBuilder("conv3d", filters, kernel, stride, padding, dilation, groups, bias)

    @staticmethod
    def max_pool(kernel: _Extents, *, stride: _Extents | None = None, padding: _Extents = 0) -> LayerBuilder:
        """Take the largest element of each window."""
        return LayerBuilder("max_pool", kernel, stride, padding)

    @staticmethod
    def average_pool(kernel: _Extents, *, stride: _Extents | None = None, padding: _Extents = 0) -> LayerBuilder:
        """Take the mean of each window."""
        return LayerBuilder("average_pool", kernel, stride, padding)

    @staticmethod
    def global_average_pool() -> LayerBuilder:
        """Take the mean of each channel."""
        return LayerBuilder("global_average_pool")

    @staticmethod
    def flatten() -> LayerBuilder:
        """Join all axes."""
        return LayerBuilder("flatten")

    @staticmethod
    def batch_norm() -> LayerBuilder:
        """Normalize channels over the batch."""
        return LayerBuilder("batch_norm")

    @staticmethod
    def group_norm(groups: int) -> LayerBuilder:
        """Normalize groups of channels."""
        return LayerBuilder("group_norm", groups)

    @staticmethod
    def layer_norm() -> LayerBuilder:
        """Normalize the last axis by its mean and variance."""
        return LayerBuilder("layer_norm")

    @staticmethod
    def rms_norm() -> LayerBuilder:
        """Divide the last axis by the root of its mean square."""
        return LayerBuilder("rms_norm")

    @staticmethod
    def dropout(probability: float) -> LayerBuilder:
        """Set elements to 0 with a probability, in training."""
        return LayerBuilder("dropout", probability)

    @staticmethod
    def embedding(rows: int, features: int) -> LayerBuilder:
        """Replace integers by rows of a table."""
        return LayerBuilder("embedding", rows, features)

    @staticmethod
    def rnn(hidden: int, *, layers: int = 1, bidirectional: bool = False, bias: bool = True,
            dropout: float = 0) -> LayerBuilder:
        """A simple recurrent network on (sequence, features)."""
        return LayerBuilder("rnn", hidden, layers, bidirectional, bias, dropout)

    @staticmethod
    def lstm(hidden: int, *, layers: int = 1, bidirectional: bool = False, bias: bool = True,
             dropout: float = 0) -> LayerBuilder:
        """An LSTM on (sequence, features)."""
        return LayerBuilder("lstm", hidden, layers, bidirectional, bias, dropout)

    @staticmethod
    def gru(hidden: int, *, layers: int = 1, bidirectional: bool = False, bias: bool = True,
            dropout: float = 0) -> LayerBuilder:
        """A GRU on (sequence, features)."""
        return LayerBuilder("gru", hidden, layers, bidirectional, bias, dropout)

    @staticmethod
    def last_of_sequence() -> LayerBuilder:
        """Take the last element of a sequence."""
        return LayerBuilder("last_of_sequence")

    @staticmethod
    def positional_encoding(positions_max: int) -> LayerBuilder:
        """Add sines and cosines of positions."""
        return LayerBuilder("positional_encoding", positions_max)

    @staticmethod
    def attention(heads: int) -> LayerBuilder:
        """Attention of a sequence to itself."""
        return LayerBuilder("attention", heads)

    @staticmethod
    def transformer_encoder(layers: int, heads: int, *, feed_forward: int = 2048, dropout: float = 0.1,
                            activation: str = "relu", norm_first: bool = False) -> LayerBuilder:
        """Encoder layers of a transformer on (sequence, features)."""
        return LayerBuilder("transformer_encoder", layers, heads, feed_forward, dropout, activation, norm_first)


def _restore_builder(call: tuple[str, tuple[Any, ...]], function: str | None) -> LayerBuilder:
    builder = LayerBuilder(call[0], *call[1])
    return builder if function is None else builder.activation(function)


class Network(NativeModule):
    """Layers in a row with a loss.

    ```python
    network = (nn.Network.with_input_size(784)
               .add_layer(nn.LayerBuilder.dense(512).activation("relu"))
               .add_layer(nn.LayerBuilder.dense(10).activation("softmax"))
               .loss("categorical_cross_entropy")
               .build())
    ```
    """

    def __init__(self, input_shape: _Extents, layers: Sequence[LayerBuilder], loss: str = "mean_squared_error", *,
                 input_type: ArrayDType | None = None, random: Generator | None = None) -> None:
        """Make the layers and check that their shapes fit; `input_shape` has no axis for the batch."""
        self._make(input_shape, tuple(map(copy.copy, layers)), loss, input_type, generator=random)

    def _construct(self, *arguments: Any) -> Any:
        input_shape, layers, *rest = arguments
        return _nn.Network(input_shape, [layer._native for layer in layers], *rest)

    @staticmethod
    def with_input_size(size: int) -> NetworkBuilder:
        """Begin a network whose inputs are (batch, size)."""
        return NetworkBuilder((size,))

    @staticmethod
    def with_input_shape(shape: Sequence[int]) -> NetworkBuilder:
        """Begin a network whose inputs are (batch, shape ...)."""
        return NetworkBuilder(tuple(shape))

    def predict(self, x: Any) -> Array:
        """Apply all layers for inference, on the device of the network, to an array or what `asarray` takes."""
        return self._native.predict(self._inputs(x))  # type: ignore[no-any-return]

    def logits(self, x: Array) -> Array:
        """Apply the layers without a last softmax or sigmoid that the loss contains."""
        return self._native.logits(x, self._random())  # type: ignore[no-any-return]

    def output(self, logits: Array) -> Array:
        """Return what the network returns from what logits() returned."""
        return self._native.output(logits)  # type: ignore[no-any-return]

    def loss(self, logits: Array, targets: Array) -> Array:
        """Return the loss of what logits() returned."""
        return self._native.loss(logits, targets)  # type: ignore[no-any-return]

    def summary(self) -> str:
        """Return a table of the layers with the shapes of their outputs and their numbers of parameters."""
        return self._native.summary()  # type: ignore[no-any-return]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of an input, without the axis of the batch."""
        return self._native.input_shape  # type: ignore[no-any-return]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of an output, without the axis of the batch."""
        return self._native.output_shape  # type: ignore[no-any-return]

    @property
    def loss_function(self) -> str:
        """The name of the loss, such as "CategoricalCrossEntropy"."""
        return self._native.loss_function  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self.summary()

    def _inputs(self, x: Any) -> Array:
        """Inputs of another floating-point type, such as NumPy's float64, in that of the network."""
        made, wanted = array.asarray(x), self._native.input_type
        if made.dtype == wanted or not (array.isdtype(made.dtype, "real floating") and array.isdtype(wanted, "real floating")):
            return made
        return made.astype(wanted) if hasattr(x, "dtype") else array.asarray(x, dtype=wanted)


class NetworkBuilder:
    """Collects the layers of a network; Network.with_input_size() makes one."""

    def __init__(self, input_shape: tuple[int, ...]) -> None:
        """Begin without layers."""
        self._input_shape = input_shape
        self._layers: list[LayerBuilder] = []
        self._loss = "mean_squared_error"
        self._random: Generator | None = None
        self._input_type: ArrayDType | None = None

    def add_layer(self, layer: LayerBuilder) -> Self:
        """Append a copy of a layer."""
        self._layers.append(copy.copy(layer))
        return self

    def loss(self, function: str) -> Self:
        """Set the loss by its name, such as "categorical_cross_entropy"; by default "mean_squared_error"."""
        self._loss = function
        return self

    def random(self, generator: Generator) -> Self:
        """Set the generator that draws the parameters, whose device becomes the network's."""
        self._random = generator
        return self

    def input_type(self, dtype: ArrayDType) -> Self:
        """Set the element type of inputs, by default float32, or int32 when the first layer is an embedding."""
        self._input_type = dtype
        return self

    def build(self) -> Network:
        """Make the layers and check that their shapes fit."""
        return Network(self._input_shape, self._layers, self._loss, input_type=self._input_type, random=self._random)
