"""The tables of `./dev bench ann` without changes: recall against speed, building, requested recall, memory."""

import os
import re
import statistics
import sys
import tempfile
from pathlib import Path

from tools.bench import ann_sweep
from tools.bench.ann_contest import OURS, Contestant, Failed, Field, Kept
from tools.bench.ann_data import REPORTED, TUNING, recall
from tools.bench.ann_libraries import GRAPHS

RECALLS = (0.90, 0.95, 0.99)
PROMISED = (0.90, 0.95, 0.98, 0.99)
BUILDERS = (OURS, "hnswlib", "faiss hnsw", "usearch")
ENOUGH = 0.9985  # a sweep ends at this recall
COUNT = REPORTED.stop - REPORTED.start


def log(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Sweeper:
    """Contestants with loaded indexes, which search in turns."""

    def __init__(self, field: Field, names: list[str], scratch: Path):
        self.data, self.ids = field.data, scratch / "ids"
        self.truth = field.data.truth()
        self.contestants: list[Contestant] = []
        for name in names:
            try:
                self.contestants.append(field.loaded(name))
            except Failed as error:
                if name == OURS:
                    raise SystemExit(f"bench: {error}") from error
                log(f"{name} is skipped: {error}")

    def sweep(self, one: Contestant, settings: list[str], queries: slice) -> list[ann_sweep.Point]:
        points: list[ann_sweep.Point] = []
        for setting in settings:
            found, reply = one.search(setting, queries, self.ids)
            points.append((recall(found, self.truth[queries]), reply["processor_ms"]))
        return points

    def settings(self, one: Contestant) -> list[str]:
        """The settings that are on or near the Pareto front for the TUNING queries. A sweep of widths ends at the first
        setting with recall above ENOUGH."""
        points, tried = [], []
        for setting in one.settings:
            tried.append(setting)
            points += self.sweep(one, [setting], TUNING)
            if points[-1][0] > ENOUGH and "/" not in setting:
                break
        return ann_sweep.worth_measuring(tried, points)

    def rounds(self, kept: Kept, version: str, count: int) -> tuple[dict, dict]:
        """The settings of each contestant, and its points in each round. Cached rounds are not repeated."""
        settings = kept.part("settings", version, lambda: {one.name: self.settings(one) for one in self.contestants})
        sweeps: dict[str, list] = {one.name: [] for one in self.contestants}
        for number in range(count):
            turn = number % len(self.contestants)

            def once(order=self.contestants[turn:] + self.contestants[:turn]) -> dict:
                return {one.name: self.sweep(one, settings[one.name], REPORTED) for one in order}
            points = kept.part(f"round {number}", version, once)
            for name in sweeps:
                sweeps[name].append([tuple(point) for point in points[name]])
            log(f"{self.data.name}: round {number + 1} of {count}")
        return settings, sweeps

    def close(self) -> None:
        for one in self.contestants:
            one.close()


def curves(field: Field, kept: Kept, rounds: int, peers: tuple[str, ...]) -> dict:
    """Recall against queries per second of CPU time, one thread."""
    names = [OURS, *peers]
    with tempfile.TemporaryDirectory() as scratch:
        builds = {}
        for name in names:  # before other indexes are loaded
            try:
                builds[name] = field.building(name)
            except Failed as error:
                log(f"{name} is skipped: {error}")
        sweeper = Sweeper(field, [name for name in names if name in builds], Path(scratch))
        version = " ".join(field.version(one.name) for one in sweeper.contestants)
        settings, sweeps = sweeper.rounds(kept, version, rounds)
        sweeper.close()
    result = {"contestants": {}, "ratios": {}, "best": {}, "load": os.getloadavg()[0]}
    for name, points in sweeps.items():
        result["contestants"][name] = {"settings": settings[name], "points": ann_sweep.medians(points),
                                       "rates": ann_sweep.rates(points, COUNT, RECALLS), "build": builds[name]}
        if name != OURS:
            result["ratios"][name] = {str(at): ann_sweep.ratio(points, sweeps[OURS], at) for at in RECALLS}
    for at in map(str, RECALLS):
        graphs = {name: result["contestants"][name]["rates"][at] for name in GRAPHS if name in sweeps}
        graphs = {name: rate for name, rate in graphs.items() if rate}
        result["best"][at] = max(graphs, key=graphs.get) if graphs else None
    return result


def builds(field: Field, kept: Kept, rounds: int) -> dict:
    """Build times with two threads, then search speed of the graphs with one thread."""
    times: dict[str, list[dict]] = {name: [] for name in BUILDERS}
    for number in range(rounds):
        for name in BUILDERS:
            times[name].append(kept.part(f"{name} {number}", field.version(name), lambda name=name: field.build(name)))
    with tempfile.TemporaryDirectory() as scratch:
        sweeper = Sweeper(field, list(BUILDERS), Path(scratch))
        version = " ".join(map(field.version, BUILDERS))
        _, sweeps = sweeper.rounds(kept, version, 3)
        sweeper.close()
    result = {"contestants": {}, "ratios": {}}
    for name in BUILDERS:
        result["contestants"][name] = {
            "seconds": statistics.median(one["ms"] for one in times[name]) / 1e3,
            "processor_seconds": statistics.median(one["processor_ms"] for one in times[name]) / 1e3,
            "rates": ann_sweep.rates(sweeps[name], COUNT, RECALLS),
            "loads": [one["load"] for one in times[name]]}
    for what in ("ms", "processor_ms"):
        fastest = [min(times[name][i][what] for name in BUILDERS[1:]) / times[OURS][i][what] for i in range(rounds)]
        result["ratios"][what] = ann_sweep.interval(fastest)
    return result


def asked(field: Field, kept: Kept, rounds: int) -> dict:
    """The measured recall for each requested recall, and the cost relative to the best fixed setting of that recall."""
    with tempfile.TemporaryDirectory() as scratch:
        sweeper = Sweeper(field, [OURS], Path(scratch))
        one = sweeper.contestants[0]
        found = [kept.part(f"round {number}", field.digest, lambda: sweeper.sweep(one, one.settings, REPORTED))
                 for number in range(rounds)]
        sweeper.close()
    points = dict(zip(one.settings, ann_sweep.medians(found), strict=True))
    result = {"points": points, "asked": {}}
    for promise in PROMISED:
        reached, milliseconds = points[str(promise)]
        best = ann_sweep.time_at(list(points.values()), promise)
        result["asked"][str(promise)] = {"recall": reached, "ms": milliseconds, "best_ms": best,
                                         "cost": milliseconds / best if best else None}
    return result


def parts_of(explained: str) -> dict[str, float]:
    """Bytes per vector, parsed from the output of explain()."""
    kinds = {"links": r"([\d.]+) for links", "codes": r"([\d.]+) for codes", "originals": r"([\d.]+) for the vector"}
    matches = {kind: re.search(pattern, explained) for kind, pattern in kinds.items()}
    return {kind: float(match.group(1)) for kind, match in matches.items() if match}


def memory(field: Field) -> dict:
    """Bytes per vector: as the library counts them, and by the growth of the process."""
    result = {}
    for name in (OURS, "hnswlib", "hnswlib m32"):
        counted = field.building(name)
        with field.started(name, 1) as one:
            if one.ours:
                one.corpus(field.data, 1)
            one.queries(field.data)
            before = one.resident_bytes()
            one.ask("load", file=field.folder(name) / "index")
            resident = (one.resident_bytes() - before) / field.data.rows
        line = {"total": counted["bytes_per_vector"], "resident": resident}
        if one.ours:
            line |= parts_of(counted["explained"])
        else:
            line |= {"links": counted["link_bytes"], "originals": field.data.dim * 4}
        result[name] = line
    return result

