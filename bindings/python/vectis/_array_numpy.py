"""NumPy's functions on our arrays: np.tanh(x) and np.concatenate([x, y]) call those of vectis.array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import array
from ._array import Array

# NumPy's names where they differ from ours.
_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "power": "pow", "true_divide": "divide", "rint": "round", "mod": "remainder",
    "concatenate": "concat", "transpose": "permute_dims", "amax": "max", "amin": "min", "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod", "ravel": "flatten", "fix": "trunc", "fabs": "abs", "around": "round",
}
_KEYWORDS = {"ddof": "correction"}


def _function(name: str) -> Callable[..., Any] | None:
    return getattr(array, _NAMES.get(name, name), None)


def _named(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {_KEYWORDS.get(name, name): value for name, value in kwargs.items()}


def restore(elements: Any, dtype: str) -> Array:
    """Make an array of what pickle stored: NumPy's elements, or the bits of bfloat16."""
    if dtype == "bfloat16":
        elements = (elements.astype("uint32") << 16).view("float32")
    return array.asarray(elements, dtype=dtype)


def call_ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Call our function of the ufunc's name; NotImplemented when there is none, or for methods such as `reduce`."""
    function = _function(ufunc.__name__)
    if function is None or method != "__call__" or kwargs:
        return NotImplemented
    return function(*inputs)


def call_function(self: Array, function: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call our function of the name of one of NumPy's; NotImplemented when there is none."""
    name = function.__name__
    if name in _SPECIAL:
        return _SPECIAL[name](*args, **kwargs)
    ours = _function(name) if function.__module__ in ("numpy", "numpy.linalg") else None
    return NotImplemented if ours is None else ours(*args, **_named(kwargs))


def _transpose(a: Array, axes: Any = None) -> Array:
    return array.permute_dims(a, tuple(reversed(range(a.ndim))) if axes is None else axes)


def _concatenate(arrays: Any, axis: int | None = 0) -> Array:
    return array.concat(arrays, axis=axis)


def _stack(arrays: Any, axis: int = 0) -> Array:
    return array.stack(arrays, axis=axis)


def _along(name: str) -> Callable[..., Any]:
    """A function whose axis is positional in NumPy, and None means the flattened array."""
    def call(a: Array, axis: int | None = None, **kwargs: Any) -> Array:
        result: Array = getattr(array, name)(array.flatten(a) if axis is None else a, axis=axis or 0, **kwargs)
        return result
    return call


def _sort(name: str) -> Callable[..., Any]:
    def call(a: Array, axis: int | None = -1, kind: str | None = None) -> Array:
        result: Array = getattr(array, name)(array.flatten(a) if axis is None else a, axis=-1 if axis is None else axis)
        return result
    return call


def _take(a: Array, indices: Any, axis: int | None = None) -> Array:
    return array.take(array.flatten(a) if axis is None else a, array.asarray(indices), axis=0 if axis is None else axis)


def _shape(a: Array) -> tuple[int, ...]:
    return a.shape


def _flip(m: Array, axis: Any = None) -> Array:
    return array.flip(m, axis=axis)


def _dot(a: Array, b: Array) -> Array:
    return array.tensordot(a, b, axes=0 if 0 in (a.ndim, b.ndim) else ((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def _where(condition: Array, *choices: Any) -> Any:
    return array.where(condition, *choices) if choices else array.nonzero(condition)


def _allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    first, second = array.asarray(a), array.asarray(b)
    equal = array.equal(first, second)
    near = array.abs(first - second) <= atol + rtol * array.abs(second)
    return bool(array.all(equal | (near & array.isfinite(second))))


def _array_equal(a1: Any, a2: Any) -> bool:
    first, second = array.asarray(a1), array.asarray(a2)
    return first.shape == second.shape and bool(array.all(first == second))


_SPECIAL: dict[str, Callable[..., Any]] = {
    "transpose": _transpose, "concatenate": _concatenate, "stack": _stack, "cumsum": _along("cumulative_sum"),
    "cumprod": _along("cumulative_prod"), "sort": _sort("sort"), "argsort": _sort("argsort"), "take": _take, "dot": _dot,
    "shape": _shape, "flip": _flip, "where": _where, "allclose": _allclose,
    "array_equal": _array_equal,
}
