"""vectis.array.linalg against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import vectis
import vectis.array as xp

RNG = np.random.default_rng(7)
MATRICES = [RNG.standard_normal(shape) for shape in ((3, 3), (2, 4, 4), (5, 3), (2, 3, 6))]
SQUARE = MATRICES[:2]


def near(found: xp.Array, expected: object) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("matrix", SQUARE)
def test_square_matrices(matrix: np.ndarray) -> None:
    x = xp.asarray(matrix)
    near(xp.linalg.inv(x), np.linalg.inv(matrix))
    near(xp.linalg.det(x), np.linalg.det(matrix))
    near(xp.linalg.matrix_power(x, -2), np.linalg.matrix_power(matrix, -2))
    near(xp.linalg.solve(x, x @ x), matrix)
    sign, logarithm = np.linalg.slogdet(matrix)
    found = xp.linalg.slogdet(x)
    near(found.sign, sign)
    near(found.logabsdet, logarithm)
    symmetric = matrix @ matrix.swapaxes(-1, -2) + np.eye(matrix.shape[-1])
    lower = xp.linalg.cholesky(xp.asarray(symmetric))
    near(lower, np.linalg.cholesky(symmetric))
    near(xp.linalg.cholesky(xp.asarray(symmetric), upper=True), np.asarray(lower).swapaxes(-1, -2))
    near(xp.linalg.eigvalsh(xp.asarray(symmetric)), np.linalg.eigvalsh(symmetric))
    values, vectors = xp.linalg.eigh(xp.asarray(symmetric))
    near((vectors * xp.expand_dims(values, axis=-2)) @ xp.matrix_transpose(vectors), symmetric)


@pytest.mark.parametrize("matrix", MATRICES)
def test_any_matrices(matrix: np.ndarray) -> None:
    x = xp.asarray(matrix)
    near(xp.linalg.pinv(x), np.linalg.pinv(matrix))
    near(xp.linalg.matrix_rank(x), np.linalg.matrix_rank(matrix))
    near(xp.linalg.svdvals(x), np.linalg.svd(matrix, compute_uv=False))
    near(xp.linalg.trace(x, offset=1), np.trace(matrix, 1, -2, -1))
    near(xp.linalg.diagonal(x, offset=-1), np.diagonal(matrix, -1, -2, -1))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        near(xp.linalg.matrix_norm(x, ord=order, keepdims=True), np.linalg.norm(matrix, order, (-2, -1), keepdims=True))
    for mode in ("reduced", "complete"):
        q, r = xp.linalg.qr(x, mode=mode)
        assert (q.shape, r.shape) == tuple(part.shape for part in np.linalg.qr(matrix, mode))
        near(q @ r, matrix)
        near(xp.matrix_transpose(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))
        near(xp.tril(r, k=-1), np.zeros(r.shape))


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("full", [True, False])
def test_singular_value_decomposition(matrix: np.ndarray, full: bool) -> None:
    u, s, vh = (np.asarray(part) for part in xp.linalg.svd(xp.asarray(matrix), full_matrices=full))
    expected = np.linalg.svd(matrix, full_matrices=full)
    assert (u.shape, vh.shape) == (expected[0].shape, expected[2].shape)
    count = s.shape[-1]
    near((u[..., :count] * s[..., None, :]) @ vh[..., :count, :], matrix)
    near(u.swapaxes(-1, -2) @ u, np.broadcast_to(np.eye(u.shape[-1]), (*u.shape[:-2], u.shape[-1], u.shape[-1])))
    near(vh @ vh.swapaxes(-1, -2), np.broadcast_to(np.eye(vh.shape[-2]), (*vh.shape[:-2], vh.shape[-2], vh.shape[-2])))


def test_vectors() -> None:
    a, b = RNG.standard_normal((2, 4, 3))
    near(xp.linalg.cross(xp.asarray(a), xp.asarray(b)), np.cross(a, b))
    near(xp.linalg.cross(xp.asarray(a.T), xp.asarray(b.T), axis=0), np.cross(a, b).T)
    for order in (0, 1, 2, 3.5, np.inf, -np.inf):
        near(xp.linalg.vector_norm(xp.asarray(a), axis=-1, ord=order), np.linalg.norm(a, order, -1))
    near(xp.linalg.tensordot(xp.asarray(a), xp.asarray(b), axes=2), np.tensordot(a, b))


def test_gradients_pass_through() -> None:
    matrix = xp.asarray(SQUARE[0])
    gradient = vectis.grad(lambda x: xp.linalg.slogdet(x).logabsdet)(matrix)
    near(gradient, np.linalg.inv(SQUARE[0]).T)


def test_errors() -> None:
    with pytest.raises(ValueError, match="complete"):
        xp.linalg.qr(xp.ones((2, 2)), mode="raw")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="order"):
        xp.linalg.matrix_norm(xp.ones((2, 2)), ord=7)
    with pytest.raises(ValueError, match="three"):
        xp.linalg.cross(xp.ones(2), xp.ones(2))
    with pytest.raises(vectis.InvalidInputError, match="singular"):
        xp.linalg.inv(xp.zeros((2, 2))).eval()
