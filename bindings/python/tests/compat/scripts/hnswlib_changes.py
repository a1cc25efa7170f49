"""Filters, deleted elements, and elements that take their places."""

import hnswlib
import numpy as np

dim, count = 12, 1000
rng = np.random.RandomState(3)
data = rng.random_sample((count, dim)).astype("float32")

index = hnswlib.Index(space="cosine", dim=dim)
index.init_index(max_elements=count, ef_construction=200, M=16, allow_replace_deleted=True)
index.add_items(data, np.arange(count))
index.set_ef(100)

labels, _ = index.knn_query(data[:50], k=3, num_threads=1, filter=lambda label: label % 2 == 0)
print("all even", bool((labels % 2 == 0).all()))

for label in range(100):
    index.mark_deleted(label)
labels, _ = index.knn_query(data[:100], k=1)
print("none deleted", bool((labels >= 100).all()), index.element_count)

index.unmark_deleted(0)
print(index.knn_query(data[0], k=1)[0].tolist())
index.mark_deleted(0)

fresh = rng.random_sample((100, dim)).astype("float32") + 1
index.add_items(fresh, np.arange(5000, 5100), replace_deleted=True)
labels, _ = index.knn_query(fresh, k=1)
print("new found", np.mean(labels.ravel() == np.arange(5000, 5100)) > 0.99, index.element_count, index.max_elements)
print(sorted(index.get_ids_list())[:3], len(index.get_ids_list()))
try:
    index.add_items(fresh, np.arange(6000, 6100))
except RuntimeError:
    print("full")
