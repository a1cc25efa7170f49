"""Reads the files that FAISS itself writes, for the index types that vectis.compat.faiss has.

The layout follows FAISS's impl/index_write.cpp: a four-letter code, the fields of Index, and those of the type. Vectors
are taken as they are; the links of a graph are not, a new graph is built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._common import Floats, Ids

FLAT = {b"IxF2": "IndexFlatL2", b"IxFI": "IndexFlatIP", b"IxFl": "IndexFlat"}
MAPPED = {b"IxMp": "IndexIDMap", b"IxM2": "IndexIDMap2"}
HNSW = {b"IHNf": "IndexHNSWFlat"}
CODES = {**FLAT, **MAPPED, **HNSW}


@dataclass
class Content:
    """What a file of FAISS holds, as far as it is used here."""

    kind: str  # name of the class
    d: int
    metric: int
    vectors: Floats
    ids: Ids | None = None  # of an IndexIDMap
    inner: Content | None = None  # of an IndexIDMap
    m: int = 32  # parameters of an HNSW graph
    ef_construction: int = 40
    ef_search: int = 16


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def value(self, dtype: str) -> Any:
        return self.values(dtype, 1)[0]

    def values(self, dtype: str, count: int) -> NDArray[Any]:
        size = np.dtype(dtype).itemsize * count
        if count < 0 or size > len(self._data) - self._at:
            raise ValueError("the file is truncated")
        self._at += size
        return np.frombuffer(self._data, dtype, count, self._at - size)

    def vector(self, dtype: str) -> NDArray[Any]:
        return self.values(dtype, int(self.value("<u8")))


def parse(data: bytes) -> Content:
    """Read a file of FAISS. Raises ValueError when it is truncated, or of a type that is not supported."""
    return _parse(_Reader(data))


def _parse(reader: _Reader) -> Content:
    code = reader.values("S1", 4).tobytes()
    if code not in CODES:
        names = ", ".join(sorted(set(CODES.values())))
        raise ValueError(f"cannot read the index type {code!r}; files of FAISS can hold {names}")
    d, ntotal = int(reader.value("<i4")), int(reader.value("<i8"))
    reader.values("<i8", 2)  # unused
    reader.value("u1")  # is_trained
    metric = int(reader.value("<i4"))
    if metric > 1:
        reader.value("<f4")  # metric_arg
    if code in MAPPED:
        inner = _parse(reader)
        ids = reader.vector("<i8")
        return Content(MAPPED[code], d, metric, inner.vectors, ids, _check(inner, len(ids)))
    if code in HNSW:
        return _check(_parse_hnsw(reader, d, metric), ntotal)
    vectors = reader.vector("<f4")
    if d <= 0 or vectors.size != ntotal * d:
        raise ValueError(f"the file has {vectors.size} floats for {ntotal} vectors of {d} dimensions")
    return Content(FLAT[code], d, metric, vectors.reshape(ntotal, d))


def _parse_hnsw(reader: _Reader, d: int, metric: int) -> Content:
    reader.vector("<f8")  # assign_probas
    neighbors_up_to = reader.vector("<i4")  # links of a vector on all levels below each one
    reader.vector("<i4")  # levels
    reader.vector("<u8")  # offsets
    reader.vector("<i4")  # neighbors
    reader.values("<i4", 2)  # entry_point, max_level
    ef_construction, ef_search = (int(value) for value in reader.values("<i4", 2))
    reader.value("<i4")  # upper_beam
    m = int(neighbors_up_to[1]) // 2 if len(neighbors_up_to) > 1 else 32
    storage = _parse(reader)
    return Content("IndexHNSWFlat", d, metric, storage.vectors, m=m, ef_construction=ef_construction,
                   ef_search=ef_search)


def _check(content: Content, rows: int) -> Content:
    if content.vectors.shape != (rows, content.d):
        raise ValueError(f"the file has vectors of the shape {content.vectors.shape}, not {(rows, content.d)}")
    return content
