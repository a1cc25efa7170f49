"""`./dev soak language`: terms, file sizes, call depth, the cost of add() and the speed against a baseline, written to
docs/evidence/language.json.

The speed cell builds the baseline commit in build/baseline. Figures that people measure (reading tests, fixed stumbles,
duplicates) are read from docs/evidence/language-by-hand.json."""

import json
import os
import re
import sys
from pathlib import Path

from tools import baseline, suite
from tools.check import terms
from tools.check.tree import CODE_SUFFIXES, Tree
from tools.evidence import Figure, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
BASELINE = os.environ.get("BASELINE", "4fc9013")  # the commit before the renames
SHORT, LONG = 40, 600  # lines
RUNS = 3  # of the add benchmark; the best counts, since other load only adds time

# Test program and case, breakpoints (a CPU without VNNI runs scan_codes), how many hits of each to pass over, and the
# public function where the library begins.
TRACES = {
    "flat query": ("search_test", "MakeIndexTest.AutoFallsBackAndSaysWhy", ("scan_vnni", "scan_codes"), 0,
                   "Index::search"),
    "OpenCL launch": ("operations_test", "OperationsTest.ARepeatedLaunchAllocatesNothing", ("clEnqueueNDRangeKernel",), 2,
                      "run"),
}


def private_terms() -> list[Figure]:
    return [Figure.measured("private terms in sources and docs", len(terms.check(Tree(ROOT)).findings), "places", "== 0")]


def file_sizes() -> list[Figure]:
    tree = Tree(ROOT)
    counts = [len(tree.text(name).splitlines()) for name in tree.files
              if name.startswith(("src/", "include/", "backends/")) and name.endswith(CODE_SUFFIXES)]
    return [Figure.measured(f"files under {SHORT} lines in src, include and backends", sum(n < SHORT for n in counts),
                            "files", "<= 60"),
            Figure.measured(f"files over {LONG} lines in src, include and backends", sum(n > LONG for n in counts),
                            "files", "== 0")]


def frames(text: str, outermost: str) -> list[tuple[str, str]]:
    """Function and file of the library's frames in a backtrace of gdb, innermost first, up to the public function."""
    ours, last = [], 0
    for name, file in re.findall(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(\S+) .*? at (\S+?):\d+$", text, re.MULTILINE):
        # ccache may return an object that names another checkout or a relative path
        path = re.search(r"(?:^|/)((?:src|include|backends)/.*)", file)
        if path is not None and not file.endswith("_test.cpp"):
            ours.append((name, path[1]))
            if name.removeprefix("vectis::v0_1::") == outermost:
                last = len(ours)
    return ours[:last]


def call_depth() -> list[Figure]:
    suite.build("debug", "search_test", "operations_test", "vectis_backend_opencl")
    figures = []
    for name, (program, case, innermost, passed_over, outermost) in TRACES.items():
        breakpoints = [word for number, function in enumerate(innermost, 1)
                       for word in ("-ex", f"break {function}", "-ex", f"ignore {number} {passed_over}")]
        text = output_of("gdb", "-batch", "-ex", "set breakpoint pending on", "-ex", "set print frame-arguments none",
                         *breakpoints, "-ex", "run", "-ex", "backtrace", "--args", BUILD / "debug" / "bin" / program,
                         f"--gtest_filter={case}", root=ROOT)
        trace = frames(text, outermost)
        if not trace:
            raise SystemExit(f"soak: {program} did not reach {' or '.join(innermost)} through {outermost}")
        figures += [Figure.measured(f"{name}: frames from the public call to the inner loop or driver", len(trace),
                                    "frames", "<= 10"),
                    Figure.measured(f"{name}: files of these frames", len({file for _, file in trace}), "files", "<= 10")]
    return figures


def adds() -> list[Figure]:
    suite.build("release", "graph_add_bench")
    runs = [[json.loads(line) for line in output_of(BUILD / "release" / "bin" / "graph_add_bench", root=ROOT).splitlines()]
            for _ in range(RUNS)]
    figures = []
    for cases in zip(*runs, strict=True):
        name = f"{cases[0]['rows']:,} x {cases[0]['dim']} {cases[0]['data']}, {cases[0]['kind']}, {cases[0]['batch']:,} at a time"
        figures += [Figure.measured(f"{name}: worst add", round(min(case["worst_ratio"] for case in cases), 2),
                                    "times the median of its neighbors", "<= 3"),
                    Figure.measured(f"{name}: all adds", round(min(case["total_cpu_seconds"] for case in cases), 2),
                                    "CPU seconds", "<= 8")]
    return figures


def speed() -> list[Figure]:
    return baseline.speed(BASELINE)


def by_hand() -> list[Figure]:
    file = ROOT / "docs" / "evidence" / "language-by-hand.json"
    return [Figure.measured(one["name"], one["value"], one["unit"], one["aim"])
            for one in json.loads(file.read_text())["figures"]]


MEASUREMENTS = {"terms": private_terms, "sizes": file_sizes, "depth": call_depth, "adds": adds, "speed": speed,
                "by-hand": by_hand}


if __name__ == "__main__":
    sys.exit(run_soak("language", ROOT, MEASUREMENTS))
