"""A script written for FAISS, with one line changed: the import."""

import numpy as np

from vectis.compat import faiss  # was: import faiss

rng = np.random.default_rng(3)
vectors = rng.random((10_000, 64), dtype=np.float32)
queries = rng.random((5, 64), dtype=np.float32)

exact = faiss.IndexFlatL2(64)
exact.add(vectors)
distances, ids = exact.search(queries, 4)  # squared distances, as FAISS returns them
print(ids)

graph = faiss.IndexHNSWFlat(64, 32)
graph.hnsw.efSearch = 128
graph.add(vectors)
_, approximate = graph.search(queries, 4)
same = float(np.mean([len(set(a) & set(b)) / 4 for a, b in zip(ids, approximate)]))
print(f"the graph found {same:.0%} of them")
assert same > 0.8

subset = faiss.IDSelectorRange(100, 200)
_, inside = exact.search(queries, 4, params=faiss.SearchParameters(sel=subset))
assert ((inside >= 100) & (inside < 200)).all()
