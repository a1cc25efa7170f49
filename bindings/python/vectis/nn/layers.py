"""Layers: the library's, as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .._array import Array, Generator
from .module import Module
from .native import NativeModule

_Extents: TypeAlias = int | Sequence[int]


class Dense(NativeModule):
    """Fully connected: x @ weight.T + bias along the last axis, PyTorch's Linear."""

    weight: Array  #: (outputs, inputs)
    bias: Array | None  #: (outputs,)

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True, random: Generator | None = None) -> None:
        self._make(inputs, outputs, bias, generator=random)


class _Convolution(NativeModule):
    weight: Array  #: (outputs, inputs / groups, kernel ...)
    bias: Array | None  #: (outputs,)

    def __init__(self, inputs: int, outputs: int, kernel: _Extents, *, stride: _Extents = 1, padding: _Extents = 0,
                 dilation: _Extents = 1, groups: int = 1, bias: bool = True, random: Generator | None = None) -> None:
        self._make(inputs, outputs, kernel, stride, padding, dilation, groups, bias, generator=random)


class Conv1d(_Convolution):
    """Cross-correlation of (batch, channels, extent). A kernel of one number holds for all axes."""


class Conv2d(_Convolution):
    """Cross-correlation of (batch, channels, height, width). A kernel of one number holds for all axes."""


class Conv3d(_Convolution):
    """Cross-correlation of (batch, channels, depth, height, width). A kernel of one number holds for all axes."""


class MaxPool(NativeModule):
    """The largest element of each window, over the axes after batch and channels."""

    def __init__(self, kernel: _Extents, *, stride: _Extents | None = None, padding: _Extents = 0) -> None:
        self._make(kernel, stride, padding, draws=False)


class AveragePool(NativeModule):
    """The mean of each window, in which padding counts as zeros."""

    def __init__(self, kernel: _Extents, *, stride: _Extents | None = None, padding: _Extents = 0) -> None:
        self._make(kernel, stride, padding, draws=False)


class GlobalAveragePool(NativeModule):
    """The mean of each channel: (batch, channels, extents ...) becomes (batch, channels)."""

    def __init__(self) -> None:
        self._make(draws=False)


class Flatten(NativeModule):
    """Joins all axes from `first_axis` on."""

    def __init__(self, first_axis: int = 1) -> None:
        self._make(first_axis, draws=False)


class BatchNorm(NativeModule):
    """Normalizes each channel by the mean and variance of the batch, for inference by running ones."""

    weight: Array | None
    bias: Array | None
    running_mean: Array
    running_var: Array
    num_batches_tracked: Array

    def __init__(self, channels: int, *, epsilon: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 random: Generator | None = None) -> None:
        self._make(channels, epsilon, momentum, affine, generator=random)


class LayerNorm(NativeModule):
    """Normalizes the last axes, whose extents are `shape`, by their mean and variance."""

    weight: Array | None
    bias: Array | None

    def __init__(self, shape: _Extents, *, epsilon: float = 1e-5, affine: bool = True,
                 random: Generator | None = None) -> None:
        self._make(shape, epsilon, affine, generator=random)


class RMSNorm(NativeModule):
    """Divides the last axes, whose extents are `shape`, by the root of their mean square."""

    weight: Array | None

    def __init__(self, shape: _Extents, *, epsilon: float = 1e-5, affine: bool = True,
                 random: Generator | None = None) -> None:
        self._make(shape, epsilon, affine, generator=random)


class GroupNorm(NativeModule):
    """Normalizes groups of channels by their mean and variance."""

    weight: Array | None
    bias: Array | None

    def __init__(self, groups: int, channels: int, *, epsilon: float = 1e-5, affine: bool = True,
                 random: Generator | None = None) -> None:
        self._make(groups, channels, epsilon, affine, generator=random)


class Dropout(NativeModule):
    """In training, sets elements to 0 with a probability and scales the others."""

    def __init__(self, probability: float = 0.5) -> None:
        self._make(probability, draws=False)


class Embedding(NativeModule):
    """A row of a table for each integer. The row `padding_index` starts as zeros and gets no gradient."""

    weight: Array  #: (rows, features)

    def __init__(self, rows: int, features: int, *, padding_index: int | None = None,
                 random: Generator | None = None) -> None:
        self._make(rows, features, padding_index, generator=random)


class PositionalEncoding(NativeModule):
    """Adds sines and cosines of the position to (batch, sequence, features)."""

    def __init__(self, features: int, positions_max: int, *, dropout: float = 0) -> None:
        self._make(features, positions_max, dropout, draws=False)

    def __call__(self, x: Array, first: int = 0) -> Array:
        """Apply the layer to a sequence whose first element has the position `first`."""
        result: Array = self._native.forward_from(x, first, self._random())
        return result


class PositionalEmbedding(NativeModule):
    """Adds a learned row for each position to (batch, sequence, features)."""

    weight: Array  #: (positions, features)

    def __init__(self, features: int, positions_max: int, *, random: Generator | None = None) -> None:
        self._make(features, positions_max, generator=random)

    def __call__(self, x: Array, first: int = 0) -> Array:
        """Apply the layer to a sequence whose first element has the position `first`."""
        result: Array = self._native.forward_from(x, first, self._random())
        return result


class LastOfSequence(NativeModule):
    """The last output of a sequence: (batch, sequence, features) becomes (batch, features)."""

    def __init__(self) -> None:
        self._make(draws=False)


class _Recurrent(NativeModule):
    def _make_recurrent(self, inputs: int, hidden: int, layers: int, bidirectional: bool, batch_first: bool, bias: bool,
                        dropout: float, relu: bool, random: Generator | None) -> None:
        self._make(inputs, hidden, layers, bidirectional, batch_first, bias, dropout, relu, generator=random)


class RNN(_Recurrent):
    """The simple recurrent network, of tanh or ReLU. Sequences are (sequence, batch, features), unless batch_first."""

    def __init__(self, inputs: int, hidden: int, *, layers: int = 1, bidirectional: bool = False,
                 batch_first: bool = False, bias: bool = True, dropout: float = 0, relu: bool = False,
                 random: Generator | None = None) -> None:
        self._make_recurrent(inputs, hidden, layers, bidirectional, batch_first, bias, dropout, relu, random)

    def run(self, x: Array, hidden: Array | None = None) -> tuple[Array, Array]:
        """Return the outputs, and the state after the sequence, beginning with a state of zeros or the given one."""
        output, last, _ = self._native.run(x, hidden, None, self._random())
        return output, last


class GRU(_Recurrent):
    """Gated recurrent units. Sequences are (sequence, batch, features), unless batch_first."""

    def __init__(self, inputs: int, hidden: int, *, layers: int = 1, bidirectional: bool = False,
                 batch_first: bool = False, bias: bool = True, dropout: float = 0,
                 random: Generator | None = None) -> None:
        self._make_recurrent(inputs, hidden, layers, bidirectional, batch_first, bias, dropout, False, random)

    def run(self, x: Array, hidden: Array | None = None) -> tuple[Array, Array]:
        """Return the outputs, and the state after the sequence, beginning with a state of zeros or the given one."""
        output, last, _ = self._native.run(x, hidden, None, self._random())
        return output, last


class LSTM(_Recurrent):
    """Long short-term memory. Sequences are (sequence, batch, features), unless batch_first."""

    def __init__(self, inputs: int, hidden: int, *, layers: int = 1, bidirectional: bool = False,
                 batch_first: bool = False, bias: bool = True, dropout: float = 0,
                 random: Generator | None = None) -> None:
        self._make_recurrent(inputs, hidden, layers, bidirectional, batch_first, bias, dropout, False, random)

    def run(self, x: Array, state: tuple[Array, Array] | None = None) -> tuple[Array, tuple[Array, Array]]:
        """Return the outputs, and the hidden and cell state after the sequence, beginning with zeros or `state`."""
        hidden, cell = (None, None) if state is None else state
        output, last_hidden, last_cell = self._native.run(x, hidden, cell, self._random())
        return output, (last_hidden, last_cell)


class Sequential(Module):
    """Modules one after the other, named "0", "1" and so on."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> Sequential:
        """Append a module and return this one."""
        setattr(self, str(len(self)), module)
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self.named_children())

    def __getitem__(self, index: int) -> Module:
        return [module for _, module in self.named_children()][index]

    def __call__(self, x: Array) -> Array:
        """Apply the modules in order."""
        for _, module in self.named_children():
            x = module(x)
        return x


class Activation(NativeModule):
    """An activation function by its name, such as "relu" or "leaky_relu"."""

    def __init__(self, function: str = "relu") -> None:
        self._make(function, draws=False)


class LeakyReLU(NativeModule):
    """Leaky ReLU: x, or negative_slope * x where it is negative."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        self._make(negative_slope, draws=False)


class ELU(NativeModule):
    """Exponential linear unit: x, or alpha * (exp(x) - 1) where it is negative."""

    def __init__(self, alpha: float = 1) -> None:
        self._make(alpha, draws=False)


class _Function(Activation):
    """An activation function without arguments: the name of the class in this file is that of the function."""

    def __init__(self) -> None:
        super().__init__(self._library_kinds()[0].__name__)

    def _arguments_text(self) -> str:
        return ""


class ReLU(_Function):
    """Rectified linear unit: max(x, 0)."""


class ReLU6(_Function):
    """ReLU of at most 6: min(max(x, 0), 6)."""


class SELU(_Function):
    """The scaled exponential linear unit."""


class Sigmoid(_Function):
    """Logistic function: 1 / (1 + exp(-x))."""


class HardSigmoid(_Function):
    """Piecewise linear sigmoid: min(max(x / 6 + 1/2, 0), 1)."""


class Tanh(_Function):
    """The hyperbolic tangent."""


class GELU(_Function):
    """Gaussian error linear unit: x * (1 + erf(x / sqrt 2)) / 2."""


class SiLU(_Function):
    """Sigmoid linear unit, also called Swish: x * sigmoid(x)."""


class HardSwish(_Function):
    """Piecewise Swish: x * hard_sigmoid(x)."""


class Mish(_Function):
    """Mish: x * tanh(softplus(x))."""


class Softplus(_Function):
    """Smooth ReLU: log(1 + exp(x))."""


class Softsign(_Function):
    """Softsign: x / (1 + |x|)."""


class Softmax(_Function):
    """Probabilities: exp(x) divided by its sum along the last axis."""


class LogSoftmax(_Function):
    """The logarithm of Softmax."""
