"""hnswlib's interface over vectis.Index: `from vectis.compat import hnswlib` instead of `import hnswlib`.

    index = hnswlib.Index(space="l2", dim=64)
    index.init_index(max_elements=10_000, ef_construction=200, M=16)
    index.add_items(vectors, ids)
    labels, distances = index.knn_query(queries, k=5)

Shapes, types, labels and errors are those of hnswlib 0.8; `docs/python-compat.md` lists the differences.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._vectis import Index as Engine
from .._vectis import get_threads
from ..errors import InvalidInputError
from ._common import Floats, Ids, index_from_bytes, index_to_bytes, make_graph, pack, unpack, using_threads, write_file

Labels = NDArray[np.uint64]
Filter = Callable[[int], bool]

_METRICS = {"l2": "l2_squared", "ip": "inner_product", "cosine": "cosine"}
_MAGIC = b"VECTISH1"
# hnswlib's own files begin with these numbers, the fields that are used here among them.
_NATIVE_HEADER = np.dtype([
    ("offset_level0", "<u8"), ("max_elements", "<u8"), ("count", "<u8"), ("row_bytes", "<u8"), ("label_offset", "<u8"),
    ("data_offset", "<u8"), ("max_level", "<i4"), ("entry_point", "<u4"), ("max_m", "<u8"), ("max_m0", "<u8"),
    ("m", "<u8"), ("mult", "<f8"), ("ef_construction", "<u8"),
])
_DELETED = 2  # the byte of a row that has the mark of a deleted element, and the mark
_DELETE_MARK = 1


class _Space:
    """What Index and BFIndex share: space, vectors, labels and queries."""

    def __init__(self, space: str, dim: int) -> None:
        if space not in _METRICS:
            raise RuntimeError("Space name must be one of l2, ip, or cosine.")
        self._space, self._dim = space, dim
        self._threads = 0
        self._max_elements = 0
        self._next_label = 0  # of vectors that are added without labels
        self._engine: Engine | None = None

    def __repr__(self) -> str:
        return f"<vectis.compat.hnswlib.{type(self).__name__}(space='{self._space}', dim={self._dim})>"

    @property
    def num_threads(self) -> int:
        """Threads of an index: those set before the first vectors were added."""
        return self._threads or get_threads()

    @num_threads.setter
    def num_threads(self, threads: int) -> None:
        self._threads = threads
        if self._engine is not None and len(self._engine) == 0:
            self._engine = self._make()

    def set_num_threads(self, num_threads: int) -> None:
        """Compute with this many threads, if no vectors were added yet."""
        self.num_threads = num_threads

    def get_max_elements(self) -> int:
        return self._max_elements

    def get_current_count(self) -> int:
        return 0 if self._engine is None else len(self._engine)

    def _make(self) -> Engine:
        with using_threads(self._threads):
            return self._make_engine()

    def _make_engine(self) -> Engine:
        raise NotImplementedError

    def _ready(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("The index is not initiated: call init_index or load_index first.")
        return self._engine

    def _rows(self, data: ArrayLike) -> Floats:
        rows = np.asarray(data, np.float32)
        if rows.ndim == 1:
            rows = rows[None]
        if rows.ndim != 2:
            raise RuntimeError(f"Input vector data wrong shape. Number of dimensions {rows.ndim}. "
                               "Data must be a 1D or 2D array.")
        if rows.shape[1] != self._dim:
            raise RuntimeError("Wrong dimensionality of the vectors")
        return rows

    def _labels(self, ids: Any, count: int) -> tuple[Ids, NDArray[np.intp] | None]:
        """Return the labels of new vectors, and which rows to store; None: all. Of a repeated label the last counts."""
        if ids is None:
            return np.arange(self._next_label, self._next_label + count), None
        given = np.asarray(ids)
        labels = given.astype(np.uint64) if isinstance(ids, np.ndarray) else np.asarray(ids, np.uint64)
        labels = labels.reshape(-1)
        if given.ndim > 1 or len(labels) != count:
            raise RuntimeError(f"The input label shape {len(labels)} does not match the input data vector shape "
                               f"{count}")
        signed = labels.astype(np.int64)
        if (signed < 0).any():
            raise ValueError(f"labels are 0 to 2^63 - 1, not {given.reshape(-1)[signed < 0][0]}")
        unique, last = np.unique(signed[::-1], return_index=True)
        return (signed, None) if len(unique) == count else (unique, count - 1 - last)

    def _query(self, data: ArrayLike, k: int, ef: int | None, filter: Filter | None) -> tuple[Labels, Floats]:
        rows = self._rows(data)
        ids, distances = self._ready().search(rows, k, filter=filter, ef=ef)
        if ids.size and ids[:, -1].min() < 0:
            raise RuntimeError("Cannot return the results in a contiguous 2D array. Probably ef or M is too small")
        if self._space == "ip":
            distances += 1
        return ids.view(np.uint64), distances.astype(np.float32)

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        header = {"class": type(self).__name__, "space": self._space, "dim": self._dim,
                  "max_elements": self._max_elements}
        return header, [] if self._engine is None else [index_to_bytes(self._engine)]

    def _restore(self, header: dict[str, Any], blobs: list[bytes]) -> None:
        if (header["class"], header["space"], header["dim"]) != (type(self).__name__, self._space, self._dim):
            raise RuntimeError(f"The file holds {header['class']}(space='{header['space']}', dim={header['dim']}), "
                               f"not {self!r}")
        self._max_elements = header["max_elements"]
        if blobs:
            with using_threads(self._threads):
                self._engine = index_from_bytes(blobs[0])

    def _load(self, content: bytes) -> None:
        try:
            self._restore(*unpack(_MAGIC, content))
        except (ValueError, KeyError, IndexError) as error:
            raise RuntimeError(f"Index seems to be corrupted or unsupported: {error}") from error

    def _write(self, path: str | os.PathLike[str]) -> None:
        self._ready()
        write_file(path, pack(_MAGIC, *self._state()))

    def __getstate__(self) -> tuple[bytes, int, int]:
        return pack(_MAGIC, *self._state()), self._threads, self._next_label

    def __setstate__(self, state: tuple[bytes, int, int]) -> None:
        header, blobs = unpack(_MAGIC, state[0])
        self.__init__(header["space"], header["dim"])  # type: ignore[misc]
        self._threads = state[1]
        self._restore(header, blobs)
        self._next_label = state[2]


class Index(_Space):
    """Approximate search with a proximity graph. Any number of threads may query beside one that changes the index."""

    def __init__(self, space: str, dim: int) -> None:
        super().__init__(space, dim)
        self._m = self._ef_construction = self._seed = 0
        self._ef = 10
        self._replace = False
        self._deleted: dict[int, Floats] = {}  # vectors with the mark, oldest first, for unmark_deleted

    space = property(lambda self: self._space)
    dim = property(lambda self: self._dim)
    M = property(lambda self: self._m)
    ef_construction = property(lambda self: self._ef_construction)
    max_elements = property(lambda self: self._max_elements)
    element_count = property(lambda self: self.get_current_count())

    @property
    def ef(self) -> int:
        """Beam width of queries; a larger one finds more and takes longer."""
        return self._ef

    @ef.setter
    def ef(self, ef: int) -> None:
        self._ef = ef

    def set_ef(self, ef: int) -> None:
        self._ef = ef

    def init_index(self, max_elements: int, M: int = 16, ef_construction: int = 200, random_seed: int = 100,
                   allow_replace_deleted: bool = False) -> None:
        """Make an empty index for up to `max_elements` vectors."""
        if self._engine is not None:
            raise RuntimeError("The index is already initiated.")
        self._max_elements, self._m, self._ef_construction, self._seed = max_elements, M, ef_construction, random_seed
        self._replace = allow_replace_deleted
        self._engine = self._make()

    def _make_engine(self) -> Engine:
        return make_graph(self._dim, _METRICS[self._space], self._m, self._ef_construction, self._seed)

    def add_items(self, data: ArrayLike, ids: Any = None, num_threads: int = -1,
                  replace_deleted: bool = False) -> None:
        """Add vectors, or replace those of labels that exist; without `ids` the labels count up from 0.

        replace_deleted: take the places of elements that are marked as deleted, whose labels end to exist.
        """
        engine, rows = self._ready(), self._rows(data)
        labels, stored = self._labels(ids, len(rows))
        if replace_deleted and not self._replace:
            raise RuntimeError("Replacement of deleted elements is disabled in constructor")
        revived = labels[np.isin(labels, list(self._deleted))].tolist() if self._deleted else []
        if revived and self._replace and not replace_deleted:
            raise RuntimeError("Can't use addPoint to update deleted elements if replacement of deleted elements is "
                               "enabled.")
        replaced = self._reserve(labels, revived, replace_deleted)
        engine.upsert(rows if stored is None else rows[stored], labels, progress=False)
        for label in [*revived, *replaced]:
            del self._deleted[label]
        self._next_label += len(rows)

    def _reserve(self, labels: Ids, revived: list[int], replace_deleted: bool) -> list[int]:
        """Check that there is room for labels, and return the deleted ones whose places they take."""
        engine = self._ready()
        if not replace_deleted and self.get_current_count() + len(labels) <= self._max_elements:
            return []
        added = len(labels) - len(revived) - int(np.count_nonzero(np.isin(labels, engine.ids())))
        again = set(revived)
        replaced = [label for label in self._deleted if label not in again][:added] if replace_deleted else []
        if self.get_current_count() + added - len(replaced) > self._max_elements:
            raise RuntimeError("The number of elements exceeds the specified limit")
        return replaced

    def knn_query(self, data: ArrayLike, k: int = 1, num_threads: int = -1,
                  filter: Any = None) -> tuple[Labels, Floats]:
        """Return labels and distances of the k nearest vectors of each query.

        filter: a function label -> bool, which is slow; or, faster, what vectis.Index.search accepts: labels, a range
            or a boolean mask. Raises RuntimeError when fewer than k are found.
        """
        return self._query(data, k, max(self._ef, k, 1), filter)

    def get_current_count(self) -> int:
        return super().get_current_count() + len(self._deleted)

    def get_ids_list(self) -> list[int]:
        """Return all labels, those of deleted elements too."""
        return [*self._ready().ids().tolist(), *self._deleted]

    def get_items(self, ids: Any = None, return_type: str = "numpy") -> Any:
        """Return the vectors of labels as an array, or as lists; those of the space 'cosine' are normalized."""
        if return_type not in ("numpy", "list"):
            raise ValueError('return_type should be "numpy" or "list"')
        labels = np.asarray([] if ids is None else ids)
        if labels.ndim == 0:
            raise ValueError("get_items accepts a list of indices and returns a list of vectors")
        items = np.empty(0, np.float32)
        if labels.size:
            try:
                items = np.asarray(self._ready().get(labels))
            except InvalidInputError as error:
                raise RuntimeError("Label not found") from error
            if self._space == "cosine":
                items /= np.sqrt(np.einsum("ij,ij->i", items, items))[:, None] + np.float32(1e-30)
        return items if return_type == "numpy" else items.tolist()

    def mark_deleted(self, label: int) -> None:
        """Exclude an element from queries."""
        if label in self._deleted:
            raise RuntimeError("The requested to delete element is already deleted")
        vector = self._ready().get(int(label))
        if vector is None:
            raise RuntimeError("Label not found")
        self._deleted[int(label)] = vector
        self._ready().remove(int(label))

    def unmark_deleted(self, label: int) -> None:
        """Include an element in queries again."""
        engine = self._ready()
        if label not in self._deleted:
            raise RuntimeError("The requested to undelete element is not deleted" if label in engine
                               else "Label not found")
        engine.add(self._deleted[label], [int(label)])
        del self._deleted[label]

    def resize_index(self, new_size: int) -> None:
        """Change the largest number of elements."""
        if new_size < self.get_current_count():
            raise RuntimeError("Cannot resize, max element is less than the current number of elements")
        self._ready()
        self._max_elements = new_size

    def index_file_size(self) -> int:
        """Return the bytes that save_index writes."""
        return len(pack(_MAGIC, *self._state()))

    def save_index(self, path_to_index: str | os.PathLike[str]) -> None:
        """Write the index to a file, which is the old or the new one at any moment."""
        self._write(path_to_index)

    def load_index(self, path_to_index: str | os.PathLike[str], max_elements: int = 0,
                   allow_replace_deleted: bool = False) -> None:
        """Read a file of save_index(), or of hnswlib itself, whose vectors are linked to a new graph."""
        content = _read(path_to_index)
        self._engine, self._deleted = None, {}
        if content.startswith(_MAGIC):
            self._load(content)
        else:
            self._read_native(content)
        count = self.get_current_count()
        if max_elements >= count and max_elements > 0:
            self._max_elements = max_elements
        self._replace, self._next_label = allow_replace_deleted, count

    def _read_native(self, content: bytes) -> None:
        corrupt = RuntimeError("Index seems to be corrupted or unsupported")
        if len(content) < _NATIVE_HEADER.itemsize:
            raise corrupt
        header = {name: value.item() for name, value in
                  zip(_NATIVE_HEADER.names or (), np.frombuffer(content, _NATIVE_HEADER, 1)[0])}
        count, row_bytes, begin = header["count"], header["row_bytes"], header["data_offset"]
        rows_end = _NATIVE_HEADER.itemsize + count * row_bytes
        if rows_end > len(content) or begin + 4 * self._dim != header["label_offset"] or \
                header["label_offset"] + 8 != row_bytes or begin < 4:
            raise corrupt
        table = np.frombuffer(content, np.uint8, count * row_bytes, _NATIVE_HEADER.itemsize).reshape(count, row_bytes)
        vectors = table[:, begin:begin + 4 * self._dim].copy().view(np.float32)
        labels = table[:, row_bytes - 8:].copy().view(np.int64).reshape(-1)
        deleted = (table[:, _DELETED] & _DELETE_MARK).astype(bool)
        self._m, self._ef_construction = header["m"], header["ef_construction"]
        self._max_elements = header["max_elements"]
        self._engine = self._make()
        self._engine.add(vectors[~deleted], labels[~deleted], progress=False)
        self._deleted = dict(zip(labels[deleted].tolist(), vectors[deleted]))

    def _state(self) -> tuple[dict[str, Any], list[bytes]]:
        header, blobs = super()._state()
        header |= {"M": self._m, "ef_construction": self._ef_construction, "seed": self._seed, "ef": self._ef,
                   "replace": self._replace, "deleted": list(self._deleted)}
        return header, [*blobs, b"".join(vector.tobytes() for vector in self._deleted.values())]

    def _restore(self, header: dict[str, Any], blobs: list[bytes]) -> None:
        super()._restore(header, blobs[:-1])
        self._m, self._ef_construction, self._seed = header["M"], header["ef_construction"], header["seed"]
        vectors = np.frombuffer(blobs[-1], np.float32).reshape(-1, self._dim)
        self._deleted = dict(zip(header["deleted"], vectors))

    def __setstate__(self, state: tuple[bytes, int, int]) -> None:
        super().__setstate__(state)
        header, _ = unpack(_MAGIC, state[0])
        self._ef, self._replace = header["ef"], header["replace"]


class BFIndex(_Space):
    """Exact search."""

    def init_index(self, max_elements: int) -> None:
        """Make an empty index for up to `max_elements` vectors."""
        if self._engine is not None:
            raise RuntimeError("The index is already initiated.")
        self._max_elements, self._engine = max_elements, self._make()

    def _make_engine(self) -> Engine:
        return Engine(self._dim, kind="flat", metric=_METRICS[self._space])

    def add_items(self, data: ArrayLike, ids: Any = None) -> None:
        """Add vectors, or replace those of labels that exist; without `ids` the labels count up from 0."""
        engine, rows = self._ready(), self._rows(data)
        labels, stored = self._labels(ids, len(rows))
        if len(engine) + len(labels) > self._max_elements:
            added = len(labels) - int(np.count_nonzero(np.isin(labels, engine.ids())))
            if len(engine) + added > self._max_elements:
                raise RuntimeError("The number of elements exceeds the specified limit\n")
        engine.upsert(rows if stored is None else rows[stored], labels, progress=False)
        self._next_label += len(rows)

    def knn_query(self, data: ArrayLike, k: int = 1, num_threads: int = -1,
                  filter: Any = None) -> tuple[Labels, Floats]:
        """Return labels and distances of the k nearest vectors of each query. Raises RuntimeError for fewer than k."""
        return self._query(data, k, None, filter)

    def delete_vector(self, label: int) -> None:
        """Remove a vector, if there is one."""
        self._ready().remove(int(label))

    def save_index(self, path_to_index: str | os.PathLike[str]) -> None:
        """Write the index to a file, which is the old or the new one at any moment."""
        self._write(path_to_index)

    def load_index(self, path_to_index: str | os.PathLike[str], max_elements: int = 0) -> None:
        """Read a file of save_index()."""
        self._engine = None
        self._load(_read(path_to_index))
        self._next_label = self.get_current_count()


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise RuntimeError(f"Cannot open file: {error}") from error
