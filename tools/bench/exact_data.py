"""The vectors of `./dev bench exact`: generated once from a seed and stored as raw float32 in build/bench-data."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy

SEED = 20_240_601
CLUSTERS = 1000
INNER = 32  # intrinsic dimension of the clusters
NOISE = 0.05
PIECE = 100_000  # rows generated from one seed, so that a smaller set is a prefix of a larger one
QUERIES = 1000
_QUERY_PIECE = 1 << 20  # no corpus has that many pieces


@dataclass(frozen=True)
class Data:
    rows: int
    dim: int
    folder: Path

    @property
    def corpus_file(self) -> Path:
        return self.folder / f"corpus-{self.rows}x{self.dim}.f32"

    @property
    def queries_file(self) -> Path:
        return self.folder / f"queries-{QUERIES}x{self.dim}.f32"

    def corpus(self) -> numpy.ndarray:
        return numpy.memmap(self.corpus_file, numpy.float32, "r", shape=(self.rows, self.dim))

    def queries(self) -> numpy.ndarray:
        return numpy.fromfile(self.queries_file, numpy.float32).reshape(QUERIES, self.dim)


def _law(dim: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Centers and widths of the clusters, and the projection. Clusters overlap; widths vary by a factor of 8."""
    random = numpy.random.default_rng((SEED, dim))
    centers = random.standard_normal((CLUSTERS, INNER), numpy.float32)
    widths = numpy.exp2(random.uniform(-2.5, 0.5, (CLUSTERS, 1))).astype(numpy.float32)
    projection = random.standard_normal((INNER, dim), numpy.float32) / numpy.float32(INNER**0.5)
    return centers, widths, projection


def _piece(law, dim: int, number: int, rows: int) -> numpy.ndarray:
    centers, widths, projection = law
    random = numpy.random.default_rng((SEED, dim, number))
    cluster = random.integers(0, CLUSTERS, rows)
    inner = centers[cluster] + widths[cluster] * random.standard_normal((rows, INNER), numpy.float32)
    return inner @ projection + numpy.float32(NOISE) * random.standard_normal((rows, dim), numpy.float32)


def _write(path: Path, pieces) -> None:
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        for piece in pieces:
            piece.tofile(file)
    unfinished.rename(path)


def made(folder: Path, rows: int, dim: int) -> Data:
    """The set of that size, generated unless its file exists."""
    folder.mkdir(parents=True, exist_ok=True)
    data, law = Data(rows, dim, folder), _law(dim)
    if not data.corpus_file.is_file():
        print(f"bench: making {data.corpus_file}", file=sys.stderr, flush=True)
        starts = range(0, rows, PIECE)
        _write(data.corpus_file, (_piece(law, dim, start // PIECE, min(PIECE, rows - start)) for start in starts))
    if not data.queries_file.is_file():
        _write(data.queries_file, [_piece(law, dim, _QUERY_PIECE, QUERIES)])
    return data
