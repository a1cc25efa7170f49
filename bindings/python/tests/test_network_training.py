"""Training, data sets, checkpoints and records of vectis.nn."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import vectis
import vectis.array as xp
import vectis.nn as nn

HEADER = Path(__file__).resolve().parents[3] / "include" / "vectis" / "nn" / "training.hpp"


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(200, 6)).astype(np.float32)
    return x, x[:, :3].argmax(axis=1)


def make_network(dropout: float = 0) -> nn.Network:
    return (nn.Network.with_input_size(6)
            .add_layer(nn.LayerBuilder.dense(16).activation("relu"))
            .add_layer(nn.LayerBuilder.dropout(dropout))
            .add_layer(nn.LayerBuilder.dense(3).activation("softmax"))
            .loss("categorical_cross_entropy")
            .random(xp.Generator(4))
            .build())


class Plain(nn.Module):
    """Trained by a Python loss: a layer, an array of its own, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Dense(6, 16, random=xp.Generator(1))
        self.dropout = nn.Dropout(0.1)
        self.weight = xp.Generator(2).normal((16, 3)) * 0.3
        self.register_buffer("batches", xp.zeros(()))

    def __call__(self, x: xp.Array) -> xp.Array:
        self.batches = self.batches + 1
        return self.dropout(nn.relu(self.hidden(x))) @ self.weight


def values(model: nn.Module) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in model.state_dict().items()}


def test_a_network_learns(data: tuple[np.ndarray, np.ndarray]) -> None:
    network = make_network()
    history = nn.train(network, *data, nn.TrainingConfig(batch_size=16, max_epochs=25, validation_split=0.2,
                                                         optimizer=nn.Adam(0.01)))
    assert len(history) == 25 and len(history.val_loss) == 25 and len(history.seconds) == 25
    assert history.val_metrics["accuracy"][-1] > 0.85 and history.loss[-1] < 0.5 * history.loss[0]
    assert history.learning_rate == [0.01] * 25 and not network.training
    loss, metrics = nn.evaluate(network, *data)
    probabilities = np.asarray(network.predict(data[0].astype(np.float64)))
    assert metrics["accuracy"] == pytest.approx((probabilities.argmax(axis=1) == data[1]).mean(), abs=1e-6)
    assert loss == pytest.approx(-np.log(probabilities[np.arange(200), data[1]]).mean(), rel=1e-4)


def test_a_module_learns_with_a_python_loss(data: tuple[np.ndarray, np.ndarray]) -> None:
    model = Plain()
    history = nn.train(model, *data, nn.TrainingConfig(batch_size=16, max_epochs=20, optimizer=nn.Adam(0.01)),
                       loss=nn.classification_loss, validation=data)
    assert history.val_metrics["accuracy"][-1] > 0.85
    assert model.batches.item() == 20 * (13 + 13), "batches of training, and of validation"
    assert nn.evaluate(model, *data, loss=nn.classification_loss)[1]["accuracy"] == pytest.approx(
        history.val_metrics["accuracy"][-1], abs=1e-6)


def test_training_is_a_plain_loop(data: tuple[np.ndarray, np.ndarray]) -> None:
    config = nn.TrainingConfig(batch_size=32, max_epochs=3, seed=5, optimizer=nn.SGD(0.1, momentum=0.9), clip_norm=0.5)
    trained = make_network()
    history = nn.train(trained, *data, config)
    looped, optimizer = make_network(), nn.SGD(0.1, momentum=0.9)
    loader = nn.DataLoader(nn.TensorDataset(*data), batch_size=32, seed=5)
    losses = []
    for _ in range(3):
        total = 0.0
        for x, y in loader:
            loss, gradients = nn.value_and_grad(looped, lambda x, y: looped.loss(looped.logits(x), y))(x, y)
            gradients, _ = nn.clip_by_norm(gradients, 0.5)
            optimizer.update(looped, gradients)
            total += loss.item() * len(x)
        losses.append(total / 200)
    assert history.loss == pytest.approx(losses, rel=1e-5)
    assert values(trained) == values(looped)


def test_steps_take_the_fields_of_a_batch(data: tuple[np.ndarray, np.ndarray]) -> None:
    model = nn.Dense(6, 3)
    dataset = nn.TensorDataset(data[0], data[1], np.ones(200, np.float32))
    seen = []

    def step(x: xp.Array, y: xp.Array, weight: xp.Array) -> xp.Array:
        seen.append(weight.shape)
        return nn.cross_entropy(model(x), y)

    nn.train(model, dataset, config=nn.TrainingConfig(max_epochs=1, batch_size=100), step=step)
    assert seen == [(100,), (100,)]
    with pytest.raises(ValueError, match="3 fields"):
        nn.train(model, dataset, loss=nn.mse_loss)
    with pytest.raises(ValueError, match="1 fields"):
        nn.train(model, nn.TensorDataset(data[0]), loss=nn.mse_loss)
    with pytest.raises(ValueError, match="1 fields"):
        nn.evaluate(make_network(), nn.TensorDataset(data[0]), loss=nn.mse_loss)
    with pytest.raises(TypeError, match="either a loss"):
        nn.train(model, dataset)


def test_training_continues_bit_for_bit(data: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    def config(epochs: int, path: Path | None) -> nn.TrainingConfig:
        return nn.TrainingConfig(batch_size=32, max_epochs=epochs, seed=3, optimizer=nn.AdamW(0.01), checkpoint_path=path)

    for make, arguments in ((lambda: make_network(0.2), {}), (Plain, {"loss": nn.classification_loss})):
        path = tmp_path / "training.checkpoint"
        whole = make()
        history = nn.train(whole, *data, config(6, None), **arguments)
        nn.train(make(), *data, config(4, path), **arguments)
        resumed = make()
        assert nn.train(resumed, *data, config(6, path), **arguments).loss == history.loss
        assert values(resumed) == values(whole)
        assert nn.load_checkpoint(path).state("module").keys() == whole.state_dict().keys()
        path.unlink()


class Failing(nn.TrainingObserver):
    def on_epoch(self, epoch: nn.Epoch, epochs: int) -> None:
        raise KeyError("observer")


def test_exceptions_leave_training(data: tuple[np.ndarray, np.ndarray]) -> None:
    model = Plain()
    before = values(model)
    with pytest.raises(KeyError, match="observer"):
        nn.train(model, *data, nn.TrainingConfig(observers=[Failing()]), loss=nn.classification_loss)
    after = values(model)
    assert before.keys() == after.keys() and before != after, "the module keeps what it has learned"
    with pytest.raises(ZeroDivisionError):
        nn.train(model, *data, loss=lambda *_: 1 / 0)
    with pytest.raises(vectis.InvalidInputError, match="the loss of a batch is float"):
        nn.train(model, *data, loss=lambda *_: 1.0)
    with pytest.raises(vectis.InvalidInputError):
        nn.train(make_network(), *data, nn.TrainingConfig(batch_size=0))
    with pytest.raises(ValueError, match="validation_split"):
        nn.train(make_network(), *data, nn.TrainingConfig(validation_split=1.5))
    with pytest.raises(vectis.InvalidInputError):
        nn.train(make_network(), data[0], data[1][:7])
    with pytest.raises(vectis.InvalidInputError, match="on_batch"):
        nn.train(make_network(), *data, nn.TrainingConfig(observers=[object()]))
    with pytest.raises(vectis.DeadlineExceededError):
        nn.train(make_network(), *data, nn.TrainingConfig(max_epochs=100_000), timeout=0.1)
    source = vectis.CancelSource()
    source.cancel()
    with pytest.raises(vectis.CancelledError):
        nn.train(make_network(), *data, cancel=source)


@pytest.mark.parametrize("field, value, error, message", [
    ("optimizer", "adam", TypeError, r"optimizer is 'adam' \(str\); give an optimizer, such as vectis\.nn\.Adam"),
    ("optimizer", nn.Adam, TypeError, r"optimizer is .*Adam.*; give an optimizer"),
    ("batch_size", 32.0, TypeError, r"batch_size is 32\.0 \(float\); give an integer"),
    ("batch_size", "32", TypeError, r"batch_size is '32' \(str\); give an integer"),
    ("max_epochs", None, TypeError, r"max_epochs is None \(NoneType\); give an integer"),
    ("max_epochs", 2**70, ValueError, r"max_epochs is 1180591620717411303424; give an integer of at most 64 bits"),
    ("seed", -1, ValueError, r"seed is -1; give an integer from 0 to 2\^64 - 1"),
    ("prefetch", 1.5, TypeError, r"prefetch is 1\.5"),
    ("clip_norm", "1", TypeError, r"clip_norm is '1' \(str\); give a number"),
    ("shuffle", "no", TypeError, r"shuffle is 'no' \(str\); give True or False"),
    ("device", 1.5, TypeError, r"device is 1\.5 \(float\); give a vectis\.Device, its number or its name"),
    ("schedule", "cosine", TypeError, r"a schedule is a function"),
    ("schedule", lambda update: "x", TypeError, r"the schedule returned str for update 0; return a number"),
    ("early_stopping", True, TypeError, r"early_stopping is True \(bool\); give a vectis\.nn\.EarlyStopping"),
    ("early_stopping", nn.EarlyStopping(patience="many"), TypeError, r"early_stopping\.patience is 'many'"),  # type: ignore[arg-type]
    ("plateau", 0.5, TypeError, r"plateau is 0\.5 \(float\); give a vectis\.nn\.PlateauOptions"),
    ("plateau", nn.PlateauOptions(factor=None), TypeError, r"plateau\.factor is None"),  # type: ignore[arg-type]
])
def test_errors_of_configurations_name_field_and_value(field: str, value: object, error: type[Exception], message: str,
                                                       data: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(error, match=message):
        nn.train(make_network(), *data, nn.TrainingConfig(**{"max_epochs": 1, field: value}))  # type: ignore[arg-type]


def test_configurations_take_numbers_of_numpy(data: tuple[np.ndarray, np.ndarray]) -> None:
    config = nn.TrainingConfig(max_epochs=np.int64(1), batch_size=np.int32(50), clip_norm=np.float32(1), seed=2**64 - 1)
    assert len(nn.train(make_network(), *data, config)) == 1
    with pytest.raises(TypeError, match="config is dict; give a TrainingConfig"):
        nn.train(make_network(), *data, {"max_epochs": 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["network", "module"])
def test_ctrl_c_ends_training(kind: str, data: tuple[np.ndarray, np.ndarray]) -> None:
    model = make_network() if kind == "network" else Plain()
    before = values(model)
    times: list[float] = []
    for _ in range(3):
        sent: list[float] = []

        def interrupt(sent: list[float] = sent) -> None:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            nn.train(model, *data, nn.TrainingConfig(max_epochs=100_000),
                     loss=None if kind == "network" else nn.classification_loss)
        times.append(time.monotonic() - sent[0])
        timer.join()
        if times[-1] < 0.2:
            break
    assert min(times) < 0.2
    assert values(model) != before and all(np.isfinite(np.asarray(v)).all() for v in model.state_dict().values())


def test_training_releases_the_gil(data: tuple[np.ndarray, np.ndarray]) -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    with pytest.raises(vectis.DeadlineExceededError):
        nn.train(make_network(), *data, nn.TrainingConfig(max_epochs=100_000), timeout=1)
    seconds = time.monotonic() - begin
    done.set()
    thread.join()
    assert counted > 20 * seconds, "another thread of Python runs meanwhile"


class Recorder(nn.TrainingObserver):
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.epochs: list[nn.Epoch] = []

    def on_batch(self, progress: nn.BatchProgress) -> None:
        assert 1 <= progress.batch <= progress.batches and progress.epochs == 2
        self.calls.append("batch")

    def on_epoch(self, epoch: nn.Epoch, epochs: int) -> None:
        self.calls.append("epoch")
        self.epochs.append(epoch)

    def on_end(self) -> None:
        self.calls.append("end")


def test_observers(data: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    recorder, table, lines, bar = Recorder(), io.StringIO(), io.StringIO(), io.StringIO()
    history = nn.train(make_network(), *data, nn.TrainingConfig(
        batch_size=100, max_epochs=2, validation_split=0.5, verbose=bar,
        observers=[recorder, nn.csv_log(table), nn.json_log(lines), nn.tensor_board_log(tmp_path)]))
    assert recorder.calls == ["batch", "epoch", "batch", "epoch", "end"]
    assert [epoch.loss for epoch in recorder.epochs] == history.loss
    assert recorder.epochs[1].val_metrics["accuracy"] == history.val_metrics["accuracy"][1]
    rows = list(csv.DictReader(io.StringIO(table.getvalue())))
    assert len(rows) == 2 and float(rows[1]["loss"]) == pytest.approx(history.loss[1], rel=1e-4)
    assert rows == list(csv.DictReader(io.StringIO(history.to_csv())))
    assert json.loads(lines.getvalue().splitlines()[0])["val_loss"] == pytest.approx(history.val_loss[0], rel=1e-4)
    assert bar.getvalue().count("\n") == 2 and "2/2" in bar.getvalue() and "\r" not in bar.getvalue()
    assert b"loss/train" in next(tmp_path.iterdir()).read_bytes()


def test_a_broken_file_does_not_end_training(data: tuple[np.ndarray, np.ndarray]) -> None:
    file = io.StringIO()
    file.close()
    assert len(nn.train(make_network(), *data, nn.TrainingConfig(max_epochs=2, verbose=file))) == 2


def test_verbose_writes_to_sys_stdout(data: tuple[np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]) -> None:
    nn.train(make_network(), *data, nn.TrainingConfig(max_epochs=2, verbose=True))
    assert capsys.readouterr().out.count("epoch") >= 2
    nn.train(make_network(), *data, nn.TrainingConfig(max_epochs=1))
    assert capsys.readouterr() == ("", "")


def test_histories() -> None:
    history = nn.History(loss=[2.0, 1.0], val_loss=[2.5, math.nan], metrics={"accuracy": [0.1, 0.9]},
                         val_metrics={"accuracy": [0.2, 0.8]}, learning_rate=[0.1, 0.1], seconds=[1, 1])
    assert history.to_svg().startswith("<svg") and "val_loss" in history._repr_svg_()
    assert repr(pickle.loads(pickle.dumps(history))) == repr(history) and len(history) == 2
    chart = nn.Chart(history)
    assert "*" in repr(chart) and chart._repr_svg_() == history.to_svg()


def test_plot_does_not_need_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    chart = nn.History(loss=[3.0, 2.0, 1.0]).plot()
    assert isinstance(chart, nn.Chart) and "loss" in repr(chart)
    chart.savefig(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_plot_with_matplotlib() -> None:
    pytest.importorskip("matplotlib")
    figure = nn.History(loss=[3.0, 2.0], metrics={"accuracy": [0.1, 0.2]}).plot()
    assert len(figure.axes) == 2


def test_configurations_have_the_defaults_of_the_library() -> None:
    text = HEADER.read_text() if HEADER.is_file() else pytest.skip("the sources are not here")
    for ours in (nn.TrainingConfig(), nn.EarlyStopping()):
        body = text[text.index(f"struct {type(ours).__name__} {{"):]
        found = re.findall(r"^  (?:std::\w+|double|bool) (\w+) = ([\d.]+|true|false);", body[:body.index("\n};")], re.MULTILINE)
        assert len(found) >= 3
        for name, value in found:
            assert getattr(ours, name) == (value == "true" if value in ("true", "false") else float(value)), name


def test_early_stopping_and_schedules(data: tuple[np.ndarray, np.ndarray]) -> None:
    noise = np.random.default_rng(1).integers(0, 3, 200)
    history = nn.train(make_network(), data[0], noise, nn.TrainingConfig(
        max_epochs=200, validation_split=0.3, optimizer=nn.Adam(0.05), early_stopping=nn.EarlyStopping(patience=3)))
    assert len(history) < 200
    best = int(np.argmin(history.val_loss))
    assert len(history) == best + 5
    history = nn.train(make_network(), *data, nn.TrainingConfig(
        batch_size=100, max_epochs=3, optimizer=nn.SGD(1.0), schedule=lambda update: 1 / (1 + update)))
    assert history.learning_rate == pytest.approx([1 / 2, 1 / 4, 1 / 6])


# --- Data ------------------------------------------------------------------------------------------------------------


class Squares(nn.Dataset):
    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.threads: set[int] = set()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[np.ndarray, int, float]:
        self.threads.add(threading.get_ident())
        return np.full(3, index, np.float32), index * index, index / 2


def test_loaders_read_every_example_once() -> None:
    dataset = Squares(10)
    for prefetch in (0, 3):
        loader = nn.DataLoader(dataset, batch_size=4, seed=1, prefetch=prefetch)
        assert len(loader) == 3
        epochs = []
        for _ in range(2):
            batches = list(loader)
            assert [len(x) for x, _, _ in batches] == [4, 4, 2]
            assert batches[0][0].dtype == xp.float32 and batches[0][2].dtype == xp.float32
            order = np.concatenate([np.asarray(x)[:, 0] for x, _, _ in batches])
            np.testing.assert_array_equal(np.concatenate([np.asarray(y) for _, y, _ in batches]), order**2)
            assert sorted(order) == list(range(10))
            epochs.append(order.tolist())
        assert epochs[0] != epochs[1]
        assert [np.asarray(x)[:, 0].tolist() for x, _, _ in nn.DataLoader(dataset, 4, seed=1)] == \
            [epochs[0][:4], epochs[0][4:8], epochs[0][8:]]
    assert len(list(nn.DataLoader(dataset, 4, drop_last=True))) == 2
    assert [y.item() for _, y, _ in nn.DataLoader(dataset, 1, shuffle=False)] == [i * i for i in range(10)]


def test_an_iteration_that_was_left_begins_again() -> None:
    loader = nn.DataLoader(Squares(10), batch_size=2, shuffle=False)
    first = np.asarray(next(iter(loader))[1])
    assert [np.asarray(y).tolist() for _, y, _ in loader][0] == first.tolist()
    loader.seek(1, 3)
    assert loader.position == (1, 3) and len(list(loader)) == 2 and loader.position == (2, 0)
    with pytest.raises(vectis.InvalidInputError):
        loader.seek(0, 9)


@pytest.mark.parametrize("again", [iter, lambda loader: loader.seek(0, 1)], ids=["iter", "seek"])
def test_a_newer_iteration_ends_those_before(again: object) -> None:
    loader = nn.DataLoader(Squares(10), batch_size=2, shuffle=False)
    batches = iter(loader)
    assert len(next(batches)[0]) == 2
    again(loader)  # type: ignore[operator]
    with pytest.raises(RuntimeError, match="a newer iteration of this DataLoader, or seek.., has ended this one"):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)
    assert len(list(loader)) == (5 if again is iter else 4), "the newest one, or an epoch"


def test_iterations_of_one_loader_do_not_mix() -> None:
    loader = nn.DataLoader(Squares(10), batch_size=2)
    with pytest.raises(RuntimeError, match="newer iteration"):
        list(zip(loader, loader, strict=True))
    seen = []
    with pytest.raises(RuntimeError, match="newer iteration"):
        for _ in loader:
            seen.append(len(list(loader)))
    assert seen == [5]
    ended = iter(loader)
    assert len(list(ended)) == 5 and len(list(loader)) == 5
    assert list(ended) == [], "an iteration that is at its end stays there"
    other = nn.DataLoader(loader.dataset, batch_size=2)
    assert len(list(zip(loader, other, strict=True))) == 5


def test_threads_that_share_a_loader_get_errors() -> None:
    paused, resumed = threading.Event(), threading.Event()

    class Slow(Squares):
        def __getitem__(self, index: int) -> tuple[np.ndarray, int, float]:
            paused.set()
            assert resumed.wait(60)
            return super().__getitem__(index)

    loader = nn.DataLoader(Slow(4), batch_size=2, prefetch=0)
    thread = threading.Thread(target=lambda: list(loader))
    thread.start()
    assert paused.wait(60)
    for use in (iter, lambda loader: loader.position, lambda loader: loader.seek(0)):
        with pytest.raises(vectis.InvalidInputError, match="another thread is reading from this loader"):
            use(loader)
    resumed.set()
    thread.join()
    assert len(list(loader)) == 2


def test_data_sets() -> None:
    dataset = nn.TensorDataset(np.arange(6).reshape(3, 2), [1.0, 2.0, 3.0])
    assert len(dataset) == 3 and np.asarray(dataset[-1][0]).tolist() == [4, 5] and dataset[1][1].item() == 2
    part = nn.DatasetRange(dataset, 1, 3)
    assert len(part) == 2 and part[0][1].item() == 2
    with pytest.raises(IndexError):
        _ = part[2]
    rows = [(np.zeros(2), i) for i in range(5)]  # as a data set of PyTorch: any sequence of examples
    assert [np.asarray(y).tolist() for _, y in nn.DataLoader(rows, 2, shuffle=False)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(vectis.InvalidInputError):
        nn.TensorDataset(np.zeros(3), np.zeros(4))
    with pytest.raises(TypeError, match="TensorDataset"):
        nn.DataLoader(np.zeros((3, 2)))
    with pytest.raises(NotImplementedError):
        len(nn.Dataset())


def test_exceptions_of_data_sets_reach_the_caller() -> None:
    class Broken(Squares):
        def __getitem__(self, index: int) -> tuple[np.ndarray, int, float]:
            raise LookupError(f"example {index}")

    for prefetch in (0, 2):
        with pytest.raises(LookupError, match="example"):
            list(nn.DataLoader(Broken(), 4, prefetch=prefetch))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    nn.write_npy(path, xp.asarray([[1.5, 2.0]]))
    assert np.load(path).tolist() == [[1.5, 2.0]]
    np.save(path, np.arange(6, dtype=np.int64).reshape(2, 3))
    assert np.asarray(nn.read_npy(path)).tolist() == [[0, 1, 2], [3, 4, 5]]
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,\n")
    columns, table = nn.read_csv(tmp_path / "t.csv", missing=7)
    assert columns == ["a", "b"] and np.asarray(table).tolist() == [[1, 2], [3, 7]]
    (tmp_path / "i").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 6, 7]))
    assert np.asarray(nn.read_idx(tmp_path / "i")).tolist() == [5, 6, 7]
    with pytest.raises(vectis.IoError):
        nn.read_npy(tmp_path / "absent")
    with pytest.raises(vectis.CorruptDataError):
        nn.read_npy(tmp_path / "t.csv")


def test_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "a.checkpoint"
    model, optimizer = nn.Dense(3, 2), nn.Adam(0.5)
    _, gradients = nn.value_and_grad(model, lambda: xp.sum(model(xp.ones((1, 3)))))()
    optimizer.update(model, gradients)
    nn.save_checkpoint(path, {"module": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7, "best": 0.25,
                              "note": "ünïcode"})
    values_read = nn.load_checkpoint(path)
    assert (values_read["epoch"], values_read["best"], values_read["note"]) == (7, 0.25, "ünïcode")
    other, other_optimizer = nn.Dense(3, 2), nn.Adam()
    other.load_state_dict(values_read.state("module"))
    other_optimizer.load_state_dict(values_read.state("optimizer"))
    optimizer.update(model, gradients)
    other_optimizer.update(other, gradients)
    assert values(model) == values(other) and other_optimizer.learning_rate == 0.5
    for wrong, message in (({"rows": [1]}, "rows is list"), ({"a": {"big": 2**70}}, r"the integer a\.big is beyond 64 bits"),
                           ({"note": "\udc80"}, "the text note contains surrogates")):
        with pytest.raises(vectis.InvalidInputError, match=message):
            nn.save_checkpoint(path, wrong)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(vectis.CorruptDataError):
        nn.load_checkpoint(path)


def test_dictionaries_in_checkpoints_are_not_endless(tmp_path: Path) -> None:
    path = tmp_path / "a.checkpoint"
    endless: dict[str, object] = {"a": 1}
    endless["again"] = {"x": endless}
    deep: dict[str, object] = {"a": 1}
    for _ in range(100_000):
        deep = {"d": deep}
    for wrong in (endless, deep):
        with pytest.raises(vectis.InvalidInputError, match="nested more than 100 deep at .* contain itself"):
            nn.save_checkpoint(path, wrong)
    assert not path.exists()
    shared = {"a": 1}
    nn.save_checkpoint(path, {"first": shared, "second": {"third": shared}})
    assert nn.load_checkpoint(path) == {"first.a": 1, "second.third.a": 1}


def test_nothing_is_left_when_the_interpreter_ends() -> None:
    program = textwrap.dedent("""
        import numpy as np, vectis.nn as nn, vectis.array as xp
        from vectis import _vectis
        _vectis.set_leak_warnings(True)
        class Rows(nn.Dataset):
            def __len__(self): return 64
            def __getitem__(self, index): return np.ones(4, np.float32), index % 3
        def main():
            model = nn.Sequential(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 3))
            class Watch(nn.TrainingObserver):
                def on_epoch(self, epoch, epochs): self.last = epoch
            config = nn.TrainingConfig(max_epochs=2, optimizer=nn.Adam(), schedule=nn.warm_up(3, lambda step: 1.0),
                                       observers=[Watch()])
            nn.train(model, Rows(), config=config, loss=nn.classification_loss)
            next(iter(nn.DataLoader(Rows(), 8)))
        main()
        kept = nn.DataLoader(Rows(), 8)
        next(iter(kept))
        del kept
        import gc; gc.collect()
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "leaked" not in done.stderr, done.stderr


def test_data_sets_of_one_field_are_errors_of_networks() -> None:
    program = textwrap.dedent("""
        import numpy as np, vectis, vectis.nn as nn
        network = nn.Network.with_input_size(4).add_layer(nn.LayerBuilder.dense(2)).build()
        only = nn.TensorDataset(np.zeros((8, 4), np.float32))
        for call in (nn.train, nn.evaluate):
            try:
                call(network, only)
            except vectis.InvalidInputError as error:
                print(error)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"a batch has 1 field", done.stdout)) == 2, done.stdout
