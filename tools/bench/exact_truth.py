"""The true nearest neighbors by brute force in double precision, computed once and kept beside the data."""

import sys

import numpy

from tools.bench.exact_data import Data

K = 10
_BLOCK = 20_000  # rows multiplied at once
_MARGIN = 1e-10  # of the norms' squares: far above what a product in double precision is wrong by


def truth(data: Data) -> numpy.ndarray:
    """Ids of the K nearest of each query, nearest first, equal distances by lower id."""
    kept = data.folder / f"truth-{data.rows}x{data.dim}-k{K}.npy"
    if not kept.is_file():
        print(f"bench: computing {kept}", file=sys.stderr, flush=True)
        numpy.save(kept, _nearest(data.corpus(), data.queries()))
    return numpy.load(kept)


def _nearest(corpus: numpy.ndarray, queries: numpy.ndarray) -> numpy.ndarray:
    query, row = _candidates(corpus, queries.astype(numpy.float64))
    distances = _exact(corpus, queries, query, row)
    order = numpy.lexsort((row, distances, query))
    query, row = query[order], row[order]
    firsts = numpy.searchsorted(query, numpy.arange(len(queries)))
    return numpy.stack([row[first:first + K] for first in firsts]).astype(numpy.uint64)


def _candidates(corpus: numpy.ndarray, queries: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Pairs among which the nearest are for certain: near by |q|² + |x|² - 2 q.x, or by what its error hides."""
    query_squares = numpy.einsum("ij,ij->i", queries, queries)[:, None]
    limit = numpy.full((len(queries), 1), numpy.inf)
    found = []
    for start in range(0, len(corpus), _BLOCK):
        block = corpus[start:start + _BLOCK].astype(numpy.float64)
        squares = numpy.einsum("ij,ij->i", block, block)
        near = query_squares + squares - 2 * (queries @ block.T)
        margin = _MARGIN * (query_squares + squares.max())
        limit = numpy.minimum(limit, numpy.partition(near, K - 1, axis=1)[:, K - 1:K] + 2 * margin)
        query, row = numpy.nonzero(near <= limit)
        found.append((query, row + start, near[query, row]))
    query, row, near = (numpy.concatenate(parts) for parts in zip(*found, strict=True))
    keep = near <= limit[query, 0]
    return query[keep], row[keep]


def _exact(corpus: numpy.ndarray, queries: numpy.ndarray, query: numpy.ndarray, row: numpy.ndarray) -> numpy.ndarray:
    """Euclidean distances by the library's definition: sums in index order, each product and sum rounded by itself."""
    differences = queries[query].astype(numpy.float64) - corpus[row].astype(numpy.float64)
    sums = numpy.zeros(len(query))
    for column in differences.T:
        sums += column * column
    return numpy.sqrt(sums)
