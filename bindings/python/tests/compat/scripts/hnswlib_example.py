"""The life of an index: vectors in two steps, a file between them, and a larger capacity."""

import os
import pickle

import hnswlib
import numpy as np

dim, count = 16, 2000
rng = np.random.RandomState(5)
data = rng.random_sample((count, dim)).astype("float32")
first, second = data[: count // 2], data[count // 2:]

index = hnswlib.Index(space="l2", dim=dim)
index.init_index(max_elements=count // 2, ef_construction=150, M=16)
index.set_ef(60)
index.set_num_threads(2)
index.add_items(first)
labels, distances = index.knn_query(first, k=1)
print("recall", np.mean(labels.reshape(-1) == np.arange(len(first))) > 0.99, labels.dtype, distances.dtype)

path = os.path.join(FOLDER, "vectors.bin")
index.save_index(path)
del index

index = hnswlib.Index(space="l2", dim=dim)
index.load_index(path, max_elements=count)
index.set_ef(60)
index.add_items(second)
labels, distances = index.knn_query(data, k=1)
print("recall", np.mean(labels.reshape(-1) == np.arange(count)) > 0.99)
print(index.element_count, index.max_elements, index.get_current_count(), index.ef, index.M, index.ef_construction)

copy = pickle.loads(pickle.dumps(index))
print(copy.element_count, np.mean(copy.knn_query(data, k=1)[0].ravel() == np.arange(count)) > 0.99)
index.resize_index(count + 100)
print(index.get_max_elements(), np.allclose(index.get_items([3, 5]), data[[3, 5]]))
