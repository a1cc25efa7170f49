"""FAISS's Python interface over vectis.Index: `from vectis.compat import faiss` instead of `import faiss`.

    index = faiss.IndexFlatL2(64)              # or faiss.index_factory(64, "HNSW32")
    index.add(vectors)
    D, I = index.search(queries, 5)

Shapes, types, ids, order and errors are those of FAISS 1.15; `docs/python-compat.md` lists the differences.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._vectis import get_threads, set_threads, version
from ._common import Floats, Ids, write_file
from ._faiss_indexes import (
    HNSW, METRIC_INNER_PRODUCT, METRIC_L1, METRIC_L2, Index, IndexFlat, IndexFlatIP, IndexFlatL2, IndexHNSWFlat,
    IndexIDMap, IndexIDMap2, IndexScalarQuantizer, METRIC_Linf, ScalarQuantizer, from_bytes, to_bytes,
)
from ._faiss_selectors import (
    IDSelector, IDSelectorAll, IDSelectorAnd, IDSelectorArray, IDSelectorBatch, IDSelectorBitmap, IDSelectorNot,
    IDSelectorOr, IDSelectorRange, IDSelectorXOr, SearchParameters, SearchParametersHNSW,
)

__all__ = [
    "HNSW", "IDSelector", "IDSelectorAll", "IDSelectorAnd", "IDSelectorArray", "IDSelectorBatch", "IDSelectorBitmap",
    "IDSelectorNot", "IDSelectorOr", "IDSelectorRange", "IDSelectorXOr", "Index", "IndexFlat", "IndexFlatIP",
    "IndexFlatL2", "IndexHNSWFlat", "IndexIDMap", "IndexIDMap2", "IndexScalarQuantizer", "METRIC_INNER_PRODUCT",
    "METRIC_L1", "METRIC_L2", "METRIC_Linf", "ScalarQuantizer", "SearchParameters", "SearchParametersHNSW",
    "clone_index", "deserialize_index", "downcast_index", "index_factory", "knn", "normalize_L2",
    "omp_get_max_threads", "omp_set_num_threads", "read_index", "serialize_index", "swig_ptr", "vector_to_array",
    "write_index",
]
__version__ = version()

_SUPPORTED = ('"Flat", "HNSW<M>", "HNSW<M>,Flat", "SQ8", "SQfp16" and "SQbf16", '
              'with "IDMap," or "IDMap2," before or ",IDMap" or ",IDMap2" behind')


def index_factory(d: int, description: str, metric: int = METRIC_L2) -> Index:
    """Make the index that a string describes: "Flat", "HNSW32", "SQ8", "IDMap,Flat", ..."""
    mapped = re.fullmatch(r"(?:(IDMap2?),)?(.*?)(?:,(IDMap2?))?", description)
    assert mapped is not None
    before, inner, behind = mapped.groups()
    index: Index
    if inner == "Flat":
        index = IndexFlat(d, metric)
    elif graph := re.fullmatch(r"HNSW([0-9]*)(,Flat)?", inner):
        index = IndexHNSWFlat(d, int(graph[1] or 32), metric)
    elif codes := re.fullmatch(r"SQ(8|fp16|bf16)", inner):
        index = IndexScalarQuantizer(d, getattr(ScalarQuantizer, "QT_8bit" if codes[1] == "8" else "QT_" + codes[1]),
                                     metric)
    else:
        raise RuntimeError(f"[index_factory] cannot make {description!r}; vectis.compat.faiss has {_SUPPORTED}")
    for kind in (behind, before):
        if kind:
            index = (IndexIDMap2 if kind == "IDMap2" else IndexIDMap)(index)
    return index


def serialize_index(index: Index) -> NDArray[np.uint8]:
    """Return the content of the file of an index."""
    return np.frombuffer(to_bytes(index), np.uint8).copy()


def deserialize_index(data: NDArray[np.uint8]) -> Index:
    """Make the index of serialize_index(), of this module or of FAISS. Raises RuntimeError for anything else."""
    return from_bytes(np.ascontiguousarray(data.reshape(data.shape[0]), np.uint8).tobytes())


def write_index(index: Index, fname: str | os.PathLike[str]) -> None:
    """Write an index to a file, which is the old or the new one at any moment."""
    try:
        write_file(fname, to_bytes(index))
    except OSError as error:
        raise RuntimeError(f"[write_index] could not open {os.fspath(fname)} for writing: {error}") from error


def read_index(fname: str | os.PathLike[str], io_flags: int = 0) -> Index:
    """Read a file of write_index(), or of FAISS itself if it holds a flat, an HNSW-flat or a mapped index."""
    try:
        content = Path(fname).read_bytes()
    except OSError as error:
        raise RuntimeError(f"[read_index] could not open {os.fspath(fname)} for reading: {error}") from error
    return from_bytes(content)


def clone_index(index: Index) -> Index:
    """Return a copy of an index."""
    return from_bytes(to_bytes(index))


def knn(xq: NDArray[Any], xb: NDArray[Any], k: int, metric: int = METRIC_L2) -> tuple[Floats, Ids]:
    """Return distances and positions of the k rows of `xb` nearest to each row of `xq`."""
    index = IndexFlat(xb.shape[1], metric)
    index.add(xb)
    return index.search(xq, k)


def normalize_L2(x: Floats) -> None:
    """Divide each row by its length, in place; rows of zeros stay as they are."""
    x.shape[1]
    if x.dtype != np.float32:
        raise TypeError(f"normalize_L2 changes arrays of float32 in place, not of {x.dtype}")
    if not x.flags.c_contiguous:
        raise ValueError("array is not C-contiguous")
    lengths = np.sqrt(np.einsum("ij,ij->i", x, x))
    lengths[lengths == 0] = 1
    x /= lengths[:, None]


def omp_set_num_threads(num_threads: int) -> None:
    """Compute with this many threads in indexes whose first vectors are added from now on."""
    set_threads(num_threads)


def omp_get_max_threads() -> int:
    """Return the number of threads of indexes whose first vectors are added from now on."""
    return get_threads()


def downcast_index(index: Index) -> Index:
    """Return the index: its class is known already."""
    return index


def vector_to_array(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of what FAISS has in a C++ vector, such as `id_map`."""
    return np.array(values)


def swig_ptr(values: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, which stands for the pointer that FAISS would return."""
    return values


def __getattr__(name: str) -> Any:
    raise AttributeError(f"vectis.compat.faiss has no {name!r}; its indexes are those of the strings {_SUPPORTED}")
