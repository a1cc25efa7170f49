"""Exact search: Vectis against FAISS, PyTorch, USearch and NumPy, interleaved, with equal thread counts."""

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

import numpy

from tools import seed
from tools.bench import exact_page, exact_rows
from tools.bench.exact_contest import Ours, peer, recall
from tools.bench.exact_data import Data, made
from tools.bench.exact_rows import Row
from tools.bench.exact_truth import truth

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "build" / "bench-data"
SLOW = 3  # a peer this many times slower than the best is measured once instead of in every round
HOPELESS = 10  # times slower than the best on the first try: not measured again


def interval(values: list[float]) -> dict:
    """The median and its 95 % bootstrap interval."""
    draws = numpy.random.default_rng(1).choice(values, (4000, len(values)))
    low, high = numpy.percentile(numpy.median(draws, axis=1), [2.5, 97.5])
    return {"median": statistics.median(values), "low": float(low), "high": float(high)}


class Match:
    """One row of the table: the contestants, their times in each round, and their recall."""

    def __init__(self, row: Row, ours: Ours, peers: list, data: Data, ids: Path):
        self.row, self.ours, self.data, self.ids = row, ours, data, ids
        ours.ready(row.precision)
        for contestant in peers:
            contestant.ready(row.precision)
        self.entries = {"vectis": (ours, "")}
        for one in peers:
            variants = one.variants if row.batch else ["add"]
            self.entries |= {f"{one.name} {variant}": (one, variant) for variant in variants}
        self.times: dict[str, list[float]] = {name: [] for name in self.entries}
        self.found: dict[str, dict] = {}
        self.peaks: list[dict] = []

    def once(self, name: str) -> float:
        """Median milliseconds of one call."""
        contestant, variant = self.entries[name]
        if not self.row.batch:
            return contestant.add()
        reply = contestant.search(variant, self.row.queries, self.row.batch, self.ids)
        if name not in self.found:
            share, differences = recall(self.ids, truth(self.data), self.row.queries)
            self.found[name] = {"recall": share, "differences": differences}
        reported = ("kernel", "reranked_per_query", "bytes_per_vector")
        self.found[name] |= {key: reply[key] for key in reported if key in reply}
        return statistics.median(reply["calls"])

    def play(self) -> None:
        for name in self.entries:
            self.times[name].append(self.once(name))
        best = min(times[0] for name, times in self.times.items() if name != "vectis")
        for name, times in self.times.items():
            if SLOW * best <= times[0] < HOPELESS * best:
                times[0] = min(times[0], self.once(name))
        fast = [name for name, times in self.times.items() if name == "vectis" or times[0] < SLOW * best]
        for name in fast:
            self.times[name].clear()  # the first round is a warm-up
        for round_number in range(self.row.rounds):
            self.peaks.append(self.ours.ask("peaks"))
            turn = round_number % len(fast)
            for name in fast[turn:] + fast[:turn]:
                self.times[name].append(self.once(name))

    def report(self) -> dict:
        row = self.row
        report = {"title": row.title, "commit": seed.head(ROOT), "load": os.getloadavg()[0],
                  "date": datetime.now(timezone.utc).isoformat("T", "seconds"),
                  "rows": row.rows, "dim": row.dim, "threads": row.threads,
                  "batch": row.batch, "rounds": row.rounds, "aims": dict(row.aims), "contestants": {}}
        for name, times in self.times.items():
            median = statistics.median(times)
            report["contestants"][name] = {"ms": median, "rounds": len(times), **self.found.get(name, {}),
                                           "per_second": (row.batch or row.rows) * 1000 / median}
        exact = {name: one["ms"] for name, one in report["contestants"].items()
                 if name != "vectis" and not name.endswith("SQ8")}
        report["best_peer"] = min(exact, key=exact.get)
        rivals = {"best peer": report["best_peer"], **{name: name for name in self.times if name.endswith("SQ8")}}
        report["ratios"] = {rival: interval([theirs / mine for theirs, mine in self.paired(name)])
                            for rival, name in rivals.items()}
        if row.yardstick:
            report["yardstick"] = self.yardstick(report["contestants"]["vectis"])
        return report

    def paired(self, name: str) -> list[tuple[float, float]]:
        """Pairs of (peer, ours) times of the same round; a peer measured once is paired with every round."""
        theirs = self.times[name]
        return list(zip(theirs if len(theirs) > 1 else itertools.repeat(theirs[0]), self.times["vectis"], strict=False))

    def yardstick(self, mine: dict) -> dict:
        row, seconds = self.row, mine["ms"] / 1000
        if row.yardstick == "AMX peak":
            peak = statistics.median(one["amx_int8_gops"] for one in self.peaks) * row.threads
            return {"name": row.yardstick, "unit": "Gop/s", "limit": peak,
                    "percent": 200e-9 * row.batch * row.rows * row.dim / seconds / peak if peak else 0}
        peak = statistics.median(one["gigabytes_per_second"] for one in self.peaks)
        return {"name": row.yardstick, "unit": "GB/s", "limit": peak,
                "percent": 100e-9 * row.rows * mine["bytes_per_vector"] / seconds / peak}


def first_search(ours: Ours, row: Row, ids: Path) -> dict:
    """The first query after adding compared with later ones: shows work that add() deferred."""
    ratios, percents = [], []
    for _ in range(row.rounds):
        added = ours.add()
        first, *later = ours.search("", 10, 1, ids)["calls"]
        usual = statistics.median(later)
        ratios.append(first / usual)
        percents.append(100 * (first - usual) / added)
    return {"ratio": interval(ratios), "percent_of_add": interval(percents)}


def group_reports(program: str, rows: list[Row]) -> dict[str, dict]:
    """Measures rows with the same data and thread count in the same processes."""
    count, dim, threads = rows[0].data
    data = made(DATA, count, dim)
    truth(data)
    names = list(dict.fromkeys(name for row in rows for name in row.peers))
    contestants = [Ours(program, threads), *filter(None, (peer(name, threads) for name in names))]
    for contestant in contestants:
        contestant.load(data)
    ours, peers, reports = contestants[0], {one.name: one for one in contestants[1:]}, {}
    if all(row.batch and row.precision == rows[0].precision for row in rows):
        ours.ready(rows[0].precision)
        ours.forget_corpus()
    with tempfile.TemporaryDirectory() as folder:
        ids = Path(folder) / "ids"
        for row in rows:
            print(f"bench: {row.title}", file=sys.stderr, flush=True)
            match = Match(row, ours, [peers[name] for name in row.peers if name in peers], data, ids)
            match.play()
            reports[row.key] = match.report()
            if not row.batch:
                reports[row.key]["first_search"] = first_search(ours, row, ids)
    for contestant in contestants:
        contestant.close()
    return reports


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench exact", description=__doc__)
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="100 k vectors and few rounds: about a minute")
    keys = [row.key for row in exact_rows.ROWS]
    parser.add_argument("--only", nargs="+", default=[], choices=keys, metavar="KEY",
                        help="measure only these rows and keep results of earlier runs of this commit: " + ", ".join(keys))
    parser.add_argument("--rounds", type=int, help="overrides the number of rounds of each row")
    parser.add_argument("--page", action="store_true", help="also write docs/performance.md and its plot")
    arguments = parser.parse_args()
    rows = exact_rows.chosen(arguments.only, arguments.quick, arguments.rounds)
    kept = ROOT / "build" / "soak" / f"exact-bench{'-quick' if arguments.quick else ''}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    reports = json.loads(kept.read_text()) if kept.is_file() else {}
    reports = {key: report for key, report in reports.items() if report["commit"] == seed.head(ROOT)}
    for _, group in itertools.groupby(rows, key=lambda row: row.data):
        reports |= group_reports(arguments.program, list(group))
        kept.write_text(json.dumps(reports, indent=1, ensure_ascii=False) + "\n")
    print(exact_page.table([reports[row.key] for row in rows]))
    if arguments.page:
        exact_page.write(ROOT, [reports[row.key] for row in exact_rows.ROWS if row.key in reports])


if __name__ == "__main__":
    main()
