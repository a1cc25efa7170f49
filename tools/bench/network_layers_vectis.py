"""The layers of random networks (network_sample.py) in vectis.nn."""

from collections.abc import Callable, Sequence
from typing import Any

import vectis.array as xp
from vectis import nn


class ChannelsLast(nn.Module):
    """A signal (batch, channels, extent) as a sequence."""

    def __call__(self, x: xp.Array) -> xp.Array:
        return xp.permute_dims(x, (0, 2, 1))


class Residual(nn.Module):
    def __init__(self, layers: Sequence[Sequence[Any]]) -> None:
        super().__init__()
        self.body = sequential(layers)

    def __call__(self, x: xp.Array) -> xp.Array:
        return x + self.body(x)


def recurrent(kind: type) -> Callable[..., nn.Module]:
    return lambda inputs, hidden, layers, bidirectional: kind(inputs, hidden, layers=layers, bidirectional=bidirectional,
                                                              batch_first=True)


def convolution(kind: type) -> Callable[..., nn.Module]:
    return lambda inputs, outputs, kernel, stride, groups: kind(inputs, outputs, kernel, stride=stride, padding=kernel // 2,
                                                                groups=groups)


LAYERS: dict[str, Callable[..., nn.Module]] = {
    "dense": nn.Dense,
    "conv1d": convolution(nn.Conv1d),
    "conv2d": convolution(nn.Conv2d),
    "max_pool": lambda axes, kernel: nn.MaxPool([kernel] * axes),
    "average_pool": lambda axes, kernel: nn.AveragePool([kernel] * axes),
    "global_average_pool": nn.GlobalAveragePool,
    "flatten": nn.Flatten,
    "channels_last": ChannelsLast,
    "batch_norm": lambda axes, channels: nn.BatchNorm(channels),
    "layer_norm": nn.LayerNorm,
    "group_norm": nn.GroupNorm,
    "dropout": nn.Dropout,
    "embedding": nn.Embedding,
    "rnn": recurrent(nn.RNN),
    "lstm": recurrent(nn.LSTM),
    "gru": recurrent(nn.GRU),
    "attention": nn.MultiHeadAttention,
    "transformer": lambda features, heads, inner, activation, norm_first: nn.TransformerEncoderLayer(
        features, heads, feed_forward=inner, dropout=0, activation=activation, norm_first=norm_first),
    "last_of_sequence": nn.LastOfSequence,
    "residual": lambda *layers: Residual(layers),
    **{name: lambda name=name: nn.Activation(name)  # type: ignore[misc]
       for name in ("relu", "tanh", "gelu", "silu", "sigmoid", "leaky_relu", "elu")},
}


def sequential(layers: Sequence[Sequence[Any]]) -> nn.Module:
    return nn.Sequential(*(LAYERS[name](*arguments) for name, *arguments in layers))
