"""Exact search, by distance and by inner product, of all vectors and within a radius."""

import faiss
import numpy as np

d, nb, nq = 32, 3000, 40
rng = np.random.RandomState(99)
stored = rng.random_sample((nb, d)).astype("float32")
stored[:, 0] += np.arange(nb) / 500.0
asked = rng.random_sample((nq, d)).astype("float32")
asked[:, 0] += np.arange(nq) / 500.0

index = faiss.IndexFlatL2(d)
print("trained", index.is_trained, "empty", index.ntotal)
index.add(stored)
print("vectors", index.ntotal)

distances, ids = index.search(stored[:5], 4)
print(ids)
print(np.round(distances, 2) + 0.0)

distances, ids = index.search(asked, 4)
print(ids[:5], ids[-5:], distances.dtype, ids.dtype)

limits, distances, ids = index.range_search(asked, 2.5)
print(limits.tolist(), ids.tolist())

faiss.normalize_L2(stored)
faiss.normalize_L2(asked)
cosine = faiss.IndexFlatIP(d)
cosine.add(stored)
similarities, ids = cosine.search(asked, 3)
print(ids[:10], bool((similarities <= 1.00001).all()), bool((np.diff(similarities) <= 0).all()))
