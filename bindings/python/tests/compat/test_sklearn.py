"""vectis.compat.sklearn beside scikit-learn itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn import neighbors  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from vectis.compat import sklearn as ours  # noqa: E402

X = np.random.default_rng(5).standard_normal((200, 6)).astype(np.float32).astype(np.float64)
Q = np.random.default_rng(6).standard_normal((30, 6)).astype(np.float32).astype(np.float64)
METRICS = ["euclidean", "l2", "sqeuclidean", "cosine", "manhattan", "cityblock", "l1", "chebyshev", "minkowski"]


@parametrize_with_checks([ours.NearestNeighbors(), ours.NearestNeighbors(recall=0.9), ours.KNeighborsTransformer()])
def test_estimator_checks(estimator, check):
    check(estimator)


def fitted(metric="minkowski", **options):
    return [kind(metric=metric, algorithm="brute", **options).fit(X)
            for kind in (neighbors.NearestNeighbors, ours.NearestNeighbors)]


def assert_near(theirs, here):
    assert theirs.shape == here.shape and theirs.dtype == here.dtype
    np.testing.assert_allclose(here, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("own", [True, False])
def test_kneighbors(metric, own):
    theirs, here = (estimator.kneighbors(None if own else Q, 7) for estimator in fitted(metric))
    assert_near(theirs[0], here[0])
    np.testing.assert_array_equal(theirs[1], here[1])
    theirs, here = (estimator.kneighbors(Q, return_distance=False) for estimator in fitted(metric))
    np.testing.assert_array_equal(theirs, here)


@pytest.mark.parametrize("p", [1, 2, float("inf")])
def test_minkowski(p):
    theirs, here = (estimator.kneighbors(Q) for estimator in fitted(p=p))
    assert_near(theirs[0], here[0])
    assert fitted(p=p)[0].effective_metric_ == fitted(p=p)[1].effective_metric_


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("radius", [0.0, 0.8, 2.0, 100.0])
def test_radius_neighbors(metric, own, radius):
    theirs, here = (estimator.radius_neighbors(None if own else Q, radius, sort_results=True)
                    for estimator in fitted(metric))
    assert theirs[0].shape == here[0].shape and here[0].dtype == object
    for column in (0, 1):
        for one, other in zip(theirs[column], here[column]):
            assert_near(one, other)
    unsorted = fitted(metric)[1].radius_neighbors(None if own else Q, radius, return_distance=False)
    for one, other in zip(theirs[1], unsorted):
        np.testing.assert_array_equal(np.sort(one), np.sort(other))


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("own", [True, False])
def test_graphs(mode, own):
    theirs, here = fitted()
    queries = None if own else Q
    assert_near(theirs.kneighbors_graph(queries, 4, mode).toarray(), here.kneighbors_graph(queries, 4, mode).toarray())
    assert_near(theirs.radius_neighbors_graph(queries, 2.0, mode).toarray(),
                here.radius_neighbors_graph(queries, 2.0, mode).toarray())


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_transformer(mode):
    theirs, here = (kind(mode=mode, n_neighbors=6).fit(X)
                    for kind in (neighbors.KNeighborsTransformer, ours.KNeighborsTransformer))
    assert_near(theirs.transform(Q).toarray(), here.transform(Q).toarray())
    assert_near(theirs.fit_transform(X).toarray(), here.fit_transform(X).toarray())
    assert theirs.transform(Q).format == here.transform(Q).format == "csr"
    named = [list(one.get_feature_names_out()[:2]) for one in (theirs, here)]
    assert named[0] == named[1]


def test_pipeline_with_precomputed_distances():
    y = (X[:, 0] > 0).astype(int)
    predicted = [make_pipeline(kind(n_neighbors=8), neighbors.KNeighborsClassifier(5, metric="precomputed")).fit(X, y)
                 .predict(Q) for kind in (neighbors.KNeighborsTransformer, ours.KNeighborsTransformer)]
    np.testing.assert_array_equal(*predicted)
    np.testing.assert_array_equal(predicted[0], neighbors.KNeighborsClassifier(5).fit(X, y).predict(Q))


def test_duplicates_are_neighbors_of_each_other():
    rows = np.repeat(X[:5], 20, 0)
    theirs, here = (kind(n_neighbors=3).fit(rows) for kind in (neighbors.NearestNeighbors, ours.NearestNeighbors))
    np.testing.assert_allclose(here.kneighbors()[0], theirs.kneighbors()[0], atol=1e-6)
    assert (here.kneighbors()[1] != np.arange(100)[:, None]).all()


@pytest.mark.parametrize("call", [
    lambda e: e.kneighbors(Q, 201), lambda e: e.kneighbors(None, 200), lambda e: e.kneighbors(Q, 0),
    lambda e: e.kneighbors(Q, 2.5), lambda e: e.kneighbors(Q[:, :3]), lambda e: e.kneighbors(Q[0]),
    lambda e: e.kneighbors(np.full((1, 6), np.nan)), lambda e: e.kneighbors([["a"] * 6]),
    lambda e: e.radius_neighbors(Q, return_distance=False, sort_results=True), lambda e: clone(e).kneighbors(Q),
    lambda e: clone(e).fit(X[:0]), lambda e: clone(e).set_params(n_neighbors=0).fit(X),
    lambda e: clone(e).set_params(metric="nonsense").fit(X), lambda e: clone(e).set_params(leaf_size=0).fit(X),
])
def test_errors(call):
    classes = []
    for estimator in fitted():
        with pytest.raises((ValueError, TypeError)) as caught:
            call(estimator)
        classes.append(caught.type)
    assert issubclass(classes[1], classes[0])


@pytest.mark.parametrize("options", [{"metric": "precomputed"}, {"metric": "canberra"}, {"p": 3}, {"recall": 0.0},
                                     {"recall": 1.5}, {"metric": lambda a, b: 0.0}, {"metric_params": {"w": X[0]}}])
def test_what_is_not_supported_raises(options):
    with pytest.raises(ValueError):
        ours.NearestNeighbors(**options).fit(X)


def test_recall_below_one_is_approximate():
    rows = np.random.default_rng(7).standard_normal((3000, 16))
    exact = ours.NearestNeighbors(n_neighbors=10).fit(rows).kneighbors(return_distance=False)
    found = ours.NearestNeighbors(n_neighbors=10, recall=0.9).fit(rows).kneighbors(return_distance=False)
    assert found.shape == exact.shape
    assert np.mean([len(set(a) & set(b)) for a, b in zip(found, exact)]) / 10 > 0.85


def test_pickles_and_copies():
    here = fitted("cosine")[1]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(here)).kneighbors(Q)[1], here.kneighbors(Q)[1])
    assert clone(here).get_params() == here.get_params() and "recall" in here.get_params()


def test_neighbors_for_umap():
    umap = pytest.importorskip("umap")
    distances, indices = ours.NearestNeighbors(n_neighbors=10).fit(X).kneighbors(X)
    made = umap.UMAP(n_neighbors=10, precomputed_knn=(indices, distances.astype(np.float32), None), n_epochs=20)
    with pytest.warns(UserWarning):  # that new points cannot be transformed
        assert made.fit_transform(X).shape == (200, 2)
