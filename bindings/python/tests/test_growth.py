"""Calls of every kind, objects made and dropped: memory does not grow, and no object of the module is left."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable

import numpy as np
import pytest

import vectis

RUNS = int(os.environ.get("VECTIS_TEST_CALLS", "2000"))
VECTORS = np.random.default_rng(1).standard_normal((300, 16), dtype=np.float32)


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def make_calls() -> dict[str, Callable[[], object]]:
    index = vectis.Index(dim=16)
    index.add(VECTORS)
    graph = vectis.Index(dim=16, kind="graph")
    graph.add(VECTORS)
    store = vectis.VectorStore()
    collection = store.create_collection("a", dim=16)
    collection.add(VECTORS)
    doubles, mask = VECTORS[:3].astype(np.float64), np.ones(300, bool)

    def replace() -> None:
        index.remove(7)
        index.add(VECTORS[:1], ids=[7])

    def fail() -> None:
        with pytest.raises(vectis.InvalidInputError):
            index.search(VECTORS[0, :5])

    def fail_in_callback() -> None:
        with pytest.raises(ZeroDivisionError):
            index.search(VECTORS[0], filter=lambda id: 1 // 0)

    def make_and_drop() -> None:
        vectis.Index(dim=4).add(VECTORS[:, :4])

    def collection_and_drop() -> None:
        store.create_collection("b", dim=4)
        store.drop_collection("b")

    return {
        "search": lambda: index.search(VECTORS[0]),
        "search of a graph": lambda: graph.search(VECTORS[:2], ef=20),
        "search of a collection": lambda: collection.search(VECTORS[:2]),
        "search of doubles": lambda: index.search(doubles),
        "filter": lambda: index.search(VECTORS[0], filter=mask),
        "predicate": lambda: index.search(VECTORS[0], k=2, filter=lambda id: id < 3),
        "explain": lambda: (index.search(VECTORS[0]).explain(), index.explain(), index._repr_html_()),
        "get": lambda: (index.get(3), index.get([1, 2]), 3 in index, len(index)),
        "ids": lambda: list(index),
        "upsert": lambda: index.upsert(VECTORS[:1], [3]),
        "remove and add": replace,
        "statistics": lambda: (index.statistics(), collection.metadata()),
        "pickle": lambda: graph.__getstate__(),
        "error": fail,
        "error in a callback": fail_in_callback,
        "index made and dropped": make_and_drop,
        "collection made and dropped": collection_and_drop,
        "timeout and cancel": lambda: index.search(VECTORS[0], timeout=60, cancel=vectis.CancelSource()),
        "IdFilter": lambda: vectis.IdFilter([1, 2, 3]),
    }


@pytest.mark.parametrize("name", make_calls())
def test_memory_does_not_grow(name):
    call = make_calls()[name]
    for _ in range(RUNS // 4):  # caches and arenas fill up
        call()
    gc.collect()
    before = resident_bytes()
    for _ in range(RUNS):
        call()
    gc.collect()
    grown = resident_bytes() - before
    # A leak of one small object per call would be at least 48 bytes; arenas of malloc come and go in steps.
    assert grown < 2_000_000 + 16 * RUNS, f"{grown} bytes after {RUNS} calls"


def test_no_object_is_left_at_the_end():
    program = textwrap.dedent("""
        import asyncio, gc, numpy as np, vectis
        from vectis import _vectis
        _vectis.set_leak_warnings(True)
        def work():
            index = vectis.Index(dim=4)
            index.add(np.eye(4, dtype=np.float32), progress=lambda *_: None)
            result = index.search([1, 0, 0, 0], filter=lambda id: True)
            store = vectis.VectorStore()
            collection = store.create_collection("a", dim=4)
            asyncio.run(index.asearch([1, 0, 0, 0]))
            try:
                index.search([1])
            except vectis.Error:
                pass
            return result, collection
        work()
        vectis.devices(); vectis.memory.stats(0)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "leaked" not in done.stderr, done.stderr
