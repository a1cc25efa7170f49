"""The data sets of `./dev bench any-data`, divided into a half for tuning and a held-out half.

The division was fixed before anything was tuned. The held-out half is measured at most three times, and every table is
kept. Each set has a corpus and queries of the same distribution that are not in the corpus, unless its family says
otherwise. Synthetic sets come from their name and SEED alone."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.random import Generator

SEED = 20_261_116
QUERIES = 1000
TUNING, HELD_OUT = "tuning", "held-out"
LARGE = "large"  # of neither half
L2, COSINE, INNER_PRODUCT = "l2", "cosine", "inner_product"

Maker = Callable[[Generator, int, int], numpy.ndarray]  # random, rows, dimension


@dataclass(frozen=True)
class AnySet:
    name: str
    family: str
    half: str
    rows: int
    dim: int
    metric: str = L2
    make: Maker | None = None  # of rows; None: a real set, see any_data_real.py
    make_queries: Maker | None = None  # of queries of another distribution

    def random(self, part: str) -> Generator:
        return numpy.random.default_rng((SEED, zlib.crc32(self.name.encode()), zlib.crc32(part.encode())))

    def generate(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The corpus and the queries of a synthetic set."""
        random = self.random("rows")
        if self.make_queries:
            corpus, queries = self.make(random, self.rows, self.dim), self.make_queries(random, QUERIES, self.dim)
        else:
            both = self.make(random, self.rows + QUERIES, self.dim)
            held_out = self.random("queries").permutation(len(both))[:QUERIES]
            corpus, queries = numpy.delete(both, held_out, axis=0), both[held_out]
        return numpy.ascontiguousarray(corpus, numpy.float32), numpy.ascontiguousarray(queries, numpy.float32)


def gaussian(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    return random.standard_normal((rows, dim), numpy.float32)


def uniform(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    return random.random((rows, dim), numpy.float32)


def clusters(count: int, spread: float, ordered: bool = False, skewed: bool = False) -> Maker:
    """Full-rank Gaussian clusters around Gaussian centers; `skewed`: their sizes follow a power law."""
    def make(random: Generator, rows: int, dim: int) -> numpy.ndarray:
        centers = random.standard_normal((count, dim), numpy.float32)
        sizes = 1 / numpy.arange(1, count + 1) if skewed else numpy.ones(count)
        chosen = random.choice(count, rows, p=sizes / sizes.sum())
        if ordered:
            chosen.sort()
        return centers[chosen] + numpy.float32(spread) * random.standard_normal((rows, dim), numpy.float32)
    return make


def heavy_tailed(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Student's t with 4 degrees of freedom, a power-law spectrum in a random basis, normalized."""
    spectrum = (1 / numpy.sqrt(numpy.arange(1, dim + 1))).astype(numpy.float32)
    basis = numpy.linalg.qr(random.standard_normal((dim, dim)))[0].astype(numpy.float32)
    vectors = (random.standard_t(4, (rows, dim)).astype(numpy.float32) * spectrum) @ basis
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def spectrum(power: float) -> Maker:
    """A Gaussian whose standard deviations fall with a power of their rank, in a random basis."""
    def make(random: Generator, rows: int, dim: int) -> numpy.ndarray:
        deviations = (numpy.arange(1, dim + 1) ** -power).astype(numpy.float32)
        basis = numpy.linalg.qr(random.standard_normal((dim, dim)))[0].astype(numpy.float32)
        return (random.standard_normal((rows, dim), numpy.float32) * deviations) @ basis
    return make


def sparse(share: float) -> Maker:
    """Independent coordinates, most of them zero."""
    def make(random: Generator, rows: int, dim: int) -> numpy.ndarray:
        values = random.exponential(1, (rows, dim)).astype(numpy.float32)
        return numpy.where(random.random((rows, dim), numpy.float32) < share, values, numpy.float32(0))
    return make


def topics(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Mixtures of few of 100 sparse topics, as counts of words."""
    words = random.dirichlet(numpy.full(dim, 0.05), 100).astype(numpy.float32)
    shares = random.dirichlet(numpy.full(100, 0.03), rows).astype(numpy.float32)
    return numpy.sqrt(random.poisson(80 * (shares @ words))).astype(numpy.float32)


def duplicates(share: float) -> Maker:
    """A share of the rows are exact copies of others, some of them copied hundreds of times."""
    def make(random: Generator, rows: int, dim: int) -> numpy.ndarray:
        vectors = clusters(500, 0.6)(random, rows, dim)
        copies = random.permutation(rows)[:int(share * rows)]
        vectors[copies] = vectors[numpy.minimum(random.zipf(1.3, len(copies)), rows) - 1]
        return vectors
    return make


def lattice(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Small integers: many equal distances."""
    return numpy.round(spectrum(0.3)(random, rows, dim) * 3)


def signs(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Signs of projections: every coordinate is 1 or -1."""
    inner = random.standard_normal((rows, 24), numpy.float32) @ random.standard_normal((24, dim), numpy.float32)
    return numpy.where(inner > 0, numpy.float32(1), numpy.float32(-1))


def huge_dimension(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Clusters beside one dimension that is 1,000 times as wide, and a few rows far away."""
    vectors = clusters(200, 0.3)(random, rows, dim)
    vectors[:, 0] *= 1000
    far = random.permutation(rows)[:rows // 1000]
    vectors[far] *= 100
    return vectors


def far_rows(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """One row of a thousand is 30 to 3,000 times as far from the others as they are from each other."""
    vectors = spectrum(0.5)(random, rows, dim)
    far = random.permutation(rows)[:rows // 1000]
    vectors[far] *= (30 * 10 ** (2 * random.random((len(far), 1)))).astype(numpy.float32)
    return vectors


def offset(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Far from the origin: the mean is 1,000 times the deviation."""
    return 1000 + clusters(1000, 0.5)(random, rows, dim)


def manifold(inner: int) -> Maker:
    """A smooth surface of few dimensions, folded into many by random cosines."""
    def make(random: Generator, rows: int, dim: int) -> numpy.ndarray:
        frequencies = random.standard_normal((inner, dim), numpy.float32)
        phases = random.uniform(0, 6.283, dim).astype(numpy.float32)
        places = random.standard_normal((rows, inner), numpy.float32)
        return numpy.cos(places @ frequencies + phases) + 0.01 * random.standard_normal((rows, dim), numpy.float32)
    return make


def series(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Overlapping windows of long Brownian time series, without their means."""
    steps = 4
    each = rows // 20 + 1
    windows = []
    for _ in range(20):
        values = numpy.cumsum(random.standard_normal(each * steps + dim)).astype(numpy.float32)
        windows.append(numpy.lib.stride_tricks.sliding_window_view(values, dim)[::steps][:each])
    vectors = numpy.concatenate(windows)[:rows]
    return vectors - vectors.mean(axis=1, keepdims=True)


def varied_norms(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Directions of clusters, lengths over three orders of magnitude: factors of recommenders."""
    directions = clusters(300, 0.7)(random, rows, dim)
    return directions * numpy.exp(random.normal(0, 1.5, (rows, 1))).astype(numpy.float32)


def shifted_queries(random: Generator, rows: int, dim: int) -> numpy.ndarray:
    """Another distribution than the rows of a Gaussian with a spectrum: a narrow cloud beside its center."""
    center = numpy.zeros(dim, numpy.float32)
    center[:dim // 4] = 0.5
    return center + 0.5 * random.standard_normal((rows, dim), numpy.float32)


SETS = (
    # Real: any_data_real.py makes them from Debian's packages and scikit-learn's digits.
    AnySet("sift", "pictures", TUNING, 100_000, 128),
    AnySet("patches", "pictures", HELD_OUT, 50_000, 192),
    AnySet("tfidf", "text", TUNING, 55_000, 200, COSINE),
    AnySet("word-counts", "text", HELD_OUT, 55_000, 512),
    AnySet("minilm", "text", HELD_OUT, 55_000, 384, COSINE),
    AnySet("words", "text", TUNING, 17_000, 100, COSINE),
    AnySet("digits", "digits", HELD_OUT, 50_000, 784),
    # Synthetic.
    AnySet("clusters-2000", "clusters", TUNING, 100_000, 96, make=clusters(2000, 0.5)),
    AnySet("clusters-skewed", "clusters", HELD_OUT, 50_000, 160, make=clusters(400, 0.4, skewed=True)),
    AnySet("clusters-ordered", "order", TUNING, 50_000, 64, make=clusters(500, 0.5, ordered=True)),
    AnySet("series", "order", HELD_OUT, 50_000, 128, make=series),
    AnySet("heavy-tailed", "spectrum", HELD_OUT, 100_000, 256, COSINE, heavy_tailed),
    AnySet("spectrum", "spectrum", TUNING, 50_000, 300, make=spectrum(0.7)),
    AnySet("gaussian", "no structure", TUNING, 50_000, 100, make=gaussian),
    AnySet("uniform-32", "no structure", TUNING, 50_000, 32, make=uniform),
    AnySet("uniform-64", "no structure", HELD_OUT, 50_000, 64, make=uniform),
    AnySet("sparse", "sparse", TUNING, 50_000, 128, make=sparse(0.1)),
    AnySet("topics", "sparse", HELD_OUT, 50_000, 256, make=topics),
    AnySet("duplicates", "ties", TUNING, 50_000, 96, make=duplicates(0.3)),
    AnySet("lattice", "ties", HELD_OUT, 50_000, 48, make=lattice),
    AnySet("signs", "ties", HELD_OUT, 50_000, 256, make=signs),
    AnySet("huge-dimension", "outliers", TUNING, 50_000, 96, make=huge_dimension),
    AnySet("far-rows", "outliers", HELD_OUT, 50_000, 128, make=far_rows),
    AnySet("offset", "outliers", HELD_OUT, 50_000, 80, make=offset),
    AnySet("low-2", "few dimensions", TUNING, 100_000, 2, make=uniform),
    AnySet("low-3", "few dimensions", HELD_OUT, 100_000, 3, make=gaussian),
    AnySet("low-8", "few dimensions", TUNING, 100_000, 8, make=gaussian),
    AnySet("manifold-960", "manifold", TUNING, 30_000, 960, make=manifold(6)),
    AnySet("manifold-1536", "manifold", HELD_OUT, 30_000, 1536, COSINE, manifold(12)),
    AnySet("varied-norms", "inner product", TUNING, 50_000, 100, INNER_PRODUCT, varied_norms),
    AnySet("other-queries", "inner product", HELD_OUT, 50_000, 200, INNER_PRODUCT, spectrum(0.5), shifted_queries),
    AnySet("sift-1m", "pictures", LARGE, 1_000_000, 128),
    AnySet("tiny", "tiny", TUNING, 1_500, 64, make=clusters(50, 0.5)),
)


def named(name: str) -> AnySet:
    return next(one for one in SETS if one.name == name)


def files(one: AnySet, folder: Path) -> tuple[Path, Path]:
    """Where the corpus and the queries are kept, as raw float32."""
    return folder / f"any-{one.name}-{one.rows}x{one.dim}.f32", folder / f"any-{one.name}-queries-{QUERIES}x{one.dim}.f32"
