"""How searches of single queries scale with threads, from Python and from C++, on the same graph in the same run.

Runs in an environment with the wheel, with the path of exact_bench as its argument, which has the threads of C++. Both
load one saved index, and search in turns, with one thread and with many. Scaling is the throughput of many threads over
that of one. Prints JSON: queries per second, medians over all rounds, and the median of Python's scaling over C++'s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy

import vectis
from tools.bench import exact_data
from tools.bench.exact_contest import Contestant
from tools.bench.exact_truth import K

Throughput = Callable[[int, float], float]  # threads, seconds -> queries per second


def python_throughput(index: vectis.Index, queries: numpy.ndarray) -> Throughput:
    def measure(threads: int, seconds: float) -> float:
        done = [0] * threads
        start = time.perf_counter()

        def search(thread: int) -> None:
            row = thread * len(queries) // threads
            while time.perf_counter() - start < seconds:
                index.search(queries[(row + done[thread]) % len(queries)], K)
                done[thread] += 1

        workers = [threading.Thread(target=search, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return sum(done) / (time.perf_counter() - start)

    return measure


def cpp_throughput(program: Contestant) -> Throughput:
    return lambda threads, seconds: program.ask("concurrent", threads=threads, budget_ms=1e3 * seconds,
                                                k=K)["queries_per_second"]


def compare(contenders: dict[str, Throughput], threads: int, rounds: int, seconds: float) -> dict[str, object]:
    """Measures the contenders in turns, so that what else the machine does meets all of them."""
    measured: dict[tuple[str, int], list[float]] = {(name, count): [] for count in (1, threads) for name in contenders}
    for name, count in measured:
        contenders[name](count, seconds / 4)  # untimed
    for turn in range(rounds):
        for name, count in list(measured) if turn % 2 == 0 else reversed(measured):
            measured[name, count].append(contenders[name](count, seconds))
    scaling = {name: [many / one for one, many in zip(measured[name, 1], measured[name, threads], strict=True)]
               for name in contenders}
    return {"threads": threads,
            "queries per second": {name: {count: statistics.median(measured[name, count]) for count in (1, threads)}
                                   for name in contenders},
            "scaling": {name: statistics.median(values) for name, values in scaling.items()},
            "ratio": statistics.median(ours / cpp for ours, cpp in zip(scaling["Python"], scaling["C++"], strict=True))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the path of exact_bench")
    parser.add_argument("--data", type=Path, default=Path("build/bench-data"), help="folder of generated vectors")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    arguments = parser.parse_args()
    data = exact_data.made(arguments.data, arguments.rows, arguments.dim)
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "graph.vectis"
        graph = vectis.Index(dim=arguments.dim, kind="graph")
        graph.add(numpy.array(data.corpus()), progress=False)
        graph.save(saved)
        vectis.set_threads(1)  # each search in the thread that calls
        index = vectis.Index.load(saved)
        program = Contestant("C++", [arguments.program], {})
        program.ask("threads", count=1)
        program.ask("queries", file=data.queries_file, dim=arguments.dim, rows=exact_data.QUERIES)
        program.ask("load", file=saved)
        contenders = {"C++": cpp_throughput(program), "Python": python_throughput(index, data.queries())}
        print(json.dumps(compare(contenders, arguments.threads, arguments.rounds, arguments.seconds)))
        program.close()


if __name__ == "__main__":
    main()
