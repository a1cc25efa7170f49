"""Figures of a soak: computed once per commit, kept while it runs, written to docs/evidence/NAME.json at its end."""

import datetime
import json
import operator
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tools import seed

_COMPARE = {">=": operator.ge, "<=": operator.le, "==": operator.eq, "<": operator.lt}


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str
    aim: str  # ">= 95": a comparison and a number
    met: bool

    @staticmethod
    def measured(name: str, value: float, unit: str, aim: str) -> "Figure":
        comparison, limit = aim.split()
        return Figure(name, value, unit, aim, _COMPARE[comparison](value, float(limit)))


Measurement = Callable[[], list[Figure]]


class Soak:
    """Runs measurements, keeps each as soon as it is done, and so resumes where it was stopped."""

    def __init__(self, name: str, root: Path, fresh: bool):
        self.name, self.root = name, root
        self.commit, self.seed = seed.head(root), seed.chosen(root)
        os.environ["VECTIS_TEST_SEED"] = str(self.seed)
        self.cache = root / "build" / "soak" / f"{name}.json"
        kept = json.loads(self.cache.read_text()) if self.cache.is_file() and not fresh else {}
        self.done: dict[str, list[dict]] = kept.get("done", {}) if kept.get("commit") == self.commit else {}

    def run(self, measurements: dict[str, Measurement]) -> list[Figure]:
        figures = []
        for name, measure in measurements.items():
            if name in self.done:
                print(f"soak: {name}: kept from an earlier run of this commit (--fresh measures anew)", flush=True)
            else:
                print(f"soak: {name}", flush=True)
                self.done[name] = [asdict(figure) for figure in measure()]
                self.cache.parent.mkdir(parents=True, exist_ok=True)
                self.cache.write_text(json.dumps({"commit": self.commit, "done": self.done}, indent=1))
            figures += [Figure(**figure) for figure in self.done[name]]
        return figures

    def write(self, figures: list[Figure]) -> Path:
        target = self.root / "docs" / "evidence" / f"{self.name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        evidence = {"commit": self.commit, "date": date, "seed": self.seed,
                    "figures": [asdict(figure) for figure in figures]}
        target.write_text(json.dumps(evidence, indent=2, ensure_ascii=False) + "\n")
        return target


def print_figures(figures: list[Figure]) -> None:
    for figure in figures:
        verdict = "met" if figure.met else "NOT MET"
        print(f"{figure.name:44} {figure.value:>10g} {figure.unit:10} aim {figure.aim:10} {verdict}")
