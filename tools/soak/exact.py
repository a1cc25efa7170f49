"""`./dev soak exact`: the promises of exact search and the planner at full count, written to docs/evidence/exact.json.

Benchmark rows need an idle machine. Each result is cached as soon as it is measured."""

import json
import re
import sys
from pathlib import Path

from tools import suite
from tools.bench.exact_rows import ROWS, Row
from tools.evidence import Figure, output_of, run_soak
from tools.loader_fuzzing import fuzz

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PROBLEMS = 10_000  # on PoCL
WORLDS = 300  # of modeled devices
POCL = {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd", "POCL_CACHE_DIR": str(BUILD / "pocl-cache")}


def bench(row: Row) -> list[Figure]:
    output_of(ROOT / "bench" / "exact", "--only", row.key, root=ROOT)
    report = json.loads((BUILD / "soak" / "exact-bench.json").read_text())[row.key]
    aims, mine = dict(row.aims), report["contestants"]["vectis"]
    figures = []
    for rival, ratio in report["ratios"].items():
        name = report["best_peer"] if rival == "best peer" else rival
        figures.append(Figure.measured(f"{row.title}, 95 % from {ratio['low']:.3g} to {ratio['high']:.3g}",
                                       round(ratio["median"], 2), f"times {name}", f">= {aims.get(rival, 0):g}"))
    if "yardstick" in report:
        stick = report["yardstick"]
        figures.append(Figure.measured(f"{row.title}, limit {stick['limit']:.4g} {stick['unit']}",
                                       round(stick["percent"], 1), f"% of {stick['name']}",
                                       f">= {aims.get(stick['name'], 0):g}"))
    if "differences" in mine:
        figures.append(Figure.measured(f"{row.title}, ids other than fp64 brute force's, of {row.queries * 10}",
                                       mine["differences"], "ids", "== 0"))
    if "first_search" in report:
        extra = report["first_search"]["percent_of_add"]["median"]
        figures.append(Figure.measured("what the first query after adding takes longer than later ones",
                                       round(extra, 2), "% of adding", "<= 5"))
    return figures


def problems() -> list[Figure]:
    """The fused kernel on PoCL: the ids of brute force, as the CPU finds them, and int8 scores to the last bit."""
    suite.build("release")
    program = BUILD / "release" / "bin" / "exact_devices_test"
    text = output_of(program, "--gtest_filter=*RandomProblemsHaveTheirTruth:*ScoresOfInt8AreTheHostsToTheLastBit",
                     root=ROOT, env={"VECTIS_TEST_PROBLEMS": str(PROBLEMS)})
    tried = re.search(r"^(\d+) random problems on opencl", text, re.MULTILINE)
    passed = re.search(r"\[  PASSED  \] 2 tests", text)
    count = int(tried.group(1)) if tried and passed else 0
    return [Figure.measured("random problems on PoCL with the CPU's ids", count, "problems", f">= {PROBLEMS}"),
            Figure.measured("suites of int8 scores on PoCL that differ in a bit", 0 if passed else 1, "suites", "== 0")]


def modeled() -> list[Figure]:
    """Simulated devices with known cost laws, with a seed that was not used for tuning."""
    suite.build("release")
    text = output_of(BUILD / "release" / "bin" / "plan_test", "--gtest_filter=Regret.OfSimulatedDevicesIsSmall",
                     root=ROOT, env={"VECTIS_PLAN_WORLDS": str(WORLDS), "VECTIS_TEST_SEED": "1001"})
    return regret(text, "modeled devices")


def planner() -> list[Figure]:
    """Exact search on the CPU, on PoCL and on a modeled card."""
    suite.build("release")
    text = output_of(BUILD / "release" / "bin" / "planner_bench", root=ROOT,
                     env={**POCL, "VECTIS_BACKEND_PATH": str(BUILD / "release" / "lib" / "vectis" / "backends")})
    return regret(text, "cpu, PoCL and a modeled card")


def regret(text: str, where: str) -> list[Figure]:
    cells, crossovers = re.search(r"(\d+) cells, crossovers in (\d+) %", text).groups()
    line = r" +median +([\d.]+) %, 95th +([\d.]+) %, mean +([\d.]+) %"
    median, p95, mean = (float(number) for number in re.search(r"planner" + line, text).groups())
    constant = float(re.search(r"always .*?" + line, text).group(3))
    return [Figure.measured(f"planner on {where}: cells", int(cells), "cells", ">= 100"),
            Figure.measured(f"planner on {where}: cells with a crossover", int(crossovers), "%", ">= 30"),
            Figure.measured(f"planner on {where}: median regret", median, "%", "<= 5"),
            Figure.measured(f"planner on {where}: 95th percentile of regret", p95, "%", "<= 25"),
            Figure.measured(f"planner on {where}: mean regret", round(mean / constant, 3), "of the best constant policy's",
                            "<= 0.5")]


def readers_and_writer() -> list[Figure]:
    suite.build("tsan")
    text = output_of(BUILD / "tsan" / "bin" / "indexes_test", "--gtest_filter=*IndexesConcurrent.Readers*", root=ROOT,
                     env=suite.sanitizer_environment())
    passed = int(re.search(r"\[  PASSED  \] (\d+) test", text).group(1))
    return [Figure.measured("cases with 8 readers and a writer under ThreadSanitizer", passed, "cases", ">= 2"),
            Figure.measured("reports of ThreadSanitizer", text.count("WARNING: ThreadSanitizer"), "reports", "== 0")]


MEASUREMENTS = {row.key: (lambda row=row: bench(row)) for row in ROWS}
MEASUREMENTS |= {"problems on PoCL": problems, "planner on modeled devices": modeled,
                 "planner": planner, "readers and writer": readers_and_writer,
                 "loader": lambda: fuzz("load_index")}


if __name__ == "__main__":
    sys.exit(run_soak("exact", ROOT, MEASUREMENTS))
