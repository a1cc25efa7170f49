"""`./dev soak ground`: the foundations (coverage, faults, threads, file sizes, a bare machine) at full count, written to docs/evidence/ground.json."""

import re
import sys
from pathlib import Path

from tools import coverage, suite
from tools.check import cycles, sizes
from tools.check.tree import Tree
from tools.evidence import Figure, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SOAK_SECONDS = 60


def line_coverage() -> list[Figure]:
    suite.build("coverage")
    for stale in (BUILD / "coverage").rglob("*.gcda"):
        stale.unlink()
    suite.run(*suite.CTEST, "--test-dir", BUILD / "coverage")
    layers = coverage.measure(ROOT, BUILD / "coverage")
    (ROOT / "docs" / "coverage.md").write_text(coverage.page(layers))
    return [Figure.measured(f"line coverage of {name}", round(lines.percent, 1), "%", f">= {coverage.AIM:g}")
            for name, lines in layers.items()]


def faults() -> list[Figure]:
    suite.build("asan", "opencl_fault_test")
    text = output_of(BUILD / "asan" / "bin" / "opencl_fault_test",
                     root=ROOT, env=suite.sanitizer_environment())
    match = re.search(r"(\d+) fault points over (\d+) slots", text)
    if not match:
        raise SystemExit("soak: opencl_fault_test printed no line 'N fault points over M slots'")
    return [Figure.measured("OpenCL slots whose failure was tried", int(match.group(2)), "slots", ">= 1"),
            Figure.measured("fault points that gave a typed error", int(match.group(1)), "points", ">= 1")]


def eight_threads() -> list[Figure]:
    suite.build("tsan", "devices_test")
    environment = {**suite.sanitizer_environment(), "VECTIS_SOAK_SECONDS": str(SOAK_SECONDS)}
    text = output_of(BUILD / "tsan" / "bin" / "devices_test", "--gtest_filter=*EightThreads*", root=ROOT,
                     env=environment)
    if not re.search(r"\[  PASSED  \] [1-9]", text):
        raise SystemExit("soak: devices_test has no test named *EightThreads*")
    reports = text.count("WARNING: ThreadSanitizer")
    return [Figure.measured("eight threads on four devices under tsan", SOAK_SECONDS, "s", f">= {SOAK_SECONDS}"),
            Figure.measured("reports of ThreadSanitizer", reports, "reports", "== 0")]


def shape() -> list[Figure]:
    tree = Tree(ROOT)
    counts = sizes.line_counts(tree).values()
    found = cycles.find_cycles(cycles.folder_edges(tree))
    return [Figure.measured("longest file", max(counts), "lines", f"<= {sizes.LIMIT}"),
            Figure.measured(f"files over {sizes.LIMIT} lines", sum(n > sizes.LIMIT for n in counts), "files", "== 0"),
            Figure.measured(f"files over {sizes.MANY} lines", sum(n > sizes.MANY for n in counts), "files", "<= 5"),
            Figure.measured("cycles between folders", len(found), "cycles", "== 0")]


def planted() -> list[Figure]:
    text = output_of(BUILD / "venv" / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                     "tests/tools/test_check.py", root=ROOT)
    caught, tried = (int(number) for number in re.search(r"(\d+) of (\d+) planted", text).groups())
    return [Figure.measured("planted violations caught", caught, f"of {tried}", f"== {tried}")]


def bare_machine() -> list[Figure]:
    text = suite.run("bash", "tools/soak/bare.sh", tail=1)
    seconds = int(re.search(r"took (\d+) seconds", text).group(1))
    return [Figure.measured(".ci/run on a bare machine", round(seconds / 60, 1), "minutes", "< 15")]


MEASUREMENTS = {"shape": shape, "planted": planted, "coverage": line_coverage, "faults": faults,
                "threads": eight_threads, "bare": bare_machine}


if __name__ == "__main__":
    sys.exit(run_soak("ground", ROOT, MEASUREMENTS))
