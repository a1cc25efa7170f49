"""vectis.compat.faiss beside FAISS itself: the same calls give the same shapes, types, ids, distances and errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import side_by_side

from vectis.compat import faiss as ours

faiss = pytest.importorskip("faiss")

X = np.random.default_rng(5).standard_normal((300, 8), dtype=np.float32)
Q = np.random.default_rng(6).standard_normal((25, 8), dtype=np.float32)
MAKERS = {
    "flat_l2": lambda m: m.IndexFlatL2(8),
    "flat_ip": lambda m: m.IndexFlatIP(8),
    "flat_l1": lambda m: m.IndexFlat(8, m.METRIC_L1),
    "flat_linf": lambda m: m.IndexFlat(8, m.METRIC_Linf),
    "hnsw_l2": lambda m: wide(m.IndexHNSWFlat(8, 32)),
    "hnsw_ip": lambda m: wide(m.IndexHNSWFlat(8, 32, m.METRIC_INNER_PRODUCT)),
}
FLAT = ["flat_l2", "flat_ip"]


def wide(index):
    """Make a graph of few vectors exact."""
    index.hnsw.efConstruction = 200
    index.hnsw.efSearch = 300
    return index


def filled(module, kind, rows=300):
    index = MAKERS[kind](module)
    index.add(X[:rows])
    return index


def both(action):
    return side_by_side.compare(faiss, ours, action)


@pytest.mark.parametrize("k", [1, 10, 300, 310])
@pytest.mark.parametrize("kind", MAKERS)
def test_search(kind, k):
    def action(m):
        D, I = filled(m, kind).search(Q, k)
        assert D.shape == I.shape == (25, k)
        # Among many results some differ by less than float32's rounding, and FAISS orders those by its own rounding.
        return (D, I) if k <= 10 else (D, np.sort(I, axis=1))

    both(action)


@pytest.mark.parametrize("kind", MAKERS)
def test_edges_of_search(kind):
    both(lambda m: MAKERS[kind](m).search(Q, 3))  # empty
    both(lambda m: filled(m, kind).search(Q[:0], 3))
    both(lambda m: filled(m, kind, 1).search(Q, 2))
    both(lambda m: filled(m, kind).assign(Q, 2))


@pytest.mark.parametrize("form", {
    "float64": lambda x: x.astype(np.float64), "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, 0)[::2],
    "integers": lambda x: (10 * x).astype(np.int32), "float16": lambda x: x.astype(np.float16),
    "columns": lambda x: np.repeat(x, 2, 1)[:, ::2], "bools": lambda x: x > 0.5,
}.items(), ids=lambda item: item[0])
def test_forms_of_arrays(form):
    def action(m):
        index = m.IndexFlatL2(8)
        index.add(form[1](X[:50]))
        return index.reconstruct_n(), np.sort(index.search(form[1](Q), 5)[0], 1)

    both(action)


@pytest.mark.parametrize("call", [
    lambda m: filled(m, "flat_l2").search(Q[:, :5], 3),
    lambda m: filled(m, "flat_l2").search(Q[0], 3),
    lambda m: filled(m, "flat_l2").search(Q.tolist(), 3),
    lambda m: filled(m, "flat_l2").search(Q, 0),
    lambda m: filled(m, "flat_l2").search(Q, -1),
    lambda m: filled(m, "flat_l2").search(Q, 2.0),
    lambda m: filled(m, "flat_l2").search(Q, 2, None),
    lambda m: filled(m, "flat_l2").search(Q, 2, params=3),
    lambda m: filled(m, "flat_l2").search(Q, 2, D=np.empty((25, 3), np.float32)),
    lambda m: filled(m, "flat_l2").assign(Q, 0),
    lambda m: filled(m, "flat_l2").add(X[:, :5]),
    lambda m: filled(m, "flat_l2").add(X[0]),
    lambda m: filled(m, "flat_l2").add(X.tolist()),
    lambda m: filled(m, "flat_l2").add(np.array([["a"] * 8])),
    lambda m: filled(m, "flat_l2").add_with_ids(X, np.arange(300)),
    lambda m: filled(m, "flat_l2").remove_ids([0]),
    lambda m: filled(m, "flat_l2").remove_ids(np.zeros((1, 1), np.int64)),
    lambda m: filled(m, "flat_l2").reconstruct(300),
    lambda m: filled(m, "flat_l2").range_search(Q[:, :5], 3.0),
    lambda m: setattr(filled(m, "flat_l2"), "nprobe", 3),
    lambda m: m.IndexFlatL2("8"),
    lambda m: m.IndexHNSWFlat(8),
    lambda m: m.IndexIDMap(m.IndexFlatL2(8)).add(X),
    lambda m: m.IndexIDMap(filled(m, "flat_l2")),
    lambda m: m.IndexIDMap(m.IndexFlatL2(8)).add_with_ids(X, np.arange(5)),
    lambda m: m.IndexIDMap(m.IndexFlatL2(8)).add_with_ids(X[:2], [1, 2]),
    lambda m: m.IndexIDMap(m.IndexFlatL2(8)).reconstruct(0),
    lambda m: m.IndexIDMap2(m.IndexFlatL2(8)).reconstruct(0),
    lambda m: m.IndexScalarQuantizer(8, m.ScalarQuantizer.QT_8bit).add(X),
    lambda m: m.IndexScalarQuantizer(8, m.ScalarQuantizer.QT_8bit).search(X, 1),
    lambda m: m.index_factory(8, "nonsense"),
    lambda m: m.index_factory(8, "flat"),
    lambda m: m.deserialize_index(np.zeros(3, np.uint8)),
    lambda m: m.normalize_L2(np.ones((2, 3))),
    lambda m: m.normalize_L2(np.asfortranarray(np.ones((2, 3), np.float32))),
    lambda m: m.normalize_L2(np.ones(3, np.float32)),
    lambda m: m.knn(Q[:, :5], X, 3),
    lambda m: m.SearchParameters(efSearch=3),
    lambda m: m.SearchParameters(m.IDSelectorAll()),
    lambda m: m.IDSelectorBitmap(np.ones(20, bool)),
])
def test_errors(call):
    assert isinstance(both(call), type)


def test_errors_of_paths(tmp_path):
    missing = str(tmp_path / "absent" / "index")
    assert both(lambda m: m.read_index(missing)) is RuntimeError
    assert both(lambda m: m.write_index(filled(m, "flat_l2"), missing)) is RuntimeError


@pytest.mark.parametrize("kind", MAKERS)
def test_attributes(kind):
    both(lambda m: (lambda i: [i.d, i.ntotal, i.is_trained, i.metric_type, i.verbose])(filled(m, kind, 3)))


def test_outputs_of_the_caller():
    def action(m):
        D, I = np.empty((25, 4), np.float32), np.empty((25, 4), np.int64)
        found = filled(m, "flat_ip").search(Q, 4, D=D, I=I)
        assert found[0] is D and found[1] is I
        return D, I

    both(action)


def test_equal_distances_are_ordered_by_id():
    twice = np.repeat(X[:10], 3, 0)

    def action(m):
        index = m.IndexFlatL2(8)
        index.add(twice)
        return index.search(X[:10], 3)

    both(action)


@pytest.mark.parametrize("kind", ["flat_l2", "flat_ip", "flat_l1", "hnsw_l2", "hnsw_ip"])
@pytest.mark.parametrize("thresh", [0.0, 3.0, 9.0, 1e9, -1e9])
def test_range_search(kind, thresh):
    def action(m):
        limits, D, I = filled(m, kind).range_search(Q, thresh)
        order = np.lexsort((I, np.repeat(np.arange(25), np.diff(limits.astype(np.int64)))))
        return limits, D[order], I[order]

    if kind.startswith("hnsw"):  # FAISS's graph finds a part of the vectors in a large radius, ours all
        found = action(ours)
        side_by_side.assert_same(action_of_flat(kind, thresh), found)
    else:
        both(action)


def action_of_flat(kind, thresh):
    return filled(faiss, kind.replace("hnsw", "flat")).range_search(Q, thresh)


def test_order_and_limits_of_range_search():
    both(lambda m: filled(m, "flat_l2").range_search(Q, 6.0))  # in the order of ids

    def on_the_limit(m):
        index = m.IndexFlatL2(1)
        index.add(np.arange(5, dtype=np.float32)[:, None])
        return index.range_search(np.zeros((1, 1), np.float32), 4.0)

    assert both(on_the_limit)[2].tolist() == [0, 1]


def test_range_search_with_more_hits_than_the_first_round():
    assert both(lambda m: filled(m, "flat_l2").range_search(Q, 1e6))[0][-1] == 25 * 300


SELECTORS = {
    "all": lambda m: m.IDSelectorAll(),
    "range": lambda m: m.IDSelectorRange(20, 120),
    "range_outside": lambda m: m.IDSelectorRange(-5, 10_000),
    "range_empty": lambda m: m.IDSelectorRange(5, 5),
    "batch": lambda m: m.IDSelectorBatch(np.array([3, 70, 71, 299, 5000, -4])),
    "batch_of_a_list": lambda m: m.IDSelectorBatch([5, 3, 3]),
    "batch_of_int32": lambda m: m.IDSelectorBatch(np.arange(90, dtype=np.int32)),
    "array": lambda m: m.IDSelectorArray(np.arange(0, 300, 3)),
    "bitmap": lambda m: m.IDSelectorBitmap(np.packbits(np.arange(250) % 3 == 0, bitorder="little")),
    "not": lambda m: m.IDSelectorNot(m.IDSelectorRange(20, 280)),
    "and": lambda m: m.IDSelectorAnd(m.IDSelectorRange(20, 120), m.IDSelectorArray(np.arange(0, 300, 3))),
    "or": lambda m: m.IDSelectorOr(m.IDSelectorRange(20, 30), m.IDSelectorBatch([100, 200])),
    "xor": lambda m: m.IDSelectorXOr(m.IDSelectorRange(20, 120), m.IDSelectorRange(100, 150)),
}


@pytest.mark.parametrize("kind", ["flat_l2", "flat_ip", "hnsw_l2"])
@pytest.mark.parametrize("selector", SELECTORS)
def test_selectors(kind, selector):
    def action(m):
        sel = SELECTORS[selector](m)
        make = m.SearchParametersHNSW if kind == "hnsw_l2" else m.SearchParameters
        params = make(sel=sel, efSearch=300) if kind == "hnsw_l2" else make(sel=sel)
        return filled(m, kind).search(Q, 6, params=params), [sel.is_member(i) for i in range(-5, 310)]

    both(action)


@pytest.mark.parametrize("selector", SELECTORS)
def test_selectors_of_mapped_ids_and_of_removals(selector):
    def action(m):
        index = m.IndexIDMap2(m.IndexFlatL2(8))
        index.add_with_ids(X, (np.arange(300) * 7) % 300)
        params = m.SearchParameters(sel=SELECTORS[selector](m))
        before = index.search(Q, 6, params=params)
        removed = index.remove_ids(SELECTORS[selector](m))
        return before, removed, index.ntotal, index.search(Q, 6), index.search(Q, 6, params=params)

    both(action)


@pytest.mark.parametrize("kind", FLAT)
def test_removal_shifts_positions(kind):
    def action(m):
        index = filled(m, kind)
        counts = [index.remove_ids(np.array([0, 5, 5, 299, 1000, -3])), index.remove_ids(m.IDSelectorRange(50, 60))]
        first = index.search(Q, 5)
        index.add(X[:7])
        sel = m.SearchParameters(sel=m.IDSelectorRange(40, 292))
        return (counts, index.ntotal, first, index.search(Q, 5, params=sel), index.reconstruct_n(),
                index.reconstruct(290), index.range_search(Q, 4.0))

    both(action)


def test_removal_of_all_and_reset():
    def action(m):
        index = filled(m, "flat_l2")
        index.remove_ids(np.arange(300))
        empty = index.search(Q, 2)
        index.add(X[:5])
        after = index.search(Q, 2)
        index.reset()
        index.add(X[:4])
        return empty, after, index.ntotal, index.search(Q, 2)

    both(action)


def test_reconstruction():
    def action(m):
        index = filled(m, "flat_l2")
        out = np.empty(8, np.float32)
        assert index.reconstruct(3, out) is out
        return (out, index.reconstruct(299), index.reconstruct_n(), index.reconstruct_n(290), index.reconstruct_n(5, 3),
                index.reconstruct_n(3, 0), index.reconstruct_batch([7, 3, 7]),
                index.search_and_reconstruct(Q[:3], 4), filled(m, "flat_l2", 2).search_and_reconstruct(Q[:3], 4))

    both(action)


def test_mapped_ids_may_be_negative_and_repeat():
    ids = np.concatenate([np.arange(-100, 100), np.arange(100)]) * 3

    def action(m):
        index = m.IndexIDMap2(m.IndexFlatL2(8))
        index.add_with_ids(X, ids)
        found = index.search(Q, 8), index.range_search(Q, 5.0), index.reconstruct(-300), index.reconstruct(9)
        removed = index.remove_ids(np.array([-300, 9, 4]))
        return found, removed, index.search(Q, 8), m.vector_to_array(index.id_map)

    both(action)


@pytest.mark.parametrize("dtype", [np.int32, np.uint16, np.float64])
def test_types_of_ids(dtype):
    def action(m):
        index = m.IndexIDMap(m.IndexFlatL2(8))
        index.add_with_ids(X[:9], np.arange(10, 19).astype(dtype))
        return index.search(Q, 3)

    both(action)


@pytest.mark.parametrize("text", ["Flat", "HNSW", "HNSW32", "HNSW16,Flat", "SQ8", "SQfp16", "SQbf16", "IDMap,Flat",
                                  "IDMap2,Flat", "IDMap2,HNSW32", "Flat,IDMap", "HNSW32,IDMap2", "IDMap,SQ8"])
@pytest.mark.parametrize("metric", ["METRIC_L2", "METRIC_INNER_PRODUCT"])
def test_index_factory(text, metric):
    def action(m):
        index = m.index_factory(8, text, getattr(m, metric))
        before = type(index).__name__, index.is_trained, index.metric_type
        index.train(X)
        if "IDMap" in text:
            index.add_with_ids(X, np.arange(300) + 1000)
        else:
            index.add(X)
        return before, index.is_trained, index.ntotal, index.search(X[:20], 1)[1] if metric == "METRIC_L2" else None

    both(action)


@pytest.mark.parametrize("text", ["IVF10,Flat", "PQ4", "HNSW32_SQ8", "SQ4", "L2norm,Flat", "Flat,RFlat", ""])
def test_index_factory_says_what_is_supported(text):
    with pytest.raises(RuntimeError, match='"Flat", "HNSW<M>"'):
        ours.index_factory(8, text)
    with pytest.raises(AttributeError, match="IndexIVFFlat"):
        ours.IndexIVFFlat


@pytest.mark.parametrize("qtype", ["QT_8bit", "QT_8bit_uniform", "QT_fp16", "QT_bf16"])
def test_scalar_quantizers_are_as_accurate(qtype):
    truth = filled(faiss, "flat_l2").search(Q, 10)[1]
    errors, hits = {}, {}
    for module in (faiss, ours):
        index = module.IndexScalarQuantizer(8, getattr(module.ScalarQuantizer, qtype))
        index.train(X)
        for part in np.array_split(X, 5):
            index.add(part)
        found = index.search(Q, 10)[1]
        hits[module] = np.mean([len(set(a) & set(b)) for a, b in zip(found, truth)])
        errors[module] = np.abs(index.reconstruct_n() - X).max()
    assert hits[ours] >= hits[faiss] - 0.2
    assert errors[ours] <= 1.5 * errors[faiss]


def test_parameters_of_graphs():
    def action(m):
        index = m.IndexHNSWFlat(8, 12)
        defaults = [index.hnsw.efSearch, index.hnsw.efConstruction, m.SearchParametersHNSW().efSearch]
        index.hnsw.efSearch = 77
        return [*defaults, index.hnsw.efSearch, m.SearchParametersHNSW(efSearch=5).efSearch,
                index.hnsw.nb_neighbors(0), index.hnsw.nb_neighbors(1)]

    both(action)


def test_recall_of_graphs_is_that_of_faiss():
    rng = np.random.default_rng(8)
    centers = rng.standard_normal((50, 32), dtype=np.float32)
    vectors = centers[rng.integers(50, size=5000)] + 0.5 * rng.standard_normal((5000, 32), dtype=np.float32)
    queries = centers[rng.integers(50, size=300)] + 0.5 * rng.standard_normal((300, 32), dtype=np.float32)
    truth = faiss.knn(queries, vectors, 10)[1]
    for ef in (16, 64):
        recalls = []
        for module in (faiss, ours):
            index = module.IndexHNSWFlat(32, 32)
            index.add(vectors)
            index.hnsw.efSearch = ef
            found = index.search(queries, 10)[1]
            recalls.append(np.mean([len(set(a) & set(b)) for a, b in zip(found, truth)]) / 10)
        assert recalls[1] >= recalls[0] - 0.01, recalls


@pytest.mark.parametrize("metric", [0, 1])
def test_knn(metric):
    both(lambda m: m.knn(Q, X, 5, metric=metric))
    both(lambda m: m.knn(Q.astype(np.float64), X[:3].astype(np.float64), 5, metric=metric))


def test_normalize():
    def action(m):
        rows = np.concatenate([X, np.zeros((1, 8), np.float32)])
        m.normalize_L2(rows)
        return rows

    both(action)


def test_merge():
    def action(m):
        first, second = filled(m, "flat_l2", 10), filled(m, "flat_l2", 20)
        first.merge_from(second)
        return first.ntotal, second.ntotal, first.search(Q, 3)

    both(action)


def same_index(one, other):
    assert type(one) is type(other)
    assert (one.ntotal, one.d, one.metric_type) == (other.ntotal, other.d, other.metric_type)
    side_by_side.assert_same(one.search(Q, 7), other.search(Q, 7))


@pytest.mark.parametrize("make", [
    *MAKERS.values(), lambda m: m.IndexIDMap(m.IndexFlatL2(8)), lambda m: m.IndexIDMap2(wide(m.IndexHNSWFlat(8, 16))),
    lambda m: m.index_factory(8, "SQfp16"),
])
@pytest.mark.parametrize("state", ["empty", "filled", "removed"])
def test_files_keep_everything(make, state, tmp_path):
    index = make(ours)
    if state != "empty":
        index.add_with_ids(X, np.arange(300) - 20) if isinstance(index, ours.IndexIDMap) else index.add(X)
    if state == "removed":
        index.remove_ids(np.arange(0, 50, 3))
    ours.write_index(index, str(tmp_path / "index"))
    for read in (ours.read_index(str(tmp_path / "index")), ours.deserialize_index(ours.serialize_index(index)),
                 ours.clone_index(index), pickle.loads(pickle.dumps(index)), copy.deepcopy(index)):
        same_index(index, read)
        if not isinstance(index, ours.IndexIDMap):
            read.add(X[:3])
            assert read.ntotal == index.ntotal + 3
        else:
            read.add_with_ids(X[:3], np.array([7, 8, 9]))
            assert read.ntotal == index.ntotal + 3
            read.add_with_ids(X[:0], np.empty(0, np.int64))
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("kind", MAKERS)
def test_reads_files_of_faiss(kind, tmp_path):
    index = filled(faiss, kind)
    faiss.write_index(index, str(tmp_path / "index"))
    read = ours.read_index(str(tmp_path / "index"))
    side_by_side.assert_same(index.search(Q, 7), read.search(Q, 7))
    assert type(read).__name__ == type(index).__name__ and read.metric_type == index.metric_type
    if kind.startswith("hnsw"):
        assert (read.hnsw.efSearch, read.hnsw.efConstruction, read.hnsw.nb_neighbors(0)) == (300, 200, 64)


def test_reads_mapped_files_of_faiss():
    index = faiss.IndexIDMap2(faiss.IndexFlatIP(8))
    index.add_with_ids(X, np.arange(300) - 100)
    read = ours.deserialize_index(faiss.serialize_index(index))
    side_by_side.assert_same(index.search(Q, 7), read.search(Q, 7))
    np.testing.assert_array_equal(read.reconstruct(-100), X[0])


def test_corrupt_files_raise():
    for index in (filled(ours, "flat_l2"), filled(faiss, "flat_l2"), filled(faiss, "hnsw_l2")):
        data = (ours if isinstance(index, ours.Index) else faiss).serialize_index(index)
        for size in (0, 3, 10, 40, 100, len(data) // 2, len(data) - 1):
            with pytest.raises(RuntimeError):
                ours.deserialize_index(data[:size])
    with pytest.raises(RuntimeError, match="IndexFlat"):
        ours.deserialize_index(faiss.serialize_index(faiss.index_factory(8, "PQ4")))


def test_what_faiss_does_not_check():
    index = filled(ours, "flat_l2")
    for wrong in (lambda: index.reconstruct(-1), lambda: index.reconstruct_n(290, 20),
                  lambda: index.reconstruct_batch([0, 300]),
                  lambda: ours.IndexIDMap2(index.__class__(8)).reconstruct_n(0, 2)):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(ValueError, match="nan"):
        index.search(np.full((1, 8), np.nan, np.float32), 1)
    with pytest.raises(RuntimeError):
        ours.IndexHNSWFlat(8, 16, ours.METRIC_L1)


def test_graphs_can_remove():
    index = filled(ours, "hnsw_l2")
    assert index.remove_ids(np.arange(100)) == 100 and index.ntotal == 200
    side_by_side.assert_same(faiss.knn(Q, X[100:], 5), index.search(Q, 5))


def test_threads():
    before = ours.omp_get_max_threads()
    ours.omp_set_num_threads(1)
    try:
        assert ours.omp_get_max_threads() == 1
        side_by_side.assert_same(filled(faiss, "flat_l2").search(Q, 3), filled(ours, "flat_l2").search(Q, 3))
    finally:
        ours.omp_set_num_threads(before)


@pytest.mark.parametrize("script", ["faiss_flat.py", "faiss_ids.py", "faiss_graph.py"])
def test_scripts_run_unchanged(script, tmp_path):
    theirs, here = (side_by_side.run_script(script, "faiss", switched, tmp_path) for switched in (False, True))
    assert theirs == here and len(here.splitlines()) > 3
