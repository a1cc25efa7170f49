"""`./dev soak ground`: what the ground promises, at full count, into docs/evidence/ground.json."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from tools import coverage, suite
from tools.check import cycles, sizes
from tools.check.tree import Tree
from tools.evidence import Figure, Soak, print_figures

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SOAK_SECONDS = 60


def output_of(*command: object, env: dict[str, str] | None = None) -> str:
    """Runs a command, shows what it printed, and returns it."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"soak: {' '.join(words)} ended with {done.returncode}")
    return done.stdout


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
    suite.build("asan")
    text = output_of(BUILD / "asan" / "bin" / "opencl_fault_test",
                     env=suite.sanitizer_environment())
    match = re.search(r"(\d+) fault points over (\d+) slots", text)
    if not match:
        raise SystemExit("soak: opencl_fault_test printed no line 'N fault points over M slots'")
    return [Figure.measured("OpenCL slots whose failure was tried", int(match.group(2)), "slots", ">= 1"),
            Figure.measured("fault points that gave a typed error", int(match.group(1)), "points", ">= 1")]


def eight_threads() -> list[Figure]:
    suite.build("tsan")
    environment = {**suite.sanitizer_environment(), "VECTIS_SOAK_SECONDS": str(SOAK_SECONDS)}
    text = output_of(BUILD / "tsan" / "bin" / "devices_test", "--gtest_filter=*EightThreads*", env=environment)
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
                     "tests/tools/test_check.py")
    caught, tried = (int(number) for number in re.search(r"(\d+) of (\d+) planted", text).groups())
    return [Figure.measured("planted violations caught", caught, f"of {tried}", f"== {tried}")]


def bare_machine() -> list[Figure]:
    text = suite.run("bash", "tools/soak/bare.sh", tail=1)
    seconds = int(re.search(r"took (\d+) seconds", text).group(1))
    return [Figure.measured(".ci/run on a bare machine", round(seconds / 60, 1), "minutes", "< 15")]


MEASUREMENTS = {"shape": shape, "planted": planted, "coverage": line_coverage, "faults": faults,
                "threads": eight_threads, "bare": bare_machine}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev soak ground")
    parser.add_argument("--fresh", action="store_true", help="measure anew what this commit has already measured")
    soak = Soak("ground", ROOT, parser.parse_args().fresh)
    figures = soak.run(MEASUREMENTS)
    print_figures(figures)
    print(f"soak: wrote {soak.write(figures).relative_to(ROOT)}")
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
