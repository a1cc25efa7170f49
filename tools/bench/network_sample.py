"""Random networks beside PyTorch: `python -m tools.bench.network_sample [--seed N] [--networks N]`.

A network is drawn with its layers, widths, batch, loss and optimizer. Both libraries begin with PyTorch's initial weights
and train some steps with the same data, in float64 and float32. Losses and weights in float64 may differ by rounding alone;
in float32 ours may be as far from PyTorch's in float64 as a tolerance, or a few times as far as PyTorch's in float32. Prints
PyTorch's time of a step in float32 over ours and whether they agree, then a line of JSON, in which the slowest are last."""

import argparse
import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools import seed
from tools.bench.array_contest import ROOT, Failed
from tools.bench.network_contest import NetworkContest

STEPS = 10
ROUNDS = 9
TOLERANCES = {"float64": 1e-6, "float32": 1e-3}
MORE_THAN_THEIRS = 4  # times PyTorch's error in float32
ACTIVATIONS = ("relu", "tanh", "gelu", "silu", "sigmoid", "leaky_relu", "elu")

Layer = list[Any]  # its name in network_layers_*.py, and its arguments


@dataclass(frozen=True)
class Network:
    layers: list[Layer]
    inputs: dict[str, Any]  # arguments of network_peer.data
    targets: dict[str, Any]
    loss: str
    optimizer: list[Any]  # the name of a class and its options

    def __str__(self) -> str:
        shape = "×".join(map(str, self.inputs["shape"]))
        return f"{shape}: {', '.join(map(described, self.layers))}; {self.loss}, {self.optimizer[0]}"


def described(layer: Layer) -> str:
    name, *arguments = layer
    if name == "residual":
        return f"x + ({', '.join(map(described, arguments))})"
    return " ".join([name.replace("_", " "), *map(str, arguments)])


class Draw:
    """Draws the parts of networks."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def activation(self) -> Layer:
        return [self.rng.choice(ACTIVATIONS)]

    def dropout(self) -> list[Layer]:
        return [["dropout", 0.0]] if self.chance(0.2) else []

    def group_norm(self, channels: int) -> Layer:
        return ["group_norm", self.rng.choice([count for count in (1, 2, 4, 8) if channels % count == 0]), channels]

    def norm(self, axes: int, channels: int) -> list[Layer]:
        """Of (batch, channels, extents), or nothing."""
        choices = [[], [["batch_norm", axes, channels]], [self.group_norm(channels)]]
        return self.rng.choice(choices if axes else [*choices, [["layer_norm", channels]]])

    def dense_block(self, inputs: int, outputs: int) -> list[Layer]:
        return [["dense", inputs, outputs], *self.norm(0, outputs), self.activation(), *self.dropout()]

    def rows(self, batch: int) -> tuple[list[Layer], dict[str, Any], int]:
        width = self.rng.choice((16, 64, 256, 784))
        inputs, layers = {"shape": [batch, width]}, []
        for _ in range(self.rng.randint(1, 4)):
            next_width = self.rng.choice((32, 64, 128, 256, 512))
            layers += self.dense_block(width, next_width)
            width = next_width
            if self.chance(0.3):
                layers.append(["residual", *self.dense_block(width, width)])
        return layers, inputs, width

    def conv_blocks(self, axes: int, channels: int, extent: int) -> tuple[list[Layer], int, int]:
        """The layers, and the channels and extent after them."""
        layers: list[Layer] = []
        for _ in range(self.rng.randint(1, 3)):
            outputs = self.rng.choice((8, 16, 32, 64))
            groups = self.rng.choice([count for count in (1, 1, 1, 2, channels) if channels % count == outputs % count == 0])
            stride = self.rng.choice((1, 1, 2))
            layers += [[f"conv{axes}d", channels, outputs, self.rng.choice((1, 3, 5)), stride, groups],
                       *self.norm(axes, outputs), self.activation()]
            channels, extent = outputs, (extent - 1) // stride + 1
            if extent >= 4 and self.chance(0.6):
                layers.append([self.rng.choice(("max_pool", "average_pool")), axes, 2])
                extent //= 2
        return layers, channels, extent

    def images(self, batch: int) -> tuple[list[Layer], dict[str, Any], int]:
        channels, extent = self.rng.choice((1, 3)), self.rng.choice((16, 24, 28, 32))
        layers, after, rest = self.conv_blocks(2, channels, extent)
        inputs = {"shape": [batch, channels, extent, extent]}
        if self.chance(0.5):
            return [*layers, ["global_average_pool"]], inputs, after
        return [*layers, ["flatten"]], inputs, after * rest * rest

    def recurrent(self, features: int) -> tuple[Layer, int]:
        hidden, is_bidirectional = self.rng.choice((16, 32, 64, 128)), self.chance(0.3)
        kind, layers = self.rng.choice(("rnn", "lstm", "lstm", "gru", "gru")), self.rng.randint(1, 2)
        return [kind, features, hidden, layers, is_bidirectional], hidden * (1 + is_bidirectional)

    def attention(self, features: int) -> list[Layer]:
        heads = self.rng.choice((1, 2, 4, 8))
        if self.chance(0.5):
            return [["residual", ["attention", features, heads]], ["layer_norm", features]]
        return [["transformer", features, heads, self.rng.choice((1, 2, 4)) * features, self.rng.choice(("relu", "gelu")),
                 self.chance(0.5)]]

    def signals(self, batch: int) -> tuple[list[Layer], dict[str, Any], int]:
        channels, extent = self.rng.choice((1, 2, 8)), self.rng.choice((64, 128, 256))
        layers, after, rest = self.conv_blocks(1, channels, extent)
        inputs = {"shape": [batch, channels, extent]}
        if self.chance(0.5):
            return [*layers, ["flatten"]], inputs, after * rest
        layer, features = self.recurrent(after)
        return [*layers, ["channels_last"], layer, ["last_of_sequence"]], inputs, features

    def sequences(self, batch: int) -> tuple[list[Layer], dict[str, Any], int]:
        steps, features = self.rng.choice((8, 16, 32, 48)), self.rng.choice((16, 32, 64, 128))
        inputs: dict[str, Any] = {"shape": [batch, steps, features]}
        layers: list[Layer] = []
        if self.chance(0.4):
            inputs = {"shape": [batch, steps], "classes": 100}
            layers.append(["embedding", 100, features])
        for _ in range(self.rng.randint(1, 3)):
            kind = self.rng.choice(("recurrent", "recurrent", "attention", "attention", "dense"))
            if kind == "recurrent":
                layer, features = self.recurrent(features)
                layers.append(layer)
            elif kind == "attention":
                layers += self.attention(features)
            else:
                layers += [["dense", features, features], ["layer_norm", features], self.activation()]
        return [*layers, ["last_of_sequence"]], inputs, features

    def loss(self, batch: int) -> tuple[str, dict[str, Any], int]:
        """The loss, its targets and the number of outputs."""
        name = self.rng.choice(("cross_entropy", "cross_entropy", "mse_loss", "huber_loss", "mae_loss",
                                "binary_cross_entropy_with_logits"))
        outputs = self.rng.choice((2, 5, 10))
        if name == "cross_entropy":
            return name, {"shape": [batch], "classes": outputs}, outputs
        return name, {"shape": [batch, outputs], "unit": name.startswith("binary")}, outputs

    def optimizer(self) -> list[Any]:
        return self.rng.choice([
            ["SGD", {"learning_rate": 0.02}],
            ["SGD", {"learning_rate": 0.01, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4}],
            ["Adam", {"learning_rate": 1e-3}], ["AdamW", {"learning_rate": 1e-3, "weight_decay": 0.02}],
            ["RMSprop", {"learning_rate": 1e-3}], ["RMSprop", {"learning_rate": 5e-4, "momentum": 0.9, "centered": True}],
        ])

    def network(self, kind: str) -> Network:
        batch = self.rng.choice((8, 16, 32, 64, 128))
        body: Callable[[int], tuple[list[Layer], dict[str, Any], int]] = getattr(self, kind)
        layers, inputs, features = body(batch)
        loss, targets, outputs = self.loss(batch)
        if self.chance(0.4):
            width = self.rng.choice((32, 64, 128))
            layers, features = [*layers, *self.dense_block(features, width)], width
        return Network([*layers, ["dense", features, outputs]], inputs, targets, loss, self.optimizer())


KINDS = ("rows", "images", "signals", "sequences", "sequences")


def draw(chosen: int, count: int) -> list[Network]:
    drawing = Draw(random.Random(chosen))
    return [drawing.network(KINDS[i % len(KINDS)]) for i in range(count)]


@dataclass(frozen=True)
class Trained:
    """What some steps of a library gave."""

    losses: np.ndarray
    state: dict[str, np.ndarray]

    def error_of_losses(self, truth: "Trained") -> float:
        return float(np.max(np.abs(self.losses - truth.losses) / np.maximum(1, np.abs(truth.losses))))

    def error_of_state(self, truth: "Trained") -> float:
        """The largest relative error of a tensor. Raises KeyError when the names are others."""
        return float(np.max([np.linalg.norm(self.state[name] - value) / max(np.linalg.norm(value), 1e-3)
                             for name, value in truth.state.items()]))


class Sample:
    """Random networks on both sides."""

    def __init__(self, contest: NetworkContest, folder: Path) -> None:
        self.contest, self.initial, self.after = contest, str(folder / "initial.npz"), str(folder / "after.npz")

    def request(self, network: Network, dtype: str = "float32") -> dict[str, Any]:
        return {"prepare": "random", **asdict(network), "dtype": dtype, "weights": self.initial, "seed": 1}

    def trained(self, library: str, network: Network, dtype: str) -> Trained:
        side = self.contest.sides[library]
        side.ask(**self.request(network, dtype))
        losses = np.array(side.ask(call="train", steps=STEPS))
        side.ask(call="save", path=self.after)
        with np.load(self.after) as state:
            return Trained(losses, {name: state[name].astype(np.float64) for name in state.files})

    def problem(self, network: Network) -> str:
        """How ours differs from PyTorch's; "" if it agrees."""
        self.contest.sides["torch"].ask(prepare="initial", layers=network.layers, weights=self.initial, seed=1)
        truth = self.trained("torch", network, "float64")
        if not np.all(np.isfinite(truth.losses)):
            return "PyTorch's losses are not finite"
        theirs = self.trained("torch", network, "float32")
        for dtype, tolerance in TOLERANCES.items():
            ours = self.trained("vectis", network, dtype)
            for what, error, other in (("losses", ours.error_of_losses(truth), theirs.error_of_losses(truth)),
                                       ("weights", ours.error_of_state(truth), theirs.error_of_state(truth))):
                allowed = tolerance if dtype == "float64" else max(tolerance, MORE_THAN_THEIRS * other)
                if not error <= allowed:
                    return f"{what} of {dtype} have the error {error:.1e}, PyTorch's of float32 {other:.1e}"
        return ""

    def ratio(self, network: Network) -> float:
        return self.contest.ratios(ROUNDS, **self.request(network))["torch"]


@dataclass(frozen=True)
class Result:
    network: Network
    ratio: float  # PyTorch's time over ours
    problem: str


def measure(networks: list[Network], threads: int = 1) -> list[Result]:
    """The slowest beside PyTorch last. One that a side cannot train has a problem and the ratio 0."""
    results = []
    with NetworkContest(threads) as contest, tempfile.TemporaryDirectory() as folder:
        sample = Sample(contest, Path(folder))
        for network in networks:
            try:
                problem = sample.problem(network)  # makes the initial weights that both sides read
                result = Result(network, sample.ratio(network), problem)
            except Failed as reason:
                result = Result(network, 0, str(reason)[:300])
            print(f"{result.ratio:8.2f}  {result.problem or 'agrees'}  {network}", flush=True)
            results.append(result)
    return sorted(results, key=lambda result: -result.ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=seed.chosen(ROOT))
    parser.add_argument("--networks", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    found = measure(draw(arguments.seed, arguments.networks), arguments.threads)
    print(json.dumps({"seed": arguments.seed, "agreeing": sum(not result.problem for result in found),
                      "ratios": [[str(result.network), result.ratio] for result in found]}))


if __name__ == "__main__":
    main()
