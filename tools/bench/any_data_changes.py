"""Recall after changes, and the slowest calls: rows of a set inserted one by one, in hundreds and sorted by cluster,
replaced in ten rounds, removed one by one down to a tenth and refilled.

The index has one thread. A stage is a point of a history at which recall is measured."""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy

from tools.bench.ann_contest import OURS, Contestant, Field
from tools.bench.any_data_measure import Data, found_cell, limits_of, shares_of, shortfall
from tools.bench.any_data_sets import SEED

ROWS = 20_000  # live rows of an index; histories that replace rows use as many others of the set
ASKED = (0.9, 0.95, 0.99)
STAGES = 4  # of histories that only insert, in random order
ROUNDS = 10
CLUSTERS = 50
ERRORS_MAX = 2  # standard errors below the recall asked for
CALLS_MAX = 5  # median costs of linking a row that the slowest call may take


def sorted_by_cluster(rows: numpy.ndarray) -> numpy.ndarray:
    """The rows in the order of the nearest of some of them."""
    centers = rows[numpy.random.default_rng(SEED).permutation(len(rows))[:CLUSTERS]].astype(numpy.float64)
    products = rows.astype(numpy.float64) @ centers.T
    nearest = ((centers ** 2).sum(axis=1) - 2 * products).argmin(axis=1)
    return rows[numpy.argsort(nearest, kind="stable")]


class Life:
    """An index and the rows that it has: `rows[places[id]]` for each id that is alive."""

    def __init__(self, one: Contestant, data: Data, rows: numpy.ndarray, scratch: Path):
        self.one, self.data, self.rows, self.scratch = one, data, rows, scratch
        self.places = numpy.full(len(rows), -1)
        self.added: list[float] = []  # CPU milliseconds of each call of `insert` with one row
        self.removed: list[float] = []
        rows.tofile(scratch / "rows")
        one.corpus(data, len(rows), scratch / "rows")
        one.queries(data)

    def add(self, count: int) -> None:
        """Makes the index of the first rows, at once."""
        self.one.add(count, self.scratch)
        self.places[:count] = numpy.arange(count)

    def insert(self, first: int, count: int, step: int) -> None:
        reply = self.one.ask("insert", first=first, rows=count, step=step)
        self.places[first:first + count] = numpy.arange(first, first + count)
        if step == 1:
            self.added += reply["calls"]

    def replace(self, ids: numpy.ndarray, first: int) -> None:
        ids.astype(numpy.uint64).tofile(self.scratch / "changed")
        self.one.ask("upsert", first=first, rows=len(ids), ids=self.scratch / "changed")
        self.places[ids] = numpy.arange(first, first + len(ids))

    def remove(self, ids: numpy.ndarray) -> None:
        ids.astype(numpy.uint64).tofile(self.scratch / "changed")
        self.removed += self.one.ask("remove", ids=self.scratch / "changed", step=1)["calls"]
        self.places[ids] = -1

    def stage(self) -> list[dict]:
        """What is found of each recall asked for."""
        queries, metric = self.data.queries(), self.data.metric
        limits = limits_of(self.rows[self.places[self.places >= 0]], queries, metric)
        cells = []
        for asked in ASKED:
            found, _ = self.one.search(str(asked), self.data.asked, self.scratch / "ids")
            cells.append(found_cell(asked, shares_of(self.places[found], self.rows, queries, limits, metric)))
        return cells


def inserted(life: Life, count: int, step: int, stages: int = STAGES) -> Iterator[list[dict]]:
    life.add(step)
    ends = [step + (count - step) * i // stages for i in range(stages + 1)]
    for begin, end in zip(ends, ends[1:], strict=False):
        life.insert(begin, end - begin, step)
        yield life.stage()


def replaced(life: Life, count: int) -> Iterator[list[dict]]:
    """Each round replaces a tenth of the ids by new rows."""
    life.add(count)
    piece = count // ROUNDS
    order = numpy.random.default_rng(SEED).permutation(count)
    for begin in range(0, piece * ROUNDS, piece):
        life.replace(order[begin:begin + piece], count + begin)
        yield life.stage()


def refilled(life: Life, count: int) -> Iterator[list[dict]]:
    """Removes nine tenths one by one and adds new rows one by one."""
    life.add(count)
    life.remove(numpy.random.default_rng(SEED).permutation(count)[count // 10:])
    yield life.stage()
    life.insert(count, count - count // 10, 1)
    yield life.stage()


HISTORIES = {"inserted one by one": lambda life, count: inserted(life, count, 1),
             "inserted in hundreds": lambda life, count: inserted(life, count, 100),
             # Before the end the queries are of clusters that the index does not have yet.
             "sorted by cluster, inserted in hundreds": lambda life, count: inserted(life, count, 100, stages=1),
             "replaced in ten rounds": replaced, "removed to a tenth and refilled": refilled}


def figures(field: Field) -> list[dict]:
    data = field.data
    count = min(ROWS, data.rows // 2)
    rows = numpy.array(data.corpus()[:2 * count])
    result, added, removed = [], [], []
    for name, history in HISTORIES.items():
        with tempfile.TemporaryDirectory() as scratch, field.started(OURS, 1) as one:
            own = sorted_by_cluster(rows[:count]) if name.startswith("sorted") else rows
            life = Life(one, data, own, Path(scratch))
            stages = list(history(life, count))
            added += life.added
            removed += life.removed
        worst = max(shortfall(cell) for cells in stages for cell in cells)
        least = min(cell["found"] - cell["asked"] for cells in stages for cell in cells)
        print(f"bench: {data.name}: {name}: {len(stages)} stages, found less by at most {max(0, -least):.4f}, "
              f"{worst:.2f} standard errors", flush=True)
        result.append({"name": f"{data.name}: {name}, largest shortfall of {len(stages)} stages", "value": round(worst, 2),
                       "unit": "standard errors", "aim": f"<= {ERRORS_MAX}"})
    linked = statistics.median(added)
    for what, calls in (("add", added), ("remove", removed)):
        slow = sum(call > CALLS_MAX * linked for call in calls)
        print(f"bench: {data.name}: {what} of one row: median {statistics.median(calls):.3f} ms, slowest {max(calls):.3f} ms; "
              f"{slow} of {len(calls)} take more than {CALLS_MAX} times the median add", flush=True)
    return result + [{"name": f"{data.name}: slowest {what} of one row, of {len(calls):,}; linking takes {linked:.3f} ms",
                      "value": round(max(calls) / linked, 2), "unit": "times linking a row", "aim": f"<= {CALLS_MAX}"}
                     for what, calls in (("add", added), ("remove", removed))]
