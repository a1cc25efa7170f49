"""Gradients of Python functions: against finite differences, of nested arguments, and when something goes wrong."""

from __future__ import annotations

import collections
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import vectis
import vectis.array as xp

Pair = collections.namedtuple("Pair", "first second")


def random(rng: np.random.Generator, *shape: int) -> xp.Array:
    return xp.asarray(rng.uniform(0.2, 0.9, shape))


FUNCTIONS: dict[str, Any] = {
    "tanh of product": lambda x, y: xp.sum(xp.tanh(x @ y.T)),
    "quotient": lambda x, y: xp.mean(x / y - y**x),
    "softmax": lambda x, y: xp.sum(xp.softmax(x) * y),
    "layer_norm": lambda x, y: xp.sum(xp.layer_norm(x) * y),
    "item": lambda x, y: x[1, 2] * y[0, 0] + x[-1, -1],
    "mask": lambda x, y: xp.sum(x[xp.asarray([[True, False, True]] * 2)] ** 2) + xp.sum(y),
    "indices": lambda x, y: xp.sum(x[[0, 1, 0], [2, 1, 2]] * y[0]),
    "reflected": lambda x, y: xp.sum(2 / x - (1 - y) * 3 + 2**x),
    "copysign": lambda x, y: xp.sum(xp.copysign(x, -y)),
    "cumulative_prod": lambda x, y: xp.sum(xp.cumulative_prod(x, axis=1) * y),
    "tensordot": lambda x, y: xp.sum(xp.tensordot(x, y, axes=((0,), (0,))) ** 2),
    "repeat": lambda x, y: xp.sum(xp.repeat(x, xp.asarray([1, 3, 2]), axis=1) ** 2) + xp.sum(y),
    "diff": lambda x, y: xp.sum(xp.diff(x, n=1, axis=1) ** 2) * xp.max(y),
    "vecdot": lambda x, y: xp.sum(xp.vecdot(x, y) ** 2),
    "einsum": lambda x, y: xp.einsum("ij,ij->", x, y),
    "numpy": lambda x, y: np.sum(np.tanh(x) * np.exp(y)),
}


def replaced(x: xp.Array, y: xp.Array) -> xp.Array:
    z = x * 1
    z[0, 1:] = y[1, :2]
    z[z > 0.8] = 0.5
    return xp.sum(z**3)


FUNCTIONS["replaced elements"] = replaced


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_against_differences(name: str, rng: np.random.Generator) -> None:
    check = xp.check_gradient(FUNCTIONS[name], random(rng, 2, 3), random(rng, 2, 3))
    assert check.error_max < 1e-6, check


def test_values_and_argument_numbers() -> None:
    def function(x: xp.Array, y: xp.Array, *, scale: float = 1.0) -> xp.Array:
        return xp.sum(x * x * y) * scale

    x, y = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    value, gradient = vectis.value_and_grad(function)(x, y)
    assert (value.item(), gradient.tolist()) == (19, [6, 16])
    assert vectis.grad(function, argnums=1)(x, y, scale=2.0).tolist() == [2, 8]
    both = vectis.grad(function, argnums=(0, -1))(x, y)
    assert [part.tolist() for part in both] == [[6, 16], [1, 4]]
    assert vectis.grad(lambda z: z**3)(2.0).item() == 12
    assert vectis.grad(vectis.grad(lambda z: z**3))(xp.asarray(2.0)).item() == 12
    (value, aux), gradient = vectis.value_and_grad(lambda z: (xp.sum(z), {"twice": 2 * z}), has_aux=True)(x)
    assert (value.item(), aux["twice"].tolist(), gradient.tolist()) == (3, [2, 4], [1, 1])
    assert vectis.grad(function).__wrapped__ is function


def test_trees_of_arrays() -> None:
    tree = {"layers": [(xp.ones((2, 3)), xp.zeros(3)), (xp.ones((3, 1)), None)], "pair": Pair(xp.ones(2), 0.5),
            "ordered": collections.OrderedDict(a=xp.ones(1))}

    def loss(p: Any, x: xp.Array) -> xp.Array:
        (w, b), (v, _) = p["layers"]
        assert isinstance(p["pair"], Pair) and isinstance(p["ordered"], collections.OrderedDict)
        return xp.sum(xp.tanh(x @ w + b) @ v) * p["pair"].second + xp.sum(p["pair"].first * p["ordered"]["a"])

    gradient = vectis.grad(loss)(tree, xp.ones((4, 2)))
    assert gradient["layers"][0][0].shape == (2, 3) and gradient["layers"][1][1] is None
    assert isinstance(gradient["pair"], Pair) and gradient["ordered"]["a"].tolist() == [2.0]
    assert tree["layers"][0][1].tolist() == [0, 0, 0]
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        vectis.grad(lambda x: x)(loop)


def test_wrong_functions_and_arguments() -> None:
    x = xp.ones(3)
    for function, arguments in ((xp.sum, (xp.arange(3),)), (lambda a: 1.0, (x,)), (lambda a: a, (x,)), (xp.sum, ()),
                                (xp.sum, ("text",)), (lambda a: None, (x,)), (lambda a: (xp.sum(a), 1), (x,))):
        with pytest.raises(vectis.InvalidInputError):
            vectis.grad(function)(*arguments)
    for bad in (3, None):
        with pytest.raises(TypeError):
            vectis.grad(bad)
    for numbers in ("a", 1.5, ()):
        with pytest.raises(TypeError):
            vectis.grad(xp.sum, argnums=numbers)
    with pytest.raises(vectis.InvalidInputError, match="argnums"):
        vectis.grad(xp.sum, argnums=3)(x)


class Stop(Exception):
    pass


def test_exceptions_leave_everything_usable() -> None:
    kept: list[xp.Array] = []

    def failing(x: xp.Array) -> xp.Array:
        kept.append(x * 2)
        vectis.grad(lambda y: xp.sum(y * x))(x)
        raise Stop

    for _ in range(3):
        with pytest.raises(Stop):
            vectis.value_and_grad(failing)(xp.ones(3))
    assert kept[0].tolist() == [2, 2, 2]

    def bad_gradient(*_: Any) -> Any:
        raise Stop

    custom = xp.custom_function(lambda x: x * 2, bad_gradient)
    assert custom(xp.ones(2)).tolist() == [2, 2]
    with pytest.raises(Stop):
        vectis.grad(lambda x: xp.sum(custom(x)))(xp.ones(2))
    with pytest.raises(Stop), xp.no_grad():
        raise Stop
    assert vectis.grad(lambda x: xp.sum(x * x))(xp.ones(2)).tolist() == [2, 2]


def test_custom_functions_and_checkpoints() -> None:
    calls = []
    clipped = xp.custom_function(lambda x, y: xp.clip(x, 0, 1) * y, lambda value, arguments, adjoint: (adjoint * 10, None))
    gradients = vectis.grad(lambda x, y: xp.sum(clipped(x, y)), argnums=(0, 1))(xp.asarray([0.5, 2.0]), xp.ones(2))
    assert [one.tolist() for one in gradients] == [[10, 10], [0, 0]]

    def layer(x: xp.Array, w: xp.Array) -> xp.Array:
        calls.append(1)
        return xp.tanh(x @ w)

    x, w = xp.full((2, 2), 0.3), xp.full((2, 2), 0.7)
    plain = vectis.grad(lambda w: xp.sum(layer(layer(x, w), w)))(w)
    calls.clear()
    again = vectis.grad(lambda w: xp.sum(xp.checkpoint(layer)(xp.checkpoint(layer)(x, w), w)))(w)
    assert np.allclose(plain, again) and len(calls) == 4
    wrong = xp.custom_function(lambda x: x * 1, lambda value, arguments, adjoint: (adjoint, adjoint))
    with pytest.raises(vectis.InvalidInputError):
        vectis.grad(lambda x: xp.sum(wrong(x)))(x)


def test_vjp_stop_gradient_and_no_grad() -> None:
    x = xp.asarray([1.0, 2.0])
    value, (gradient,) = xp.vjp(lambda a: a**2, [x], xp.asarray([1.0, 10.0]))
    assert value.tolist() == [1, 4] and gradient.tolist() == [2, 40]
    assert vectis.grad(lambda a: xp.sum(a * xp.stop_gradient(a)))(x).tolist() == [1, 2]

    def partly(a: xp.Array) -> xp.Array:
        with xp.no_grad():
            constant = a * 3
        return xp.sum(a * constant)

    assert vectis.grad(partly)(x).tolist() == [3, 6]
    outer, inner = xp.no_grad(), xp.no_grad()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(vectis.InvalidInputError):
        outer.__exit__(None, None, None)
    errors: list[BaseException] = []
    thread = threading.Thread(target=lambda: errors.append(pytest.raises(vectis.InvalidInputError, inner.__exit__).value))
    thread.start()
    thread.join()
    assert len(errors) == 1
    inner.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    assert vectis.grad(lambda a: xp.sum(a * 3))(x).tolist() == [3, 3]


def test_functions_are_released() -> None:
    class Function:
        def __call__(self, x: xp.Array) -> xp.Array:
            return x * 2

    function = Function()
    watched = weakref.ref(function)
    custom = xp.custom_function(function.__call__, lambda value, arguments, adjoint: [adjoint])
    results = [custom(xp.ones(3)) for _ in range(5)]
    vectis.grad(lambda x: xp.sum(custom(x)))(xp.ones(3)).eval()
    del function, custom
    threads = [threading.Thread(target=result.eval) for result in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result.tolist() == [2, 2, 2] for result in results)
    del results, threads, thread
    gc.collect()
    assert watched() is None


def test_an_object_that_keeps_its_gradient_function_is_released() -> None:
    class Model:
        def __init__(self) -> None:
            self.step = vectis.value_and_grad(self.loss)

        def loss(self, w: xp.Array) -> xp.Array:
            return xp.sum(w * w)

    model = Model()
    assert model.step(xp.ones(2))[1].tolist() == [2, 2]
    watched = weakref.ref(model)
    del model
    gc.collect()
    assert watched() is None


def test_training_lowers_the_loss() -> None:
    random_arrays = xp.Generator(3)
    x = random_arrays.normal((64, 4))
    y = xp.sum(x, axis=1, keepdims=True) ** 2
    parameters = {"w": random_arrays.normal((4, 32)) * 0.5, "b": xp.zeros(32), "v": random_arrays.normal((32, 1)) * 0.2}

    def loss(p: dict[str, xp.Array]) -> xp.Array:
        return xp.mean((xp.relu(x @ p["w"] + p["b"]) @ p["v"] - y) ** 2)

    step = vectis.value_and_grad(loss)
    first, _ = step(parameters)
    for _ in range(200):
        value, gradient = step(parameters)
        parameters = {name: parameters[name] - 0.01 * gradient[name] for name in parameters}
        xp.eval(value, *parameters.values())
    assert value.item() < 0.1 * first.item()
