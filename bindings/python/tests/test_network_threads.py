"""Threads that use a module while another thread trains, evaluates or differentiates it."""

from __future__ import annotations

import copy
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import vectis
import vectis.array as xp
import vectis.nn as nn

WAIT = 60.0  # seconds that no step of these tests takes
SHAPES = {"0.weight": (8, 4), "0.bias": (8,), "2.weight": (2, 8), "2.bias": (2,)}
X, Y = np.ones((8, 4), np.float32), np.zeros((8, 2), np.float32)


def make_network() -> nn.Network:
    return (nn.Network.with_input_size(4).add_layer(nn.LayerBuilder.dense(8).activation("relu"))
            .add_layer(nn.LayerBuilder.dense(2)).build())


def make_module() -> nn.Module:
    return nn.Sequential(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))


MAKERS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "network": (make_network, {}), "module": (make_module, {"loss": nn.regression_loss})}

# Uses of a module that read it, and those that change it.
READS: dict[str, Callable[[Any], object]] = {
    "call": lambda module: module(xp.asarray(X)),
    "state_dict": lambda module: module.state_dict(),
    "parameters": lambda module: module.parameters(),
    "attribute": lambda module: getattr(module, "0").weight,
    "copy": copy.deepcopy,
}
CHANGES: dict[str, Callable[[Any], object]] = {
    "load_state_dict": lambda module: module.load_state_dict({"0.bias": np.zeros(8)}, strict=False),
    "astype": lambda module: module.astype("float32"),
    "to": lambda module: module.to("cpu"),
    "set": lambda module: setattr(getattr(module, "0"), "bias", xp.zeros(8)),
    "gradients": lambda module: nn.value_and_grad(module, lambda: xp.sum(module(xp.asarray(X))))(),
    "update": lambda module: nn.SGD().update(module, {name: xp.zeros(shape) for name, shape in SHAPES.items()}),
}


class Pause(nn.TrainingObserver):
    """Stops the training thread after its first batch, where the training holds no GIL, until resume() is called."""

    def __init__(self) -> None:
        self.paused, self.resumed = threading.Event(), threading.Event()

    def on_batch(self, progress: nn.BatchProgress) -> None:
        self.paused.set()
        assert self.resumed.wait(WAIT)


@contextmanager
def running(work: Callable[[], object], paused: threading.Event, resumed: threading.Event) -> Iterator[None]:
    """Runs work in a thread, until it pauses, and to its end afterwards. What it raises is raised here."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001: raised below
            failures.append(error)
            paused.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert paused.wait(WAIT)
    try:
        yield
    finally:
        resumed.set()
        thread.join(WAIT)
    assert not thread.is_alive()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_module_in_training_refuses_other_threads(kind: str) -> None:
    make, arguments = MAKERS[kind]
    module, pause = make(), Pause()
    predictions = np.asarray(module(xp.asarray(X)))
    config = nn.TrainingConfig(batch_size=4, max_epochs=1, observers=[pause])
    with running(lambda: nn.train(module, X, Y, config, **arguments), pause.paused, pause.resumed):
        uses = {**READS, **CHANGES, "train": lambda _: nn.train(module, X, Y, **arguments),
                "evaluate": lambda _: nn.evaluate(module, X, Y, **arguments)}
        for name, use in uses.items():
            with pytest.raises(vectis.InvalidInputError, match=r"is being trained by another thread; wait.*deepcopy"):
                use(module)
                pytest.fail(f"{name} was not refused")
        assert module.training, "a refused training leaves the mode of the module alone"
    assert not np.array_equal(np.asarray(module(xp.asarray(X))), predictions), "the training went on"
    for use in (*READS.values(), *CHANGES.values()):
        use(module)


@pytest.mark.parametrize("kind", MAKERS)
def test_what_training_calls_may_use_the_module(kind: str) -> None:
    make, arguments = MAKERS[kind]
    module = make()
    done: list[Any] = []

    class Use(nn.TrainingObserver):
        def on_batch(self, progress: nn.BatchProgress) -> None:
            for name, use in {**READS, **CHANGES}.items():
                use(module)
                done.append(name)

        def on_epoch(self, epoch: nn.Epoch, epochs: int) -> None:
            done.append(nn.evaluate(module, X, Y, **arguments)[0])

    nn.train(module, X, Y, nn.TrainingConfig(batch_size=8, max_epochs=1, observers=[Use()]), **arguments)
    assert done[:-1] == [*READS, *CHANGES] and np.isfinite(done[-1])


@pytest.mark.parametrize("kind", MAKERS)
def test_a_module_in_evaluation_is_read_and_not_changed(kind: str) -> None:
    make, arguments = MAKERS[kind]
    module = make().eval()
    paused, resumed = threading.Event(), threading.Event()

    class Rows(nn.Dataset):
        def __len__(self) -> int:
            return 8

        def examples(self, indices: list[int]) -> tuple[np.ndarray, np.ndarray]:
            paused.set()
            assert resumed.wait(WAIT)
            return X[indices], Y[indices]

    with running(lambda: nn.evaluate(module, Rows(), **arguments), paused, resumed):
        for use in READS.values():
            use(module)
        for name, use in {**CHANGES, "train": lambda _: nn.train(module, X, Y, **arguments)}.items():
            with pytest.raises(vectis.InvalidInputError, match="is being evaluated by another thread"):
                use(module)
                pytest.fail(f"{name} was not refused")


def test_threads_evaluate_one_module() -> None:
    module, paused, resumed = make_module(), threading.Event(), threading.Event()

    def loss(predictions: xp.Array, targets: xp.Array) -> xp.Array:
        paused.set()
        assert resumed.wait(WAIT)
        return nn.mse_loss(predictions, targets)

    with running(lambda: nn.evaluate(module, X, Y, loss=loss), paused, resumed):
        nn.evaluate(module, X, Y, loss=nn.mse_loss)
        with pytest.raises(vectis.InvalidInputError, match="is being evaluated by another thread"):
            nn.train(module, X, Y, loss=nn.mse_loss)


def test_a_module_that_is_differentiated_is_read_and_not_changed() -> None:
    module = make_module().eval()
    paused, resumed = threading.Event(), threading.Event()

    def loss() -> xp.Array:
        paused.set()
        assert resumed.wait(WAIT)
        return xp.sum(module(xp.asarray(X)))

    with running(nn.value_and_grad(module, loss), paused, resumed):
        module(xp.asarray(X))
        for use in (CHANGES["set"], CHANGES["gradients"], lambda _: nn.train(module, X, Y, loss=nn.mse_loss)):
            with pytest.raises(vectis.InvalidInputError, match="is being differentiated by another thread"):
                use(module)
    nn.train(module, X, Y, nn.TrainingConfig(max_epochs=1), loss=nn.mse_loss)


def test_a_module_is_free_after_training_has_failed() -> None:
    module = make_network()

    class Failing(nn.TrainingObserver):
        def on_epoch(self, epoch: nn.Epoch, epochs: int) -> None:
            raise KeyError("observer")

    with pytest.raises(KeyError):
        nn.train(module, X, Y, nn.TrainingConfig(observers=[Failing()]))
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(module.predict(X).shape))
    thread.start()
    thread.join()
    assert results == [(8, 2)]


def test_threads_that_train_one_network_end_with_errors_or_results() -> None:
    network, outcomes = make_network(), []

    def work() -> None:
        for _ in range(20):
            try:
                outcomes.append(len(nn.train(network, X, Y, nn.TrainingConfig(max_epochs=5, batch_size=2, prefetch=0))))
            except vectis.InvalidInputError as error:
                outcomes.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 60 and 5 in outcomes
    assert all(outcome == 5 or "trained by another thread" in outcome for outcome in outcomes)
    assert np.isfinite(np.asarray(network.predict(X))).all()


def test_threads_do_not_share_an_optimizer_in_training() -> None:
    first, second, optimizer, pause = make_network(), make_network(), nn.Adam(0.5), Pause()
    gradients = {name: xp.zeros(shape) for name, shape in SHAPES.items()}
    config = nn.TrainingConfig(max_epochs=1, optimizer=optimizer, observers=[pause])
    with running(lambda: nn.train(first, X, Y, config), pause.paused, pause.resumed):
        for use in (lambda: nn.train(second, X, Y, nn.TrainingConfig(optimizer=optimizer)), optimizer.state_dict,
                    lambda: optimizer.learning_rate, lambda: optimizer.update(second, gradients),
                    lambda: setattr(optimizer, "learning_rate", 1.0), lambda: optimizer.load_state_dict({})):
            with pytest.raises(vectis.InvalidInputError, match="another thread is training with this optimizer"):
                use()
        nn.train(second, X, Y, nn.TrainingConfig(max_epochs=1))
    assert optimizer.learning_rate == 0.5 and optimizer.state_dict()


def test_what_training_calls_may_use_its_optimizer() -> None:
    optimizer, rates = nn.SGD(0.5), []

    class Read(nn.TrainingObserver):
        def on_epoch(self, epoch: nn.Epoch, epochs: int) -> None:
            rates.append(optimizer.learning_rate)
            nn.train(make_network(), X, Y, nn.TrainingConfig(max_epochs=1, optimizer=optimizer))

    nn.train(make_network(), X, Y, nn.TrainingConfig(max_epochs=2, optimizer=optimizer, observers=[Read()]))
    assert rates == [0.5, 0.5]


def test_trainings_on_threads_may_share_a_log() -> None:
    rows = io.StringIO()
    config = nn.TrainingConfig(max_epochs=50, batch_size=4, observers=[nn.json_log(rows)])
    threads = [threading.Thread(target=lambda: nn.train(make_network(), X, Y, config)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = sorted(json.loads(line)["epoch"] for line in rows.getvalue().splitlines())
    assert numbers == sorted(list(range(50)) * 3)
