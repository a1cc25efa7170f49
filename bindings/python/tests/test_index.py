"""vectis.Index: changes, searches, files, and what it rejects."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import oracle
import vectis

METRICS = ["l2", "l2_squared", "cosine", "inner_product", "l1", "chebyshev", "hamming"]
KINDS = ["auto", "flat", "graph"]


def make_vectors(rng: np.random.Generator, rows: int, dim: int) -> np.ndarray:
    return rng.standard_normal((rows, dim), dtype=np.float32)


@pytest.mark.parametrize("metric", METRICS)
def test_exact_search_equals_the_oracle(rng, metric):
    vectors, queries = make_vectors(rng, 500, 24), make_vectors(rng, 20, 24)
    if metric == "hamming":
        vectors, queries = np.round(vectors), np.round(queries)
    index = vectis.Index(dim=24, kind="flat", metric=metric)
    index.add(vectors)
    ids, distances = index.search(queries, k=7)
    expected = oracle.distances(queries, vectors, metric)
    assert ids.shape == distances.shape == (20, 7)
    assert ids.dtype == np.int64 and distances.dtype == np.float64
    np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :7], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(expected, ids, 1), distances, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_adds_under_consecutive_ids(rng, kind):
    index = vectis.Index(dim=4, kind=kind)
    assert index.add(make_vectors(rng, 3, 4)).tolist() == [0, 1, 2]
    assert index.add(make_vectors(rng, 2, 4)).tolist() == [3, 4]
    assert index.add(make_vectors(rng, 1, 4)[0]).tolist() == [5]
    assert index.add(np.empty((0, 4), np.float32)).tolist() == []
    assert len(index) == 6 and sorted(index) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", KINDS)
def test_changes_and_reads(rng, kind):
    vectors = make_vectors(rng, 10, 5)
    index = vectis.Index(dim=5, kind=kind)
    index.add(vectors, ids=np.arange(100, 110))
    assert 105 in index and 5 not in index and -1 not in index and 2**70 not in index and "105" not in index
    np.testing.assert_array_equal(index.get(105), vectors[5])
    assert index.get(7) is None
    np.testing.assert_array_equal(index.get([109, 100]), vectors[[9, 0]])
    index.upsert(np.stack([vectors[0] + 1, vectors[1]]), [105, 7])
    np.testing.assert_array_equal(index.get(105), vectors[0] + 1)
    assert len(index) == 11
    assert index.remove([105, 105, 3]) == 1
    assert index.remove(7) == 1 and index.remove(7) == 0
    assert sorted(index.ids().tolist()) == [100, 101, 102, 103, 104, 106, 107, 108, 109]
    ids, _ = index.search(vectors[4], k=1)
    assert ids.tolist() == [104]


def test_a_query_of_one_dimension_has_a_result_of_one(rng):
    vectors = make_vectors(rng, 50, 8)
    index = vectis.Index(dim=8)
    index.add(vectors)
    one, many = index.search(vectors[3], k=5), index.search(vectors[3:4], k=5)
    assert one.ids.shape == (5,) and many.ids.shape == (1, 5)
    np.testing.assert_array_equal(one.ids, many.ids[0])
    assert len(many) == 1


def test_missing_hits_are_minus_one_and_infinite(rng):
    index = vectis.Index(dim=3)
    index.add(make_vectors(rng, 2, 3))
    ids, distances = index.search(make_vectors(rng, 4, 3), k=5)
    assert (ids[:, 2:] == -1).all() and np.isinf(distances[:, 2:]).all() and (ids[:, :2] >= 0).all()
    empty = vectis.Index(dim=3)
    assert (empty.search(make_vectors(rng, 2, 3), k=3).ids == -1).all()
    assert index.search(make_vectors(rng, 2, 3), k=0).ids.shape == (2, 0)
    assert index.search(np.empty((0, 3), np.float32), k=4).ids.shape == (0, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_filters_of_every_form_are_equal(rng, kind):
    vectors, queries = make_vectors(rng, 300, 6), make_vectors(rng, 10, 6)
    index = vectis.Index(dim=6, kind=kind)
    index.add(vectors)
    mask = np.zeros(300, bool)
    mask[100:200] = True
    allowed = np.flatnonzero(mask)
    expected = allowed[oracle.nearest(queries, vectors[mask], 5, "l2")]
    for form in (mask, allowed, allowed[::-1].copy(), allowed.tolist(), range(100, 200), vectis.IdFilter(mask),
                 vectis.IdFilter(range(100, 200)), lambda i: 100 <= i < 200, allowed.astype(np.uint16)):
        found = index.search(queries, k=5, filter=form, recall=1.0)
        np.testing.assert_array_equal(found.ids, expected)
    np.testing.assert_array_equal(index.search(queries, k=5, filter=range(300, 100, -1), recall=1.0).ids,
                                  np.arange(101, 300)[oracle.nearest(queries, vectors[101:], 5, "l2")])
    assert (index.search(queries, k=5, filter=[]).ids == -1).all()
    assert (index.search(queries, k=5, filter=range(0)).ids == -1).all()
    assert (index.search(queries, k=5, filter=range(-10, 0)).ids == -1).all()
    everything = index.search(queries, k=5, recall=1.0).ids
    for every in (range(2**63), range(2**80), range(-5, 2**64)):
        np.testing.assert_array_equal(index.search(queries, k=5, filter=every, recall=1.0).ids, everything)
    assert (index.search(queries, k=5, filter=range(2**70, 2**71)).ids == -1).all()
    assert 5 in vectis.IdFilter(range(9)) and -1 not in vectis.IdFilter(range(9)) and "a" not in vectis.IdFilter([1])


def test_a_predicate_that_raises_ends_the_search(rng):
    index = vectis.Index(dim=4, kind="flat")
    index.add(make_vectors(rng, 100, 4))

    def fails(_: int) -> bool:
        raise LookupError("from the filter")

    with pytest.raises(LookupError, match="from the filter"):
        index.search(make_vectors(rng, 1, 4), filter=fails)


def test_a_radius_bounds_distances(rng):
    vectors, queries = make_vectors(rng, 200, 4), make_vectors(rng, 10, 4)
    index = vectis.Index(dim=4)
    index.add(vectors)
    all_distances = oracle.distances(queries, vectors, "l2")
    ids, distances = index.search(queries, k=200, radius=1.5)
    assert ((ids >= 0).sum(1) == (all_distances <= 1.5).sum(1)).all()
    assert (distances[ids >= 0] <= 1.5).all()


def test_recall_and_ef_reach_the_graph(rng):
    vectors = make_vectors(rng, 3000, 16)
    index = vectis.Index(dim=16, kind="graph", recall=0.9, degree=16, ef_construction=80, seed=3)
    index.add(vectors)
    queries = make_vectors(rng, 50, 16)
    truth = oracle.nearest(queries, vectors, 10, "l2")
    exact = index.search(queries, k=10, recall=1.0)
    np.testing.assert_array_equal(exact.ids, truth)
    wide = index.search(queries, k=10, ef=400)
    assert "graph" in wide.explain().kernel
    assert np.mean([len(set(a) & set(b)) for a, b in zip(wide.ids, truth)]) / 10 > 0.9
    with pytest.raises(vectis.InvalidInputError):
        index.search(queries, recall=0.0)
    with pytest.raises(vectis.InvalidInputError):
        index.search(queries, recall=0.9, ef=100)
    with pytest.raises(vectis.InvalidInputError):
        vectis.Index(dim=4, kind="flat").search(np.zeros(4, np.float32), ef=10)


@pytest.mark.parametrize("kind", KINDS)
def test_files_keep_everything(rng, kind, tmp_path):
    vectors = make_vectors(rng, 400, 12)
    index = vectis.Index(dim=12, kind=kind, metric="cosine")
    index.add(vectors, ids=np.arange(400) * 3)
    queries = make_vectors(rng, 9, 12)
    expected = index.search(queries, k=4, recall=1.0)
    path = tmp_path / "vectors.vectis"
    index.save(path)
    for loaded in (vectis.Index.load(path), vectis.Index.load(str(path)), pickle.loads(pickle.dumps(index)),
                   copy.deepcopy(index)):
        assert (loaded.kind, loaded.dim, loaded.metric, len(loaded)) == (kind, 12, "cosine", 400)
        found = loaded.search(queries, k=4, recall=1.0)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.distances, expected.distances)
    if kind == "graph":
        mapped = vectis.Index.map(path)
        np.testing.assert_array_equal(mapped.search(queries, k=4, recall=1.0).ids, expected.ids)
        mapped.add(vectors[:1])
        assert len(mapped) == 401
    else:
        with pytest.raises(vectis.UnsupportedError):
            vectis.Index.map(path)


def test_corrupt_files_are_rejected(rng, tmp_path):
    index = vectis.Index(dim=12)
    index.add(make_vectors(rng, 40, 12))
    path = tmp_path / "corrupt"
    index.save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(vectis.CorruptDataError) as caught:
        vectis.Index.load(path)
    assert caught.value.code == 14 and isinstance(caught.value, ValueError)
    with pytest.raises(vectis.IoError) as missing:
        vectis.Index.load(tmp_path / "absent")
    assert isinstance(missing.value, OSError)
    state = index.__getstate__()
    broken = vectis.Index.__new__(vectis.Index)
    with pytest.raises(vectis.CorruptDataError):
        broken.__setstate__(state[:-1])


@pytest.mark.parametrize("make", [
    lambda: vectis.Index(dim=0), lambda: vectis.Index(dim=65_537), lambda: vectis.Index(dim=4, kind="tree"),
    lambda: vectis.Index(dim=4, metric="euclid"), lambda: vectis.Index(dim=4, precision="fp8"),
    lambda: vectis.Index(dim=4, recall=1.5), lambda: vectis.Index(dim=4, kind="graph", degree=1),
])
def test_settings_out_of_range(make):
    with pytest.raises(vectis.InvalidInputError):
        make()


def test_unknown_devices_are_named():
    with pytest.raises(vectis.UnsupportedBackendError, match="abacus"):
        vectis.Index(dim=4, device="abacus")


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16", "int8"])
def test_precisions(rng, precision):
    vectors = make_vectors(rng, 300, 32)
    index = vectis.Index(dim=32, kind="flat", precision=precision)
    index.add(vectors)
    assert index.precision == precision
    np.testing.assert_array_equal(index.search(vectors[:5], k=3).ids, oracle.nearest(vectors[:5], vectors, 3, "l2"))
    before = index.statistics().bytes
    index.drop_full_precision()
    assert index.statistics().bytes <= before
    index.set_precision("fp32")
    with pytest.raises(vectis.InvalidInputError):
        index.set_precision("fp7")


def test_compact_reclaims(rng):
    index = vectis.Index(dim=8, kind="flat")
    index.add(make_vectors(rng, 1000, 8))
    index.remove(range(500))
    assert index.statistics().removed == 500
    index.compact()
    assert index.statistics().removed == 0 and index.statistics().vectors == 500


def test_explanations_are_readable(rng):
    index = vectis.Index(dim=8)
    index.add(make_vectors(rng, 100, 8))
    found = index.search(make_vectors(rng, 2, 8), k=3)
    explanation = found.explain()
    assert explanation.device == "cpu" and explanation.rows_scanned > 0 and explanation.seconds >= 0
    assert explanation.kernel in str(explanation)
    for shown in (explanation, found, index):
        assert shown._repr_html_().count("<table>") == 1
    assert "dim=8" in repr(index) and "SearchResult" in repr(found)
    assert "l2" in index.explain(queries=100, k=10) or index.explain()


def test_the_constructor_of_a_subclass_can_be_extended(rng):
    class Named(vectis.Index):
        def __init__(self, name: str) -> None:
            super().__init__(dim=4)
            self.name = name

    index = Named("mine")
    index.add(make_vectors(rng, 3, 4))
    assert index.name == "mine" and len(index) == 3


def test_paths_may_be_bytes_and_pathlike(rng, tmp_path: Path):
    index = vectis.Index(dim=2)
    index.save(bytes(tmp_path / "a"))
    assert len(vectis.Index.load(tmp_path / "a")) == 0
    with pytest.raises(TypeError):
        index.save(5)
    with pytest.raises(vectis.InvalidInputError):
        index.save("a\0b")
