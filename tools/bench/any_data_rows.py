"""Vectors of a set asked for themselves: the share whose own vector, or an exact copy of it, is among the hits."""

import tempfile
from pathlib import Path

import numpy

from tools.bench.ann_contest import OURS, Field
from tools.bench.any_data_sets import SEED
from tools.bench.exact_truth import K

SAMPLES = 10_000
AIMS = {"0.95": 0.999, "0.99": 1}  # of each recall asked for


def share_found(found: numpy.ndarray, samples: numpy.ndarray, corpus: numpy.ndarray) -> float:
    """The share of the samples with an equal row among the hits, which are places in the corpus."""
    equal = [bool((corpus[numpy.sort(places[places < len(corpus)])] == sample).all(axis=1).any())
             for places, sample in zip(found.astype(numpy.uint64), samples, strict=True)]
    return sum(equal) / len(equal)


def figures(field: Field) -> list[dict]:
    data = field.data
    chosen = numpy.sort(numpy.random.default_rng(SEED).permutation(data.rows)[:SAMPLES])
    samples = numpy.array(data.corpus()[chosen])
    result = []
    with tempfile.TemporaryDirectory() as folder, field.loaded(OURS) as one:
        samples.tofile(Path(folder) / "samples")
        one.ask("queries", file=Path(folder) / "samples", rows=len(samples))
        for asked, aim in AIMS.items():
            found, _ = one.search(asked, slice(0, len(samples)), Path(folder) / "ids")
            share = share_found(found.reshape(len(samples), -1), samples, data.corpus())
            result.append({"name": f"{data.name}: rows that find themselves among {K}, {asked} asked for",
                           "value": round(share, 5), "unit": "of the rows", "aim": f">= {aim}"})
    return result
