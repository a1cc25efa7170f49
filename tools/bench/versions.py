"""Compares the speed of two builds of Vectis: `./dev bench versions BASELINE`, the path of another build's exact_bench.

Both programs stay alive and run every workload alternately. A ratio is baseline time over new time of the same round, so
1.1 means that the new build is 10 % faster. Times are CPU times of one thread, which other load disturbs least."""

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy

from tools import seed
from tools.bench.exact_contest import Contestant
from tools.bench.exact_data import QUERIES, made
from tools.bench.exact_truth import K

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "soak" / "versions.json"


@dataclass(frozen=True)
class Workload:
    name: str
    kind: str  # of index; both builds accept these names
    rows: int
    precision: str = ""  # empty: the default of the index
    queries: int = 0  # 0: the workload is add()
    batch: int = 1
    recall: str = ""
    rounds: int = 9


def workloads(million: int, smaller: int) -> list[Workload]:
    return [
        Workload(f"exact {million:,} x 128, add", "brute", million, "int8", rounds=5),
        Workload(f"exact {million:,} x 128, batch 1000", "brute", million, "int8", queries=1000, batch=1000),
        Workload(f"exact {million:,} x 128, batch 100", "brute", million, "int8", queries=200, batch=100),
        Workload(f"exact {million:,} x 128, single query", "brute", million, "int8", queries=20),
        Workload(f"exact {million:,} x 128, single query, fp32", "brute", million, "fp32", queries=20),
        Workload(f"graph {smaller:,} x 128, add", "hnsw", smaller, rounds=3),
        *(Workload(f"graph {smaller:,} x 128, {name}, recall {recall}", "hnsw", smaller, queries=1000, batch=batch,
                   recall=recall, rounds=15)
          for recall in ("0.9", "0.95", "0.99") for name, batch in (("single query", 1), ("batch 1000", 1000))),
    ]


@dataclass
class Result:
    name: str
    ratios: list[float]
    found: str  # recall of both builds, or whether the ids are equal

    @property
    def median(self) -> float:
        return statistics.median(self.ratios)


class Build:
    """One build's exact_bench with one index at a time."""

    def __init__(self, label: str, program: str, corpus: Path, queries: Path, rows: int):
        self.process = Contestant(label, [program], {})
        self.process.ask("threads", count=1)
        self.process.ask("corpus", file=corpus, dim=128, rows=rows)
        self.process.ask("queries", file=queries, rows=QUERIES)
        self.index: tuple | None = None

    def add(self, load: Workload) -> float:
        words = {"precision": load.precision} if load.precision else {}
        self.index = (load.kind, load.rows, load.precision)
        return self.process.ask("add", kind=load.kind, rows=load.rows, **words)["processor_ms"]

    def search(self, load: Workload, ids: Path) -> float:
        if self.index != (load.kind, load.rows, load.precision):
            self.add(load)
        words = {"recall": load.recall} if load.recall else {}
        reply = self.process.ask("search", queries=load.queries, batch=load.batch, k=K, ids=ids, **words)
        return reply["processor_ms"]

    def ids(self, load: Workload, file: Path) -> numpy.ndarray:
        self.search(load, file)
        return numpy.fromfile(file, numpy.uint64).reshape(load.queries, -1)


def recall(found: numpy.ndarray, truth: numpy.ndarray) -> float:
    return float((found[:, :, None] == truth[:, None, :]).any(axis=1).mean())


def compare(load: Workload, builds: list[Build], truth: numpy.ndarray | None, scratch: Path) -> Result:
    found = ""
    if load.queries:
        ids = [build.ids(load, scratch) for build in builds]
        found = "recall " + " and ".join(f"{recall(one, truth):.4f}" for one in ids) if load.recall else \
            ("equal ids" if (ids[0] == ids[1]).all() else "DIFFERENT IDS")
    ratios = []
    for number in range(load.rounds):
        order = builds if number % 2 == 0 else builds[::-1]
        times = {build: build.search(load, scratch) if load.queries else build.add(load) for build in order}
        ratios.append(times[builds[0]] / times[builds[1]])
    return Result(load.name, ratios, found)


def measure(baseline: str, program: str, million: int, smaller: int, only: list[str]) -> list[Result]:
    data = made(ROOT / "build" / "bench-data", million, 128)
    builds = [Build("baseline", baseline, data.corpus_file, data.queries_file, million),
              Build("new", program, data.corpus_file, data.queries_file, million)]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "ids"
        exact = Workload("ground truth", "brute", smaller, "int8", queries=QUERIES, batch=QUERIES)
        truth = None
        for load in workloads(million, smaller):
            if only and not any(word in load.name for word in only):
                continue
            if load.recall and truth is None:
                truth = builds[0].ids(exact, scratch)
            print(f"bench: {load.name}", file=sys.stderr, flush=True)
            results.append(compare(load, builds, truth, scratch))
            one = results[-1]
            print(f"{one.name:48} {one.median:6.3f}  ({min(one.ratios):.3f} to {max(one.ratios):.3f})  {one.found}",
                  flush=True)
    for build in builds:
        build.process.close()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench versions", description=__doc__.splitlines()[0])
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("baseline", help="exact_bench of the other build")
    parser.add_argument("--only", nargs="+", default=[], help="workloads whose name contains one of these words")
    parser.add_argument("--rows", type=int, default=1_000_000, help="instead of 1,000,000; the graph has a tenth")
    arguments = parser.parse_args()
    results = measure(arguments.baseline, arguments.program, arguments.rows, arguments.rows // 10, arguments.only)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"commit": seed.head(ROOT), "results": [asdict(one) for one in results]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
