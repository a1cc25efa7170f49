"""The same Python code with FAISS or hnswlib and with vectis.compat, in one process and in turns.

Exact search is compared as it is; graphs are compared at equal recall: each library searches with the smallest beam
that reaches the recall with the first half of the queries, and is measured with the second half. The last line is JSON:
one object for each pair of a library and its stand-in.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy

from tools.bench import ann_data, exact_data
from tools.bench.exact_truth import K

BEAMS = (10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024)
Search = Callable[[numpy.ndarray], numpy.ndarray]  # queries -> ids


@dataclass
class Contender:
    """One library, ready to search."""

    name: str
    search: Search
    setting: str = ""
    build_seconds: float = 0.0
    seconds: list[float] = field(default_factory=list)
    recall: float = 0.0


def flat_index(module: str, vectors: numpy.ndarray, threads: int) -> Search:
    faiss = importlib.import_module(module)
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    return lambda queries: index.search(queries, K)[1]


def faiss_graph(module: str, vectors: numpy.ndarray, threads: int, m: int,
                ef_construction: int) -> Callable[[int], Search]:
    faiss = importlib.import_module(module)
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexHNSWFlat(vectors.shape[1], m)
    index.hnsw.efConstruction = ef_construction
    index.add(vectors)

    def with_beam(ef: int) -> Search:
        def search(queries: numpy.ndarray) -> numpy.ndarray:
            index.hnsw.efSearch = ef
            return index.search(queries, K)[1]

        return search

    return with_beam


def hnswlib_graph(module: str, vectors: numpy.ndarray, threads: int, m: int,
                  ef_construction: int) -> Callable[[int], Search]:
    hnswlib = importlib.import_module(module)
    index = hnswlib.Index(space="l2", dim=vectors.shape[1])
    index.set_num_threads(threads)
    index.init_index(max_elements=len(vectors), M=m, ef_construction=ef_construction)
    index.add_items(vectors)

    def with_beam(ef: int) -> Search:
        def search(queries: numpy.ndarray) -> numpy.ndarray:
            index.set_ef(ef)
            return index.knn_query(queries, k=K)[0]

        return search

    return with_beam


def recall_of(found: numpy.ndarray, truth: numpy.ndarray) -> float:
    return float((found.astype(numpy.int64)[:, :, None] == truth[:, None, :]).any(axis=2).mean())


def choose_beam(with_beam: Callable[[int], Search], queries: numpy.ndarray, truth: numpy.ndarray,
                wanted: float) -> tuple[int, Search]:
    """Return the smallest beam that reaches the recall, or the largest of all."""
    for ef in BEAMS:
        search = with_beam(ef)
        if recall_of(search(queries), truth) >= wanted:
            break
    return ef, search


def measure(contenders: list[Contender], queries: numpy.ndarray, truth: numpy.ndarray, rounds: int) -> None:
    """Time the contenders in turns, so that what else the machine does meets all of them."""
    for contender in contenders:
        contender.recall = recall_of(contender.search(queries), truth)  # also the first, untimed round
    for turn in range(rounds):
        for contender in contenders if turn % 2 == 0 else reversed(contenders):
            start = time.perf_counter()
            contender.search(queries)
            contender.seconds.append(time.perf_counter() - start)


def table(title: str, contenders: list[Contender], queries: int) -> Iterable[str]:
    """Return the lines of a table; the pairs of a library and its stand-in follow each other."""
    yield f"\n{title}\n"
    yield "| library | setting | build s | median ms | min to max ms | queries/s | recall | speed |"
    yield "|---|---|---|---|---|---|---|---|"
    for theirs, ours in zip(contenders[::2], contenders[1::2], strict=True):
        for one in (theirs, ours):
            times = [1e3 * seconds for seconds in one.seconds]
            median = statistics.median(times)
            speed = describe_speed(theirs, ours) if one is ours else ""
            yield (f"| {one.name} | {one.setting} | {one.build_seconds:.1f} | {median:,.2f} | {min(times):,.2f} to "
                   f"{max(times):,.2f} | {queries / median * 1e3:,.0f} | {one.recall:.4f} | {speed} |")


def speeds(theirs: Contender, ours: Contender) -> list[float]:
    """Return how many times faster ours is in each round."""
    return [a / b for a, b in zip(theirs.seconds, ours.seconds, strict=True)]


def describe_speed(theirs: Contender, ours: Contender) -> str:
    """Return how many times faster ours is: the median, the smallest and the largest of all rounds."""
    ratios = speeds(theirs, ours)
    return f"{statistics.median(ratios):.2f} × ({min(ratios):.2f} to {max(ratios):.2f})"


def pairs(kind: str, rows: int, contenders: list[Contender], wanted: float = 1.0) -> list[dict[str, object]]:
    """Return what the table says of each pair as objects of JSON."""
    return [{"kind": kind, "rows": rows, "peer": theirs.name, "wanted recall": wanted, "recall": theirs.recall,
             "our recall": ours.recall, "speed": statistics.median(speeds(theirs, ours))}
            for theirs, ours in zip(contenders[::2], contenders[1::2], strict=True)]


def timed(work: Callable[[], object]) -> tuple[object, float]:
    start = time.perf_counter()
    made = work()
    return made, time.perf_counter() - start


def compare_flat(rows: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    data = exact_data.made(arguments.data, rows, arguments.dim)
    vectors, queries = numpy.array(data.corpus()), data.queries()[:arguments.queries]
    contenders = []
    for name, module in (("faiss", "faiss"), ("vectis.compat.faiss", "vectis.compat.faiss")):
        search, seconds = timed(lambda: flat_index(module, vectors, arguments.threads))
        contenders.append(Contender(name, search, "IndexFlatL2", seconds))
    measure(contenders, queries, ann_data.nearest(vectors, queries), arguments.rounds)
    print(*table(f"Exact: {rows:,} × {arguments.dim}, batch {len(queries):,}, k {K}, threads {arguments.threads}, "
                 f"{arguments.rounds} rounds", contenders, len(queries)), sep="\n", flush=True)
    return pairs("flat", rows, contenders)


def compare_graphs(rows: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    data = exact_data.made(arguments.data, rows, arguments.dim)
    vectors, queries = numpy.array(data.corpus()), data.queries()[:arguments.queries]
    truth = ann_data.nearest(vectors, queries)
    half = len(queries) // 2
    made = []
    for make, name, m in ((faiss_graph, "faiss", 32), (hnswlib_graph, "hnswlib", 16)):
        for module in (name, f"vectis.compat.{name}"):
            graph, seconds = timed(lambda: make(module, vectors, arguments.threads, m, arguments.ef_construction))
            made.append((module, graph, m, seconds))
    found = []
    for wanted in arguments.recall:
        contenders = []
        for name, graph, m, seconds in made:
            ef, search = choose_beam(graph, queries[:half], truth[:half], wanted)
            contenders.append(Contender(name, search, f"M {m}, ef {ef}", seconds))
        measure(contenders, queries[half:], truth[half:], arguments.rounds)
        print(*table(f"Graph: {rows:,} × {arguments.dim}, recall {wanted}, batch {len(queries) - half:,}, k {K}, "
                     f"ef_construction {arguments.ef_construction}, threads {arguments.threads}, "
                     f"{arguments.rounds} rounds", contenders, len(queries) - half), sep="\n", flush=True)
        found += pairs("graph", rows, contenders, wanted)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("build/bench-data"), help="folder of generated vectors")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--flat-rows", type=int, nargs="*", default=[1_000_000], help="sizes for exact search")
    parser.add_argument("--graph-rows", type=int, nargs="*", default=[100_000], help="sizes for graphs")
    parser.add_argument("--queries", type=int, default=exact_data.QUERIES, help=f"at most {exact_data.QUERIES}")
    parser.add_argument("--recall", type=float, nargs="*", default=[0.95, 0.99])
    parser.add_argument("--ef-construction", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    # Read when the libraries are imported: equal threads for BLAS, and no threads that spin while another library runs.
    os.environ.update(OMP_NUM_THREADS=str(arguments.threads), OPENBLAS_NUM_THREADS=str(arguments.threads),
                      OMP_WAIT_POLICY="PASSIVE")
    arguments.data.mkdir(parents=True, exist_ok=True)
    found = [pair for rows in arguments.flat_rows for pair in compare_flat(rows, arguments)]
    found += [pair for rows in arguments.graph_rows for pair in compare_graphs(rows, arguments)]
    print("", json.dumps(found), sep="\n")


if __name__ == "__main__":
    main()
