"""Threads that search a graph with single queries while another thread adds to it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from oracle import distances

import vectis

SECONDS = float(os.environ.get("VECTIS_TEST_SECONDS", "2"))
SEARCHERS, DIM, K = 8, 64, 10
FIRST, BATCH = int(SECONDS * 1000), 100  # rows that are there before, and rows of one add
ROWS = FIRST + int(SECONDS * 10_000)  # more than the adder manages; after the last one it replaces rows by themselves
RECALL = 0.95  # the promise of the index
DEADLOCK = 60.0  # seconds that no call takes


@dataclass
class Rows:
    """Rows are added in the order of their ids: below `added` they can be found, from `begun` on they cannot."""

    added: int = FIRST
    begun: int = FIRST


@dataclass
class Searches:
    count: int = 0
    found_own: int = 0  # that found the vector which they searched for
    longest: float = 0.0  # seconds


def make_vectors(rng: np.random.Generator) -> np.ndarray:
    centers = rng.standard_normal((200, DIM), dtype=np.float32)
    return centers[rng.integers(0, len(centers), ROWS)] + rng.standard_normal((ROWS, DIM), dtype=np.float32) / 2


def check_answer(found: vectis.SearchResult, query: np.ndarray, vectors: np.ndarray, begun: int) -> None:
    ids = found.ids.tolist()
    assert len(set(ids)) == K and min(ids) >= 0 and max(ids) < begun, f"{ids} beside {begun} rows"
    assert (found.distances[1:] >= found.distances[:-1]).all(), found.distances
    error = np.abs(found.distances - distances(query[None], vectors[found.ids], "l2")[0])
    assert error.max() <= 1e-9, f"the distances of {ids} are wrong by {error}"


def search(index: vectis.Index, vectors: np.ndarray, rows: Rows, stop: threading.Event, seed: int) -> Searches:
    random, seen = np.random.default_rng(seed), Searches()
    while not stop.is_set():
        row = int(random.integers(rows.added))
        begin = time.perf_counter()
        found = index.search(vectors[row], K)
        seen.longest = max(seen.longest, time.perf_counter() - begin)
        check_answer(found, vectors[row], vectors, rows.begun)
        seen.count += 1
        seen.found_own += row in found.ids
    return seen


def change(index: vectis.Index, vectors: np.ndarray, rows: Rows, stop: threading.Event) -> int:
    """Adds rows, and then replaces rows by themselves; returns how many changes were made."""
    changes = 0
    while not stop.is_set():
        first = rows.added if rows.added < ROWS else changes * BATCH % ROWS
        ids = np.arange(first, min(first + BATCH, ROWS))
        rows.begun = max(rows.begun, int(ids[-1]) + 1)
        if rows.added < ROWS:
            index.add(vectors[ids], ids=ids)
        else:
            index.upsert(vectors[ids], ids)
        rows.added = rows.begun
        changes += 1
    return changes


def run_all(works: list[Callable[[], object]], stop: threading.Event, seconds: float) -> list[object]:
    """Runs each work in a thread, sets `stop` after some seconds or at the first failure, and returns the results."""
    results: dict[int, object] = {}
    failures: list[BaseException] = []

    def run(i: int) -> None:
        try:
            results[i] = works[i]()
        except BaseException as error:  # noqa: BLE001: raised by the main thread
            failures.append(error)
            stop.set()

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(works))]
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join(DEADLOCK)
    assert not any(thread.is_alive() for thread in threads), f"a call has not returned for {DEADLOCK} s"
    if failures:
        raise failures[0]
    return [results[i] for i in range(len(works))]


def test_searches_beside_an_adder_are_right(rng, record_property):
    vectors, rows, stop = make_vectors(rng), Rows(), threading.Event()
    index = vectis.Index(dim=DIM, kind="graph", recall=RECALL)
    index.add(vectors[:FIRST])
    seeds = rng.integers(1 << 32, size=SEARCHERS).tolist()
    works: list[Callable[[], object]] = [lambda: change(index, vectors, rows, stop)]
    works += [lambda seed=seed: search(index, vectors, rows, stop, seed) for seed in seeds]
    changes, *searches = run_all(works, stop, SECONDS)

    assert changes > 0 and all(seen.count > 0 for seen in searches)
    count, found_own = (sum(getattr(seen, name) for seen in searches) for name in ("count", "found_own"))
    assert found_own >= RECALL * count, f"{found_own} of {count} searches found the vector they searched for"
    assert sorted(index) == list(range(rows.added))
    sample = rng.integers(rows.added, size=1000)
    assert (index.get(sample) == vectors[sample]).all()
    longest = 1e3 * max(seen.longest for seen in searches)
    print(f"{count} searches beside {changes} changes, {rows.added} rows at the end, the longest took {longest:.1f} ms")
    for name, value in {"searches": count, "changes": changes, "longest_wait_ms": longest}.items():
        record_property(name, value)
