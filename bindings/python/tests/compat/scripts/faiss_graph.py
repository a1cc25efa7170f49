"""A graph: its parameters, searches, a file, and a copy."""

import os

import faiss
import numpy as np

d = 24
rng = np.random.RandomState(11)
centers = rng.standard_normal((40, d))
vectors = (centers[rng.randint(40, size=4000)] + 0.4 * rng.standard_normal((4000, d))).astype("float32")
asked = vectors[::100] + np.float32(0.01)

exact = faiss.IndexFlatL2(d)
exact.add(vectors)
truth = exact.search(asked, 10)[1]

index = faiss.IndexHNSWFlat(d, 24)
index.hnsw.efConstruction = 120
index.add(vectors)
index.hnsw.efSearch = 200


def recall(found):
    return np.mean([len(set(a) & set(b)) for a, b in zip(found, truth)]) / 10


print(index.ntotal, recall(index.search(asked, 10)[1]) > 0.95)
wide = faiss.SearchParametersHNSW(efSearch=400)
print(recall(index.search(asked, 10, params=wide)[1]) > 0.95)

path = os.path.join(FOLDER, "graph.index")
faiss.write_index(index, path)
read = faiss.read_index(path)
print(type(read).__name__, read.ntotal, read.d, read.hnsw.efSearch, recall(read.search(asked, 10)[1]) > 0.95)
print(faiss.clone_index(index).search(asked[:4], 1)[1].ravel().tolist())
