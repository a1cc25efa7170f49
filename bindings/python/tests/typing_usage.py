"""Checked by mypy --strict with the installed wheel: what users write, and the types they get. Not run."""

import asyncio
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import vectis


def search(index: vectis.Index, queries: NDArray[np.float32]) -> None:
    result = index.search(queries, k=5, filter=[1, 2], radius=2.0, recall=0.9, timeout=1.0)
    assert_type(result, vectis.SearchResult)
    assert_type(result.ids, NDArray[np.int64])
    assert_type(result.distances, NDArray[np.float64])
    assert_type(result.explain(), vectis.SearchExplanation)
    assert_type(index.add(queries, ids=range(5)), NDArray[np.int64])
    assert_type(index.remove(3), int)
    assert_type(index.get(3), NDArray[np.float32] | None)
    assert_type(len(index), int)
    assert_type(list(index), list[int])
    assert_type(vectis.Index.load(Path("a")), vectis.Index)
    assert_type(index.kind, str)


async def search_async(index: vectis.Index) -> None:
    assert_type(await index.asearch([1.0, 2.0]), vectis.SearchResult)
    await asyncio.gather(index.asearch([1, 2]), index.aadd([[1, 2]]))


def collections(store: vectis.VectorStore) -> None:
    assert_type(store["a"], vectis.Collection)
    assert_type(store.create_collection("b", dim=3, metric="cosine"), vectis.Collection)
    assert_type(store.list_collections(), list[str])
    assert_type(store["a"].metadata().gpu_backend, str | None)
    try:
        store.collection("c")
    except vectis.InvalidInputError as error:
        assert_type(error.code, int)
