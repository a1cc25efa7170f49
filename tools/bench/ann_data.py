"""The data of `./dev bench ann`: hard synthetic vectors, real embeddings, their queries and ground truth.

Settings are chosen with TUNING queries and reported with REPORTED queries; our index calibrates itself with vectors of
the corpus. Nothing is tuned on hard-1m, which is used for the final table only."""

from pathlib import Path

import numpy

from tools.bench import exact_data
from tools.bench.exact_truth import K

SETS = ("hard-100k", "embeddings", "hard-1m")
TRIAL = "hard-10k"  # for trying the bench itself
QUERIES = exact_data.QUERIES
TUNING, REPORTED = slice(0, 500), slice(500, QUERIES)
FAR = 4  # single-precision candidates per neighbor, which are reordered in double precision
_ROWS = {TRIAL: 10_000, "hard-100k": 100_000, "hard-1m": 1_000_000}


class Set:
    """A data set: the first rows of a file that may hold more."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder
        if name == "embeddings":
            self.corpus_file = next(iter(sorted(folder.glob("corpus-embeddings-*.f32"))), None)
            if self.corpus_file is None:
                raise SystemExit("bench: no embeddings; bench/ann makes them")
            self.rows, self.dim = (int(part) for part in self.corpus_file.stem.rpartition("-")[2].split("x"))
            self.file_rows = self.rows
            self.queries_file = folder / f"queries-embeddings-{QUERIES}x{self.dim}.f32"
        else:
            self.rows, self.dim, self.file_rows = _ROWS[name], 128, 1_000_000
            data = exact_data.made(folder, self.file_rows, self.dim)  # a smaller set is a prefix of a larger one
            self.corpus_file, self.queries_file = data.corpus_file, data.queries_file

    def corpus(self) -> numpy.ndarray:
        """All rows of the file."""
        return numpy.memmap(self.corpus_file, numpy.float32, "r", shape=(self.file_rows, self.dim))

    def queries(self) -> numpy.ndarray:
        return numpy.fromfile(self.queries_file, numpy.float32).reshape(QUERIES, self.dim)

    def truth(self) -> numpy.ndarray:
        """Ground truth of all queries, cached."""
        kept = self.folder / f"truth-{self.name}-{self.rows}x{self.dim}-k{K}.npy"
        if not kept.is_file():
            numpy.save(kept, nearest(self.corpus()[:self.rows], self.queries()))
        return numpy.load(kept)


def nearest(rows: numpy.ndarray, queries: numpy.ndarray) -> numpy.ndarray:
    """Indices of the K nearest rows: single-precision candidates, ordered in double precision."""
    import faiss
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(numpy.ascontiguousarray(rows))
    candidates = index.search(queries, min(len(rows), FAR * K))[1]
    return ordered(rows, queries, candidates)


def ordered(rows: numpy.ndarray, queries: numpy.ndarray, candidates: numpy.ndarray) -> numpy.ndarray:
    """The K nearest of each query's candidates. -1 pads lists on both sides."""
    found = numpy.full((len(queries), K), -1, numpy.int64)
    for i, places in enumerate(candidates):
        there = places[places >= 0]
        distances = ((rows[there].astype(numpy.float64) - queries[i].astype(numpy.float64)) ** 2).sum(axis=1)
        best = there[numpy.argsort(distances, kind="stable")[:K]]
        found[i, :len(best)] = best
    return found


def recall(found: numpy.ndarray, truth: numpy.ndarray) -> float:
    """The share of the ground truth that was found; -1 pads lists on both sides."""
    hits = wanted = 0
    for here, there in zip(found.astype(numpy.int64), truth.astype(numpy.int64), strict=True):
        there = there[there >= 0]
        hits += len(numpy.intersect1d(here, there))
        wanted += len(there)
    return hits / max(1, wanted)
