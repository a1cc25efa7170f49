"""The layers of random networks (network_sample.py) in PyTorch. State dicts have the names of ours."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn


class LastOfSequence(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[:, -1]


class GlobalAveragePool(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2).mean(2)


class ChannelsLast(nn.Module):
    """A signal (batch, channels, extent) as a sequence."""

    def forward(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


class Residual(nn.Module):
    def __init__(self, layers: Sequence[Sequence[Any]]) -> None:
        super().__init__()
        self.body = sequential(layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class Rnn(nn.RNN):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x)[0]


class Lstm(nn.LSTM):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x)[0]


class Gru(nn.GRU):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x)[0]


class SelfAttention(nn.MultiheadAttention):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x, x, x, need_weights=False)[0]


def recurrent(kind: type[nn.RNNBase]) -> Callable[..., nn.Module]:
    return lambda inputs, hidden, layers, bidirectional: kind(inputs, hidden, layers, bidirectional=bidirectional,
                                                              batch_first=True)


def convolution(kind: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    return lambda inputs, outputs, kernel, stride, groups: kind(inputs, outputs, kernel, stride, kernel // 2, groups=groups)


LAYERS: dict[str, Callable[..., nn.Module]] = {
    "dense": nn.Linear,
    "conv1d": convolution(nn.Conv1d),
    "conv2d": convolution(nn.Conv2d),
    "max_pool": lambda axes, kernel: (nn.MaxPool1d if axes == 1 else nn.MaxPool2d)(kernel),
    "average_pool": lambda axes, kernel: (nn.AvgPool1d if axes == 1 else nn.AvgPool2d)(kernel),
    "global_average_pool": GlobalAveragePool,
    "flatten": nn.Flatten,
    "channels_last": ChannelsLast,
    "batch_norm": lambda axes, channels: (nn.BatchNorm2d if axes == 2 else nn.BatchNorm1d)(channels),
    "layer_norm": nn.LayerNorm,
    "group_norm": nn.GroupNorm,
    "dropout": nn.Dropout,
    "embedding": nn.Embedding,
    "rnn": recurrent(Rnn),
    "lstm": recurrent(Lstm),
    "gru": recurrent(Gru),
    "attention": lambda features, heads: SelfAttention(features, heads, batch_first=True),
    "transformer": lambda features, heads, inner, activation, norm_first: nn.TransformerEncoderLayer(
        features, heads, inner, 0, activation, batch_first=True, norm_first=norm_first),
    "last_of_sequence": LastOfSequence,
    "residual": lambda *layers: Residual(layers),
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "sigmoid": nn.Sigmoid,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
}


def sequential(layers: Sequence[Sequence[Any]]) -> nn.Module:
    return nn.Sequential(*(LAYERS[name](*arguments) for name, *arguments in layers))
