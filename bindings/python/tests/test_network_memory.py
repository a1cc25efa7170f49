"""Predicted memory of training, and the batch size that fits a device."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import vectis
import vectis.array as xp
import vectis.nn as nn


def make_network(units: int = 64) -> nn.Network:
    return (nn.Network.with_input_size(100)
            .add_layer(nn.LayerBuilder.dense(units).activation("relu"))
            .add_layer(nn.LayerBuilder.dropout(0.2))
            .add_layer(nn.LayerBuilder.dense(10))
            .loss("sparse_categorical_cross_entropy")
            .random(xp.Generator(4))
            .build())


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Dense(100, 64, random=xp.Generator(1))
        self.norm = nn.BatchNorm(64)
        self.weight = xp.Generator(2).normal((64, 10)) * 0.3

    def __call__(self, x: xp.Array) -> xp.Array:
        return nn.relu(self.norm(self.hidden(x))) @ self.weight


DATA = np.random.default_rng(3).normal(size=(6, 100)).astype(np.float32)
LABELS = np.arange(6, dtype=np.int32) % 10


def test_the_parts_add_up_and_grow_with_the_batch() -> None:
    network = make_network()
    last = 0
    for batch in (1, 2, 50, 1000, 100_000_000):
        memory = nn.predict_memory(network, batch)
        fields = dataclasses.asdict(memory)
        peak, largest, host = (fields.pop(name) for name in ("peak_bytes", "largest_bytes", "host_bytes"))
        assert sum(fields.values()) == peak >= last
        assert largest <= peak and host == 3 * batch * (100 + 1) * 4
        last = peak
    assert last > 2**34, "nobody allocates 40 GB for the answer"
    parameters = 4 * (100 * 64 + 64 + 64 * 10 + 10)
    stored_inline = 64  # arrays up to this size are not in the pool: the last bias
    assert parameters - stored_inline <= memory.parameter_bytes <= 2 * parameters + 2**12
    assert 2 * (parameters - stored_inline) <= memory.optimizer_bytes <= 2 * parameters + 2**12


def test_the_configuration_counts() -> None:
    network = make_network(units=2000)
    memory = nn.predict_memory(network, 4)
    plain = nn.predict_memory(network, 4, nn.TrainingConfig(optimizer=nn.SGD(0.1)))
    assert plain.optimizer_bytes == 0 and plain.peak_bytes < memory.peak_bytes
    best = nn.predict_memory(network, 4, nn.TrainingConfig(early_stopping=nn.EarlyStopping()))
    assert best.peak_bytes > memory.peak_bytes
    optimizer = nn.Adam(0.01)
    assert nn.predict_memory(network, 4, nn.TrainingConfig(optimizer=optimizer)) == memory
    assert len(optimizer.state_dict()) == 1, "nothing was updated"


def test_a_prediction_is_that_of_training() -> None:
    """In a new process: the high-water mark of a pool cannot be reset."""
    script = textwrap.dedent("""
        import json, sys
        import numpy as np
        import vectis, vectis.array as xp, vectis.nn as nn
        sys.path.insert(0, sys.argv[1])
        from test_network_memory import Plain
        model = Plain()
        data = xp.asarray(np.random.default_rng(3).normal(size=(2000, 100)).astype(np.float32), copy=True)
        labels = xp.asarray(np.arange(2000, dtype=np.int32) % 10, copy=True)
        config = nn.TrainingConfig(batch_size=500, max_epochs=2, device="cpu")
        arguments = {"data": data[:4], "labels": labels[:4], "loss": nn.classification_loss}
        predicted = nn.predict_memory(model, 500, config, **arguments)
        for value in model.state_dict().values():
            np.asarray(value)
        before = vectis.memory.stats("cpu").in_use_bytes
        nn.train(model, data, labels, config, loss=nn.classification_loss)
        own = sum(max(256, np.asarray(value).nbytes) for value in model.state_dict().values())
        print(json.dumps([predicted.peak_bytes, vectis.memory.stats("cpu").peak_in_use_bytes - before + own]))
    """)
    folder = os.path.dirname(os.path.abspath(__file__))
    ran = subprocess.run([sys.executable, "-c", script, folder], check=True, capture_output=True, text=True, timeout=300)
    predicted, measured = json.loads(ran.stdout)
    assert predicted == pytest.approx(measured, rel=0.1)


def test_a_module_is_as_it_was() -> None:
    model = Plain()
    before = {name: np.asarray(value).copy() for name, value in model.state_dict().items()}
    model.eval()
    calls = []
    kept = []

    def step(x: xp.Array, y: xp.Array) -> xp.Array:
        calls.append(x.shape)
        logits = model(x)
        kept.append(logits)
        assert model.training
        return nn.cross_entropy(logits, y)

    memory = nn.predict_memory(model, 32, data=DATA, labels=LABELS, step=step)
    assert memory.peak_bytes > 0 and set(calls) == {(32, 100)}
    assert not model.training and not model.hidden.training
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(np.asarray(value), before[name], err_msg=name)
    with pytest.raises(vectis.errors.InvalidInputError, match="memory was predicted"):
        np.asarray(kept[0])
    history = nn.train(model, DATA, LABELS, nn.TrainingConfig(batch_size=3, max_epochs=1), loss=nn.classification_loss)
    assert np.isfinite(history.loss[0])


def test_what_a_loss_raises_arrives() -> None:
    model = Plain()

    def step(x: xp.Array, y: xp.Array) -> xp.Array:
        raise KeyError("the loss fails")

    with pytest.raises(KeyError, match="the loss fails"):
        nn.predict_memory(model, 8, data=DATA, labels=LABELS, step=step)
    assert np.asarray(model(xp.asarray(DATA))).shape == (6, 10)


def test_a_batch_size_is_recommended() -> None:
    network = make_network()
    assert nn.recommended_batch_size(network, "cpu") == 1024
    assert nn.recommended_batch_size(network, "cpu", data=DATA, labels=LABELS) == 1024
    assert nn.recommended_batch_size(Plain(), 0, data=DATA, labels=LABELS, loss=nn.classification_loss) in (32, 64, 128, 256, 1024)
    large = (nn.Network.with_input_size(1 << 20).add_layer(nn.LayerBuilder.dense(1 << 20)).build())  # 4 TiB
    with pytest.raises(vectis.errors.AllocationError, match="a batch of 1"):
        nn.recommended_batch_size(large, "cpu")


def test_misuse_is_explained() -> None:
    network = make_network()
    for batch in (0, -1):
        with pytest.raises(vectis.errors.InvalidInputError, match="batch_size"):
            nn.predict_memory(network, batch)
    with pytest.raises(vectis.errors.InvalidInputError, match="2\\^56"):
        nn.predict_memory(network, 2**60)
    with pytest.raises(TypeError, match="data"):
        nn.predict_memory(Plain(), 8, loss=nn.classification_loss)
    with pytest.raises(TypeError, match="loss"):
        nn.predict_memory(Plain(), 8, data=DATA, labels=LABELS)
    with pytest.raises(vectis.errors.InvalidInputError, match="empty"):
        nn.predict_memory(network, 8, data=DATA[:0], labels=LABELS[:0])
    with pytest.raises(vectis.errors.InvalidInputError, match="no parameters"):
        nn.predict_memory(nn.ReLU(), 8, data=DATA, labels=DATA, loss=nn.regression_loss)
