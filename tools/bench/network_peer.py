"""One library that trains networks: `python -m tools.bench.network_peer LIBRARY THREADS`, with the requests of array_peer.

A program is a step of training. Those of PyTorch alone (mlp, lstm, cnn, transformer) stand beside networks_bench; `random`
is a network of network_sample.py."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tools.bench.array_peer import Program, serve

BATCHES = 3  # of the data of a random architecture, in turns


class Training:
    """A network with its data. A call is a step; a library defines `step` and `state`."""

    def __init__(self, inputs: np.ndarray, targets: np.ndarray) -> None:
        self.batches = [(self.array(x), self.array(y)) for x, y in zip(inputs, targets, strict=True)]
        self.steps = 0

    def __call__(self) -> Any:
        batch = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        return self.step(*batch)

    def train(self, steps: int) -> list[float]:
        """The losses of some steps."""
        return [self().item() for _ in range(steps)]

    def save(self, path: str) -> bool:
        np.savez(path, **self.state())
        return True

    def array(self, values: np.ndarray) -> Any:
        raise NotImplementedError

    def step(self, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def state(self) -> dict[str, np.ndarray]:
        raise NotImplementedError


def data(inputs: dict[str, Any], targets: dict[str, Any], dtype: str, seed: int) -> list[np.ndarray]:
    """Inputs and targets, the first axis counts the batches: class numbers where there are `classes`, else reals."""
    generator = np.random.default_rng(seed)

    def drawn(shape: list[int], classes: int = 0, unit: bool = False) -> np.ndarray:
        if classes:
            return generator.integers(0, classes, (BATCHES, *shape))
        values = generator.random((BATCHES, *shape)) if unit else generator.standard_normal((BATCHES, *shape))
        return values.astype(dtype)

    return [drawn(**inputs), drawn(**targets)]


class VectisTraining(Training):
    def __init__(self, layers: list[Any], loss: str, optimizer: list[Any], dtype: str, weights: str,
                 values: list[np.ndarray]) -> None:
        import vectis.array as xp
        from tools.bench.network_layers_vectis import sequential
        from vectis import nn
        self.xp = xp
        super().__init__(*values)
        self.model = sequential(layers).astype(dtype)
        self.model.load_state_dict(dict(np.load(weights)))
        compare = getattr(nn, loss)
        self.gradient = nn.value_and_grad(self.model, lambda x, y: compare(self.model(x), y))
        kind, options = optimizer
        self.optimizer = getattr(nn, kind)(**options)

    def array(self, values: np.ndarray) -> Any:
        return self.xp.asarray(values).eval()

    def step(self, x: Any, y: Any) -> Any:
        loss, gradients = self.gradient(x, y)
        self.xp.eval(loss, *gradients.values())
        self.optimizer.update(self.model, gradients)
        return loss

    def state(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value) for name, value in self.model.state_dict().items()}


class Vectis:
    def __init__(self, threads: int) -> None:
        import vectis
        vectis.set_threads(threads)

    def random(self, layers: list[Any], inputs: dict[str, Any], targets: dict[str, Any], loss: str, optimizer: list[Any],
               dtype: str, weights: str, seed: int) -> Training:
        return VectisTraining(layers, loss, optimizer, dtype, weights, data(inputs, targets, dtype, seed))


# By the names of ours.
TORCH_LOSSES = {"mae_loss": "l1_loss"}
TORCH_OPTIONS = {"learning_rate": "lr", "epsilon": "eps"}


class TorchTraining(Training):
    def __init__(self, layers: list[Any], loss: str, optimizer: list[Any], dtype: str, weights: str,
                 values: list[np.ndarray]) -> None:
        import torch
        from tools.bench.network_layers_torch import sequential
        self.torch = torch
        super().__init__(*values)
        self.model = sequential(layers).to(getattr(torch, dtype))
        self.model.load_state_dict({name: torch.from_numpy(value) for name, value in np.load(weights).items()})
        self.loss = getattr(torch.nn.functional, TORCH_LOSSES.get(loss, loss))
        kind, options = optimizer
        renamed = {TORCH_OPTIONS.get(name, name): value for name, value in options.items()}
        self.optimizer = getattr(torch.optim, kind)(self.model.parameters(), **renamed)

    def array(self, values: np.ndarray) -> Any:
        return self.torch.from_numpy(values)

    def step(self, x: Any, y: Any) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def state(self) -> dict[str, np.ndarray]:
        return {name: value.numpy() for name, value in self.model.state_dict().items()}


class Torch:
    def __init__(self, threads: int) -> None:
        import torch
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        self.torch = torch

    def initial(self, layers: list[Any], weights: str, seed: int) -> Program:
        """Writes the initial weights of layers."""
        from tools.bench.network_layers_torch import sequential
        self.torch.manual_seed(seed)
        np.savez(weights, **{name: value.numpy() for name, value in sequential(layers).state_dict().items()})
        return lambda: None

    def random(self, layers: list[Any], inputs: dict[str, Any], targets: dict[str, Any], loss: str, optimizer: list[Any],
               dtype: str, weights: str, seed: int) -> Training:
        return TorchTraining(layers, loss, optimizer, dtype, weights, data(inputs, targets, dtype, seed))

    def step_of(self, module: Any, loss: Callable[[Any], Any], is_updated: bool = True) -> Program:
        """Forward, loss, backward and, if it is updated, Adam."""
        optimizer = self.torch.optim.Adam(module.parameters())

        def step() -> None:
            optimizer.zero_grad()
            loss(module).backward()
            if is_updated:
                optimizer.step()
        return step

    def classified(self, module: Any, *shape: int) -> Program:
        """Trains a module for ten classes with inputs of a shape."""
        x, y = self.torch.randn(*shape), self.torch.randint(0, 10, shape[:1])
        return self.step_of(module, lambda module: self.torch.nn.functional.cross_entropy(module(x), y))

    def mlp(self) -> Program:
        nn = self.torch.nn
        module = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
        return self.classified(module, 128, 784)

    def lstm(self, dtype: str = "float32") -> Program:
        """Forward and backward alone."""
        chosen = getattr(self.torch, dtype)
        x = self.torch.randn(64, 32, 256).to(chosen)
        module = self.torch.nn.LSTM(256, 256).to(chosen)
        return self.step_of(module, lambda module: module(x)[0].square().mean(), is_updated=False)

    def lstm16(self) -> Program:
        return self.lstm("bfloat16")

    def cnn(self) -> Program:
        nn = self.torch.nn
        module = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                               nn.Flatten(), nn.Linear(32 * 49, 10))
        return self.classified(module, 128, 1, 28, 28)

    def transformer(self) -> Program:
        x = self.torch.randn(16, 128, 256)
        module = self.torch.nn.TransformerEncoderLayer(256, 8, 1024, 0, batch_first=True)
        return self.step_of(module, lambda module: module(x).square().mean())


if __name__ == "__main__":
    serve({"vectis": Vectis, "torch": Torch})
