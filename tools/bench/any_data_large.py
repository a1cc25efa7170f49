"""Ten million synthetic vectors of 96 dimensions, our index alone: how recall, the time to build and the speed compare
with a million of the same distribution.

The index of ten million is built in parts, each from the saved index of the parts before, so that no part takes 30
minutes with one core. Ground truth is computed for the first 200 queries."""

import json
import statistics
import tempfile
from pathlib import Path

from tools.bench import exact_data
from tools.bench.ann_contest import BUILD_THREADS, OURS, Field
from tools.bench.any_data_cells import PARTS
from tools.bench.any_data_measure import Data, asked_cell, shortfall, time_at

ROWS, FEWER, DIM = 10_000_000, 1_000_000, 96
QUERIES = 200
ASKED = (0.9, 0.95, 0.99)
ROUNDS = 5
BUILD_MAX, SPEED_MIN = 1.5, 0.6  # of ten million relative to a million
ERRORS_MAX = 2  # standard errors below the recall asked for


class Millions(Data):
    """The first rows of the largest set."""

    def __init__(self, rows: int, folder: Path):
        made = exact_data.made(folder, ROWS, DIM)
        self.name, self.rows, self.dim, self.folder = f"any-{rows}x{DIM}", rows, DIM, folder
        self.asked, self.metric = slice(0, QUERIES), "l2"
        self.corpus_file, self.queries_file = made.corpus_file, made.queries_file


class Parts(Field):
    """Our index of a set that is built in parts."""

    def part(self, number: int) -> dict:
        """Adds part `number`, from 1, to the saved index of those before. The reply has the CPU time of all parts."""
        target, previous = self._saved(number), self._saved(number - 1)
        if target.is_dir():
            return json.loads((target / "build.json").read_text())
        rows = self.data.rows // PARTS
        before = self.part(number - 1) if number > 1 else {"processor_ms": 0}
        with tempfile.TemporaryDirectory(dir=self.data.folder) as scratch, self.started(OURS, BUILD_THREADS) as one:
            one.corpus(self.data, rows * number)
            if number == 1:
                self._forget_older(OURS)
                reply = one.add(rows, Path(scratch))
            else:
                one.ask("load", file=previous / "index")
                reply = one.ask("insert", first=rows * (number - 1), rows=rows)
            built = {"processor_ms": reply["processor_ms"] + before["processor_ms"], "part_ms": reply["processor_ms"]}
            unfinished = Path(scratch) / "saved"
            unfinished.mkdir()
            one.ask("save", file=unfinished / "index")
            (unfinished / "build.json").write_text(json.dumps(built))
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished.rename(target)
        (previous / "index").unlink(missing_ok=True)
        return built

    def _saved(self, number: int) -> Path:
        return self.folder(OURS) if number == PARTS else self.folder(OURS).with_name(f"{OURS}-{self.digest}-part-{number}")

    def building(self, name: str) -> dict:
        del name  # ours is the only contestant
        return self.part(PARTS)


def part_figures(number: int, folder: Path, program: Path) -> list[dict]:
    built = Parts(Millions(ROWS, folder), program).part(number)
    return [{"name": f"10,000,000 x {DIM}: CPU time to add part {number} of {PARTS}",
             "value": round(built["part_ms"] * 1e3 / (ROWS // PARTS), 1), "unit": "us per row", "aim": ">= 0"}]


def figures(folder: Path, program: Path) -> list[dict]:
    """Recall and speed; builds what is not built yet."""
    fields = {ROWS: Parts(Millions(ROWS, folder), program), FEWER: Field(Millions(FEWER, folder), program)}
    each = {rows: field.building(OURS)["processor_ms"] / rows for rows, field in fields.items()}
    rounds: dict[int, list[list[dict]]] = {rows: [] for rows in fields}
    with tempfile.TemporaryDirectory() as scratch:
        loaded = {rows: field.loaded(OURS) for rows, field in fields.items()}
        for _ in range(ROUNDS):
            for rows, one in loaded.items():
                rounds[rows].append([asked_cell(one, fields[rows].data, asked, 1, Path(scratch) / "ids")
                                     for asked in ASKED])
        for one in loaded.values():
            one.close()
    result = [{"name": f"{rows:,} x {DIM}: found {cell['found']:.4f} of {cell['asked']}", "value": round(shortfall(cell), 2),
               "unit": "standard errors below", "aim": f"<= {ERRORS_MAX}"}
              for rows in fields for cell in rounds[rows][0] if cell["asked"] in (0.95, 0.99)]
    times = {rows: [time_at(cells, 0.95) for cells in rounds[rows]] for rows in fields}
    speed = statistics.median(fewer / more for fewer, more in zip(times[FEWER], times[ROWS], strict=True)) \
        if all(times[ROWS]) and all(times[FEWER]) else 0
    return [*result,
            {"name": f"10,000,000 x {DIM}: CPU time to build a row, {each[ROWS] * 1e3:.0f} us",
             "value": round(each[ROWS] / each[FEWER], 3), "unit": "times that of 1,000,000", "aim": f"<= {BUILD_MAX}"},
            {"name": f"10,000,000 x {DIM}: queries/s at recall 0.95", "value": round(speed, 3),
             "unit": "times that of 1,000,000", "aim": f">= {SPEED_MIN}"}]
