"""`./dev soak any-data`: approximate search on data of many kinds at full count, written to docs/evidence/any-data.json.

Cells of `./dev bench any-data` want a machine with nothing else to do; each takes at most 30 minutes, and every set, part
of a build and history is a cell of its own. docs/any-data.md has the tables."""

import json
import re
import sys
from pathlib import Path

from tools import suite
from tools.bench.any_data_cells import CHANGED, FILTERED, PARTS
from tools.bench.any_data_summary import summary
from tools.evidence import Figure, Measurement, Soak, output_of, run_soak
from tools.soak.graph import SETS as OWN_SETS

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
WORLDS = 200
ROUNDS = 3


def worlds() -> list[Figure]:
    suite.build("release", "any_data_test")
    text = output_of(BUILD / "release" / "bin" / "any_data_test", root=ROOT, env={"VECTIS_TEST_RUNS": str(WORLDS)})
    cells, within, scanned, worst = (float(re.search(rf"^{name}: (\S+)", text, re.MULTILINE).group(1)) for name in (
        "cells", "within two standard errors", "answered by exact scans", "worst, standard errors below"))
    return [Figure.measured("random worlds: recalls asked for", cells, "cells", f">= {6 * WORLDS}"),
            Figure.measured("random worlds: found within two standard errors", round(within / cells, 4), "of the cells",
                            ">= 0.97"),
            Figure.measured("random worlds: largest shortfall", round(worst, 2), "standard errors", "<= 3.5"),
            Figure.measured("random worlds: answered by exact scans", round(scanned / cells, 3), "of the cells", "<= 1")]


def bench(*words: object) -> list[Figure]:
    kept = BUILD / "soak" / "any-data-figures.json"
    output_of(ROOT / "bench" / "any-data", *words, "--figures", kept, root=ROOT)
    return [Figure.measured(**figure) for figure in json.loads(kept.read_text())]


def names(half: str) -> list[str]:
    """Of the sets; read from the text, since the module needs NumPy, which only the bench installs."""
    constant = half.upper().replace("-", "_")
    text = (ROOT / "tools" / "bench" / "any_data_sets.py").read_text()
    return re.findall(rf'^    AnySet\("([\w-]+)", "[^"]+", {constant},', text, re.MULTILINE)


def together(half: str) -> list[Figure]:
    """From the cells of the sets, of whatever commit."""
    soak = Soak("any-data", ROOT, fresh=False)
    cells = [soak.kept[f"set {name}"] for name in names(half) if f"set {name}" in soak.kept]
    return summary(half, len(names(half)), [Figure(**figure) for cell in cells for figure in cell["figures"]])


def of_bench(*words: object) -> Measurement:
    return lambda: bench(*words)


HALVES = ("tuning", "held-out")
MEASUREMENTS: dict[str, Measurement] = {"random worlds": worlds}
MEASUREMENTS |= {f"set {name}": of_bench("--set", name, "--rounds", ROUNDS) for half in (*HALVES, "large")
                 for name in names(half)}
MEASUREMENTS |= {f"sets together, {half}": (lambda half=half: together(half)) for half in HALVES}
MEASUREMENTS |= {f"rows find themselves, {half}": of_bench("--table", "rows", "--half", half) for half in HALVES}
MEASUREMENTS |= {f"changes {name}": of_bench("--table", "changes", "--set", name) for name in CHANGED}
MEASUREMENTS |= {f"filters {name}": of_bench("--table", "filters", "--set", name) for name in FILTERED}
MEASUREMENTS |= {f"own set {name}": of_bench("--table", "own", "--set", name) for name in OWN_SETS}
MEASUREMENTS |= {f"ten million rows, part {part}": of_bench("--table", "large", "--set", part)
                 for part in range(1, PARTS + 1)}
MEASUREMENTS |= {"ten million rows, search": of_bench("--table", "large", "--set", "search")}


if __name__ == "__main__":
    sys.exit(run_soak("any-data", ROOT, MEASUREMENTS))
