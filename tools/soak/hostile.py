"""`./dev soak hostile`: hostile use of the public API at full count, written to docs/evidence/hostile.json.

Every cell takes about half an hour at most, and is cached as soon as it is done. A test that fails ends the soak."""

import re
import sys
from pathlib import Path

from tools import baseline, fix_mutants, suite
from tools.evidence import Figure, Measurement, output_of, run_soak
from tools.loader_fuzzing import READERS, fuzz

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
KINDS = ("flat", "gpu", "auto", "graph", "graph_on_device", "growing", "mapped")
DEVICES = ("cpu", "failing", "null")
BASELINE = "8927c23"  # the commit before the fixes
RUNS = 4000  # of pairs, for each kind of index; about 10 ms each
POOL_RUNS = 2000
SANITIZED_RUNS = 100
SCHEDULES = 20
SCHEDULED = ("base", "memory_pool", "indexes", "hostile")  # test programs of executor, pool and indexes
SEQUENCES = 30  # of changes, for each metric and mix of magnitudes
ORDERS = 1_000_000  # of destruction: all


def test(pattern: str, runs: int | None = None, preset: str = "release") -> str:
    suite.build(preset, "hostile_test")
    env = suite.sanitizer_environment() if preset != "release" else {}
    return output_of(BUILD / preset / "bin" / "hostile_test", f"--gtest_filter={pattern}", root=ROOT,
                     env=env | ({} if runs is None else {"VECTIS_TEST_RUNS": str(runs)}))


def counts(pattern: str, text: str) -> list[tuple[str, int]]:
    """Name and number of every line that matches `NAME: NUMBER pattern`."""
    return [(name, int(count)) for name, count in re.findall(rf"^(.+): (\d+) {pattern}", text, re.MULTILINE)]


def passed(text: str) -> int:
    return len(re.findall(r"^\[       OK \]", text, re.MULTILINE))


def pairs(kind: str) -> list[Figure]:
    text = test(f"*IndexPairsConcurrent.*/{kind}", RUNS)
    return [Figure.measured(f"pairs of operations of an index, {name}", count, "runs", f">= {RUNS}")
            for name, count in counts("runs of pairs", text)]


def pool_pairs(device: str) -> list[Figure]:
    text = test(f"*PoolPairsConcurrent.Hold*/{device}", POOL_RUNS)
    text += test(f"*PoolPairsConcurrent.NeverFail*/{device}", POOL_RUNS // 10)
    return [Figure.measured(f"pairs of operations of a {name}", count, "runs", f">= {POOL_RUNS}")
            for name, count in counts("runs of pairs", text)]


def sanitized_pairs() -> list[Figure]:
    text = test("*Concurrent*", SANITIZED_RUNS, "tsan")
    runs = sum(count for _, count in counts("runs of pairs", text))
    return [Figure.measured("runs of pairs under ThreadSanitizer", runs, "runs",
                            f">= {SANITIZED_RUNS * (len(KINDS) + len(DEVICES))}"),
            Figure.measured("reports of ThreadSanitizer", text.count("WARNING: ThreadSanitizer"), "reports", "== 0")]


def schedules() -> list[Figure]:
    """The concurrent tests with threads that pause at locks and atomic writes; see tests/support/schedule.cpp."""
    suite.build("tsan", *(f"{name}_test" for name in SCHEDULED))
    texts = [output_of(BUILD / "tsan" / "bin" / f"{name}_test", "--gtest_filter=*Concurrent*", root=ROOT,
                       env=suite.sanitizer_environment() | {"VECTIS_TEST_SCHEDULE": str(schedule)})
             for schedule in range(1, SCHEDULES + 1) for name in SCHEDULED]
    return [Figure.measured("schedules of the concurrent tests of executor, pool and indexes", SCHEDULES, "seeds",
                            f">= {SCHEDULES}"),
            Figure.measured("concurrent tests passed in them", sum(map(passed, texts)), "tests",
                            f">= {SCHEDULES * 60}"),
            Figure.measured("reports of ThreadSanitizer in them", sum(text.count("WARNING: ThreadSanitizer")
                                                                      for text in texts), "reports", "== 0")]


def speed() -> list[Figure]:
    return baseline.speed(BASELINE, "graph")


def magnitudes() -> list[Figure]:
    return [Figure.measured(f"sequences of changes over magnitudes from 1e-38 to 1e38, {name}", count, "sequences",
                            f">= {4 * 4 * SEQUENCES}")
            for name, count in counts("sequences over magnitudes", test("*Magnitudes*", SEQUENCES))]


def allocation_failures() -> list[Figure]:
    text = test("*AllocationFailures*", 1)
    return [Figure.measured(f"failed allocations of the host that changed nothing, {name}", count, "failures", ">= 100")
            for name, count in counts("failed allocations of the host", text)] + \
        [Figure.measured(f"failed calls of a device that changed nothing, {name}", count, "failures", ">= 0")
         for name, count in counts("failed calls of the device", text)]


def destruction_orders() -> list[Figure]:
    text = test("*DestructionOrder*", ORDERS)
    return [Figure.measured(f"orders of destruction of buffers, streams, events and pool, {name}", count, "orders",
                            ">= 10080") for name, count in counts("orders of buffers, streams", text)] + \
        [Figure.measured(f"orders of destruction of indexes, stores and buffers, {name}", count, "orders", ">= 720")
         for name, count in counts("orders of indexes", text)]


def ids() -> list[Figure]:
    text = test("*HostileIds*", 1)
    return [Figure.measured(f"{kind}: 100,000 chosen ids, worst family", float(worst), "times random ids", "<= 5")
            for kind, worst in re.findall(r"^(\w+): 100000 chosen ids take at most ([\d.e+-]+) times", text, re.MULTILINE)]


def settings() -> list[Figure]:
    text = test("HostileSettings*")
    tried = int(re.search(r"^(\d+) edge values of settings", text, re.MULTILINE).group(1))
    return [Figure.measured("edge values of settings, accepted or a typed error", tried, "values", ">= 500"),
            Figure.measured("suites of settings that passed", passed(text), "suites", ">= 4")]


def files() -> list[Figure]:
    """Every byte of every file takes every other value."""
    text = test("*Hostile*Files*", 255)
    return [Figure.measured(f"corruptions of a file, an Error or the same result: {name}", count, "files", ">= 1000")
            for name, count in counts("corruptions of", text)]


def reverted_fixes(layer: str) -> list[Figure]:
    verdicts = fix_mutants.run(layer=layer)
    return [Figure.measured(f"fixes whose tests fail without them, {layer}", sum(verdict.caught for verdict in verdicts),
                            "fixes", f"== {len(verdicts)}")]


MEASUREMENTS: dict[str, Measurement] = {f"pairs, {kind}": (lambda kind=kind: pairs(kind)) for kind in KINDS}
MEASUREMENTS |= {f"pairs, pool on {device}": (lambda device=device: pool_pairs(device)) for device in DEVICES}
MEASUREMENTS |= {"pairs, ThreadSanitizer": sanitized_pairs, "schedules": schedules, "speed": speed,
                 "magnitudes": magnitudes, "allocation failures": allocation_failures, "destruction": destruction_orders, "ids": ids,
                 "settings": settings, "files": files}
MEASUREMENTS |= {f"reverted fixes, {layer}": (lambda layer=layer: reverted_fixes(layer)) for layer in fix_mutants.layers()}
MEASUREMENTS |= {f"fuzz, {target}": (lambda target=target: fuzz(target)) for target in READERS}


if __name__ == "__main__":
    sys.exit(run_soak("hostile", ROOT, MEASUREMENTS))
