"""`./dev soak memory`: the promises of the memory pool at full count, written to docs/evidence/memory.json."""

import json
import re
import sys
from pathlib import Path

from tools import suite
from tools.evidence import Figure, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / "build" / "release" / "bin"
OPERATIONS = 10_000_000


def test(pattern: str, env: dict[str, str] | None = None) -> str:
    suite.build("release")
    return output_of(BIN / "memory_pool_test", f"--gtest_filter={pattern}", root=ROOT, env=env)


def random_use() -> list[Figure]:
    text = test("PoolConcurrent.RandomUse*", {"VECTIS_SOAK_OPERATIONS": str(OPERATIONS)})
    done, overlaps, over, pressures = (int(number) for number in re.search(
        r"(\d+) operations: (\d+) overlaps, (\d+) over the limit, (\d+) bad pressures", text).groups())
    leaks = 0 if "[  PASSED  ] 1 test" in text else 1
    return [Figure.measured("random acquire/release, 8 threads, 4 streams", done, "operations", f">= {OPERATIONS}"),
            Figure.measured("overlaps of live buffers", overlaps, "overlaps", "== 0"),
            Figure.measured("limit exceeded", over, "times", "== 0"),
            Figure.measured("pressure outside 0..1", pressures, "times", "== 0"),
            Figure.measured("bytes left after cleanup or live at the end", leaks, "leaks", "== 0")]


def repeating() -> list[Figure]:
    text = test("*ARepeatingWorkload*")
    counts = [int(number) for number in re.findall(r"(\d+) device allocations after warm-up", text)]
    return [Figure.measured("device allocations of a repeating workload after warm-up, worst of "
                            f"{len(counts)} devices", max(counts), "allocations", "== 0")]


def idle() -> list[Figure]:
    cached, peak = (int(number) for number in re.search(
        r"cached after the trim time: (\d+) of a peak of (\d+)", test("IdleTrim.*")).groups())
    return [Figure.measured("cached bytes after the trim time", round(100 * cached / peak, 2), "% of the peak", "< 5")]


def bad_requests() -> list[Figure]:
    text = test("*BadRequests*:*TheOldWay*:*MovedAndReleased*:*OneByteOver*")
    passed = int(re.search(r"\[  PASSED  \] (\d+) test", text).group(1))
    failed = len(re.findall(r"\[  FAILED  \] \S+ \(", text))
    return [Figure.measured("suites of bad requests with the right typed error", passed, "cases", ">= 1"),
            Figure.measured("suites of bad requests that failed", failed, "cases", "== 0")]


def fast_path() -> list[Figure]:
    suite.build("release")
    report = json.loads(output_of(BIN / "pool_bench", root=ROOT))
    return [Figure.measured("acquire + release from cache, one thread, worst size", round(report["worst_mutex_pairs"], 1),
                            "mutex lock/unlock pairs", "<= 20"),
            Figure.measured("eight threads against one mutex around the same pool",
                            round(report["eight_threads_ratio"], 2), "times the throughput", ">= 3")]


def replays() -> list[Figure]:
    suite.build("release")
    figures = []
    for log in sorted((ROOT / "bench" / "memory-logs").glob("*.log")):
        report = json.loads(output_of(BIN / "vectis", "bench", "replay", log, "--device", "null", "--json", root=ROOT,
                                      env={"VECTIS_BACKEND_PATH": str(ROOT / "build/release/lib/vectis/test-backends")}))
        pool = next(result for result in report["results"] if result["allocator"] == "pool")
        waste, ratio = pool["waste_max"], pool["peak_of_best_fit"]
        figures += [Figure.measured(f"waste on {log.stem}", round(100 * waste, 2), "%", "<= 12"),
                    Figure.measured(f"peak on {log.stem}", round(ratio, 3), "times best fit's", "<= 1.1")]
    return figures


MEASUREMENTS = {"fast path": fast_path, "replays": replays, "random use": random_use, "repeating": repeating,
                "idle": idle, "bad requests": bad_requests}


if __name__ == "__main__":
    sys.exit(run_soak("memory", ROOT, MEASUREMENTS))
