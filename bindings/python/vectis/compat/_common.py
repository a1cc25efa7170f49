"""What the compatibility modules share: search by radius, growing arrays of ids, threads, and files."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._vectis import Index as Engine
from .._vectis import get_threads, set_threads

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

_MAX_HITS = 1 << 22  # hits that one call of a search by radius asks for: 64 MB of ids and distances
_FIRST_K = 128  # hits of a query that the first round of a search by radius asks for


def make_graph(dim: int, metric: str, m: int, ef_construction: int, seed: int | None = None) -> Engine:
    """Make the graph index that stands for an HNSW graph with `m` links per vector, 2 m on its lowest level."""
    degree = min(max(2 * m, 4), 255)
    width = min(max(ef_construction, degree), 4096)
    return Engine(dim, kind="graph", metric=metric, degree=degree, ef_construction=width, seed=seed)


@contextlib.contextmanager
def using_threads(threads: int) -> Iterator[None]:
    """Make indexes that compute with this many threads inside the `with` block; 0 or less: as everywhere else."""
    before = get_threads()
    if threads <= 0 or threads == before:
        yield
        return
    set_threads(threads)
    try:
        yield
    finally:
        set_threads(0 if before == os.cpu_count() else before)


def search_within(index: Engine, queries: Floats, radius: float, allowed: Any = None,
                  ef: int | None = None) -> tuple[Ids, NDArray[np.float64], Ids]:
    """Return the hits of each query at distances up to `radius`.

    The hits of query i are ids[limits[i]:limits[i + 1]], in ascending order of ids, at distances[limits[i]:...].
    Searches for a few hits first, and again for more where a query may have more, so that memory follows the hits.
    """
    total, k = len(index), min(len(index), _FIRST_K)
    pending = np.arange(len(queries))
    parts: list[tuple[NDArray[Any], ...]] = [(pending[:0], np.empty(0, np.int64), np.empty(0))]
    while pending.size and k:
        unfinished = []
        for rows in np.array_split(pending, -(-len(pending) * k // _MAX_HITS)):
            beam = None if ef is None else max(ef, k)
            ids, distances = index.search(queries[rows], k, radius=radius, filter=allowed, ef=beam)
            full = (ids[:, -1] >= 0) & (k < total)
            unfinished.append(rows[full])
            found = (ids >= 0) & ~full[:, None]
            parts.append((np.broadcast_to(rows[:, None], ids.shape)[found], ids[found], distances[found]))
        pending, k = np.concatenate(unfinished), min(total, 8 * k)
    owners, ids, distances = (np.concatenate(column) for column in zip(*parts))
    order = np.lexsort((ids, owners))
    limits = np.zeros(len(queries) + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=len(queries)), out=limits[1:])
    return limits, distances[order], ids[order]


class GrowingIds:
    """An array of ids that grows in amortized constant time per id."""

    def __init__(self, ids: Ids) -> None:
        self._buffer, self._size = np.array(ids, np.int64), len(ids)

    @property
    def array(self) -> Ids:
        """The ids, as a view that is valid until the next change."""
        return self._buffer[: self._size]

    def extend(self, ids: Ids) -> None:
        """Append ids."""
        end = self._size + len(ids)
        if end > len(self._buffer):
            grown = np.empty(max(end, 2 * len(self._buffer)), np.int64)
            grown[: self._size] = self.array
            self._buffer = grown
        self._buffer[self._size:end] = ids
        self._size = end


def index_to_bytes(index: Engine) -> bytes:
    """Return the file of an index."""
    return index.__getstate__()


def index_from_bytes(data: bytes) -> Engine:
    """Make the index whose file this is."""
    index = Engine.__new__(Engine)
    index.__setstate__(data)
    return index


def pack(magic: bytes, header: dict[str, Any], blobs: Sequence[bytes]) -> bytes:
    """Join a header and blobs to the content of a file: magic, length of the header, header in JSON, blobs."""
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    return b"".join([magic, len(text).to_bytes(8, "little"), text, *blobs])


def unpack(magic: bytes, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Split what pack() joined. Raises ValueError for anything else."""
    begin = len(magic) + 8
    end = begin + int.from_bytes(data[len(magic):begin], "little")
    if not data.startswith(magic) or end > len(data):
        raise ValueError("the file is truncated, or not of this format")
    header = json.loads(data[begin:end])
    blobs = []
    for size in header.pop("blobs"):
        blobs.append(data[end:end + size])
        end += size
    if end != len(data):
        raise ValueError("the file is truncated, or has bytes behind its end")
    return header, blobs


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that is the old or the new one at any moment."""
    folder, name = os.path.split(os.path.abspath(os.fspath(path)))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=name + ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
