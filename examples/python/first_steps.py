"""Vector search in ten lines."""

import numpy as np

import vectis

rng = np.random.default_rng(1)
vectors = rng.standard_normal((20_000, 96), dtype=np.float32)

index = vectis.Index(dim=96, metric="cosine", recall=0.95)
index.add(vectors)
queries = vectors[:100] + 0.1 * rng.standard_normal((100, 96), dtype=np.float32)
result = index.search(queries, k=10)

print(result.ids[0], result.distances[0].round(3))
print(result.explain())
found = float((result.ids[:, 0] == np.arange(100)).mean())
print(f"the original of {found:.0%} of the queries is the nearest")
assert found > 0.9
