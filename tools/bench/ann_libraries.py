"""The other libraries, each built as its documentation recommends, with the settings of its sweep.

A setting is a string: the beam width, or probed lists and reranked candidates."""

import re
from importlib.metadata import version
from pathlib import Path

import numpy

WIDTHS = ("10", "12", "16", "20", "24", "32", "40", "48", "64", "80", "96", "128", "160", "192", "256", "384", "512",
          "768", "1024")
PROBES = ("1", "2", "4", "6", "8", "12", "16", "24", "32", "48", "64", "96", "128", "192", "256")
GRAPHS = ("hnswlib", "hnswlib m32", "faiss hnsw", "faiss hnsw m32", "usearch", "svs lvq8 r32", "svs lvq8 r64",
          "svs lvq4x8 r32", "svs lvq4x8 r64")


class Hnswlib:
    """The usual parameters: M = 16, ef_construction = 200."""

    PACKAGE, SETTINGS, LINKS = "hnswlib", WIDTHS, 16

    def __init__(self, threads: int, metric: str = "l2"):
        import hnswlib
        self.library, self.threads, self.index = hnswlib, threads, None
        self.space = {"l2": "l2", "inner_product": "ip"}[metric]

    def add(self, corpus, scratch):
        del scratch
        self.index = self.library.Index(space=self.space, dim=corpus.shape[1])
        self.index.init_index(max_elements=len(corpus), ef_construction=200, M=self.LINKS, allow_replace_deleted=True)
        self.index.add_items(corpus, num_threads=self.threads)

    def insert(self, vectors, labels):
        self.index.add_items(vectors, labels, num_threads=self.threads, replace_deleted=True)

    def remove(self, labels):
        for label in labels:
            self.index.mark_deleted(int(label))

    def search(self, queries, k, setting):
        self.index.set_ef(max(int(setting), k))
        return self.index.knn_query(queries, k=k, num_threads=self.threads)[0]

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        self.index.save_index(str(folder / "index"))

    def load(self, folder, dim):
        self.index = self.library.Index(space=self.space, dim=dim)
        self.index.load_index(str(folder / "index"))

    def statistics(self):
        """The file has the same content as memory: links, and vectors with labels."""
        bytes_all, rows = self.index.index_file_size(), self.index.get_current_count()
        return {"bytes": bytes_all, "bytes_per_vector": bytes_all / rows,
                "link_bytes": bytes_all / rows - self.index.dim * 4 - 8}


class Hnswlib32(Hnswlib):
    LINKS = 32


class Faiss:
    """Common to all FAISS indexes."""

    PACKAGE = "faiss-cpu"

    def __init__(self, threads: int, metric: str = "l2"):
        import faiss
        self.faiss, self.index = faiss, None
        self.metric = {"l2": faiss.METRIC_L2, "inner_product": faiss.METRIC_INNER_PRODUCT}[metric]
        faiss.omp_set_num_threads(threads)

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        self.faiss.write_index(self.index, str(folder / "index"))

    def load(self, folder, dim):
        del dim
        self.index = self.faiss.read_index(str(folder / "index"))


class FaissHnsw(Faiss):
    SETTINGS, LINKS = WIDTHS, 16

    def add(self, corpus, scratch):
        del scratch
        self.index = self.faiss.IndexHNSWFlat(corpus.shape[1], self.LINKS, self.metric)
        self.index.hnsw.efConstruction = 200
        self.index.add(corpus)

    def search(self, queries, k, setting):
        self.index.hnsw.efSearch = max(int(setting), k)
        return self.index.search(queries, k)[1]


class FaissHnsw32(FaissHnsw):
    LINKS = 32


class FaissFastScan(Faiss):
    """Inverted lists of 4-bit PQ codes (fast scan), reranked by exact distances."""

    SETTINGS = tuple(f"{probes}/{factor}" for factor in (5, 10, 20, 40) for probes in PROBES)
    CODES = "PQ{half}x4fs"

    def add(self, corpus, scratch):
        del scratch
        lists = int(4 * len(corpus) ** 0.5)
        codes = self.CODES.format(half=corpus.shape[1] // 2)
        self.index = self.faiss.index_factory(corpus.shape[1], f"IVF{lists},{codes},RFlat")
        self.index.train(corpus[:: max(1, len(corpus) // 100_000)])
        self.index.add(corpus)

    def search(self, queries, k, setting):
        probes, factor = setting.split("/")
        self.faiss.extract_index_ivf(self.faiss.downcast_index(self.index.base_index)).nprobe = int(probes)
        self.index.k_factor = int(factor)
        return self.index.search(queries, k)[1]


class FaissRabitq(FaissFastScan):
    """One bit per coordinate."""

    CODES = "RaBitQfs"


class FaissRabitq4(FaissFastScan):
    """Four bits per coordinate."""

    CODES = "RaBitQfs4"
    SETTINGS = tuple(f"{probes}/{factor}" for factor in (2, 5, 10) for probes in PROBES)


class FaissFlat(Faiss):
    """Exact: scans the rows that a filter allows, one by one."""

    SETTINGS = ()

    def add(self, corpus, scratch):
        del scratch
        self.index = self.faiss.IndexFlatL2(corpus.shape[1])
        self.index.add(corpus)

    def filtered(self, query, k, allowed):
        selector = self.faiss.IDSelectorBitmap(allowed)
        return self.index.search(query[None], k, params=self.faiss.SearchParameters(sel=selector))[1][0]


class Usearch:
    PACKAGE, SETTINGS = "usearch", WIDTHS

    def __init__(self, threads: int):
        from usearch.index import Index
        self.made, self.threads, self.index = Index, threads, None

    def empty(self, dim):
        return self.made(ndim=dim, metric="l2sq", dtype="f32", connectivity=16, expansion_add=128)

    def add(self, corpus, scratch):
        del scratch
        self.index = self.empty(corpus.shape[1])
        self.index.add(numpy.arange(len(corpus)), corpus, threads=self.threads)

    def search(self, queries, k, setting):
        self.index.expansion_search = max(int(setting), k)
        return self.index.search(queries, k, threads=self.threads).keys.reshape(-1, k)

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        self.index.save(str(folder / "index"))

    def load(self, folder, dim):
        self.index = self.empty(dim)
        self.index.load(str(folder / "index"))


class Scann:
    PACKAGE = "scann"
    SETTINGS = tuple(f"{leaves}/{reordered}" for reordered in (40, 100, 200)
                     for leaves in (5, 8, 12, 20, 30, 40, 60, 80, 120, 160, 240, 320))

    def __init__(self, threads: int):
        import scann
        self.library, self.threads, self.index = scann.scann_ops_pybind, threads, None

    def add(self, corpus, scratch):
        del scratch
        leaves = int(len(corpus) ** 0.5 * 2)
        self.index = (self.library.builder(corpus, 10, "squared_l2")
                      .tree(num_leaves=leaves, num_leaves_to_search=50, training_sample_size=min(len(corpus), 250_000))
                      .score_ah(2, anisotropic_quantization_threshold=0.2).reorder(150)
                      .set_n_training_threads(self.threads).build())

    def search(self, queries, k, setting):
        leaves, reordered = setting.split("/")
        return self.index.search_batched(queries, final_num_neighbors=k, leaves_to_search=int(leaves),
                                         pre_reorder_num_neighbors=int(reordered))[0]

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        self.index.serialize(str(folder))

    def load(self, folder, dim):
        del dim
        assets = folder / "scann_assets.pbtxt"  # holds the absolute paths of the folder it was written to
        assets.write_text(re.sub(r'asset_path: ".*/', f'asset_path: "{folder}/', assets.read_text()))
        self.index = self.library.load_searcher(str(folder))


class Svs:
    """Vamana with LVQ, degree 64, as its documentation recommends."""

    PACKAGE, SETTINGS, LINKS, BITS = "scalable-vs", WIDTHS, 64, (8, 0)

    def __init__(self, threads: int, metric: str = "l2"):
        import svs
        self.library, self.threads, self.index = svs, threads, None
        self.distance = {"l2": svs.DistanceType.L2, "inner_product": svs.DistanceType.MIP}[metric]
        self.alpha = {"l2": 1.2, "inner_product": 0.95}[metric]  # as its documentation recommends

    def add(self, corpus, scratch):
        svs = self.library
        parameters = svs.VamanaBuildParameters(alpha=self.alpha, graph_max_degree=self.LINKS, window_size=200)
        file = scratch / "corpus.fvecs"
        heads = numpy.full((len(corpus), 1), corpus.shape[1], numpy.int32).view(numpy.float32)
        numpy.hstack([heads, corpus]).tofile(file)
        data = svs.VectorDataLoader(str(file), svs.DataType.float32, dims=corpus.shape[1])
        loader = svs.LVQLoader(data, primary=self.BITS[0], residual=self.BITS[1])
        self.index = svs.Vamana.build(parameters, loader, self.distance, num_threads=self.threads)
        file.unlink()

    def search(self, queries, k, setting):
        self.index.search_window_size = max(int(setting), k)
        return self.index.search(queries, k)[0]

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        self.index.save(*(str(folder / part) for part in ("config", "graph", "data")))

    def load(self, folder, dim):
        del dim
        svs = self.library
        self.index = svs.Vamana(str(folder / "config"), svs.GraphLoader(str(folder / "graph")),
                                svs.LVQLoader(str(folder / "data")), self.distance, num_threads=self.threads)


class Svs32(Svs):
    LINKS = 32


class Svs4x8(Svs):
    BITS = (4, 8)


class Svs4x8Of32(Svs4x8):
    LINKS = 32


LIBRARIES = {"hnswlib": Hnswlib, "hnswlib m32": Hnswlib32, "faiss hnsw": FaissHnsw, "faiss hnsw m32": FaissHnsw32,
             "faiss fast-scan": FaissFastScan, "faiss rabitq": FaissRabitq, "faiss rabitq4": FaissRabitq4,
             "usearch": Usearch, "scann": Scann, "svs lvq8 r32": Svs32, "svs lvq8 r64": Svs,
             "svs lvq4x8 r32": Svs4x8Of32, "svs lvq4x8 r64": Svs4x8, "faiss flat": FaissFlat}
PEERS = tuple(name for name in LIBRARIES if name != "faiss flat")


def release(name: str) -> str:
    return version(LIBRARIES[name].PACKAGE)


def folder_of(name: str) -> Path:
    """The folder of its cached index, below that of the data set."""
    return Path(f"{name.replace(' ', '-')}-{release(name)}")
