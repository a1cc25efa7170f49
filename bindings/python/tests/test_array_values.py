"""vectis.array against NumPy: random shapes, strides, element types and edge values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import seed

import vectis
import vectis.array as xp

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int8", "uint8", "int32", "int64")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, np.inf, -np.inf, np.nan, 1e-3, -7.0, 100.0]
TOLERANCE = {"float32": 3e-6, "float64": 1e-12, "float16": 2e-3}

UNARY = {name: getattr(np, name) for name in (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp exp2 expm1 floor isfinite isinf isnan log log10 log1p log2 "
    "logical_not negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc").split()}
BINARY = {name: getattr(np, name) for name in (
    "add atan2 copysign divide equal floor_divide fmod greater greater_equal hypot less less_equal logaddexp logical_and "
    "logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract").split()}
BITS = {name: getattr(np, name) for name in
        ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")}


def strided(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """The same values in memory with gaps, reversed or transposed."""
    way = rng.integers(4) if values.ndim > 0 else 0
    if way == 1:
        wide = np.repeat(values, 2, axis=-1)
        return wide[..., ::2]
    if way == 2:
        return np.flip(np.flip(values, -1).copy(), -1)
    return values.T.copy().T if way == 3 else values


def random_array(rng: np.random.Generator, dtype: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    shape = tuple(rng.integers(0, 5, rng.integers(1, 4))) if shape is None else shape
    if dtype == "bool":
        return strided(rng, rng.random(shape) < 0.5)
    if dtype in INTEGERS:
        return strided(rng, rng.integers(0 if dtype == "uint8" else -9, 10, shape).astype(dtype))
    return strided(rng, np.asarray(rng.choice(np.array(EDGES), shape)).astype(dtype))


def check(ours: xp.Array, theirs: Any, what: str = "") -> None:
    theirs = np.asarray(theirs)
    found = np.asarray(ours)
    assert found.shape == theirs.shape, what
    if theirs.dtype.kind != "f":
        assert np.array_equal(found.astype(theirs.dtype), theirs), f"{what}: {found} is not {theirs}"
        return
    rtol = TOLERANCE.get(str(found.dtype), 0)
    np.testing.assert_allclose(found.astype(np.float64), theirs.astype(np.float64), rtol=rtol, atol=rtol, err_msg=what)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str, rng: np.random.Generator) -> None:
    for shape in (None, (), (0,), (len(EDGES),)):
        x = random_array(rng, dtype, shape)
        check(getattr(xp, name)(xp.asarray(x)), UNARY[name](x), f"seed {seed()}, {name} of {x!r}")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: str, rng: np.random.Generator) -> None:
    for shapes in (((3, 4), (4,)), ((), (2, 0)), ((13, 1), (13,))):
        x, y = (random_array(rng, dtype, shape) for shape in shapes)
        expected = BINARY[name](x, y)
        if name == "floor_divide":  # the zeros and infinities of the standard, not of NumPy
            ratio = x / y
            expected = np.where((ratio == 0) | np.isinf(ratio), ratio, expected)
        check(getattr(xp, name)(xp.asarray(x), xp.asarray(y)), expected, f"seed {seed()}, {name} of {x!r}, {y!r}")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "floor_divide", "remainder", "equal", "less", *BITS])
def test_binary_of_integers(name: str, dtype: str, rng: np.random.Generator) -> None:
    x, y = random_array(rng, dtype, (5, 4)), random_array(rng, dtype, (4,))
    if name.endswith("shift"):
        y = np.abs(y) % 7
    function = (BINARY | BITS)[name]
    check(getattr(xp, name)(xp.asarray(x), xp.asarray(y)), function(x, y), f"seed {seed()}, {name} of {x!r}, {y!r}")


REDUCTIONS: dict[str, Callable[..., Any]] = {name: getattr(np, name) for name in
                                             "sum prod mean var std max min all any count_nonzero".split()}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, dtype: str, rng: np.random.Generator) -> None:
    for _ in range(10):
        x = random_array(rng, dtype, tuple(rng.integers(1, 5, rng.integers(1, 4))))
        if dtype.startswith("float"):
            x = rng.standard_normal(x.shape).astype(dtype)
        axes = [None, -1, tuple(range(x.ndim)), (0,)][rng.integers(4)]
        keepdims = bool(rng.integers(2))
        wrapped = {"dtype": dtype} if (name, dtype) == ("prod", "int32") else {}  # NumPy computes in int64
        expected = REDUCTIONS[name](x, axis=axes, keepdims=keepdims, **wrapped)
        check(getattr(xp, name)(xp.asarray(x), axis=axes, keepdims=keepdims), expected, f"seed {seed()}, {name}")
    none = xp.asarray(np.array([[2.0, 3.0]]))
    assert getattr(xp, name)(none, axis=()).shape == (1, 2)


def random_key(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    key: list[Any] = []
    for extent in shape:
        kind = rng.integers(6)
        if kind == 0 and extent:
            key.append(int(rng.integers(-extent, extent)))
        elif kind == 1 and extent:
            key.append(rng.integers(-extent, extent, 3))
        elif kind == 2:
            key.append(rng.random(extent) < 0.5)
        elif kind == 3:
            key.append(Ellipsis)
            break
        else:
            limits = [None if rng.random() < 0.3 else int(rng.integers(-extent - 2, extent + 3)) for _ in range(2)]
            key.append(slice(*limits, int(rng.choice([1, 2, -1, -2]))))
    if rng.random() < 0.3:
        key.insert(int(rng.integers(len(key) + 1)), None)
    return tuple(key[:-1] if rng.random() < 0.1 else key)


def test_indexing(rng: np.random.Generator) -> None:
    done = 0
    while done < 300:
        shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 5)))
        x, key = np.arange(np.prod(shape)).reshape(shape), None
        key = random_key(rng, shape)
        try:
            expected = x[key]
        except IndexError:  # masks and arrays that do not broadcast
            with pytest.raises(vectis.InvalidInputError):
                np.asarray(xp.asarray(x)[key])
            continue
        where = f"seed {seed()}, shape {shape}, key {key}"
        check(xp.asarray(x)[key], expected, where)
        values = rng.integers(100, 200, expected.shape) if rng.random() < 0.5 else 77
        if _names_twice(x, key):
            continue
        ours, theirs = xp.asarray(x), x.copy()
        kept = +ours
        ours[key] = values
        theirs[key] = values
        check(ours, theirs, where)
        check(kept, x, "another object keeps its value")
        done += 1


def _names_twice(x: np.ndarray, key: tuple[Any, ...]) -> bool:
    chosen = x[key].ravel()
    return len(set(chosen.tolist())) != chosen.size


def test_indices_that_do_not_exist() -> None:
    x = xp.arange(6).reshape(2, 3)
    for key in (2, -3, (0, 3), (0, 0, 0), (..., ...), [True, False, True]):
        with pytest.raises(vectis.errors.InvalidIndexError) as caught:
            x[key]
        assert isinstance(caught.value, IndexError) and isinstance(caught.value, ValueError)
    assert x[np.zeros(0, bool)].shape == (0, 3)
    for key in ([5], ([0, 1], [0, 3]), [-3]):
        with pytest.raises(vectis.InvalidInputError):
            x[key].eval()
    for bad in (1.5, "a", xp.asarray(1.5), xp.asarray([np.nan]), {}, object()):
        with pytest.raises((TypeError, vectis.InvalidInputError)):
            x[bad]
    with pytest.raises(TypeError):
        del x[0]
    for axes in ((7, 0), (0, -3)):
        with pytest.raises(IndexError):
            xp.moveaxis(x, *axes)
    assert x[10**30:].shape == (0, 3) and x[::-(10**30)].shape == (1, 3)


MANIPULATIONS: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = [
    ("concat", lambda x: xp.concat([x, x], axis=1), lambda x: np.concat([x, x], axis=1)),
    ("concat flat", lambda x: xp.concat([x, x], axis=None), lambda x: np.concat([x, x], axis=None)),
    ("stack", lambda x: xp.stack([x, x], axis=-1), lambda x: np.stack([x, x], axis=-1)),
    ("flip", lambda x: xp.flip(x), np.flip),
    ("roll", lambda x: xp.roll(x, (1, -2), axis=(0, 1)), lambda x: np.roll(x, (1, -2), axis=(0, 1))),
    ("roll flat", lambda x: xp.roll(x, 5), lambda x: np.roll(x, 5)),
    ("tile", lambda x: xp.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    ("repeat", lambda x: xp.repeat(x, 3, axis=0), lambda x: np.repeat(x, 3, axis=0)),
    ("repeat each", lambda x: xp.repeat(x, xp.asarray([1, 0, 2]), axis=0), lambda x: np.repeat(x, [1, 0, 2], axis=0)),
    ("moveaxis", lambda x: xp.moveaxis(x[None], (0, 1), (2, 0)), lambda x: np.moveaxis(x[None], (0, 1), (2, 0))),
    ("permute_dims", lambda x: xp.permute_dims(x, (1, 0)), lambda x: x.T),
    ("T", lambda x: x.T, lambda x: x.T),
    ("tril", lambda x: xp.tril(x, k=1), lambda x: np.tril(x, 1)),
    ("cumulative_sum", lambda x: xp.cumulative_sum(x, axis=1), lambda x: np.cumsum(x, axis=1)),
    ("cumulative_prod", lambda x: xp.cumulative_prod(x, axis=1, include_initial=True),
     lambda x: np.cumulative_prod(x, axis=1, include_initial=True)),
    ("diff", lambda x: xp.diff(x, n=2, axis=0), lambda x: np.diff(x, n=2, axis=0)),
    ("sort", lambda x: xp.sort(x, axis=0), lambda x: np.sort(x, axis=0)),
    ("argsort", lambda x: xp.argsort(x, axis=1), lambda x: np.argsort(x, axis=1, stable=True)),
    ("argmax", lambda x: xp.argmax(x, axis=0), lambda x: np.argmax(x, axis=0)),
    ("take", lambda x: xp.take(x, xp.asarray([1, 0, -1]), axis=1), lambda x: np.take(x, [1, 0, -1], axis=1)),
    ("where", lambda x: xp.where(x > 0, x, 7), lambda x: np.where(x > 0, x, 7)),
    ("clip", lambda x: xp.clip(x, -1, 2), lambda x: np.clip(x, -1, 2)),
    ("unique", lambda x: xp.unique_values(x), np.unique),
    ("isin", lambda x: xp.isin(x, xp.asarray([1, 2, -3])), lambda x: np.isin(x, [1, 2, -3])),
    ("matmul", lambda x: x @ x.T, lambda x: x @ x.T),
    ("tensordot", lambda x: xp.tensordot(x, x, axes=((0, 1), (0, 1))), lambda x: np.tensordot(x, x, ((0, 1), (0, 1)))),
    ("einsum", lambda x: xp.einsum("ij,kj->ik", x, x), lambda x: np.einsum("ij,kj->ik", x, x)),
    ("outer", lambda x: xp.outer(x[0], x[1]), lambda x: np.outer(x[0], x[1])),
    ("pad", lambda x: xp.pad(x, [(1, 0), (0, 2)], 3), lambda x: np.pad(x, [(1, 0), (0, 2)], constant_values=3)),
    ("meshgrid", lambda x: xp.stack(xp.meshgrid(x[0], x[1])), lambda x: np.stack(np.meshgrid(x[0], x[1]))),
]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("ours, theirs", [pytest.param(a, b, id=name) for name, a, b in MANIPULATIONS])
def test_manipulation(ours: Callable[[Any], Any], theirs: Callable[[Any], Any], dtype: str, rng: np.random.Generator) -> None:
    x = strided(rng, rng.integers(-4, 5, (3, 4)).astype(dtype))
    check(ours(xp.asarray(x)), theirs(x), f"seed {seed()}, {x!r}")


def test_searches(rng: np.random.Generator) -> None:
    sorted_, values = np.sort(rng.integers(0, 20, 15)), rng.integers(-2, 25, (4, 5))
    for side in ("left", "right"):
        check(xp.searchsorted(xp.asarray(sorted_), xp.asarray(values), side=side), np.searchsorted(sorted_, values, side))
    x = rng.integers(0, 4, (5, 6))
    for ours, theirs in zip(xp.unique_all(xp.asarray(x)), np.unique_all(x), strict=True):
        check(ours, theirs)
    for ours, theirs in zip(xp.nonzero(xp.asarray(x)), np.nonzero(x), strict=True):
        check(ours, theirs)
    top, positions = xp.top_k(xp.asarray(x), 2)
    check(top, np.sort(x, axis=-1)[:, :-3:-1])
    check(xp.take_along_axis(xp.asarray(x), positions), top)


def test_types_of_results() -> None:
    half, small = xp.ones(2, dtype="float16"), xp.ones(2, dtype=xp.uint8)
    assert (half + 1.5).dtype == xp.float16 and (small + 1).dtype == xp.uint8 and (small + 300).dtype == xp.int32
    assert xp.asarray([1, 2]).dtype == xp.int32 and xp.asarray([2**40]).dtype == xp.int64
    assert xp.asarray([1.0]).dtype == xp.float32 and xp.asarray([True]).dtype == xp.bool
    assert xp.asarray(np.ones(2)).dtype == xp.float64 and xp.arange(2**33, 2**33 + 2).dtype == xp.int64
    assert xp.result_type(xp.int8, xp.uint8) == xp.int32 and xp.result_type(xp.int64, 1.5) == xp.float32
    assert xp.can_cast(xp.int8, xp.int32) and not xp.can_cast(xp.int32, xp.int8)
    assert xp.isdtype(xp.float16, "real floating") and not xp.isdtype(xp.bool, "numeric")
    for name in FLOATS:
        assert xp.finfo(name).max == float(np.finfo(name).max) and xp.finfo(name).eps == float(np.finfo(name).eps)
    for name in INTEGERS:
        assert (xp.iinfo(name).min, xp.iinfo(name).max) == (np.iinfo(name).min, np.iinfo(name).max)


def test_wrong_input() -> None:
    for call in (
        lambda: xp.asarray(np.ones(2, np.int16)), lambda: xp.asarray(np.ones(2, complex)), lambda: xp.asarray("text"),
        lambda: xp.asarray([[1], [1, 2]]), lambda: xp.zeros((-1,)), lambda: xp.zeros((2**40, 2**40)),
        lambda: xp.zeros([1] * 65), lambda: xp.zeros(3, dtype="int16"), lambda: xp.arange(0, 5, 0),
        lambda: xp.ones((2, 3)) + xp.ones(2), lambda: xp.ones(3).reshape(2), lambda: xp.ones(3) + 2**70,
        lambda: xp.sum(xp.ones(3), axis=1), lambda: xp.ones(3).T, lambda: xp.ones((2, 2)).item(), lambda: xp.sin(True),
        lambda: bool(xp.ones(2)), lambda: xp.ones(2, device="no such device"), lambda: xp.einsum("ij", xp.ones(2)),
    ):
        with pytest.raises((vectis.InvalidInputError, vectis.UnsupportedBackendError)) as caught:
            call()
        assert str(caught.value).startswith("[")
    for call in (lambda: xp.ones(2) + "a", lambda: xp.ones(2) + None, lambda: xp.sin([1]), lambda: hash(xp.ones(1)),
                 lambda: len(xp.ones(())), lambda: iter(xp.ones(())), lambda: [1][xp.asarray(0.0)], lambda: xp.Array()):
        with pytest.raises(TypeError):
            call()


def test_numbers_and_text() -> None:
    x = xp.asarray(3)
    assert (int(x), float(x), complex(x), bool(x), [0, 1, 2, 9][x], x.item()) == (3, 3.0, 3 + 0j, True, 9, 3)
    assert xp.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]] and [int(part) for part in xp.arange(3)] == [0, 1, 2]
    assert repr(xp.asarray([1.5, 2])) == "Array([1.5, 2. ], dtype=float32)"
    assert "<td" in xp.asarray([[1, 2]])._repr_html_() and "&lt;" not in xp.zeros(3)._repr_html_()
    assert (x == None) is False and (x != None) is True and x in [x]  # noqa: E711
    y = x
    y += 1
    assert (int(x), int(y)) == (3, 4)  # in-place operators make a new value


def test_random_numbers() -> None:
    first, second = xp.Generator(7), xp.Generator(7)
    assert np.array_equal(first.normal((3, 4)), second.normal((3, 4)))
    assert not np.array_equal(first.normal(5), xp.Generator(8).normal(5))
    assert sorted(first.permutation(50).tolist()) == list(range(50))
    draws = np.asarray(first.uniform(10_000, 2, 3))
    assert draws.min() >= 2 and draws.max() < 3 and abs(draws.mean() - 2.5) < 0.02


@pytest.mark.parametrize("k", [2**63, -(2**70), 2**62, -(2**63)])
def test_diagonals_beyond_the_matrix_have_no_ones(k: int) -> None:
    assert not xp.any(xp.eye(3, 4, k=k))
