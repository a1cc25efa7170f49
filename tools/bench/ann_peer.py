"""One approximate peer behind the lines of tests/exact/exact_bench.cpp: corpus, queries, add, search."""

import json
import sys
import time
from pathlib import Path

import numpy

WIDTHS = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


class Hnswlib:
    """The usual parameters: 16 links, 200 while building."""

    SETTINGS = WIDTHS

    def __init__(self, threads: int):
        import hnswlib
        self.library, self.threads = hnswlib, threads

    def add(self, corpus):
        self.index = self.library.Index(space="l2", dim=corpus.shape[1])
        self.index.init_index(max_elements=len(corpus), ef_construction=200, M=16)
        self.index.add_items(corpus, num_threads=self.threads)

    def search(self, queries, k, setting):
        self.index.set_ef(max(setting, k))
        return self.index.knn_query(queries, k=k, num_threads=self.threads)[0]

    def link_bytes(self, corpus):
        """Of the file it saves, all but vectors and labels."""
        file = Path(f"{sys.argv[2]}.hnsw")
        self.index.save_index(str(file))
        size = file.stat().st_size
        file.unlink()
        return size / len(corpus) - corpus.shape[1] * 4 - 8


class FaissHnsw:
    SETTINGS = WIDTHS

    def __init__(self, threads: int):
        import faiss
        self.faiss = faiss
        faiss.omp_set_num_threads(threads)

    def add(self, corpus):
        self.index = self.faiss.IndexHNSWFlat(corpus.shape[1], 16)
        self.index.hnsw.efConstruction = 200
        self.index.add(corpus)

    def search(self, queries, k, setting):
        self.index.hnsw.efSearch = max(setting, k)
        return self.index.search(queries, k)[1]


class FaissFastScan:
    """Inverted lists of 4-bit codes, scanned by registers, and 100 to 400 of the best compared by true distances."""

    def __init__(self, threads: int):
        import faiss
        self.faiss = faiss
        faiss.omp_set_num_threads(threads)

    SETTINGS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)

    def add(self, corpus):
        lists = int(4 * len(corpus) ** 0.5)
        self.index = self.faiss.index_factory(corpus.shape[1], f"IVF{lists},PQ{corpus.shape[1] // 2}x4fs,RFlat")
        self.index.train(corpus[:: max(1, len(corpus) // 100_000)])
        self.index.add(corpus)

    def search(self, queries, k, setting):
        self.index.base_index.nprobe = setting
        self.index.k_factor = 10
        return self.index.search(queries, k)[1]


class Usearch:
    SETTINGS = WIDTHS

    def __init__(self, threads: int):
        from usearch.index import Index
        self.made, self.threads = Index, threads

    def add(self, corpus):
        self.index = self.made(ndim=corpus.shape[1], metric="l2sq", dtype="f32", connectivity=16, expansion_add=128)
        self.index.add(numpy.arange(len(corpus)), corpus, threads=self.threads)

    def search(self, queries, k, setting):
        self.index.expansion_search = max(setting, k)
        return self.index.search(queries, k, threads=self.threads).keys.reshape(-1, k)


class Scann:
    SETTINGS = (5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320)

    def __init__(self, threads: int):
        import scann
        self.library, self.threads = scann, threads

    def add(self, corpus):
        leaves = int(len(corpus) ** 0.5 * 2)
        self.index = (self.library.scann_ops_pybind.builder(corpus, 10, "squared_l2")
                      .tree(num_leaves=leaves, num_leaves_to_search=50, training_sample_size=min(len(corpus), 250_000))
                      .score_ah(2, anisotropic_quantization_threshold=0.2).reorder(150)
                      .set_n_training_threads(self.threads).build())

    def search(self, queries, k, setting):
        return self.index.search_batched(queries, final_num_neighbors=k, leaves_to_search=setting)[0]


class Svs:
    """Vamana over LVQ: 64 links, as its guide builds it."""

    SETTINGS = WIDTHS
    BITS = ("8", "0")

    def __init__(self, threads: int):
        import svs
        self.library, self.threads = svs, threads

    def add(self, corpus):
        svs = self.library
        primary, residual = (int(bits) for bits in self.BITS)
        parameters = svs.VamanaBuildParameters(alpha=1.2, graph_max_degree=64, window_size=200)
        file = Path(f"{sys.argv[2]}.fvecs")
        heads = numpy.full((len(corpus), 1), corpus.shape[1], numpy.int32).view(numpy.float32)
        numpy.hstack([heads, corpus]).tofile(file)
        data = svs.VectorDataLoader(str(file), svs.DataType.float32, dims=corpus.shape[1])
        loader = svs.LVQLoader(data, primary=primary, residual=residual)
        self.index = svs.Vamana.build(parameters, loader, svs.DistanceType.L2, num_threads=self.threads)
        file.unlink()

    def search(self, queries, k, setting):
        self.index.search_window_size = max(setting, k)
        return self.index.search(queries, k)[0]


class Svs4x8(Svs):
    BITS = ("4", "8")


LIBRARIES = {"hnswlib": Hnswlib, "faiss hnsw": FaissHnsw, "faiss fast-scan": FaissFastScan, "usearch": Usearch,
             "scann": Scann, "svs lvq8": Svs, "svs lvq4x8": Svs4x8}


class Peer:
    def __init__(self, name: str, threads: int):
        self.library = LIBRARIES[name](threads)

    def corpus(self, file, dim, rows):
        self.rows = numpy.fromfile(file, numpy.float32, int(rows) * int(dim)).reshape(int(rows), int(dim))
        return {"settings": list(self.library.SETTINGS)}

    def queries(self, file, rows):
        self.asked = numpy.fromfile(file, numpy.float32).reshape(int(rows), -1)
        return {}

    def add(self):
        start, processor = time.perf_counter(), time.process_time()
        self.library.add(self.rows)
        reply = {"ms": (time.perf_counter() - start) * 1e3, "processor_ms": (time.process_time() - processor) * 1e3}
        if hasattr(self.library, "link_bytes"):
            reply["link_bytes"] = self.library.link_bytes(self.rows)
        return reply

    def search(self, setting, k, first, ids):
        asked = self.asked[int(first):]
        start, processor = time.perf_counter(), time.process_time()
        found = self.library.search(asked, int(k), int(setting))
        reply = {"ms": (time.perf_counter() - start) * 1e3, "processor_ms": (time.process_time() - processor) * 1e3}
        numpy.asarray(found, numpy.uint64).tofile(ids)
        return reply


def main() -> None:
    peer = Peer(sys.argv[1], int(sys.argv[3]))
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            reply = getattr(peer, command)(**dict(word.split("=", 1) for word in words))
        except Exception as error:  # the bench decides what a peer's failure means
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
