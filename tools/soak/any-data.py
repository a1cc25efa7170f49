"""`./dev soak any-data`: approximate search on data of many kinds at full count, written to docs/evidence/any-data.json.

A cell for each set of `./dev bench any-data`, which wants a machine with nothing else to do, and one for random worlds.
docs/any-data.md has the tables."""

import json
import re
import sys
from pathlib import Path

from tools import suite
from tools.evidence import Figure, Measurement, output_of, run_soak

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


def one_set(name: str) -> list[Figure]:
    kept = BUILD / "soak" / "any-data-figures.json"
    output_of(ROOT / "bench" / "any-data", "--set", name, "--rounds", ROUNDS, "--figures", kept, root=ROOT)
    return [Figure.measured(**figure) for figure in json.loads(kept.read_text())]


def names() -> list[str]:
    """Of the sets; read from the text, since the module needs NumPy, which only the bench installs."""
    return re.findall(r'^    AnySet\("([\w-]+)"', (ROOT / "tools" / "bench" / "any_data_sets.py").read_text(), re.MULTILINE)


MEASUREMENTS: dict[str, Measurement] = {"random worlds": worlds}
MEASUREMENTS |= {f"set {name}": (lambda name=name: one_set(name)) for name in names()}


if __name__ == "__main__":
    sys.exit(run_soak("any-data", ROOT, MEASUREMENTS))
