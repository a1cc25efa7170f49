"""The whole conformance suite on one device, as figures of a soak."""

import csv
import os
import subprocess
from pathlib import Path

from tools.evidence import Figure

KEPT = Path(__file__).resolve().parents[1] / "build" / "soak"


def seed() -> str:
    return os.environ.get("VECTIS_TEST_SEED", "1")


def csv_of(device: str) -> Path:
    return KEPT / f"conformance-{device.replace(' ', '-')}.csv"


def run(program: Path, backend: str, device: str, environment: dict[str, str], operations: str = ".*") -> list[Figure]:
    """`device` names it in figures; the CSV output is saved as csv_of(device)."""
    KEPT.mkdir(parents=True, exist_ok=True)
    words = [program, "conformance", "--backend", backend, "--seed", seed(), "--csv", csv_of(device), "--op", operations]
    subprocess.run([str(word) for word in words], env={**os.environ, **environment}, check=False)
    rows = rows_of(device)
    cases: dict[str, int] = {}
    for row in rows:
        cases[row["operation"]] = cases.get(row["operation"], 0) + int(row["cases"])
    figures = [Figure.measured(f"conformance on {device}, failures of {sum(cases.values())} cases",
                               sum(int(row["failures"]) for row in rows), "failures", "== 0"),
               Figure.measured(f"conformance on {device}, operations with types not offered",
                               sum(int(row["not_offered"]) for row in rows), "lines", "== 0")]
    return figures + [Figure.measured(f"conformance on {device}, {name}", count, "cases", ">= 1")
                      for name, count in sorted(cases.items())]


def rows_of(device: str) -> list[dict[str, str]]:
    with csv_of(device).open() as file:
        return list(csv.DictReader(file))
