"""vectis.compat.hnswlib beside hnswlib itself: the same calls give the same shapes, types, labels and errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import side_by_side

import vectis
from vectis.compat import hnswlib as ours

hnswlib = pytest.importorskip("hnswlib")

X = np.random.default_rng(5).standard_normal((300, 8), dtype=np.float32)
Q = np.random.default_rng(6).standard_normal((25, 8), dtype=np.float32)
SPACES = ["l2", "ip", "cosine"]


def filled(module, space="l2", rows=300, capacity=320, **options):
    index = module.Index(space=space, dim=8)
    index.init_index(max_elements=capacity, ef_construction=300, M=32, **options)
    index.set_ef(300)
    if rows:  # hnswlib raises IndexError when the first vectors are none
        index.add_items(X[:rows])
    return index


def exact(module, space="l2", rows=300, capacity=320):
    index = module.BFIndex(space=space, dim=8)
    index.init_index(max_elements=capacity)
    index.add_items(X[:rows])
    return index


def both(action):
    return side_by_side.compare(hnswlib, ours, action)


@pytest.mark.parametrize("make", [filled, exact])
@pytest.mark.parametrize("k", [0, 1, 10])
@pytest.mark.parametrize("space", SPACES)
def test_queries(space, k, make):
    # hnswlib's BFIndex does not normalize queries, so that its cosine distances are right for normalized ones only.
    queries = Q / np.linalg.norm(Q, axis=1, keepdims=True) if make is exact else Q
    labels, distances = both(lambda m: make(m, space).knn_query(queries, k))
    assert labels.shape == distances.shape == (25, k)


@pytest.mark.parametrize("space", SPACES)
def test_queries_for_all(space):
    def action(m):
        labels, distances = filled(m, space).knn_query(Q, 300)
        return np.sort(labels, axis=1), distances  # float32's rounding orders nearly equal distances

    both(action)


@pytest.mark.parametrize("data", [
    Q.astype(np.float64), np.asfortranarray(Q), np.repeat(Q, 2, 0)[::2], Q.tolist(), Q[0], Q[0].tolist(), Q[:0], Q[:1],
    (10 * Q).astype(np.int32),
], ids=["float64", "fortran", "strided", "lists", "one", "list", "none", "one row", "integers"])
def test_forms_of_data(data):
    def action(m):
        index = filled(m)
        labels, distances = index.knn_query(data, 3)
        index.add_items(data, np.arange(len(np.atleast_2d(data)) if len(data) else 0))
        return labels, distances, index.element_count, index.knn_query(X[100:], 3)

    both(action)


@pytest.mark.parametrize("ids", [
    np.arange(900, 910), list(range(900, 910)), np.arange(900, 910, dtype=np.uint64),
    np.arange(900, 910, dtype=np.int32), np.arange(900, 910) + 0.5, np.arange(295, 305),
    np.zeros(10, int) + 7,
], ids=["int64", "list", "uint64", "int32", "float64", "some exist", "repeated"])
def test_forms_of_labels(ids):
    def action(m):
        index = filled(m)
        index.add_items(X[:10] + 9, ids, num_threads=1)
        return sorted(index.get_ids_list()), index.element_count, index.knn_query(X[9] + 9, 1)

    both(action)


def test_labels_count_up():
    def action(m):
        index = m.Index("l2", 8)
        index.init_index(20)
        index.add_items(X[0])
        index.add_items(X[1:3], [100, 101])
        index.add_items(X[3:5])
        index.add_items(X[5], 7)
        return sorted(index.get_ids_list())

    assert both(action) == [0, 3, 4, 7, 100, 101]


@pytest.mark.parametrize("call", [
    lambda m: m.Index("l3", 8),
    lambda m: m.Index("l2"),
    lambda m: filled(m).init_index(10),
    lambda m: filled(m).add_items(X[:, :5]),
    lambda m: filled(m).add_items(np.zeros((1, 2, 8))),
    lambda m: filled(m).add_items(X[:2], [1]),
    lambda m: filled(m).add_items(X[:2], [[1, 2]]),
    lambda m: filled(m).add_items(X[:1], [-1]),
    lambda m: filled(m).add_items(X[:50], np.arange(400, 450)),
    lambda m: filled(m).add_items(X[:1], [400], replace_deleted=True),
    lambda m: filled(m).knn_query(Q, 301),
    lambda m: filled(m).knn_query(Q, -1),
    lambda m: filled(m, rows=0).knn_query(Q, 1),
    lambda m: filled(m).knn_query(np.zeros((1, 2, 8)), 1),
    lambda m: filled(m).knn_query(Q, 3, num_threads=1, filter=lambda label: label < 2),
    lambda m: filled(m).knn_query(Q, 3, num_threads=1, filter=lambda label: 1 / 0),
    lambda m: filled(m).get_items([5000]),
    lambda m: filled(m).get_items(5),
    lambda m: filled(m).get_items([5], return_type="tuple"),
    lambda m: filled(m).mark_deleted(5000),
    lambda m: filled(m).unmark_deleted(5),
    lambda m: filled(m).unmark_deleted(5000),
    lambda m: filled(m).resize_index(5),
    lambda m: setattr(filled(m), "max_elements", 5),
    lambda m: setattr(filled(m), "M", 5),
    lambda m: m.BFIndex("l3", 8),
    lambda m: exact(m).add_items(X[:, :5]),
    lambda m: exact(m).add_items(X[:50], np.arange(400, 450)),
    lambda m: exact(m).init_index(10),
])
def test_errors(call):
    assert isinstance(both(call), type)


def test_marking_twice():
    def action(m):
        index = filled(m)
        index.mark_deleted(5)
        return side_by_side.outcome(lambda: index.mark_deleted(5)), side_by_side.outcome(lambda: index.get_items([5]))

    assert both(action) == (RuntimeError, RuntimeError)


@pytest.mark.parametrize("space", SPACES)
def test_properties(space):
    both(lambda m: (lambda i: [i.space, i.dim, i.M, i.ef_construction, i.max_elements, i.element_count, i.ef,
                               i.get_max_elements(), i.get_current_count()])(filled(m, space)))


def test_properties_before_the_index_is_made():
    def action(m):
        index = m.Index("l2", 8)
        before = [index.ef, index.max_elements, index.M, index.ef_construction, index.element_count]
        index.set_ef(33)
        index.init_index(5)
        index.num_threads = 1
        after = index.ef, index.num_threads
        index.ef = 7
        return before, after, index.ef

    both(action)


@pytest.mark.parametrize("space", SPACES)
def test_items(space):
    def action(m):
        index = filled(m, space)
        index.add_items(np.zeros((1, 8)), [310])
        return (index.get_items([5, 0, 310]), index.get_items(np.array([1])), index.get_items(), index.get_items([]),
                np.array(index.get_items([3], return_type="list")))

    both(action)


@pytest.mark.parametrize("space", SPACES)
def test_filters(space):
    both(lambda m: filled(m, space).knn_query(Q, 5, num_threads=1, filter=lambda label: label % 3 == 0))
    both(lambda m: exact(m, space).knn_query(Q, 5, num_threads=1, filter=lambda label: label < 100)[0])


def test_filters_of_vectis():
    index = filled(ours)
    expected = index.knn_query(Q, 5, filter=lambda label: 50 <= label < 150)
    mask = np.zeros(300, bool)
    mask[50:150] = True
    for form in (range(50, 150), np.arange(50, 150), mask, vectis.IdFilter(mask)):
        side_by_side.assert_same(expected, index.knn_query(Q, 5, filter=form))


def test_updates_and_deletions():
    def action(m):
        index = filled(m)
        index.add_items(X[:3] + 5, [6, 7, 8])
        results = [index.knn_query(X[:3] + 5, 1), index.element_count]
        for label in (6, 20, 21):
            index.mark_deleted(label)
        results += [index.knn_query(X[:30], 2), index.element_count, 20 in index.get_ids_list()]
        index.unmark_deleted(20)
        results += [index.knn_query(X[20], 1)]
        index.add_items(X[21] + 1, 21)  # brings a deleted label back
        return [*results, index.knn_query(X[21] + 1, 1), index.element_count]

    both(action)


def test_replacing_deleted():
    def action(m):
        index = filled(m, rows=300, capacity=300, allow_replace_deleted=True)
        full = side_by_side.outcome(lambda: index.add_items(X[:1], [500], replace_deleted=True))
        for label in range(3):
            index.mark_deleted(label)
        index.add_items(X[:2] + 7, [500, 501], replace_deleted=True)
        left = [label for label in index.get_ids_list() if label < 3]
        again = side_by_side.outcome(lambda: index.add_items(X[:1], left))
        return full, len(left), again, index.element_count, index.knn_query(X[:2] + 7, 1), len(index.get_ids_list())

    both(action)


@pytest.mark.parametrize("space", SPACES)
def test_files(space, tmp_path):
    def action(m):
        index = filled(m, space)
        index.mark_deleted(4)
        index.save_index(str(tmp_path / m.__name__))
        results = []
        for capacity in (0, 5, 310, 400):
            loaded = m.Index(space, 8)
            loaded.load_index(str(tmp_path / m.__name__), max_elements=capacity)
            loaded.set_ef(300)
            results.append([loaded.max_elements, loaded.element_count, loaded.M, loaded.ef_construction,
                            loaded.knn_query(Q, 5)])
        loaded.add_items(X[:2])
        loaded.unmark_deleted(4)
        return [*results, sorted(loaded.get_ids_list()), loaded.knn_query(X[4], 1)]

    both(action)


@pytest.mark.parametrize("space", SPACES)
def test_reads_files_of_hnswlib(space, tmp_path):
    theirs = filled(hnswlib, space)
    theirs.mark_deleted(9)
    theirs.save_index(str(tmp_path / "index"))
    read = ours.Index(space, 8)
    read.load_index(str(tmp_path / "index"), max_elements=500)
    read.set_ef(300)
    side_by_side.assert_same(theirs.knn_query(Q, 5), read.knn_query(Q, 5))
    assert (read.max_elements, read.element_count, read.M, read.ef_construction) == (500, 300, 32, 300)
    read.unmark_deleted(9)
    for size in (3, 90, 200):
        (tmp_path / "corrupt").write_bytes((tmp_path / "index").read_bytes()[:size])
        with pytest.raises(RuntimeError):
            ours.Index(space, 8).load_index(tmp_path / "corrupt")
    with pytest.raises(RuntimeError):
        ours.Index(space, 9).load_index(tmp_path / "index")


def test_pickles_and_copies():
    def action(m):
        index = filled(m, allow_replace_deleted=True)
        index.mark_deleted(4)
        index.set_ef(250)
        made = pickle.loads(pickle.dumps(index))
        made.unmark_deleted(4)
        return made.ef, made.max_elements, made.element_count, made.space, made.dim, made.knn_query(Q, 5)

    both(action)
    side_by_side.assert_same(filled(ours).knn_query(Q, 3), copy.deepcopy(filled(ours)).knn_query(Q, 3))


def test_exact_indexes(tmp_path):
    def action(m):
        index = exact(m)
        index.delete_vector(3)
        index.delete_vector(5000)
        index.add_items(X[:2] + 3, [700, 701])
        index.save_index(str(tmp_path / m.__name__))
        loaded = m.BFIndex("l2", 8)
        loaded.load_index(str(tmp_path / m.__name__))
        return (index.get_current_count(), index.get_max_elements(), index.knn_query(Q, 4), loaded.knn_query(Q, 4),
                loaded.get_current_count(), loaded.get_max_elements())

    both(action)


def test_what_hnswlib_does_not_check(tmp_path):
    index = filled(ours)
    with pytest.raises(RuntimeError):
        index.knn_query(Q[:, :5], 1)
    with pytest.raises(RuntimeError):
        ours.Index("l2", 8).knn_query(Q)
    with pytest.raises(RuntimeError):
        exact(ours).knn_query(Q, 301)
    with pytest.raises(ValueError, match="nan"):
        index.add_items(np.full((1, 8), np.nan))
    with pytest.raises(ValueError, match="labels are"):
        index.add_items(X[:1], np.array([2**63], np.uint64))
    with pytest.raises(OSError):
        index.save_index(tmp_path / "absent" / "index")
    index.save_index(tmp_path / "index")
    with pytest.raises(RuntimeError):
        ours.Index("ip", 8).load_index(tmp_path / "index")
    with pytest.raises(RuntimeError):
        ours.BFIndex("l2", 8).load_index(tmp_path / "index")
    (tmp_path / "index").write_bytes((tmp_path / "index").read_bytes()[:-1])
    with pytest.raises(RuntimeError):
        ours.Index("l2", 8).load_index(tmp_path / "index")


def test_a_full_index_stays_as_it_is():
    index = filled(ours)
    with pytest.raises(RuntimeError):
        index.add_items(X[:50], np.arange(400, 450))
    assert index.element_count == 300 and 400 not in index.get_ids_list()


@pytest.mark.parametrize("script", ["hnswlib_example.py", "hnswlib_changes.py"])
def test_scripts_run_unchanged(script, tmp_path):
    theirs, here = (side_by_side.run_script(script, "hnswlib", switched, tmp_path) for switched in (False, True))
    assert theirs == here and len(here.splitlines()) > 3
