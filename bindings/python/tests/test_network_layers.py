"""The layers, losses and optimizers of vectis.nn: formulas of NumPy, differences, and PyTorch where it is installed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vectis
import vectis.array as xp
import vectis.nn as nn

try:
    import torch
except ImportError:
    torch = None

# A module of ours, the shape of its input (None: integers below 9), and PyTorch's of the same parameters.
CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], Callable[[], Any] | None]] = {
    "dense": (lambda: nn.Dense(5, 3), (4, 5), lambda: torch.nn.Linear(5, 3)),
    "dense without bias": (lambda: nn.Dense(5, 3, bias=False), (2, 4, 5), lambda: torch.nn.Linear(5, 3, bias=False)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, groups=2), (2, 4, 9), lambda: torch.nn.Conv1d(4, 6, 3, groups=2)),
    "conv2d": (lambda: nn.Conv2d(2, 3, (3, 2), stride=2, padding=1), (2, 2, 7, 6),
               lambda: torch.nn.Conv2d(2, 3, (3, 2), stride=2, padding=1)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2, dilation=2), (1, 2, 5, 4, 4), lambda: torch.nn.Conv3d(2, 3, 2, dilation=2)),
    "max pool": (lambda: nn.MaxPool(2), (2, 3, 6, 4), lambda: torch.nn.MaxPool2d(2)),
    "average pool": (lambda: nn.AveragePool(3, stride=2, padding=1), (2, 3, 7, 5), lambda: torch.nn.AvgPool2d(3, 2, 1)),
    "global average pool": (nn.GlobalAveragePool, (2, 3, 4, 5), None),
    "flatten": (nn.Flatten, (2, 3, 4), lambda: torch.nn.Flatten()),
    "batch norm": (lambda: nn.BatchNorm(4), (6, 4), lambda: torch.nn.BatchNorm1d(4)),
    "batch norm of images": (lambda: nn.BatchNorm(3), (4, 3, 5, 2), lambda: torch.nn.BatchNorm2d(3)),
    "layer norm": (lambda: nn.LayerNorm(6), (3, 4, 6), lambda: torch.nn.LayerNorm(6)),
    "rms norm": (lambda: nn.RMSNorm(6), (3, 6), lambda: torch.nn.RMSNorm(6, eps=1e-5)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (3, 4, 5), lambda: torch.nn.GroupNorm(2, 4)),
    "embedding": (lambda: nn.Embedding(9, 4), (), lambda: torch.nn.Embedding(9, 4)),
    "rnn": (lambda: nn.RNN(4, 3, layers=2), (5, 2, 4), lambda: torch.nn.RNN(4, 3, num_layers=2)),
    "rnn of relu": (lambda: nn.RNN(4, 3, relu=True), (5, 2, 4), lambda: torch.nn.RNN(4, 3, nonlinearity="relu")),
    "lstm": (lambda: nn.LSTM(4, 3, bidirectional=True), (5, 2, 4), lambda: torch.nn.LSTM(4, 3, bidirectional=True)),
    "gru": (lambda: nn.GRU(4, 3, batch_first=True), (2, 5, 4), lambda: torch.nn.GRU(4, 3, batch_first=True)),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(8, 2, feed_forward=16, dropout=0), (2, 5, 8),
                      lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)),
    "encoder": (lambda: nn.TransformerEncoder(2, 8, 4, feed_forward=8, dropout=0, activation="gelu"), (2, 3, 8),
                lambda: torch.nn.TransformerEncoder(
                    torch.nn.TransformerEncoderLayer(8, 4, 8, 0.0, activation="gelu", batch_first=True), 2)),
    "positional encoding": (lambda: nn.PositionalEncoding(6, 10), (2, 4, 6), None),
    "positional embedding": (lambda: nn.PositionalEmbedding(6, 10), (2, 4, 6), None),
    "last of sequence": (nn.LastOfSequence, (2, 4, 3), None),
    **{name: (getattr(nn, name), (3, 5), (lambda name=name: getattr(torch.nn, name)())) for name in
       ("ReLU", "ReLU6", "SELU", "Sigmoid", "Hardsigmoid", "Tanh", "GELU", "SiLU", "Hardswish", "Mish", "Softplus", "Softsign",
        "LeakyReLU", "ELU") if hasattr(nn, name)},
    "softmax": (nn.Softmax, (3, 5), lambda: torch.nn.Softmax(dim=-1)),
    "log softmax": (nn.LogSoftmax, (3, 5), lambda: torch.nn.LogSoftmax(dim=-1)),
    "hard sigmoid": (nn.HardSigmoid, (3, 5), lambda: torch.nn.Hardsigmoid()),
    "hard swish": (nn.HardSwish, (3, 5), lambda: torch.nn.Hardswish()),
}


def input_of(case: str, rng: np.random.Generator) -> np.ndarray:
    shape = CASES[case][1]
    return rng.integers(0, 9, (2, 5)) if shape == () else 2 * rng.normal(size=shape) + 0.1


class Applied(nn.Module):
    """A layer and its input, which is a parameter where it is no integer."""

    def __init__(self, layer: nn.Module, x: np.ndarray) -> None:
        super().__init__()
        self.layer = layer
        self.x = xp.asarray(x)

    def __call__(self, weights: np.ndarray) -> xp.Array:
        return xp.sum(self.layer(self.x) * xp.asarray(weights))


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_differences(case: str, rng: np.random.Generator) -> None:
    model = Applied(CASES[case][0](), input_of(case, rng)).astype("float64")
    weights = rng.normal(size=model.layer(model.x).shape)
    state = {name: np.array(value) for name, value in model.state_dict().items()}
    value, gradients = nn.value_and_grad(model, model)(weights)
    step = 1e-6
    for name, gradient in gradients.items():
        assert gradient.shape == state[name].shape
        place = tuple(int(rng.integers(0, extent)) for extent in gradient.shape)
        sides = []
        for sign in (1, -1):
            changed = state[name].copy()
            changed[place] += sign * step
            model.load_state_dict({**state, name: changed})
            sides.append(model(weights).item())
        expected = (sides[0] - sides[1]) / (2 * step)
        assert np.asarray(gradient)[place] == pytest.approx(expected, rel=1e-5, abs=1e-6), name
    assert np.isfinite(value.item())


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("case", [case for case, (_, _, peer) in CASES.items() if peer is not None])
@pytest.mark.parametrize("mode", [True, False], ids=["training", "inference"])
def test_results_gradients_and_states_are_pytorchs(case: str, mode: bool, rng: np.random.Generator) -> None:
    make, _, make_peer = CASES[case]
    data = input_of(case, rng)
    data = data if data.dtype == np.int64 else data.astype(np.float32)
    model, peer = Applied(make(), data).train(mode), make_peer().train(mode)
    model.layer.load_state_dict(peer.state_dict())
    assert list(model.layer.state_dict()) == list(peer.state_dict())
    torch_data = torch.from_numpy(data).requires_grad_(data.dtype == np.float32)
    result = peer(torch_data)
    result = result[0] if isinstance(result, tuple) else result
    ours = model.layer(model.x)
    np.testing.assert_allclose(np.asarray(ours), result.detach().numpy(), rtol=1e-4, atol=1e-5)
    weights = rng.normal(size=ours.shape).astype(np.float32)
    (result * torch.from_numpy(weights)).sum().backward()
    _, gradients = nn.value_and_grad(model, model)(weights)
    expected = {"x": torch_data, **{"layer." + name: parameter for name, parameter in peer.named_parameters()}}
    for name, gradient in gradients.items():
        np.testing.assert_allclose(np.asarray(gradient), expected[name].grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=name)
    # Back, after training changed ours.
    nn.SGD(0.1).update(model, gradients)
    changed = model.layer.state_dict()
    peer.load_state_dict({name: torch.from_dlpack(value) for name, value in changed.items()})
    for name, value in peer.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), np.asarray(changed[name]), err_msg=name)


def test_states_of_recurrent_layers(rng: np.random.Generator) -> None:
    x = xp.asarray(rng.normal(size=(6, 2, 4)).astype(np.float32))
    for layer in (nn.RNN(4, 3), nn.GRU(4, 3), nn.LSTM(4, 3)):
        whole, last = layer.run(x)
        first, state = layer.run(x[:2])
        second, end = layer.run(x[2:], state)
        np.testing.assert_allclose(np.asarray(xp.concat([first, second])), np.asarray(whole), rtol=1e-6, atol=1e-7)
        for a, b in zip(last if isinstance(last, tuple) else (last,), end if isinstance(end, tuple) else (end,), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6, atol=1e-7)


def attention_of(query: np.ndarray, key: np.ndarray, value: np.ndarray, causal: bool) -> np.ndarray:
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], k=key.shape[-2] - query.shape[-2]), scores, -np.inf)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True) @ value


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool, rng: np.random.Generator) -> None:
    q, k, v = (rng.normal(size=(2, 3, 5, 4)) for _ in range(3))
    ours = nn.scaled_dot_product_attention(xp.asarray(q), xp.asarray(k), xp.asarray(v), is_causal=causal)
    np.testing.assert_allclose(np.asarray(ours), attention_of(q, k, v, causal), rtol=1e-9)


def test_caches_continue_a_sequence(rng: np.random.Generator) -> None:
    x = xp.asarray(rng.normal(size=(2, 6, 8)).astype(np.float32))
    memory = xp.asarray(rng.normal(size=(2, 3, 8)).astype(np.float32))
    options: dict[str, Any] = {"feed_forward": 16, "dropout": 0}
    for layer, others in ((nn.MultiHeadAttention(8, 2), ()), (nn.TransformerEncoderLayer(8, 2, **options), ()),
                          (nn.TransformerEncoder(2, 8, 2, **options), ()),
                          (nn.TransformerDecoderLayer(8, 2, **options), (memory,)),
                          (nn.TransformerDecoder(2, 8, 2, **options), (memory,))):
        layer.eval()
        whole = np.asarray(layer(x, *others, is_causal=True))
        cache = nn.KeyValueCache()
        parts = [np.asarray(layer(x[:, i:i + 1], *others, is_causal=True, cache=cache)) for i in range(6)]
        assert cache.positions == 6
        np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-4, atol=1e-5)


def test_losses(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    x, y = xp.asarray(a), xp.asarray(b)
    assert nn.mse_loss(x, y).item() == pytest.approx(((a - b) ** 2).mean())
    assert nn.mae_loss(x, y, reduction="sum").item() == pytest.approx(np.abs(a - b).sum())
    assert nn.huber_loss(x, y, delta=0.5, reduction="none").shape == (4, 3)
    far = np.abs(a - b)
    assert nn.huber_loss(x, y, delta=0.5).item() == pytest.approx(
        np.where(far <= 0.5, far**2 / 2, 0.5 * (far - 0.25)).mean())
    labels = np.array([0, 2, 1, 2])
    log_softmax = a - np.log(np.exp(a).sum(axis=1, keepdims=True))
    chosen = -log_softmax[np.arange(4), labels]
    assert nn.cross_entropy(x, xp.asarray(labels)).item() == pytest.approx(chosen.mean())
    assert nn.cross_entropy(x, xp.asarray(labels), ignore_index=2).item() == pytest.approx(chosen[[0, 2]].mean())
    smooth = 0.9 * chosen - 0.1 * log_softmax.mean(axis=1)
    assert nn.cross_entropy(x, xp.asarray(labels), label_smoothing=0.1).item() == pytest.approx(smooth.mean())
    p, t = 1 / (1 + np.exp(-a)), (b > 0).astype(float)
    expected = -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean()
    assert nn.binary_cross_entropy_with_logits(x, xp.asarray(t)).item() == pytest.approx(expected)
    assert nn.binary_cross_entropy(xp.asarray(p), xp.asarray(t)).item() == pytest.approx(expected)
    assert nn.accuracy(x, xp.asarray(labels)).item() == pytest.approx((a.argmax(axis=1) == labels).mean())
    assert nn.info_nce_loss(x, x, temperature=0.01).item() < nn.info_nce_loss(x, y, temperature=0.01).item()
    assert nn.triplet_loss(x, x, y, margin=0).item() == pytest.approx(0, abs=1e-6)
    with pytest.raises(vectis.InvalidInputError, match="'mean', 'sum' or 'none'"):
        nn.mse_loss(x, y, reduction="all")


def train_both(optimizer: nn.Optimizer, peer: Callable[[list[Any]], Any], steps: int = 5) -> None:
    rng = np.random.default_rng(1)
    model, torch_model = nn.Dense(4, 3), torch.nn.Linear(4, 3)
    model.load_state_dict(torch_model.state_dict())
    torch_optimizer = peer(list(torch_model.parameters()))
    for _ in range(steps):
        data = rng.normal(size=(8, 4)).astype(np.float32)
        _, gradients = nn.value_and_grad(model, lambda x: xp.mean(model(x) ** 2))(xp.asarray(data))
        optimizer.update(model, gradients)
        torch_optimizer.zero_grad()
        (torch_model(torch.from_numpy(data)) ** 2).mean().backward()
        torch_optimizer.step()
    for name, value in torch_model.state_dict().items():
        np.testing.assert_allclose(np.asarray(model.state_dict()[name]), value.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
def test_optimizers_are_pytorchs() -> None:
    train_both(nn.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
               lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01))
    train_both(nn.Adam(0.01), lambda p: torch.optim.Adam(p, 0.01))
    train_both(nn.AdamW(0.01), lambda p: torch.optim.AdamW(p, 0.01))
    train_both(nn.RMSprop(0.01, momentum=0.5, centered=True),
               lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.5, centered=True))


def test_sgd_and_adam_by_their_formulas() -> None:
    class One(nn.Module):
        w = xp.ones(3)

        def __init__(self) -> None:
            super().__init__()
            self.w = xp.asarray([1.0, 2.0, 3.0], dtype="float64")

    gradient = np.array([0.5, -1.0, 2.0])
    model = One()
    sgd = nn.SGD(0.1, momentum=0.9)
    for _ in range(2):
        sgd.update(model, {"w": xp.asarray(gradient)})
    np.testing.assert_allclose(np.asarray(model.w), np.array([1, 2, 3]) - 0.1 * gradient - 0.1 * 1.9 * gradient, rtol=1e-12)
    model = One()
    nn.Adam(0.1).update(model, {"w": xp.asarray(gradient)})
    np.testing.assert_allclose(np.asarray(model.w), np.array([1, 2, 3]) - 0.1 * np.sign(gradient), rtol=1e-6)


def test_errors_of_optimizers() -> None:
    model = nn.Dense(2, 2)
    with pytest.raises(vectis.InvalidInputError, match="gradient of bias is missing"):
        nn.Adam().update(model, {"weight": xp.zeros((2, 2))})
    with pytest.raises(vectis.InvalidInputError, match="3 gradients for 2"):
        nn.Adam().update(model, {"weight": xp.zeros((2, 2)), "bias": xp.zeros(2), "more": xp.zeros(2)})
    with pytest.raises(vectis.InvalidInputError):
        nn.Adam().update(model, {"weight": xp.zeros((2, 3)), "bias": xp.zeros(2)})
    with pytest.raises(vectis.InvalidInputError):
        nn.SGD(-1)
    optimizer = nn.Adam(0.5)
    optimizer.learning_rate = 0.25
    assert optimizer.learning_rate == 0.25 and "adam" in repr(optimizer)
    state = optimizer.state_dict()
    other = nn.Adam()
    other.load_state_dict(state)
    assert other.learning_rate == 0.25


def test_schedules_and_gradients() -> None:
    schedule = nn.warm_up(4, nn.cosine(10))
    assert schedule(0) == 0.25 and schedule(4) == 1 and schedule(9) == pytest.approx(0.5) and schedule(14) == 0
    assert nn.step_decay(3, 0.5)(7) == 0.25
    assert nn.warm_up(2, lambda step: 1 / (1 + step))(3) == 0.5
    plateau = nn.PlateauSchedule(0.1, patience=1)
    assert [plateau.observe(loss) for loss in (1, 1, 1, 1)][-1] == pytest.approx(0.1)
    gradients = {"a": xp.asarray([3.0]), "b": xp.asarray([4.0])}
    clipped, norm = nn.clip_by_norm(gradients, 1)
    assert norm.item() == 5 and clipped["b"].item() == pytest.approx(0.8)
    assert nn.clip_by_value(gradients, 3.5)["b"].item() == 3.5
    accumulator = nn.GradientAccumulator()
    accumulator.add(gradients)
    accumulator.add({"a": xp.asarray([1.0]), "b": xp.asarray([0.0])})
    assert accumulator.count == 2
    assert {name: value.item() for name, value in accumulator.take().items()} == {"a": 2, "b": 2}
    with pytest.raises(vectis.InvalidInputError, match="other names"):
        accumulator.add(gradients)
        accumulator.add({"a": xp.asarray([1.0])})
    with pytest.raises(TypeError, match="schedule"):
        nn.warm_up(1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision(dtype: str, rng: np.random.Generator) -> None:
    mixed = nn.MixedPrecision(dtype)
    assert mixed.dtype == dtype
    model = nn.Dense(4, 2)
    x = xp.asarray(rng.normal(size=(8, 4)).astype(np.float32))
    seen = []

    def loss_of(x: xp.Array) -> xp.Array:
        seen.append(model.weight.dtype)
        return xp.mean(model(x).astype("float32") ** 2)

    found = mixed.value_and_grad(model, loss_of)(x.astype(dtype))
    assert found is not None
    _, exact = nn.value_and_grad(model, loss_of)(x)
    assert seen == [getattr(xp, dtype), xp.float32] and model.weight.dtype == xp.float32
    for name, gradient in found[1].items():
        assert gradient.dtype == xp.float32
        np.testing.assert_allclose(np.asarray(gradient), np.asarray(exact[name]), rtol=0.05, atol=0.02)
    if dtype == "float16":
        scale = mixed.scale
        assert mixed.value_and_grad(model, lambda: xp.sum(model.weight) * 1e9)() is None and mixed.scale == scale / 2


def test_constructors_have_the_defaults_of_the_library() -> None:
    for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoder):
        assert inspect.signature(kind).parameters["feed_forward"].default == 2048
    with pytest.raises(vectis.InvalidInputError):
        nn.Dense(0, 3)
    with pytest.raises(vectis.InvalidInputError):
        nn.Dropout(1)
    with pytest.raises(TypeError):
        nn.Conv2d(1, 1, "3")  # type: ignore[arg-type]
