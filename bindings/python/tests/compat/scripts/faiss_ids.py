"""Ids of one's own: adding, removing, selecting and reading back."""

import faiss
import numpy as np

d = 16
rng = np.random.RandomState(7)
vectors = rng.standard_normal((500, d)).astype("float32")
ids = np.arange(500) * 7 - 100

index = faiss.index_factory(d, "IDMap2,Flat")
index.add_with_ids(vectors, ids)
print(index.ntotal, index.search(vectors[:3], 2)[1].tolist())
print(np.array_equal(index.reconstruct(int(ids[9])), vectors[9]))

print("removed", index.remove_ids(np.array([ids[0], ids[2], 1_000_000])))
print("removed", index.remove_ids(faiss.IDSelectorRange(2000, 2500)))
print(index.ntotal, index.search(vectors[:3], 2)[1].tolist())

even = faiss.IDSelectorBatch(ids[::2])
few = faiss.IDSelectorAnd(faiss.IDSelectorNot(even), faiss.IDSelectorRange(0, 1500))
print(index.search(vectors[:4], 5, params=faiss.SearchParameters(sel=few))[1].tolist())

plain = faiss.IndexFlatL2(d)
plain.add(vectors)
plain.remove_ids(np.arange(10))
print(plain.ntotal, plain.search(vectors[10:13], 1)[1].ravel().tolist())
plain.reset()
print(plain.ntotal)
