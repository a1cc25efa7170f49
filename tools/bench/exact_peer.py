"""One peer library behind the line protocol of tests/exact/exact_bench.cpp: corpus, queries, add, search."""

import json
import sys
import time

import numpy

_COPIED = 1 << 30  # larger files are mapped instead of read for libraries that copy them


class Faiss:
    """The flat index, with the default BLAS threshold or with 20."""

    VARIANTS = ("flat", "flat, blas from 20")

    def __init__(self, threads: int):
        import faiss
        self.faiss = faiss
        faiss.omp_set_num_threads(threads)
        self.default = faiss.cvar.distance_compute_blas_threshold

    def made(self, corpus):
        return self.faiss.IndexFlatL2(corpus.shape[1])

    def add(self, corpus, _variant):
        self.index = None
        start = time.perf_counter()
        self.index = self.made(corpus)
        self.index.add(corpus)
        return time.perf_counter() - start

    def search(self, queries, k, variant):
        self.faiss.cvar.distance_compute_blas_threshold = 20 if variant.endswith("20") else self.default
        return self.index.search(queries, k)[1]


class FaissSq8(Faiss):
    """8-bit scalar quantization: not exact."""

    VARIANTS = ("SQ8",)

    def made(self, corpus):
        index = self.faiss.IndexScalarQuantizer(corpus.shape[1], self.faiss.ScalarQuantizer.QT_8bit)
        index.train(corpus[:100_000])
        return index


class Torch:
    """|x|² - 2 q.x and topk: all rows for a few queries at a time, or all queries for a block of rows at a time."""

    VARIANTS = ("by queries", "by rows")
    QUERIES, ROWS = 50, 16_384

    def __init__(self, threads: int):
        import torch
        self.torch = torch
        torch.set_num_threads(threads)

    def add(self, corpus, _variant):
        start = time.perf_counter()
        self.corpus = self.torch.from_numpy(corpus)
        self.squares = self.torch.cat([(rows * rows).sum(1) for rows in self.corpus.split(self.ROWS)])
        return time.perf_counter() - start

    def nearest(self, queries, rows, k):
        scores = self.torch.addmm(self.squares[rows], queries, self.corpus[rows].T, alpha=-2)
        return self.torch.topk(scores, k, dim=1, largest=False)

    def search(self, queries, k, variant):
        torch, queries = self.torch, self.torch.from_numpy(queries)
        if variant == "by queries":
            everything = slice(0, len(self.corpus))
            return torch.cat([self.nearest(few, everything, k).indices for few in queries.split(self.QUERIES)]).numpy()
        values, ids = [], []
        for start in range(0, len(self.corpus), self.ROWS):
            found = self.nearest(queries, slice(start, start + self.ROWS), k)
            values.append(found.values)
            ids.append(found.indices + start)
        best = torch.topk(torch.cat(values, 1), k, dim=1, largest=False).indices
        return torch.cat(ids, 1).gather(1, best).numpy()


class Usearch:
    VARIANTS = ("exact",)

    def __init__(self, threads: int):
        from usearch.index import MetricKind, search
        self.threads, self.metric, self.find = threads, MetricKind.L2sq, search

    def add(self, corpus, _variant):
        self.corpus = corpus
        return 0.0

    def search(self, queries, k, _variant):
        return self.find(self.corpus, queries, k, self.metric, exact=True, threads=self.threads).keys.reshape(-1, k)


class Numpy:
    """The same product, and argpartition."""

    VARIANTS = ("product",)
    QUERIES = 50

    def __init__(self, threads: int):
        del threads  # OPENBLAS_NUM_THREADS

    def add(self, corpus, _variant):
        start = time.perf_counter()
        self.corpus, self.squares = corpus, numpy.einsum("ij,ij->i", corpus, corpus)
        return time.perf_counter() - start

    def search(self, queries, k, _variant):
        return numpy.concatenate([self.few(queries[start:start + self.QUERIES], k)
                                  for start in range(0, len(queries), self.QUERIES)])

    def few(self, queries, k):
        scores = queries @ self.corpus.T
        scores *= -2
        scores += self.squares
        nearest = numpy.argpartition(scores, k - 1, axis=1)[:, :k]
        order = numpy.argsort(numpy.take_along_axis(scores, nearest, 1), axis=1)
        return numpy.take_along_axis(nearest, order, 1)


LIBRARIES = {"faiss": Faiss, "faiss-sq8": FaissSq8, "torch": Torch, "usearch": Usearch, "numpy": Numpy}


class Peer:
    def __init__(self, name: str, threads: int):
        self.library = LIBRARIES[name](threads)

    def corpus(self, file, dim, rows):
        shape = (int(rows), int(dim))
        if isinstance(self.library, Faiss) and 4 * shape[0] * shape[1] > _COPIED:
            self.rows = numpy.asarray(numpy.memmap(file, numpy.float32, "r", shape=shape))
        else:
            self.rows = numpy.fromfile(file, numpy.float32, shape[0] * shape[1]).reshape(shape)
        return {"variants": list(self.library.VARIANTS)}

    def queries(self, file, rows):
        self.asked = numpy.fromfile(file, numpy.float32).reshape(int(rows), -1)
        return {}

    def add(self, variant):
        return {"ms": self.library.add(self.rows, variant) * 1e3}

    def search(self, queries, batch, k, ids, variant):
        calls, found = [], []
        for first in range(0, int(queries), int(batch)):
            few = self.asked[first:min(first + int(batch), int(queries))]
            start = time.perf_counter()
            found.append(self.library.search(few, int(k), variant))
            calls.append((time.perf_counter() - start) * 1e3)
        numpy.concatenate(found).astype(numpy.uint64).tofile(ids)
        return {"ms": sum(calls), "calls": calls}


def main(name: str, threads: str) -> None:
    try:
        peer = Peer(name, int(threads))
    except Exception as error:  # any failure to import a library skips it
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        return
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        command, *words = line.split("\t")
        reply = getattr(peer, command.strip())(**dict(word.strip().split("=", 1) for word in words))
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
