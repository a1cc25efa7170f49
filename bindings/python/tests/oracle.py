"""Exact neighbors in double precision, by NumPy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distances(queries: NDArray[np.float32], vectors: NDArray[np.float32], metric: str) -> NDArray[np.float64]:
    """The distance of every query to every vector."""
    q, x = queries.astype(np.float64)[:, None], vectors.astype(np.float64)[None]
    if metric == "l2":
        return np.sqrt(((q - x) ** 2).sum(-1))
    if metric == "l2_squared":
        return ((q - x) ** 2).sum(-1)
    if metric == "inner_product":
        return -(q * x).sum(-1)
    if metric == "cosine":
        return 1 - (q * x).sum(-1) / np.sqrt((q * q).sum(-1) * (x * x).sum(-1))
    if metric == "l1":
        return np.abs(q - x).sum(-1)
    if metric == "chebyshev":
        return np.abs(q - x).max(-1)
    if metric == "hamming":
        return (q != x).sum(-1).astype(np.float64)
    raise ValueError(metric)


def nearest(queries: NDArray[np.float32], vectors: NDArray[np.float32], k: int, metric: str) -> NDArray[np.int64]:
    """Positions of the k nearest vectors of each query, equal distances by position."""
    return np.argsort(distances(queries, vectors, metric), axis=1, kind="stable")[:, :k]
