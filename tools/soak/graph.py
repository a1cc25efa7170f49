"""`./dev soak graph`: the promises of the graph index and the VectorStore at full count, written to docs/evidence/graph.json.

Tables of the bench want a machine with nothing else to do. Each is kept as soon as it is done, and a table that was
stopped goes on where it was. At the end docs/ann-bench.md and its pictures are written."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

from tools import suite
from tools.evidence import Figure, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SETS = ("hard-100k", "embeddings", "hard-1m")
LARGEST = "hard-1m"
SMALLER = ("filters", "streaming")  # tables of the other sets alone
OURS = "vectis"
ROUNDS = 2000  # of random sequences of changes, for each kind of index


def table(name: str, of: str) -> dict:
    """Runs the benchmark, resuming where it was stopped, and prints its progress."""
    bench("--set", of, "--table", name)
    return kept(name, of)


def bench(*words: str) -> None:
    done = subprocess.run([str(ROOT / "bench" / "ann"), *words], cwd=ROOT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"soak: bench/ann {' '.join(words)} ended with {done.returncode}")


def kept(name: str, of: str) -> dict:
    return json.loads((BUILD / "soak" / f"ann-{name}-{of}.json").read_text())["table"]


def _of_pair(ratio: dict) -> str:
    return f"95 % from {ratio['low']:.3g} to {ratio['high']:.3g}"


def curves(of: str) -> list[Figure]:
    found = table("curves", of)
    figures = []
    for recall in ("0.95", "0.99"):
        rate = found["contestants"][OURS]["rates"][recall] or 0
        best = found["best"][recall]
        ratio = found["ratios"][best][recall] or {"median": 0, "low": 0, "high": 0}
        usual = found["ratios"]["hnswlib"][recall] or {"median": 0, "low": 0, "high": 0}
        figures += [
            Figure.measured(f"{of}, recall {recall}: queries/s of one thread", round(rate), "queries/s", ">= 0"),
            Figure.measured(f"{of}, recall {recall}: least of the 95 % interval, median {ratio['median']:.3g}",
                            round(ratio["low"], 3), f"times {best}", ">= 1"),
            Figure.measured(f"{of}, recall {recall}: median, {_of_pair(usual)}", round(usual["median"], 3),
                            "times hnswlib", ">= 2")]
    return figures


def mean() -> list[Figure]:
    """Over the sets and both recalls, of the ratio to the best graph peer of each."""
    ratios = []
    for of in SETS:
        found = kept("curves", of)
        ratios += [found["ratios"][found["best"][recall]][recall]["median"] for recall in ("0.95", "0.99")]
    return [Figure.measured("geometric mean of the ratios to the best graph peer at .95 and .99",
                            round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3), "times", ">= 1.2")]


def builds(of: str) -> list[Figure]:
    found = table("builds", of)
    figures = []
    for clock, words in (("ms", "time"), ("processor_ms", "processor time")):
        ratio = found["ratios"][clock]
        figures.append(Figure.measured(f"{of}: building with two threads, {words}, {_of_pair(ratio)}",
                                       round(ratio["median"], 3), "times the fastest peer", ">= 1.5"))
    for recall in ("0.95", "0.99"):
        rates = {name: one["rates"][recall] or 0 for name, one in found["contestants"].items()}
        mine = rates.pop(OURS)
        figures.append(Figure.measured(f"{of}: what these builds are worth, queries/s at recall {recall}",
                                       round(mine / max(*rates.values(), 1), 3), "times the best of them", ">= 1"))
    return figures


def memory(of: str) -> list[Figure]:
    found = table("memory", of)
    mine, theirs = found[OURS], found["hnswlib"]
    return [Figure.measured(f"{of}: bytes of links, {mine['links']:.1f} beside {theirs['links']:.1f}",
                            round(mine["links"] / theirs["links"], 3), "times hnswlib's", "<= 0.7"),
            Figure.measured(f"{of}: bytes of codes", mine.get("codes", 0), "bytes", ">= 0"),
            Figure.measured(f"{of}: bytes in total, hnswlib {theirs['total']:.1f}", round(mine["total"], 1), "bytes",
                            ">= 0")]


def asked(of: str) -> list[Figure]:
    figures = []
    for recall, one in table("asked", of)["asked"].items():
        figures += [Figure.measured(f"{of}: found when {recall} is asked for", round(one["recall"], 4), "recall",
                                    f">= {float(recall) - 0.01:g}"),
                    Figure.measured(f"{of}: cost of {recall} asked for", round(one["cost"] or 0, 3),
                                    "times the best fixed setting", "<= 1.2")]
    return figures


def filters(of: str) -> list[Figure]:
    figures = []
    for name, one in table("filters", of).items():
        ratio = one["ratio"]
        figures += [Figure.measured(f"{of}: filter {name} pass, {_of_pair(ratio)}", round(ratio["median"], 3),
                                    f"times {one['better']}", "<= 1"),
                    Figure.measured(f"{of}: filter {name} pass, 0.95 asked for", round(one["graph"]["recall"], 4),
                                    "recall", ">= 0.95")]
    return figures


def streaming(of: str) -> list[Figure]:
    found = table("streaming", of)
    mine, theirs = found[OURS], found["hnswlib"]
    return [Figure.measured(f"{of}: recall lost to a fresh build at equal work, after ten rounds",
                            round(100 * mine["losses"][-1], 2), "points", "<= 0.5"),
            Figure.measured(f"{of}: recall lost to fresh builds at equal work, mean of {len(mine['losses'])} rounds",
                            round(100 * sum(mine["losses"]) / len(mine["losses"]), 2), "points", "<= 0.5"),
            Figure.measured(f"{of}: recall lost to fresh builds at equal work, most of these rounds",
                            round(100 * mine["lost"], 2), "points", "<= 0.5"),
            Figure.measured(f"{of}: least recall of ten rounds, 0.95 asked for", round(mine["least"], 4), "recall",
                            ">= 0.94"),
            Figure.measured(f"{of}: memory after ten rounds, counted", round(mine["bytes"], 3), "times a fresh build's",
                            "<= 1.1"),
            Figure.measured(f"{of}: memory after ten rounds, resident; hnswlib {theirs['resident']:.3f}",
                            round(mine["resident"], 3), "times a fresh build's", "<= 1.1"),
            Figure.measured(f"{of}: recall hnswlib lost to a fresh build", round(100 * theirs["lost"], 2), "points",
                            "<= 100")]


def _passed(text: str) -> int:
    found = re.search(r"\[  PASSED  \] (\d+) test", text)
    return int(found.group(1)) if found else 0


def store_threads() -> list[Figure]:
    """64 threads for each kind of index, and on a device whose calls fail."""
    suite.build("tsan", "store_test", "store_devices_test")
    text = output_of(BUILD / "tsan" / "bin" / "store_test", "--gtest_filter=*StoreConcurrent*", root=ROOT,
                     env=suite.sanitizer_environment())
    text += output_of(BUILD / "tsan" / "bin" / "store_devices_test", "--gtest_filter=StoreDevicesConcurrent.*",
                      root=ROOT, env=suite.sanitizer_environment())
    passed = len(re.findall(r"\[       OK \]", text)) - len(re.findall(r"\[  SKIPPED \] .* \(", text))
    return [Figure.measured("cases of 64 threads of mixed work under ThreadSanitizer", passed, "cases", ">= 3"),
            Figure.measured("reports of ThreadSanitizer", text.count("WARNING: ThreadSanitizer"), "reports", "== 0")]


def store_faults() -> list[Figure]:
    suite.build("release", "store_devices_test")
    text = output_of(BUILD / "release" / "bin" / "store_devices_test", "--gtest_filter=StoreFaults.*", root=ROOT)
    failures = sum(map(int, re.findall(r"^\w+: (\d+) failures of the device", text, re.MULTILINE)))
    lost = re.search(r"^(\d+) calls at which the device was lost", text, re.MULTILINE)
    return [Figure.measured("failures of the device after which the store agrees with its model", failures, "failures",
                            ">= 400"),
            Figure.measured("calls at which the device was lost and no vector with it", int(lost.group(1)), "calls",
                            ">= 50"),
            Figure.measured("suites of failures that passed", _passed(text), "suites", ">= 2")]


def conformance() -> list[Figure]:
    """Every kind of index against one suite, with more random sequences than in CI."""
    suite.build("release", "indexes_test")
    text = output_of(BUILD / "release" / "bin" / "indexes_test", "--gtest_filter=-*Concurrent*", root=ROOT,
                     env={"VECTIS_TEST_ROUNDS": str(ROUNDS)})
    kinds = re.findall(r"^(\w+): (\d+) random sequences", text, re.MULTILINE)
    return [Figure.measured(f"random sequences of changes and searches with a model's answers: {kind}", int(count),
                            "sequences", f">= {ROUNDS}") for kind, count in kinds] + \
        [Figure.measured("kinds of index in one suite", len(kinds), "kinds", ">= 3"),
         Figure.measured("cases of the suite that passed", _passed(text), "cases", ">= 30")]


def index_threads() -> list[Figure]:
    suite.build("tsan", "indexes_test")
    text = output_of(BUILD / "tsan" / "bin" / "indexes_test", "--gtest_filter=*Concurrent*", root=ROOT,
                     env=suite.sanitizer_environment())
    return [Figure.measured("cases of readers beside writers under ThreadSanitizer", _passed(text), "cases", ">= 6"),
            Figure.measured("reports about indexes of ThreadSanitizer", text.count("WARNING: ThreadSanitizer"),
                            "reports", "== 0")]


def page() -> list[Figure]:
    bench("--page")
    pictures = [of for of in SETS if (ROOT / "docs" / f"ann-{of}.svg").is_file()]
    return [Figure.measured("data sets with a table and a picture in docs/ann-bench.md", len(pictures), "sets", ">= 3")]


TABLES = {"builds": builds, "memory": memory, "curves": curves, "asked": asked, "filters": filters,
          "streaming": streaming}
MEASUREMENTS = {"store, threads": store_threads, "store, failures": store_faults, "conformance": conformance,
                "indexes, threads": index_threads}
MEASUREMENTS |= {f"{name} {of}": (lambda measure=measure, of=of: measure(of))
                 for of in SETS for name, measure in TABLES.items() if name not in SMALLER or of != LARGEST}
MEASUREMENTS |= {"geometric mean": mean, "page": page}


if __name__ == "__main__":
    sys.exit(run_soak("graph", ROOT, MEASUREMENTS))
