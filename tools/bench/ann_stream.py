"""Ten rounds of deleting a tenth and inserting as many new vectors, ours and hnswlib, compared with new builds of the
same vectors."""

import sys
import tempfile
from pathlib import Path

import numpy

from tools.bench.ann_contest import BUILD_THREADS, OURS, Contestant, Field, Kept
from tools.bench.ann_data import REPORTED, TUNING, nearest, recall

ROUNDS = 10
ASKED = "0.95"
CURVE = ("0.85", "0.9", "0.93", "0.95", "0.97", "0.98", "0.99")
SEED = 20_240_601
OFTEN = 150_000  # up to this many rows, ours is built anew in every round
STREAMED = (OURS, "hnswlib")


class Stream:
    """The live rows of each round. Starts with half of the file, at most the rows of the set."""

    def __init__(self, field: Field):
        self.data = field.data
        self.start = min(self.data.rows, self.data.file_rows // 2)
        self.piece = self.start // 10
        self.live = numpy.arange(self.start)
        self.next = self.start
        self.random = numpy.random.default_rng(SEED)

    def turn(self) -> tuple[numpy.ndarray, int]:
        """Returns the removed rows, and the first of the inserted ones."""
        removed = self.random.choice(self.live, self.piece, replace=False)
        first = self.next
        self.next += self.piece
        self.live = numpy.concatenate([numpy.setdiff1d(self.live, removed), numpy.arange(first, self.next)])
        return removed, first

    def truth(self, queries: slice) -> numpy.ndarray:
        """Ids are row numbers of the file."""
        return self.live[nearest(self.data.corpus()[self.live], self.data.queries()[queries])]


def _curve(one: Contestant, names: numpy.ndarray | None, truth: numpy.ndarray, ids: Path) -> list[tuple[float, float]]:
    """Ours only: recall by rows scored, which does not depend on the load of the machine."""
    points = []
    for asked in CURVE if one.ours else ():
        found, reply = one.search(asked, REPORTED, ids)
        points.append((reply["scored"], recall(found if names is None else names[found], truth)))
    return points


def _measured(one: Contestant, setting: str, names: numpy.ndarray | None, truth: numpy.ndarray, before: int,
              ids: Path) -> dict:
    found, reply = one.search(setting, REPORTED, ids)
    if names is not None:
        found = names[found]
    return {"recall": recall(found, truth), "processor_ms": reply["processor_ms"], "scored": reply.get("scored"),
            "curve": _curve(one, names, truth, ids), "bytes": one.ask("statistics")["bytes"],
            "resident": one.resident_bytes() - before}


def _fresh(field: Field, name: str, setting: str, live: numpy.ndarray, truth: numpy.ndarray, scratch: Path) -> dict:
    """A new build of the same rows in a process of its own."""
    file = scratch / "live.f32"
    field.data.corpus()[live].tofile(file)
    with field.started(name, BUILD_THREADS) as one:
        one.corpus(field.data, len(live), file)
        one.queries(field.data)
        before = one.resident_bytes()
        built = one.add(len(live), scratch)
        return _measured(one, setting, live, truth, before, scratch / "ids") | {"build_processor_ms":
                                                                               built["processor_ms"]}


def _width(one: Contestant, truth: numpy.ndarray, ids: Path) -> str:
    """The smallest width with which a library reaches the requested recall for the TUNING queries."""
    for setting in one.settings:
        if recall(one.search(setting, TUNING, ids)[0], truth) >= float(ASKED):
            return setting
    return one.settings[-1]


def _streamed(field: Field, name: str) -> dict:
    stream = Stream(field)
    with tempfile.TemporaryDirectory(dir=field.data.folder) as folder, field.started(name, BUILD_THREADS) as one:
        scratch = Path(folder)
        ids = scratch / "ids"
        one.corpus(field.data, min(field.data.file_rows, stream.start + ROUNDS * stream.piece))
        one.queries(field.data)
        before = one.resident_bytes()
        one.add(stream.start, scratch)
        setting = ASKED if name == OURS else _width(one, stream.truth(TUNING), ids)
        lines = []
        for number in range(ROUNDS):
            removed, first = stream.turn()
            removed.astype(numpy.uint64).tofile(scratch / "removed")
            taken = one.ask("remove", ids=scratch / "removed")["processor_ms"]
            taken += one.ask("insert", first=first, rows=stream.piece)["processor_ms"]
            truth = stream.truth(REPORTED)
            line = {"change_processor_ms": taken, "streamed": _measured(one, setting, None, truth, before, ids)}
            if number == ROUNDS - 1 or (name == OURS and stream.start <= OFTEN):
                line["fresh"] = _fresh(field, name, setting, stream.live, truth, scratch)
            lines.append(line)
            fresh = f", fresh {line['fresh']['recall']:.4f}" if "fresh" in line else ""
            print(f"bench: {field.data.name}: {name}, round {number + 1} of {ROUNDS}: recall "
                  f"{line['streamed']['recall']:.4f}{fresh}", file=sys.stderr, flush=True)
    return {"setting": setting, "rows": stream.start, "rounds": lines}


def _lost(streamed: dict, fresh: dict) -> float:
    """Recall lost at equal work: at the same number of rows scored, or at the same width for other libraries."""
    if not streamed["curve"]:
        return fresh["recall"] - streamed["recall"]
    work, found = zip(*streamed["curve"], strict=True)
    return fresh["recall"] - float(numpy.interp(numpy.log(fresh["scored"]), numpy.log(work), found))


def streaming(field: Field, kept: Kept) -> dict:
    result = {name: kept.part(name, field.version(name), lambda name=name: _streamed(field, name)) for name in STREAMED}
    for line in result.values():
        pairs = [(one["streamed"], one["fresh"]) for one in line["rounds"] if "fresh" in one]
        line["losses"] = [_lost(streamed, fresh) for streamed, fresh in pairs]
        line["lost"] = max(line["losses"])
        line["least"] = min(one["streamed"]["recall"] for one in line["rounds"])
        last, fresh = pairs[-1]
        line["bytes"], line["resident"] = last["bytes"] / fresh["bytes"], last["resident"] / fresh["resident"]
        line["cost"] = last["processor_ms"] / fresh["processor_ms"]
    return result
