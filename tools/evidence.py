"""Figures of a soak: measured once per commit, kept, and written to docs/evidence/NAME.json.

A cell is a measurement with its figures. Finished cells are kept in build/soak and in the evidence itself, so that a soak
also continues in a new clone."""

import argparse
import datetime
import json
import operator
import os
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tools import seed

NOT_FINISHED = "not finished: "
_COMPARE = {">=": operator.ge, "<=": operator.le, "==": operator.eq, "<": operator.lt}


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str
    aim: str  # ">= 95": a comparison and a number
    met: bool
    commit: str = ""  # the commit it was measured at, if not that of the file
    cell: str = ""

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
        self.evidence = root / "docs" / "evidence" / f"{name}.json"
        self.kept = self.committed() | (json.loads(self.cache.read_text()) if self.cache.is_file() else {})
        self.done: dict[str, dict] = {name: cell for name, cell in self.kept.items()
                                      if not fresh and cell["finished"] and (older or cell["commit"] == self.commit)}

    def committed(self) -> dict[str, dict]:
        """The cells of the evidence as it was last written."""
        written = json.loads(self.evidence.read_text()) if self.evidence.is_file() else {"figures": []}
        cells: dict[str, dict] = {}
        for figure in written["figures"]:
            if figure.get("cell"):
                commit = figure.get("commit", written["commit"])
                cell = cells.setdefault(figure["cell"], {"commit": commit, "finished": True, "figures": []})
                cell["finished"] &= not figure["name"].startswith(NOT_FINISHED)
                cell["figures"].append(figure)
        return {name: cell for name, cell in cells.items() if cell["finished"]}

    def keep(self, name: str, figures: list[Figure], finished: bool) -> dict:
        cell = {"commit": self.commit, "finished": finished,
                "figures": [asdict(figure) | {"cell": name} for figure in figures]}
        self.kept[name] = cell
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        self.cache.write_text(json.dumps(self.kept, indent=1))
        return cell

    def figures_of(self, cell: dict) -> list[Figure]:
        commit = "" if cell["commit"] == self.commit else cell["commit"]
        return [Figure(**figure | {"commit": commit}) for figure in cell["figures"]]

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
                    figures += self.figures_of(self.keep(name, unfinished.figures, finished=False))
                    continue
                self.done[name] = self.keep(name, measured, finished=True)
            figures += self.figures_of(self.done[name])
        return figures

    def finished(self, names: Iterable[str]) -> list[Figure]:
        """The figures of cells, of whatever commit; a cell that is not finished has a figure more, which is not met."""
        figures = []
        for name in names:
            cell = self.kept.get(name)
            if cell is not None:
                figures += self.figures_of(cell)
            if cell is None or not cell["finished"]:
                missing = Figure.measured(f"{NOT_FINISHED}{name}", 0, "cells", ">= 1")
                figures.append(replace(missing, cell=name))
        return figures

    def write(self, figures: list[Figure]) -> Path:
        target = self.evidence
        target.parent.mkdir(parents=True, exist_ok=True)
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        head = json.dumps({"commit": self.commit, "date": date, "seed": self.seed}, indent=2)
        lines = [json.dumps({key: value for key, value in asdict(figure).items() if key not in ("commit", "cell") or value},
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
                        help="measure nothing; write the evidence of the cells that were measured so far, here or in "
                             "the committed evidence")
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
