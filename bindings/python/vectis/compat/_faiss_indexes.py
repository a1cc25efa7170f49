"""The indexes of vectis.compat.faiss, and their form in files."""

from __future__ import annotations

import operator
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._vectis import Index as Engine
from . import _faiss_files
from ._common import (
    Floats, GrowingIds, Ids, Mask, index_from_bytes, index_to_bytes, make_graph, pack, search_within, unpack,
)
from ._faiss_selectors import IDSelector, IDSelectorBatch, SearchParameters, SearchParametersHNSW

METRIC_INNER_PRODUCT, METRIC_L2, METRIC_L1, METRIC_Linf = 0, 1, 2, 3

_METRICS = {METRIC_INNER_PRODUCT: "inner_product", METRIC_L2: "l2_squared", METRIC_L1: "l1", METRIC_Linf: "chebyshev"}
_MAX = float(np.finfo(np.float32).max)  # the distance of a missing result
_MAGIC = b"VECTISF1"


class Index:
    """What all indexes share: the checks of arguments and the forms of results. Not thread-safe for changes."""

    __slots__ = ("verbose",)
    d: int
    metric_type: int
    is_trained: bool

    def __init__(self) -> None:
        self.verbose = False

    @property
    def ntotal(self) -> int:
        raise NotImplementedError

    def train(self, x: NDArray[Any]) -> None:
        """Accept training vectors; no index needs them."""
        self._rows(x)

    def add(self, x: NDArray[Any]) -> None:
        """Add vectors under the next ids."""
        self._not_implemented("add")

    def add_with_ids(self, x: NDArray[Any], ids: NDArray[Any]) -> None:
        """Add vectors under these ids."""
        self._not_implemented("add_with_ids")

    def search(self, x: NDArray[Any], k: int, *, params: SearchParameters | None = None, D: Floats | None = None,
               I: Ids | None = None) -> tuple[Floats, Ids]:
        """Return distances and ids of the k nearest vectors of each query; id -1 where there are fewer."""
        rows = self._rows(x)
        assert k > 0
        shape = (len(rows), k)
        if D is None:
            D = np.empty(shape, np.float32)
        assert D.shape == shape
        distances, ids = self._nearest(rows, k, self._allowed(params), self._ef(params))
        self._write_distances(distances, D)
        if I is None:
            return D, ids
        assert I.shape == shape
        I[:] = ids
        return D, I

    def assign(self, x: NDArray[Any], k: int, labels: Ids | None = None) -> Ids:
        """Return the ids of the k nearest vectors of each query."""
        if k <= 0:
            raise RuntimeError("[assign] k must be 1 or more")
        return self.search(x, k, I=labels)[1]

    def range_search(self, x: NDArray[Any], thresh: float, *,
                     params: SearchParameters | None = None) -> tuple[NDArray[np.uint64], Floats, Ids]:
        """Return (lims, D, I): all vectors nearer than `thresh`, or with a larger inner product.

        The results of query i are D[lims[i]:lims[i + 1]] and I[lims[i]:lims[i + 1]].
        """
        rows = self._rows(x)
        bound = float(np.float32(thresh))
        if self.metric_type == METRIC_INNER_PRODUCT:
            bound = -bound
        radius = float(np.nextafter(bound, -np.inf))  # FAISS excludes the threshold itself
        limits, distances, ids = self._within(rows, radius, self._allowed(params), self._ef(params))
        D = np.empty(distances.shape, np.float32)
        self._write_distances(distances, D)
        return limits.astype(np.uint64), D, ids

    def search_and_reconstruct(self, x: NDArray[Any], k: int, *, params: SearchParameters | None = None,
                               D: Floats | None = None, I: Ids | None = None,
                               R: Floats | None = None) -> tuple[Floats, Ids, Floats]:
        """search(), and the vectors of the results; NaN where there is none."""
        D, I = self.search(x, k, params=params, D=D, I=I)
        shape = (*I.shape, self.d)
        if R is None:
            R = np.empty(shape, np.float32)
        assert R.shape == shape
        found = I != -1
        R[~found] = np.nan
        R[found] = self.reconstruct_batch(I[found])
        return D, I, R

    def reconstruct(self, key: int, x: Floats | None = None) -> Floats:
        """Return the vector of an id. Raises RuntimeError when there is none."""
        return self._write_vectors(self._vectors(np.array([key], np.int64))[0], x)

    def reconstruct_n(self, n0: int = 0, ni: int = -1, x: Floats | None = None) -> Floats:
        """Return the vectors of the ids n0 to n0 + ni - 1; -1: all from n0 on."""
        count = self.ntotal - n0 if ni == -1 else ni
        return self._write_vectors(self._vectors(np.arange(n0, n0 + count)), x)

    def reconstruct_batch(self, key: Any, x: Floats | None = None) -> Floats:
        """Return the vectors of these ids."""
        keys = np.ascontiguousarray(key, np.int64)
        (_,) = keys.shape
        return self._write_vectors(self._vectors(keys), x)

    def remove_ids(self, x: NDArray[Any] | IDSelector) -> int:
        """Remove the ids of an array or a selector, and return how many there were."""
        if not isinstance(x, IDSelector):
            assert x.ndim == 1
            x = IDSelectorBatch(x)
        removed = x.mask(self._ids())
        self._remove(removed)
        return int(np.count_nonzero(removed))

    def reset(self) -> None:
        """Remove all vectors."""
        raise NotImplementedError

    def merge_from(self, other: Index, add_id: int = 0) -> None:
        """Move the vectors of an index of the same type to the end of this one."""
        self._not_implemented("merge_from")

    def __reduce__(self) -> tuple[Any, ...]:
        return from_bytes, (to_bytes(self),)

    # What the types of indexes implement. Rows are checked; a filter is one of vectis.Index.search.

    def _ids(self) -> Ids:
        raise NotImplementedError

    def _nearest(self, rows: Floats, k: int, allowed: Any, ef: int | None) -> tuple[NDArray[np.float64], Ids]:
        raise NotImplementedError

    def _within(self, rows: Floats, radius: float, allowed: Any,
                ef: int | None) -> tuple[Ids, NDArray[np.float64], Ids]:
        raise NotImplementedError

    def _vectors(self, ids: Ids) -> Floats:
        self._not_implemented("reconstruct")

    def _remove(self, removed: Mask) -> None:
        raise NotImplementedError

    def _allowed(self, params: SearchParameters | None) -> Any:
        """Return the selector of a search as a filter."""
        if params is None:
            return None
        if not isinstance(params, SearchParameters):
            raise TypeError(f"params must be SearchParameters, not {type(params).__name__}")
        return None if params.sel is None else self._filter(params.sel)

    def _filter(self, sel: IDSelector) -> Any:
        return self._filter_of_mask(sel.mask(self._ids()))

    def _filter_of_mask(self, mask: Mask) -> Any:
        raise NotImplementedError

    def _ef(self, params: SearchParameters | None) -> int | None:
        """Return the beam width of a search; None for an index that has no graph."""
        return None

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        raise NotImplementedError

    def _rows(self, x: NDArray[Any]) -> Floats:
        _, d = x.shape
        assert d == self.d, f"vectors have {d} dimensions, the index has {self.d}"
        return np.ascontiguousarray(x, np.float32)

    def _write_distances(self, distances: NDArray[np.float64], out: Floats) -> None:
        """Write distances as FAISS gives them: inner products positive, missing ones the largest float."""
        if self.metric_type == METRIC_INNER_PRODUCT:
            np.maximum(np.negative(distances, out=distances), -_MAX, out=out, casting="same_kind")
        else:
            np.minimum(distances, _MAX, out=out, casting="same_kind")

    def _write_vectors(self, vectors: Floats, out: Floats | None) -> Floats:
        if out is None:
            return vectors
        assert out.shape == vectors.shape
        out[:] = vectors
        return out

    def _not_implemented(self, what: str) -> NoReturn:
        raise RuntimeError(f"[{what}] not implemented for {type(self).__name__}")


class _Stored(Index):
    """An index that holds vectors. Ids are positions; the vectis.Index has them under ascending keys.

    Keys are positions until a vector is removed, which shifts the positions behind it as in FAISS; `_keys` then holds
    the key of each position.
    """

    __slots__ = ("d", "metric_type", "is_trained", "_engine", "_keys")

    def __init__(self, d: int, metric: int) -> None:
        super().__init__()
        if metric not in _METRICS:
            raise RuntimeError(f"[{type(self).__name__}] there is no metric {metric}; metrics are METRIC_L2, "
                               "METRIC_INNER_PRODUCT, METRIC_L1 and METRIC_Linf")
        self.d, self.metric_type, self.is_trained = operator.index(d), metric, True
        self._engine: Engine | None = None  # made by the first add, with the parameters set until then
        self._keys: GrowingIds | None = None

    def _make_engine(self) -> Engine:
        raise NotImplementedError

    @property
    def ntotal(self) -> int:
        return 0 if self._engine is None else len(self._engine)

    def add(self, x: NDArray[Any]) -> None:
        rows = self._rows(x)
        self._check_trained("add")
        if len(rows) == 0:
            return
        if self._engine is None:
            self._engine = self._make_engine()
        added = self._engine.add(rows, progress=bool(self.verbose))
        if self._keys is not None:
            self._keys.extend(added)

    def reset(self) -> None:
        self._engine = self._keys = None

    def merge_from(self, other: Index, add_id: int = 0) -> None:
        if type(other) is not type(self) or other.d != self.d or add_id != 0:
            raise RuntimeError("[merge_from] the other index must have the same type and dimensions, and add_id be 0")
        if other.ntotal:
            self.add(other.reconstruct_n())
        other.reset()

    def _ids(self) -> Ids:
        return np.arange(self.ntotal)

    def _nearest(self, rows: Floats, k: int, allowed: Any, ef: int | None) -> tuple[NDArray[np.float64], Ids]:
        self._check_trained("search")
        if self._engine is None:
            return np.full((len(rows), k), np.inf), np.full((len(rows), k), -1, np.int64)
        ids, distances = self._engine.search(rows, k, filter=allowed, ef=None if ef is None else max(ef, k))
        return distances, self._positions(ids)

    def _within(self, rows: Floats, radius: float, allowed: Any,
                ef: int | None) -> tuple[Ids, NDArray[np.float64], Ids]:
        self._check_trained("range_search")
        if self._engine is None:
            return np.zeros(len(rows) + 1, np.int64), np.empty(0), np.empty(0, np.int64)
        limits, distances, ids = search_within(self._engine, rows, radius, allowed, ef)
        return limits, distances, self._positions(ids)

    def _positions(self, keys: Ids) -> Ids:
        if self._keys is None:
            return keys
        return np.where(keys < 0, -1, np.searchsorted(self._keys.array, keys))

    def _vectors(self, ids: Ids) -> Floats:
        if ids.size == 0:
            return np.empty((0, self.d), np.float32)
        if ids.min() < 0 or ids.max() >= self.ntotal:
            raise RuntimeError(f"[reconstruct] ids are 0 to {self.ntotal - 1}, not {ids.min()} to {ids.max()}")
        assert self._engine is not None
        vectors = self._engine.get(ids if self._keys is None else self._keys.array[ids])
        assert vectors is not None
        return vectors

    def _remove(self, removed: Mask) -> None:
        if not removed.any():
            return
        assert self._engine is not None
        keys = self._ids() if self._keys is None else self._keys.array
        self._engine.remove(keys[removed])
        self._keys = GrowingIds(keys[~removed])

    def _filter(self, sel: IDSelector) -> Any:
        allowed = sel.allowed() if self._keys is None else None
        return super()._filter(sel) if allowed is None else allowed

    def _filter_of_mask(self, mask: Mask) -> Any:
        return mask if self._keys is None else self._keys.array[mask]

    def _check_trained(self, op: str) -> None:
        if not self.is_trained:
            raise RuntimeError(f"[{op}] the index is not trained; call train() first")

    _saved: ClassVar[tuple[str, ...]] = ("d", "metric_type", "is_trained", "verbose")

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        header = {"class": type(self).__name__, "keys": self._keys is not None}
        header |= {name: getattr(self, name) for name in self._saved}
        blobs = [] if self._engine is None else [index_to_bytes(self._engine)]
        return header, blobs + ([] if self._keys is None else [self._keys.array.tobytes()])

    def _restore(self, header: dict[str, Any], blobs: list[bytes]) -> None:
        self.is_trained, self.verbose = header["is_trained"], header["verbose"]
        if header["keys"]:
            self._keys = GrowingIds(np.frombuffer(blobs.pop(), np.int64))
        if blobs:
            self._engine = index_from_bytes(blobs.pop())


class IndexFlat(_Stored):
    """Exact search."""

    __slots__ = ()

    def __init__(self, d: int, metric: int = METRIC_L2) -> None:
        super().__init__(d, metric)

    def _make_engine(self) -> Engine:
        return Engine(self.d, kind="flat", metric=_METRICS[self.metric_type])


class IndexFlatL2(IndexFlat):
    """Exact search by squared Euclidean distance."""

    __slots__ = ()

    def __init__(self, d: int, metric: int = METRIC_L2) -> None:
        super().__init__(d, METRIC_L2)


class IndexFlatIP(IndexFlat):
    """Exact search by inner product."""

    __slots__ = ()

    def __init__(self, d: int, metric: int = METRIC_INNER_PRODUCT) -> None:
        super().__init__(d, METRIC_INNER_PRODUCT)


class HNSW:
    """Parameters of a graph: `efSearch` of searches, `efConstruction` of the graph that the first add builds."""

    __slots__ = ("efConstruction", "efSearch", "_m")

    def __init__(self, m: int) -> None:
        self.efConstruction, self.efSearch, self._m = 40, 16, m

    def nb_neighbors(self, level: int) -> int:
        """Return the number of links of a vector on a level."""
        return self._m if level else 2 * self._m


class IndexHNSWFlat(_Stored):
    """Approximate search with a proximity graph of up to 2 M links per vector."""

    __slots__ = ("hnsw", "_m")

    def __init__(self, d: int, M: int, metric: int = METRIC_L2) -> None:
        super().__init__(d, metric)
        if metric not in (METRIC_L2, METRIC_INNER_PRODUCT):
            raise RuntimeError("[IndexHNSWFlat] graphs have METRIC_L2 or METRIC_INNER_PRODUCT")
        self._m, self.hnsw = M, HNSW(M)

    def _make_engine(self) -> Engine:
        return make_graph(self.d, _METRICS[self.metric_type], self._m, self.hnsw.efConstruction)

    def _ef(self, params: SearchParameters | None) -> int:
        return max((params if isinstance(params, SearchParametersHNSW) else self.hnsw).efSearch, 1)

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        header, blobs = super()._state()
        return header | {"M": self._m, "ef": [self.hnsw.efConstruction, self.hnsw.efSearch]}, blobs

    def _restore(self, header: dict[str, Any], blobs: list[bytes]) -> None:
        super()._restore(header, blobs)
        self.hnsw.efConstruction, self.hnsw.efSearch = header["ef"]


class ScalarQuantizer:
    """The quantizer types of IndexScalarQuantizer."""

    QT_8bit, QT_8bit_uniform, QT_fp16, QT_bf16 = 0, 2, 4, 7


_PRECISIONS = {ScalarQuantizer.QT_8bit: "int8", ScalarQuantizer.QT_8bit_uniform: "int8",
               ScalarQuantizer.QT_fp16: "fp16", ScalarQuantizer.QT_bf16: "bf16"}


class IndexScalarQuantizer(_Stored):
    """Exact search among vectors that are stored in 8 or 16 bits per value."""

    __slots__ = ("qtype", "_unquantized")

    def __init__(self, d: int, qtype: int = ScalarQuantizer.QT_8bit, metric: int = METRIC_L2) -> None:
        super().__init__(d, metric)
        if qtype not in _PRECISIONS:
            raise RuntimeError(f"[IndexScalarQuantizer] there is no quantizer type {qtype}; types are QT_8bit, "
                               "QT_8bit_uniform, QT_fp16 and QT_bf16")
        self.qtype, self._unquantized = qtype, 0
        self.is_trained = _PRECISIONS[qtype] != "int8"  # as in FAISS; nothing is learned here

    def train(self, x: NDArray[Any]) -> None:
        super().train(x)
        self.is_trained = True

    def add(self, x: NDArray[Any]) -> None:
        super().add(x)
        self._unquantized += len(x)
        # Quantizing reads all vectors, so that many small adds wait for each other.
        if self._engine is not None and 8 * self._unquantized >= self.ntotal:
            self._engine.drop_full_precision()
            self._unquantized = 0

    def _make_engine(self) -> Engine:
        return Engine(self.d, kind="flat", metric=_METRICS[self.metric_type], precision=_PRECISIONS[self.qtype])

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        header, blobs = super()._state()
        return header | {"qtype": self.qtype}, blobs


class IndexIDMap(Index):
    """Gives the vectors of another index ids of the caller's choice; ids may be negative, and repeat."""

    __slots__ = ("index", "_given", "_order")

    def __init__(self, index: Index) -> None:
        super().__init__()
        if index.ntotal:
            raise RuntimeError(f"[{type(self).__name__}] the index must be empty, it has {index.ntotal} vectors")
        self.index = index
        self._given = GrowingIds(np.empty(0, np.int64))
        self._order: Ids | None = None  # positions in the order of their ids, when needed

    @property
    def d(self) -> int:  # type: ignore[override]
        return self.index.d

    @property
    def metric_type(self) -> int:  # type: ignore[override]
        return self.index.metric_type

    @property
    def is_trained(self) -> bool:  # type: ignore[override]
        return self.index.is_trained

    @property
    def ntotal(self) -> int:
        return self.index.ntotal

    @property
    def id_map(self) -> Ids:
        """The id of each vector of the index."""
        return self._given.array

    def train(self, x: NDArray[Any]) -> None:
        self.index.train(x)

    def add_with_ids(self, x: NDArray[Any], ids: NDArray[Any]) -> None:
        rows = self._rows(x)
        assert ids.shape == (len(rows),), "not same nb of vectors as ids"
        given = np.ascontiguousarray(ids, np.int64)
        self.index.add(rows)
        self._given.extend(given)
        self._order = None

    def reset(self) -> None:
        self.index.reset()
        self._set_ids(np.empty(0, np.int64))

    def _set_ids(self, ids: Ids) -> None:
        self._given, self._order = GrowingIds(ids), None

    def _ids(self) -> Ids:
        return self._given.array

    def _nearest(self, rows: Floats, k: int, allowed: Any, ef: int | None) -> tuple[NDArray[np.float64], Ids]:
        distances, positions = self.index._nearest(rows, k, allowed, ef)
        return distances, self._name(positions)

    def _within(self, rows: Floats, radius: float, allowed: Any,
                ef: int | None) -> tuple[Ids, NDArray[np.float64], Ids]:
        limits, distances, positions = self.index._within(rows, radius, allowed, ef)
        return limits, distances, self._name(positions)

    def _name(self, positions: Ids) -> Ids:
        """Return the ids of positions, -1 for -1."""
        ids = self._given.array
        if len(ids) == 0:
            return positions
        return np.where(positions < 0, -1, ids[positions])

    def _remove(self, removed: Mask) -> None:
        self.index._remove(removed)
        self._set_ids(self._given.array[~removed])

    def _filter_of_mask(self, mask: Mask) -> Any:
        return self.index._filter_of_mask(mask)

    def _ef(self, params: SearchParameters | None) -> int | None:
        return self.index._ef(params)

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        header, blobs = self.index._state()
        return {"class": type(self).__name__, "inner": header}, [*blobs, self._given.array.tobytes()]


class IndexIDMap2(IndexIDMap):
    """IndexIDMap that can also return the vector of an id; of a repeated id the last one."""

    __slots__ = ()

    def _vectors(self, ids: Ids) -> Floats:
        given = self._given.array
        if self._order is None:
            self._order = np.argsort(given, kind="stable")
        last = np.searchsorted(given, ids, side="right", sorter=self._order) - 1
        missing = last < 0
        positions = self._order[last] if len(given) else last
        if len(given):
            missing |= given[positions] != ids
        if missing.any():
            raise RuntimeError(f"[reconstruct] key {ids[missing][0]} not found")
        return self.index._vectors(positions)


def to_bytes(index: Index) -> bytes:
    """Return the content of the file of an index."""
    return pack(_MAGIC, *index._state())


def from_bytes(content: bytes) -> Index:
    """Make the index of to_bytes(), or of a file of FAISS. Raises RuntimeError for anything else."""
    try:
        if content.startswith(_MAGIC):
            return _from_state(*unpack(_MAGIC, content))
        return _from_faiss(_faiss_files.parse(content))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise RuntimeError(f"[read_index] {error}") from error


def _make(kind: str, header: dict[str, Any]) -> _Stored:
    d, metric = int(header["d"]), int(header["metric_type"])
    if kind == "IndexHNSWFlat":
        return IndexHNSWFlat(d, int(header["M"]), metric)
    if kind == "IndexScalarQuantizer":
        return IndexScalarQuantizer(d, int(header["qtype"]), metric)
    flat: dict[str, type[IndexFlat]] = {"IndexFlat": IndexFlat, "IndexFlatL2": IndexFlatL2, "IndexFlatIP": IndexFlatIP}
    return flat[kind](d, metric)


def _map_ids(kind: str, index: Index, ids: Ids) -> IndexIDMap:
    """Make an IndexIDMap or IndexIDMap2 around an index that has vectors already."""
    if len(ids) != index.ntotal:
        raise ValueError(f"the file has {len(ids)} ids for {index.ntotal} vectors")
    made = {"IndexIDMap": IndexIDMap, "IndexIDMap2": IndexIDMap2}[kind](IndexFlat(index.d))
    made.index = index
    made._set_ids(ids)
    return made


def _from_state(header: dict[str, Any], blobs: list[bytes]) -> Index:
    if "inner" in header:
        ids = np.frombuffer(blobs.pop(), np.int64)
        return _map_ids(header["class"], _from_state(header["inner"], blobs), ids)
    made = _make(header["class"], header)
    made._restore(header, blobs)
    return made


def _from_faiss(content: _faiss_files.Content) -> Index:
    if content.inner is not None and content.ids is not None:
        return _map_ids(content.kind, _from_faiss(content.inner), content.ids)
    made = _make(content.kind, {"d": content.d, "metric_type": content.metric, "M": content.m})
    if isinstance(made, IndexHNSWFlat):
        made.hnsw.efConstruction, made.hnsw.efSearch = content.ef_construction, content.ef_search
    made.add(content.vectors)
    return made
