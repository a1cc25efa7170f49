"""scikit-learn's neighbor estimators over vectis.Index.

    from vectis.compat.sklearn import NearestNeighbors    # instead of: from sklearn.neighbors import NearestNeighbors

Both classes extend those of scikit-learn 1.6 or newer, which must be installed, and add one parameter: `recall`, the
share of the true neighbors to find. It is 1 by default, which is exact; below 1 a graph is built where it is faster.
`docs/python-compat.md` lists the differences.
"""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import neighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from .._vectis import Index as Engine
from ._common import Floats, Ids, search_within

_METRICS = {
    "euclidean": "l2", "l2": "l2", "sqeuclidean": "l2_squared", "cosine": "cosine", "manhattan": "l1", "l1": "l1",
    "cityblock": "l1", "chebyshev": "chebyshev", "infinity": "chebyshev",
}
_MINKOWSKI = {1: "manhattan", 2: "euclidean", float("inf"): "chebyshev"}
_RECALL = {"recall": [numbers.Real]}


def _reach(radius: float) -> float:
    """The radius with the rounding of a float32: vectors are stored as such, and those on the boundary count."""
    return float(np.nextafter(np.float32(radius), np.float32(np.inf)))


class _Neighbors:
    """What both estimators do with a vectis.Index instead of a tree. Vectors are stored and compared as float32."""

    metric: Any
    metric_params: dict[str, Any] | None
    p: float | None
    n_neighbors: int
    radius: float
    recall: float
    n_samples_fit_: int
    _fit_X: Floats
    _index: Engine

    def _fit(self, X: Any, y: Any = None) -> Any:
        """Index the vectors. fit() of scikit-learn's classes calls this after it has checked the parameters."""
        if not 0 < self.recall <= 1:
            raise ValueError(f"recall must be above 0 and at most 1, not {self.recall}")
        rows = self._validate(X, reset=True)
        self.effective_metric_ = self._choose_metric()
        self.effective_metric_params_: dict[str, Any] = {}
        self._fit_method = "vectis"
        self._fit_X, self.n_samples_fit_ = rows, len(rows)
        exact = self.recall >= 1
        self._index = Engine(rows.shape[1], kind="flat" if exact else "auto",
                                   metric=_METRICS[self.effective_metric_], recall=None if exact else self.recall)
        self._index.add(rows, progress=False)
        return self

    def _choose_metric(self) -> str:
        params = dict(self.metric_params or {})
        metric = self.metric
        if metric == "minkowski" and params.pop("w", None) is None:
            metric = _MINKOWSKI.get(params.pop("p", self.p), metric)
        if not isinstance(metric, str) or metric not in _METRICS or params:
            raise ValueError(f"Metric {self.metric!r} with p={self.p!r} and metric_params={self.metric_params!r} is "
                             f"not supported; metrics are {', '.join(_METRICS)}, and minkowski with p 1, 2 or inf")
        return metric

    def _validate(self, X: Any, reset: bool) -> Floats:
        rows: Floats = validate_data(self, X, dtype=np.float32, order="C", reset=reset)
        return rows

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None,
                   return_distance: bool = True) -> tuple[NDArray[np.float64], Ids] | Ids:
        """Return distances and indices of the nearest vectors of each row of X, or the indices alone.

        Without X the neighbors of the fitted vectors are found, none of which is its own neighbor.
        """
        check_is_fitted(self)
        k = self._check_count(n_neighbors)
        own = X is None
        rows = self._fit_X if own else self._validate(X, reset=False)
        if k + own > self.n_samples_fit_:
            raise ValueError(f"Expected n_neighbors {'<' if own else '<='} n_samples_fit, but n_neighbors = {k}, "
                             f"n_samples_fit = {self.n_samples_fit_}, n_samples = {len(rows)}")
        ids, distances = self._index.search(rows, k + own)
        if ids.size and ids[:, -1].min() < 0:  # a graph may reach too few
            ids, distances = self._index.search(rows, k + own, recall=1.0)
        if own:
            others = ids != np.arange(len(rows))[:, None]
            others[:, -1] &= ~others.all(axis=1)  # among many duplicates the vector itself may not be found
            ids, distances = ids[others].reshape(-1, k), distances[others].reshape(-1, k)
        return (distances, ids) if return_distance else ids

    def _check_count(self, n_neighbors: int | None) -> int:
        if n_neighbors is None:
            return self.n_neighbors
        if not isinstance(n_neighbors, numbers.Integral):
            raise TypeError(f"n_neighbors does not take {type(n_neighbors)} value, enter integer value")
        if n_neighbors <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
        return int(n_neighbors)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = False
        return tags


class NearestNeighbors(_Neighbors, neighbors.NearestNeighbors):  # type: ignore[misc]
    """scikit-learn's NearestNeighbors. `algorithm`, `leaf_size` and `n_jobs` are accepted and have no effect."""

    _parameter_constraints = {**neighbors.NearestNeighbors._parameter_constraints, **_RECALL}

    def __init__(self, *, n_neighbors: int = 5, radius: float = 1.0, algorithm: str = "auto", leaf_size: int = 30,
                 metric: str = "minkowski", p: float = 2, metric_params: dict[str, Any] | None = None,
                 n_jobs: int | None = None, recall: float = 1.0) -> None:
        super().__init__(n_neighbors=n_neighbors, radius=radius, algorithm=algorithm, leaf_size=leaf_size,
                         metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs)
        self.recall = recall

    def radius_neighbors(self, X: Any = None, radius: float | None = None, return_distance: bool = True,
                         sort_results: bool = False) -> tuple[NDArray[np.object_], NDArray[np.object_]] | \
            NDArray[np.object_]:
        """Return, for each row of X, distances and indices of all vectors up to `radius`, or the indices alone.

        Without X the neighbors of the fitted vectors are found, none of which is its own neighbor.
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        own = X is None
        rows = self._fit_X if own else self._validate(X, reset=False)
        limits, distances, ids = search_within(self._index, rows, _reach(self.radius if radius is None else radius))
        owners = np.repeat(np.arange(len(rows)), np.diff(limits))
        if own:
            others = ids != owners
            owners, distances, ids = owners[others], distances[others], ids[others]
        if sort_results:
            order = np.lexsort((ids, distances, owners))
            distances, ids = distances[order], ids[order]
        ends = np.searchsorted(owners, np.arange(1, len(rows)))
        indices = _split(ids, ends)
        return (_split(distances, ends), indices) if return_distance else indices


class KNeighborsTransformer(_Neighbors, neighbors.KNeighborsTransformer):  # type: ignore[misc]
    """scikit-learn's KNeighborsTransformer. `algorithm`, `leaf_size` and `n_jobs` are accepted and have no effect."""

    _parameter_constraints = {**neighbors.KNeighborsTransformer._parameter_constraints, **_RECALL}

    def __init__(self, *, mode: Literal["distance", "connectivity"] = "distance", n_neighbors: int = 5,
                 algorithm: str = "auto", leaf_size: int = 30, metric: str = "minkowski", p: float = 2,
                 metric_params: dict[str, Any] | None = None, n_jobs: int | None = None, recall: float = 1.0) -> None:
        super().__init__(mode=mode, n_neighbors=n_neighbors, algorithm=algorithm, leaf_size=leaf_size, metric=metric,
                         p=p, metric_params=metric_params, n_jobs=n_jobs)
        self.recall = recall


def _split(values: NDArray[Any], ends: NDArray[np.intp]) -> NDArray[np.object_]:
    """Return an array of the arrays between ends."""
    parts = np.split(values, ends)
    made = np.empty(len(parts), object)
    made[:] = parts
    return made
