"""vectis.VectorStore and vectis.Collection."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import oracle
import vectis


def test_collections_by_name(rng):
    store = vectis.VectorStore()
    vectors = rng.standard_normal((100, 8), dtype=np.float32)
    books = store.create_collection("books", dim=8, metric="cosine")
    store.create_collection("films", 4, index="flat", precision="fp16", vectors_max=2, tenant="x")
    assert store.list_collections() == ["books", "films"] == list(store)
    assert len(store) == 2 and "books" in store and "songs" not in store and 5 not in store
    assert store["books"] == books == store.collection("books") and books != store["films"]
    with pytest.raises(KeyError):
        store["songs"]
    with pytest.raises(vectis.InvalidInputError):
        store.collection("songs")
    with pytest.raises(vectis.InvalidInputError):
        store.create_collection("books", dim=8)
    books.add(vectors)
    found = books.search(vectors[:10], k=5, recall=1.0)
    np.testing.assert_array_equal(found.ids, oracle.nearest(vectors[:10], vectors, 5, "cosine"))
    assert len(books) == 100 and 99 in books and sorted(books) == list(range(100))
    np.testing.assert_array_equal(books.get([3]), vectors[3:4])
    books.upsert(vectors[:2], [200, 5])
    assert books.remove([200, 201]) == 1
    metadata = store["films"].metadata()
    assert (metadata.name, metadata.dim, metadata.metric, metadata.index) == ("films", 4, "l2", "flat")
    assert metadata.vectors_max == 2 and metadata.tenant == "x" and metadata.device == "cpu"
    with pytest.raises(vectis.InvalidInputError, match="limit of 2"):
        store["films"].add(np.zeros((3, 4), np.float32))
    assert "films" in repr(store["films"]) and "<table>" in store["films"]._repr_html_()


def test_handles_outlive_the_store_but_not_the_collection(rng):
    store = vectis.VectorStore()
    collection = store.create_collection("a", dim=2)
    collection.add(np.eye(2, dtype=np.float32))
    other = store.create_collection("b", dim=2)
    assert store.drop_collection("b") and not store.drop_collection("b")
    with pytest.raises(vectis.InvalidInputError):
        other.search([0, 1])
    assert other.name == "b" and other.metadata().name == "b"
    del store
    gc.collect()
    assert collection.search([0, 1], k=1).ids.tolist() == [1]


def test_files_keep_all_collections(rng, tmp_path):
    store = vectis.VectorStore()
    vectors = rng.standard_normal((50, 3), dtype=np.float32)
    store.create_collection("a", dim=3, index="graph").add(vectors)
    store.create_collection("b", dim=5)
    store.save(tmp_path / "store")
    loaded = vectis.VectorStore.load(tmp_path / "store")
    assert list(loaded) == ["a", "b"]
    np.testing.assert_array_equal(loaded["a"].search(vectors, k=1, recall=1.0).ids[:, 0], range(50))
    (tmp_path / "store").write_bytes(b"VECTIS")
    with pytest.raises(vectis.CorruptDataError):
        vectis.VectorStore.load(tmp_path / "store")
