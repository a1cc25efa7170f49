"""Vectis for ann-benchmarks: this folder is copied to `ann_benchmarks/algorithms` of its repository."""

import vectis

from ..base.module import BaseANN

METRICS = {"angular": "cosine", "euclidean": "l2"}


class Vectis(BaseANN):
    """An index of one kind. A graph is searched with the recall that a query argument asks for; `flat` is exact."""

    def __init__(self, metric, kind):
        self._metric, self._kind = METRICS[metric], kind
        self._recall = None
        self.name = f"Vectis({kind})"

    def fit(self, X):
        self._index = vectis.Index(dim=X.shape[1], kind=self._kind, metric=self._metric)
        self._index.add(X, progress=False)

    def set_query_arguments(self, recall):
        self._recall = recall
        self.name = f"Vectis({self._kind}, recall={recall})"

    def query(self, q, n):
        return self._index.search(q, n, recall=self._recall).ids

    def batch_query(self, X, n):
        self.res = self._index.search(X, n, recall=self._recall).ids

    def done(self):
        self._index = self.res = None
