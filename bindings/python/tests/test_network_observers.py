"""Observers of vectis.nn's training: what they see and assign, and the files of logs and progress bars."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vectis
import vectis.array as xp
import vectis.nn as nn

X, Y = np.ones((8, 4), np.float32), np.zeros((8, 2), np.float32)


def make_network() -> nn.Network:
    return nn.Network.with_input_size(4).add_layer(nn.LayerBuilder.dense(2)).build()


# --- Arrays -----------------------------------------------------------------------------------------------------------


class Numbers(nn.Module):
    """An array, a layer and a buffer; the gradient of both parameters is -1, so that SGD(1) adds 1 for each update."""

    def __init__(self) -> None:
        super().__init__()
        self.array = xp.zeros(1)
        self.layer = nn.Dense(1, 1, bias=False)
        self.layer.weight = xp.zeros((1, 1))
        self.register_buffer("batches", xp.zeros(()))

    def step(self, x: xp.Array) -> xp.Array:
        self.batches = self.batches + 1
        return -xp.sum(self.array) - xp.sum(self.layer.weight)

    def numbers(self) -> tuple[float, float]:
        return self.array.item(), self.layer.weight.item()


def train(model: Numbers, observer: nn.TrainingObserver, batches: int, **options: Any) -> nn.History:
    config = nn.TrainingConfig(batch_size=1, optimizer=nn.SGD(1.0), observers=[observer], **{"max_epochs": 1, **options})
    return nn.train(model, nn.TensorDataset(np.zeros((batches, 1), np.float32)), config=config, step=model.step)


class Watch(nn.TrainingObserver):
    """Records what a function returns at each call."""

    def __init__(self, read: Any) -> None:
        self.read = read
        self.seen: dict[str, list[Any]] = {"batch": [], "epoch": [], "end": []}

    def on_batch(self, progress: nn.BatchProgress) -> None:
        self.seen["batch"].append(self.read())

    def on_epoch(self, epoch: nn.Epoch, epochs: int) -> None:
        self.seen["epoch"].append(self.read())

    def on_end(self) -> None:
        self.seen["end"].append(self.read())


def test_observers_see_arrays_as_they_are() -> None:
    model = Numbers()
    watch = Watch(model.numbers)
    train(model, watch, batches=3, max_epochs=2)
    assert watch.seen["batch"] == [(i, i) for i in range(1, 7)]
    assert watch.seen["epoch"] == [(3, 3), (6, 6)] and watch.seen["end"] == [(6, 6)]


def test_on_end_sees_the_best_epoch() -> None:
    model = Numbers()
    watch = Watch(model.numbers)
    rising = iter([0.0, 0.0, 100.0, 200.0, 300.0])
    config = nn.TrainingConfig(batch_size=1, max_epochs=5, optimizer=nn.SGD(1.0), observers=[watch],
                               early_stopping=nn.EarlyStopping(patience=1))
    nn.train(model, nn.TensorDataset(np.zeros((1, 1), np.float32)), config=config, step=lambda x: model.step(x) + next(rising))
    assert watch.seen["end"] == [model.numbers()] and model.numbers() == (2, 2)
    assert watch.seen["epoch"][-1] == (4, 4), "the epochs after the best one"


def test_training_continues_with_what_observers_assign() -> None:
    model = Numbers()

    class Clamp(nn.TrainingObserver):
        def on_batch(self, progress: nn.BatchProgress) -> None:
            if progress.batch <= 3:
                model.array = xp.zeros(1)
                model.layer.weight = xp.zeros((1, 1))
                model.batches = xp.asarray(10.0)

    train(model, Clamp(), batches=5)
    assert model.numbers() == (2, 2) and model.batches.item() == 12

    class Load(nn.TrainingObserver):
        def on_epoch(self, epoch: nn.Epoch, epochs: int) -> None:
            if epoch.number == 0:
                model.load_state_dict({"array": np.full(1, 100.0), "layer.weight": np.full((1, 1), 100.0)}, strict=False)

        def on_end(self) -> None:
            model.array = model.array + 0.5

    train(model, Load(), batches=1, max_epochs=2)
    assert model.numbers() == (101.5, 101)


def test_what_an_observer_assigns_before_it_raises_stays() -> None:
    model = Numbers()

    class Stop(nn.TrainingObserver):
        def on_batch(self, progress: nn.BatchProgress) -> None:
            model.array, model.layer.weight = xp.full(1, 7.0), xp.full((1, 1), 7.0)
            raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        train(model, Stop(), batches=5)
    assert model.numbers() == (7, 7)


@pytest.mark.parametrize("value, message", [
    (xp.zeros(2), r"array has shape \(1,\), the array assigned to it \(2,\)"), ("text", "the parameter array has become str")])
def test_assignments_that_do_not_fit_are_errors(value: Any, message: str) -> None:
    model = Numbers()

    class Assign(nn.TrainingObserver):
        def on_batch(self, progress: nn.BatchProgress) -> None:
            model.array = value

    with pytest.raises(vectis.InvalidInputError, match=message):
        train(model, Assign(), batches=2)
    assert model.numbers() == (1, 1), "the module keeps what it has learned"


# --- Files ------------------------------------------------------------------------------------------------------------


class File(io.StringIO):
    """Records what is written, and raises at a write."""

    def __init__(self, error: BaseException | None = None, at: int = 0) -> None:
        super().__init__()
        self.error, self.at, self.writes = error, at, 0

    def write(self, text: str) -> int:
        self.writes += 1
        if self.error is not None and self.writes > self.at:
            raise self.error
        return super().write(text)


LOGS: dict[str, Any] = {"csv_log": nn.csv_log, "json_log": nn.json_log}
EVERY: dict[str, Any] = {**LOGS, "progress_bar": nn.progress_bar}


def train_with(observer: Any, epochs: int = 3) -> int:
    return len(nn.train(make_network(), X, Y, nn.TrainingConfig(max_epochs=epochs, observers=[observer])))


@pytest.mark.parametrize("name", LOGS)
def test_logs_raise_what_their_file_raises(name: str) -> None:
    file = File(OSError(28, "No space left on device"), at=1)
    with pytest.raises(OSError, match="No space left"):
        train_with(LOGS[name](file))
    assert file.writes == 2
    file.error = None
    assert train_with(LOGS[name](file)) == 3, "a log of the same file works again"
    full = Path("/dev/full").open("w")
    with pytest.raises(OSError, match="No space left"):
        train_with(LOGS[name](full))
    with pytest.raises(OSError, match="No space left"):
        full.close()


@pytest.mark.parametrize("name", EVERY)
def test_interrupts_in_writes_end_training(name: str) -> None:
    file = File(KeyboardInterrupt(), at=1)
    with pytest.raises(KeyboardInterrupt):
        train_with(EVERY[name](file))
    assert file.writes == 2


def test_a_real_interrupt_in_a_write_ends_training() -> None:
    class Interrupted(io.StringIO):
        def write(self, text: str) -> int:
            signal.raise_signal(signal.SIGINT)
            return len(text)

    with pytest.raises(KeyboardInterrupt):
        train_with(nn.progress_bar(Interrupted()))


def test_a_broken_file_of_a_progress_bar_does_not_end_training() -> None:
    file = File(OSError("gone"), at=1)
    assert train_with(nn.progress_bar(file)) == 3 and file.writes == 2, "nothing is written after a failure"


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("file", ["log.txt", Path("log.txt"), 3.5])
def test_files_are_checked_at_the_start(name: str, file: Any) -> None:
    with pytest.raises(TypeError, match=rf"{name} writes to a text file, such as .*open.*, not to .*{type(file).__name__}"):
        EVERY[name](file)
    if name == "progress_bar":
        with pytest.raises(TypeError, match="text file"):
            nn.train(make_network(), X, Y, nn.TrainingConfig(verbose=file))


def test_files_need_no_flush() -> None:
    class Rows:
        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> None:
            self.text += text

    rows = Rows()
    assert train_with(nn.json_log(rows)) == 3
    assert [json.loads(line)["epoch"] for line in rows.text.splitlines()] == [0, 1, 2]


def test_verbose_is_also_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose, lines in ((1, 2), (True, 2), (0, 0), (False, 0), (None, 0)):
        nn.train(make_network(), X, Y, nn.TrainingConfig(max_epochs=2, verbose=verbose))
        assert capsys.readouterr().out.count("\n") == lines


# The stream of a notebook's kernel: no terminal, but its carriage returns begin the line again.
OutStream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream", "isatty": lambda self: False})


def shown(text: str) -> list[str]:
    """The lines that are left on a screen or in the output of a notebook's cell."""
    return [line.rpartition("\r")[2].rstrip() for line in text.split("\n")]


def test_notebooks_show_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = OutStream()
    monkeypatch.setattr("sys.stdout", stream)
    config = nn.TrainingConfig(batch_size=1, max_epochs=2, verbose=True)
    nn.train(make_network(), X, Y, config)
    text = stream.getvalue()
    assert text.count("\n") == 2 and text.count("\r") >= 4, "the running epochs, and those that have ended"
    assert "] 1/8" in text and "s left" in text
    lines = shown(text)
    assert [line.startswith(f"epoch {i + 1}/2  ") for i, line in enumerate(lines[:2])] == [True, True] and lines[2] == ""
    assert all("loss" in line and "left" not in line for line in lines[:2])
    file = io.StringIO()
    config.verbose = file
    nn.train(make_network(), X, Y, config)
    assert "\r" not in file.getvalue(), "a file that a notebook writes is no notebook"


def test_event_files_of_one_second_are_apart(tmp_path: Path) -> None:
    for _ in range(3):
        train_with(nn.tensor_board_log(tmp_path), epochs=1)
    assert len([path for path in tmp_path.iterdir() if path.stat().st_size > 100]) == 3
