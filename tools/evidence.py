"""Figures of a soak: measured once per commit, cached, and written to docs/evidence/NAME.json when all are done."""

import argparse
import datetime
import json
import operator
import os
import subprocess
from collections.abc import Callable, Iterable
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
    commit: str = ""  # the commit it was measured at, if not that of the file

    @staticmethod
    def measured(name: str, value: float, unit: str, aim: str) -> "Figure":
        comparison, limit = aim.split()
        return Figure(name, value, unit, aim, _COMPARE[comparison](value, float(limit)))


Measurement = Callable[[], list[Figure]]


class Unfinished(Exception):
    """Raised by a measurement that the next soak continues; `figures` are those so far."""

    def __init__(self, figures: list[Figure]) -> None:
        super().__init__("the next soak continues")
        self.figures = figures


class Soak:
    """Runs measurements and caches each result, so that a stopped soak resumes."""

    def __init__(self, name: str, root: Path, fresh: bool, older: bool = False):
        self.name, self.root = name, root
        self.commit, self.seed = seed.head(root), seed.chosen(root)
        os.environ["VECTIS_TEST_SEED"] = str(self.seed)
        self.cache = root / "build" / "soak" / f"{name}.json"
        self.kept = json.loads(self.cache.read_text()) if self.cache.is_file() else {}
        self.done: dict[str, dict] = {name: cell for name, cell in self.kept.items()
                                      if not fresh and (older or cell["commit"] == self.commit)}

    def run(self, measurements: dict[str, Measurement]) -> list[Figure]:
        figures = []
        for name, measure in measurements.items():
            if name in self.done:
                print(f"soak: {name}: cached from commit {self.done[name]['commit'][:7]} (--fresh measures again)", flush=True)
            else:
                print(f"soak: {name}", flush=True)
                try:
                    measured = measure()
                except Unfinished as unfinished:
                    print(f"soak: {name}: not finished; run the soak again to continue", flush=True)
                    figures += unfinished.figures
                    continue
                self.done[name] = {"commit": self.commit, "figures": [asdict(figure) for figure in measured]}
                self.cache.parent.mkdir(parents=True, exist_ok=True)
                self.cache.write_text(json.dumps(self.kept | self.done, indent=1))
            commit = self.done[name]["commit"]
            figures += [Figure(**figure | {"commit": "" if commit == self.commit else commit})
                        for figure in self.done[name]["figures"]]
        return figures

    def finished(self, names: Iterable[str]) -> list[Figure]:
        """The figures of finished cells, of whatever commit; a cell that is not finished is a figure that is not met."""
        figures = []
        for name in names:
            cell = self.kept.get(name)
            if cell is None:
                figures.append(Figure.measured(f"not finished: {name}", 0, "cells", ">= 1"))
            else:
                figures += [Figure(**figure | {"commit": cell["commit"]}) for figure in cell["figures"]]
        return figures

    def write(self, figures: list[Figure]) -> Path:
        target = self.root / "docs" / "evidence" / f"{self.name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        head = json.dumps({"commit": self.commit, "date": date, "seed": self.seed}, indent=2)
        lines = [json.dumps({key: value for key, value in asdict(figure).items() if key != "commit" or value},
                            ensure_ascii=False) for figure in figures]
        target.write_text(head[:-2] + ',\n  "figures": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n")
        return target


def print_figures(figures: list[Figure]) -> None:
    for figure in figures:
        verdict = "met" if figure.met else "NOT MET"
        print(f"{figure.name:44} {figure.value:>10g} {figure.unit:10} aim {figure.aim:10} {verdict}")


def run_soak(name: str, root: Path, measurements: dict[str, Measurement]) -> int:
    """Implements `./dev soak NAME`; the exit status is 0 if every aim was met."""
    parser = argparse.ArgumentParser(prog=f"./dev soak {name}")
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured at this commit")
    parser.add_argument("--older", action="store_true",
                        help="reuse figures of earlier commits; they name their commit")
    parser.add_argument("--finished", action="store_true",
                        help="measure nothing; write the evidence of the cells that were measured so far")
    parser.add_argument("--only", action="append", choices=measurements, metavar="CELL",
                        help="measure only this cell and do not write evidence: " + "; ".join(measurements))
    arguments = parser.parse_args()
    soak = Soak(name, root, arguments.fresh, arguments.older)
    if arguments.only:
        print_figures(soak.run({cell: measurements[cell] for cell in arguments.only}))
        return 0
    figures = soak.finished(measurements) if arguments.finished else soak.run(measurements)
    print_figures(figures)
    print(f"soak: wrote {soak.write(figures).relative_to(root)}")
    return 0 if all(figure.met for figure in figures) else 1


def output_of(*command: object, root: Path, env: dict[str, str] | None = None) -> str:
    """Runs a command, prints and returns its output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=root, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"soak: {' '.join(words)} ended with {done.returncode}")
    return done.stdout
