"""Arrays of any rank on any device, after the Python array API standard, with gradients.

```python
import numpy as np
import vectis
import vectis.array as xp

a = xp.asarray(np.ones((500, 500), np.float32))
b = xp.tanh(a @ a / 500 + 1)    # recorded
np.asarray(b)                   # computed
value, gradient = vectis.value_and_grad(lambda w: xp.mean((a @ w - 1) ** 2))(xp.zeros(500))
```
`docs/python-arrays.md` is the guide.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _vectis  # makes vectis._array, which has no file of its own
from . import _array
from . import _array_linalg as linalg
from ._array import *
from ._array import Array, DType

if TYPE_CHECKING:
    from ._types import ArrayDType, ArrayLike

__array_api_version__ = "2024.12"

float32 = DType.float32
float64 = DType.float64
float16 = DType.float16
bfloat16 = DType.bfloat16
int8 = DType.int8
uint8 = DType.uint8
int32 = DType.int32
int64 = DType.int64
bool = DType.bool

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi

_Device = _vectis.Device | int | str | None

# --- Element types ----------------------------------------------------------------------------------------------------

_KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (DType.bool,),
    "signed integer": (DType.int8, DType.int32, DType.int64),
    "unsigned integer": (DType.uint8,),
    "real floating": (DType.float16, DType.bfloat16, DType.float32, DType.float64),
    "complex floating": (),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"]


class finfo_object(NamedTuple):
    """The limits of a floating-point type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class iinfo_object(NamedTuple):
    """The limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


# Bits, bits of the fraction and largest exponent.
_FORMATS = {DType.float16: (16, 10, 15), DType.bfloat16: (16, 7, 127), DType.float32: (32, 23, 127),
            DType.float64: (64, 52, 1023)}
_INTEGER_BITS = {DType.int8: 8, DType.uint8: 8, DType.int32: 32, DType.int64: 64}


def _dtype_of(type: Array | ArrayDType) -> DType:
    return type.dtype if isinstance(type, Array) else result_type(type)


def finfo(type: Array | ArrayDType, /) -> finfo_object:
    """Return the limits of a floating-point type."""
    dtype = _dtype_of(type)
    if dtype not in _FORMATS:
        raise TypeError(f"finfo() takes a floating-point type, not {dtype.name}")
    bits, fraction, exponent = _FORMATS[dtype]
    largest = (2.0 - 2.0**-fraction) * 2.0**exponent
    return finfo_object(bits, 2.0**-fraction, largest, -largest, 2.0 ** (1 - exponent), dtype)


def iinfo(type: Array | ArrayDType, /) -> iinfo_object:
    """Return the limits of an integer type."""
    dtype = _dtype_of(type)
    if dtype not in _INTEGER_BITS:
        raise TypeError(f"iinfo() takes an integer type, not {dtype.name}")
    bits = _INTEGER_BITS[dtype]
    if dtype is DType.uint8:
        return iinfo_object(bits, 255, 0, dtype)
    return iinfo_object(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)


def isdtype(dtype: ArrayDType, kind: DType | str | tuple[DType | str, ...]) -> builtins.bool:
    """Return whether a type is one of these types or kinds, such as "real floating"."""
    found = result_type(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for one in kinds:
        if isinstance(one, str) and one not in _KINDS:
            raise ValueError(f"no kind of types is called {one!r}; choose one of {', '.join(map(repr, _KINDS))}")
    return builtins.any(found in _KINDS[one] if isinstance(one, str) else found == one for one in kinds)


def result_type(*arrays_and_dtypes: ArrayLike | ArrayDType) -> DType:
    """Return the type of an operation on arrays, types and numbers."""
    return _array.common_type(arrays_and_dtypes)


def can_cast(from_: Array | ArrayDType, to: ArrayDType, /) -> builtins.bool:
    """Return whether operations convert from one type to another."""
    return result_type(_dtype_of(from_), to) == result_type(to)


def astype(x: Array, dtype: ArrayDType, /, *, copy: builtins.bool = True, device: _Device = None) -> Array:
    """Return an array converted to another element type."""
    return x.astype(dtype, copy=copy, device=device)


# --- New arrays -------------------------------------------------------------------------------------------------------
# Functions of the extension module are written out where inspect.signature is of use: it does not see through them.


def zeros(  # type: ignore[no-redef]
    shape: int | Sequence[int], *, dtype: ArrayDType | None = None, device: _Device = None,
) -> Array:
    """Make an array of zeros."""
    return _array.zeros(shape, dtype=dtype, device=device)


def ones(  # type: ignore[no-redef]
    shape: int | Sequence[int], *, dtype: ArrayDType | None = None, device: _Device = None,
) -> Array:
    """Make an array of ones."""
    return _array.ones(shape, dtype=dtype, device=device)


def empty(  # type: ignore[no-redef]
    shape: int | Sequence[int], *, dtype: ArrayDType | None = None, device: _Device = None,
) -> Array:
    """Make an array of zeros."""
    return _array.empty(shape, dtype=dtype, device=device)


def full(  # type: ignore[no-redef]
    shape: int | Sequence[int],
    fill_value: builtins.bool | int | float | Array,
    *,
    dtype: ArrayDType | None = None,
    device: _Device = None,
) -> Array:
    """Make an array whose elements are all equal, stored once."""
    return _array.full(shape, fill_value, dtype=dtype, device=device)


def eye(  # type: ignore[no-redef]
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: ArrayDType | None = None, device: _Device = None,
) -> Array:
    """Make a matrix with ones on a diagonal and zeros elsewhere."""
    if not -(2**62) < k < 2**62:  # no matrix has this diagonal
        k = 2**62
    return _array.eye(n_rows, n_cols, k=k, dtype=dtype, device=device)


def linspace(  # type: ignore[no-redef]
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: ArrayDType | None = None,
    device: _Device = None,
    endpoint: builtins.bool = True,
) -> Array:
    """Make `num` numbers at equal distances from `start` to `stop`."""
    return _array.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)


def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: ArrayDType | None = None,
           device: _Device = None) -> Array:
    """Make start, start + step, ... up to but without stop; of one number, those from 0 to it."""
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        integers = builtins.all(isinstance(number, int) for number in (start, stop, step))
        wide = integers and builtins.max(builtins.abs(start), builtins.abs(stop)) > iinfo(int32).max
        dtype = (int64 if wide else int32) if integers else float32
    return _array.range_of(start, stop, step, dtype, device)


def full_like(x: Array, /, fill_value: float, *, dtype: ArrayDType | None = None, device: _Device = None) -> Array:
    """Make an array of the shape, type and device of another one, whose elements are all equal."""
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype,
                device=x.device if device is None else device)


def zeros_like(x: Array, /, *, dtype: ArrayDType | None = None, device: _Device = None) -> Array:
    """Make an array of zeros of the shape, type and device of another one."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Array, /, *, dtype: ArrayDType | None = None, device: _Device = None) -> Array:
    """Make an array of ones of the shape, type and device of another one."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Array, /, *, dtype: ArrayDType | None = None, device: _Device = None) -> Array:
    """Make an array of zeros of the shape, type and device of another one."""
    return full_like(x, 0, dtype=dtype, device=device)


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> list[Array]:
    """Return the coordinates of a grid, of which each vector has those along one axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is {indexing!r}; give 'xy' or 'ij'")
    rank = len(arrays)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[:2] = [1, 0]
    columns = [reshape(x, [-1 if axis == order[i] else 1 for axis in range(rank)]) for i, x in enumerate(arrays)]
    return broadcast_arrays(*columns)


# --- Element by element -----------------------------------------------------------------------------------------------


def positive(x: Array, /) -> Array:
    """Return the elements unchanged."""
    return +x


def conj(x: Array, /) -> Array:
    """Return the elements, which are real numbers."""
    return +x


def real(x: Array, /) -> Array:
    """Return the elements, which are real numbers."""
    return +x


def imag(x: Array, /) -> Array:
    """Return zeros: there are no complex numbers."""
    return zeros_like(x)


def clip(x: Array, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limit each element to a range; None: no limit."""
    result = x
    if min is not None:
        result = _array.maximum(result, min)
    if max is not None:
        result = _array.minimum(result, max)
    return result.astype(x.dtype)


# --- Shapes -----------------------------------------------------------------------------------------------------------


def expand_dims(  # type: ignore[no-redef]
    x: ArrayLike, /, axis: int = 0,
) -> Array:
    """Return the array with a new axis of one element."""
    return _array.expand_dims(x, axis)


def squeeze(  # type: ignore[no-redef]
    x: Array, /, axis: int | Sequence[int] | None = None,
) -> Array:
    """Return the array without these axes of one element, or without all of them."""
    return _array.squeeze(x, axis)


def repeat(  # type: ignore[no-redef]
    x: Array, repeats: int | Array, /, *, axis: int | None = None,
) -> Array:
    """Repeat each element along an axis, or of the flattened array, equally often or as often as an array says."""
    return _array.repeat(x, repeats, axis=axis)


def tile(  # type: ignore[no-redef]
    x: ArrayLike, repetitions: int | Sequence[int], /,
) -> Array:
    """Repeat the whole array along its axes."""
    return _array.tile(x, repetitions)


def take(  # type: ignore[no-redef]
    x: ArrayLike, indices: ArrayLike, /, *, axis: int | None = None,
) -> Array:
    """Return the elements at indices of an axis."""
    return _array.take(x, indices, axis=axis)


def take_along_axis(  # type: ignore[no-redef]
    x: ArrayLike, indices: ArrayLike, /, *, axis: int = -1,
) -> Array:
    """Return the elements that each index names along an axis."""
    return _array.take_along_axis(x, indices, axis=axis)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which all shapes broadcast."""
    found = [_array.broadcast_to(_array.zeros(()), shape) for shape in shapes]
    return functools.reduce(_array.add, found).shape if found else ()


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """Return the arrays repeated to one shape."""
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def moveaxis(x: Array, source: int | Sequence[int], destination: int | Sequence[int], /) -> Array:
    """Return the array with axes moved to other places."""
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(targets):
        raise ValueError(f"moveaxis() takes as many sources as destinations, not {len(sources)} and {len(targets)}")
    for axis in (*sources, *targets):
        if not -x.ndim <= axis < x.ndim:
            raise IndexError(f"moveaxis() names axis {axis} of an array of {x.ndim} axes")
    moved = {target % x.ndim: axis % x.ndim for axis, target in zip(sources, targets, strict=True)}
    if len(moved) != len(targets) or len(set(moved.values())) != len(sources):
        raise ValueError("moveaxis() takes each axis once")
    rest = iter(axis for axis in range(x.ndim) if axis not in moved.values())
    return permute_dims(x, [moved[axis] if axis in moved else next(rest) for axis in range(x.ndim)])


def roll(x: Array, /, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None) -> Array:
    """Move the elements along axes, or of the flattened array; those that leave an end come in at the other."""
    if axis is None:
        if not isinstance(shift, int):
            raise ValueError("roll() without axes takes one shift")
        return reshape(_array.roll_axis(flatten(x), shift, 0), x.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    for distance, one in zip(shifts, axes, strict=True):
        x = _array.roll_axis(x, distance, one)
    return x


def diff(x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """Return the differences of adjacent elements along an axis, taken n times."""
    parts = [part for part in (prepend, x, append) if part is not None]
    return _array.diff_of(x if len(parts) == 1 else concat(parts, axis=axis), n, axis)


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return the sums of products over pairs of axes; a number: the last ones of x1 with the first ones of x2."""
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(f"tensordot() contracts {axes} axes; give 0 or more")
        return _array.contract(x1, x2, list(range(x1.ndim - axes, x1.ndim)), list(range(axes)))
    return _array.contract(x1, x2, list(axes[0]), list(axes[1]))


# --- Sets -------------------------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """The result of unique_all."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The result of unique_counts."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The result of unique_inverse."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """Return the different elements in order, their first positions, the position of each element, and counts."""
    return UniqueAll(*_array.unique(x))


def unique_counts(x: Array, /) -> UniqueCounts:
    """Return the different elements in order, and how often each occurs."""
    values, _, _, counts = _array.unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Return the different elements in order, and the position of each element among them."""
    values, _, inverse, _ = _array.unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Array, /) -> Array:
    """Return the different elements in order."""
    return _array.unique(x)[0]


# --- Networks and gradients -------------------------------------------------------------------------------------------


def _conv(rank: int, x: Array, weights: Array, options: dict[str, Any]) -> Array:
    if x.ndim != rank + 2:
        raise ValueError(f"conv{rank}d() takes {rank + 2} axes (batch, channels, extents), not shape {x.shape}")
    return _array.conv(x, weights, **options)


def conv1d(x: Array, weights: Array, **options: Any) -> Array:
    """Cross-correlate arrays (batch, channels, extent); options as of conv."""
    return _conv(1, x, weights, options)


def conv2d(x: Array, weights: Array, **options: Any) -> Array:
    """Cross-correlate arrays (batch, channels, height, width); options as of conv."""
    return _conv(2, x, weights, options)


def conv3d(x: Array, weights: Array, **options: Any) -> Array:
    """Cross-correlate arrays (batch, channels, depth, height, width); options as of conv."""
    return _conv(3, x, weights, options)


def custom_function(function: Callable[..., Array], gradient: Callable[..., Any]) -> Callable[..., Array]:
    """Return `function` with a gradient of its own.

    `gradient(value, arguments, adjoint)` returns a gradient for each argument from the gradient `adjoint` of the value;
    None: zero.
    """

    @functools.wraps(function)
    def call(*arguments: ArrayLike) -> Array:
        return _array.call_custom(function, gradient, arguments)

    return call


def checkpoint(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return `function` without its intermediate values, which its gradient computes again: memory for time.

    Arrays that the function captures have no gradient: pass them as arguments.
    """

    @functools.wraps(function)
    def call(*arguments: ArrayLike) -> Array:
        return _array.call_checkpoint(function, arguments)

    return call


# --- Inspection -------------------------------------------------------------------------------------------------------


class _Info:
    """What the namespace offers, for __array_namespace_info__."""

    def capabilities(self) -> dict[str, Any]:
        """Return what the library can do."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> _vectis.Device:
        """Return the device of new arrays."""
        return _array.zeros(()).device

    def devices(self) -> list[_vectis.Device]:
        """Return the devices that arrays can be made on."""
        return [self.default_device()]

    def default_dtypes(self, *, device: _Device = None) -> dict[str, DType]:
        """Return the types of arrays that are made of Python's numbers, and of indices."""
        return {"real floating": float32, "integral": int32, "indexing": int32}

    def dtypes(self, *, device: _Device = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """Return the element types that the standard knows, by name, of one kind or several."""
        standard = (dtype for dtype in DType if dtype not in (float16, bfloat16))
        return {dtype.name: dtype for dtype in standard if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:
    """Return what the namespace offers."""
    return _Info()
