"""`./dev bench ann`: the graph index beside its peers at equal recall, measured in turns.

Times are processor time of one thread. Each contestant is swept over its own knob (ours: the recall asked for) on
queries that nothing was tuned with; the time at a recall is interpolated between two settings, and a ratio is that of one
round, so both sides saw the same machine."""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

from tools.bench import exact_data
from tools.bench.ann_peer import LIBRARIES
from tools.bench.exact_truth import K

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "soak"
RECALLS = (0.90, 0.95, 0.99)
ASKED = (0.80, 0.85, 0.88, 0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995)
TUNING = 500  # queries that are for trying things out; the others are reported
GRAPHS = ("hnswlib", "faiss hnsw", "usearch", "svs lvq8", "svs lvq4x8")


class Set:
    """Vectors, queries and their true neighbours, under build/bench-data."""

    def __init__(self, name: str, folder: Path):
        self.name = name
        if name == "embeddings":
            self.corpus_file = next(iter(sorted(folder.glob("corpus-embeddings-*.f32"))), None)
            if self.corpus_file is None:
                raise SystemExit("bench: no embeddings; run bench/ann once without --only")
            self.rows, self.dim = (int(part) for part in self.corpus_file.stem.rpartition("-")[2].split("x"))
            self.queries_file = folder / f"queries-embeddings-{exact_data.QUERIES}x{self.dim}.f32"
        else:
            self.rows, self.dim = {"hard-100k": 100_000, "hard-1m": 1_000_000}[name], 128
            data = exact_data.made(folder, 1_000_000, self.dim)  # a smaller set is the start of a larger one
            self.corpus_file, self.queries_file = data.corpus_file, data.queries_file
        self.truth = self._truth(folder / f"truth-{name}-{self.rows}x{self.dim}-k{K}.npy")

    def _truth(self, kept: Path) -> numpy.ndarray:
        if not kept.is_file():
            import faiss
            corpus = numpy.fromfile(self.corpus_file, numpy.float32, self.rows * self.dim).reshape(-1, self.dim)
            index = faiss.IndexFlatL2(self.dim)
            index.add(corpus)
            queries = numpy.fromfile(self.queries_file, numpy.float32).reshape(-1, self.dim)
            numpy.save(kept, index.search(queries, K)[1].astype(numpy.uint64))
        return numpy.load(kept)[TUNING:]


class Contestant:
    def __init__(self, name: str, command: list[str]):
        self.name = name
        single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **single}, cwd=ROOT)

    def ask(self, command: str, **words: object) -> dict:
        self.process.stdin.write("\t".join([command, *(f"{key}={value}" for key, value in words.items())]) + "\n")
        self.process.stdin.flush()
        while True:  # libraries may print lines of their own
            line = self.process.stdout.readline()
            if not line:
                return {"error": f"ended with {self.process.wait()}"}
            if line.startswith("{"):
                return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Peer(Contestant):
    def __init__(self, name: str, threads: int, scratch: Path):
        super().__init__(name, [sys.executable, "-m", "tools.bench.ann_peer", name,
                                str(scratch / name.replace(" ", "-")), str(threads)])
        self.settings: list = []

    def prepare(self, data: Set) -> dict:
        reply = self.ask("corpus", file=data.corpus_file, dim=data.dim, rows=data.rows)
        self.settings = reply.get("settings", [])
        self.ask("queries", file=data.queries_file, rows=exact_data.QUERIES)
        return self.ask("add")

    def search(self, setting, ids: Path) -> dict:
        return self.ask("search", setting=setting, k=K, first=TUNING, ids=ids)


class Ours(Contestant):
    def __init__(self, threads: int):
        super().__init__("vectis", [str(ROOT / "build" / "release" / "bin" / "exact_bench")])
        self.settings = list(ASKED)
        self.ask("threads", count=threads)

    def prepare(self, data: Set) -> dict:
        self.ask("corpus", file=data.corpus_file, dim=data.dim, rows=data.rows)
        self.ask("queries", file=data.queries_file, rows=exact_data.QUERIES)
        return self.ask("add", kind="hnsw")

    def search(self, setting, ids: Path) -> dict:
        return self.ask("search", recall=setting, k=K, first=TUNING, ids=ids)


def recall_of(ids: Path, truth: numpy.ndarray) -> float:
    found = numpy.fromfile(ids, numpy.uint64).reshape(len(truth), K)
    return float(numpy.mean([len(numpy.intersect1d(a, b)) / K for a, b in zip(found, truth, strict=True)]))


def time_at(points: list[tuple[float, float]], recall: float) -> float | None:
    """The least processor time at which a sweep of (recall, milliseconds) reaches a recall."""
    best = None
    ordered = sorted(points)
    for (low, slow), (high, fast) in zip(ordered, ordered[1:], strict=False):
        if low < recall <= high:
            part = (recall - low) / (high - low)
            best = math.exp(math.log(slow) * (1 - part) + math.log(fast) * part)
            break
    reached = [time for found, time in points if found >= recall]
    if best is None:
        return min(reached, default=None)
    return min([best, *reached])


def interval(ratios: list[float]) -> dict:
    """The median, and what 95 % of medians of resampled rounds lie between."""
    random = numpy.random.default_rng(1)
    medians = numpy.median(random.choice(ratios, (2000, len(ratios))), axis=1)
    return {"median": statistics.median(ratios), "low": float(numpy.percentile(medians, 2.5)),
            "high": float(numpy.percentile(medians, 97.5))}


def measure(data: Set, names: list[str], rounds: int) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        contestants: list = []
        builds = {}
        for name in ["vectis", *names]:
            one = Ours(1) if name == "vectis" else Peer(name, 1, scratch)
            reply = one.prepare(data)
            if "error" in reply:
                print(f"bench: {name} is left out: {reply['error']}", file=sys.stderr, flush=True)
                continue
            print(f"bench: {data.name}: {name} built in {reply['processor_ms'] / 1e3:.1f} s of processor time",
                  file=sys.stderr, flush=True)
            builds[name] = reply
            contestants.append(one)
        sweeps: dict[str, list[list[tuple[float, float]]]] = {one.name: [] for one in contestants}
        for number in range(rounds):
            for one in contestants:
                points = []
                for setting in one.settings:
                    ids = scratch / "ids"
                    reply = one.search(setting, ids)
                    if "error" in reply:
                        raise SystemExit(f"bench: {one.name} at {setting}: {reply['error']}")
                    points.append((recall_of(ids, data.truth), reply["processor_ms"]))
                    if points[-1][0] > 0.9985:
                        break
                sweeps[one.name].append(points)
            print(f"bench: {data.name}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for one in contestants:
            one.close()
    return report(data, builds, sweeps)


def report(data: Set, builds: dict, sweeps: dict) -> dict:
    asked = len(data.truth)
    result = {"set": data.name, "rows": data.rows, "dim": data.dim, "builds": builds, "contestants": {}, "ratios": {},
              "sweeps": {name: rounds[0] for name, rounds in sweeps.items()}}
    for name, rounds in sweeps.items():
        rates = {}
        for recall in RECALLS:
            times = [time for time in (time_at(points, recall) for points in rounds) if time]
            rates[str(recall)] = asked / statistics.median(times) * 1e3 if times else None
        result["contestants"][name] = rates
    for name in sweeps:
        if name == "vectis":
            continue
        for recall in RECALLS:
            ratios = [theirs / ours for theirs, ours in
                      ((time_at(sweeps[name][i], recall), time_at(sweeps["vectis"][i], recall))
                       for i in range(len(sweeps[name]))) if theirs and ours]
            if ratios:
                result["ratios"].setdefault(name, {})[str(recall)] = interval(ratios)
    result["asked"] = {str(asked): points[0] for asked, points in zip(ASKED, sweeps["vectis"][0], strict=False)}
    return result


def text_of(result: dict) -> str:
    lines = [f"{result['set']}: {result['rows']:,} x {result['dim']}, queries a second of processor time, one thread",
             f"{'':16} {'at .90':>9} {'at .95':>9} {'at .99':>9} {'build s':>9}   ours over it at .95 and .99 (95 %)"]
    for name, rates in result["contestants"].items():
        cells = " ".join(f"{rate:9,.0f}" if rate else f"{'-':>9}" for rate in rates.values())
        ratios = [result["ratios"].get(name, {}).get(recall) for recall in ("0.95", "0.99")]
        words = ", ".join(f"{one['median']:.2f} ({one['low']:.2f} to {one['high']:.2f})" for one in ratios if one)
        lines.append(f"{name:16} {cells} {result['builds'][name]['processor_ms'] / 1e3:9.1f}   {words}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench ann", description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", choices=["hard-100k", "hard-1m", "embeddings"])
    parser.add_argument("--peer", action="append", choices=list(LIBRARIES))
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in arguments.set or ["hard-100k", "hard-1m", "embeddings"]:
        result = measure(Set(name, ROOT / "build" / "bench-data"), arguments.peer or list(LIBRARIES), arguments.rounds)
        (KEPT / f"ann-{name}.json").write_text(json.dumps(result, indent=1))
        print(text_of(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
