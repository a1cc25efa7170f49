"""Linear algebra: the extension `linalg` of the Python array API standard.

A matrix is the last two axes of an array; the axes before them are a batch. LAPACK computes factorizations, on the CPU and
in float32 or float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from . import _array
from ._array import Array, matmul, matrix_transpose, outer, vecdot

if TYPE_CHECKING:
    from ._types import ArrayDType

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
           "vecdot", "vector_norm"]


class EighResult(NamedTuple):
    """Eigenvalues in increasing order, and eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Factors of x = Q @ R."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """A determinant as sign * exp(logabsdet)."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Factors of x = U @ diag(S) @ Vh."""

    U: Array
    S: Array
    Vh: Array


def _completed(columns: Array) -> Array:
    """Return a basis of the whole space that begins with the span of the first independent columns."""
    rows = columns.shape[-2]
    identity = _array.broadcast_to(_array.eye(rows, dtype=columns.dtype), (*columns.shape[:-2], rows, rows))
    return _array.linalg_qr(_array.concat([columns, identity], axis=-1))[0]


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the lower (upper) triangular factor of symmetric positive definite matrices."""
    factor = _array.linalg_cholesky(x)
    return matrix_transpose(factor) if upper else factor


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of three elements."""
    shape = (x1 + x2).shape if x1.shape != x2.shape else x1.shape
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross() takes vectors of three elements, not shapes {x1.shape} and {x2.shape}")
    a, b = ([_array.take(_array.broadcast_to(x, shape), _array.asarray([i]), axis=axis) for i in range(3)] for x in (x1, x2))
    return _array.concat([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)], axis=axis)


def det(x: Array, /) -> Array:
    """Return determinants."""
    return _array.linalg_det(x)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return diagonals, `offset` columns to the right of the main one, as the last axis."""
    return _array.linalg_diagonal(x, offset)


def eigh(x: Array, /) -> EighResult:
    """Return the eigenvalues and eigenvectors of symmetric matrices."""
    return EighResult(*_array.linalg_eigh(x))


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues of symmetric matrices in increasing order."""
    return _array.linalg_eigh(x)[0]


def inv(x: Array, /) -> Array:
    """Return inverse matrices."""
    return _array.linalg_inv(x)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Array:
    """Return norms of matrices: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
    if ord in ("fro", None):
        return _array.norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        result = _array.sum(values, axis=-1) if ord == "nuc" else (_array.max if ord == 2 else _array.min)(values, axis=-1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = _array.sum(_array.abs(x), axis=-2 if ord in (1, -1) else -1)
        result = (_array.max if ord in (1, math.inf) else _array.min)(sums, axis=-1)
    else:
        raise ValueError(f"matrix_norm() has no order {ord!r}; give 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    return _array.reshape(result, (*result.shape, 1, 1)) if keepdims else result


def matrix_power(x: Array, n: int, /) -> Array:
    """Return the product of n equal matrices; of their inverses when n is negative."""
    return _array.linalg_matrix_power(x, n)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the number of singular values above `rtol` times the largest."""
    values = svdvals(x)
    tolerance = max(x.shape[-2:]) * _spacing(x) if rtol is None else rtol
    if isinstance(tolerance, Array):
        tolerance = _array.expand_dims(tolerance, axis=-1)
    return _array.count_nonzero(_array.greater(values, _array.max(values, axis=-1, keepdims=True) * tolerance), axis=-1)


def _spacing(x: Array) -> float:
    """Return the distance from 1 to the next number of the type."""
    return 2.0**-52 if x.dtype is _array.DType.float64 else 2.0**-23


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return pseudoinverses, for which singular values up to `rtol` times the largest count as 0."""
    if not isinstance(rtol, Array):
        return _array.linalg_pinv(x, rtol)
    u, s, vh = _array.linalg_svd(x)
    is_kept = _array.greater(s, _array.max(s, axis=-1, keepdims=True) * _array.expand_dims(rtol, -1).astype(s.dtype))
    inverse = _array.where(is_kept, 1 / _array.where(is_kept, s, 1), 0)
    return (matrix_transpose(vh) * _array.expand_dims(inverse, -2)) @ matrix_transpose(u)


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return factors Q, with orthonormal columns, and R, upper triangular."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode is {mode!r}; give 'reduced' or 'complete'")
    rows, columns = x.shape[-2:]
    if mode == "reduced" or rows <= columns:
        return QRResult(*_array.linalg_qr(x))
    identity = _array.broadcast_to(_array.eye(rows, dtype=x.dtype), (*x.shape[:-2], rows, rows))
    q, r = _array.linalg_qr(_array.concat([x, identity], axis=-1))
    return QRResult(q, r[..., :columns])


def slogdet(x: Array, /) -> SlogdetResult:
    """Return the signs and the logarithms of the absolute values of determinants."""
    return SlogdetResult(*_array.linalg_slogdet(x))


def solve(x1: Array, x2: Array, /) -> Array:
    """Return x with x1 @ x = x2."""
    return _array.linalg_solve(x1, x2)


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decomposition; with `full_matrices` U and Vh are square."""
    u, s, vh = _array.linalg_svd(x)
    if full_matrices:
        count = s.shape[-1]
        if u.shape[-2] > count:
            u = _array.concat([u, _completed(u)[..., count:]], axis=-1)
        if vh.shape[-1] > count:
            v = matrix_transpose(vh)
            vh = matrix_transpose(_array.concat([v, _completed(v)[..., count:]], axis=-1))
    return SVDResult(u, s, vh)


def svdvals(x: Array, /) -> Array:
    """Return singular values in decreasing order."""
    return _array.linalg_svd(x)[1]


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Return the sums of products over pairs of axes."""
    from .array import tensordot as contracted  # which imports this module

    return contracted(x1, x2, axes=axes)


def trace(x: Array, /, *, offset: int = 0, dtype: ArrayDType | None = None) -> Array:
    """Return the sum of a diagonal."""
    return _array.sum(_array.linalg_diagonal(x, offset), axis=-1, dtype=dtype)


def vector_norm(x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2) -> Array:
    """Return norms of vectors: the root of order `ord` of the sum of powers; 0 counts what is not 0, inf is the largest."""
    size = _array.abs(x)
    if ord == 2:
        return _array.norm(x, axis=axis, keepdims=keepdims)
    if ord == 1:
        return _array.sum(size, axis=axis, keepdims=keepdims, dtype=x.dtype)
    if ord in (math.inf, -math.inf):
        return (_array.max if ord > 0 else _array.min)(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return _array.count_nonzero(x, axis=axis, keepdims=keepdims).astype(x.dtype)
    return _array.sum(size**ord, axis=axis, keepdims=keepdims, dtype=x.dtype) ** (1 / ord)
