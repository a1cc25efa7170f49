"""docs/any-data.md, and its tables for a terminal, from the results of `./dev bench any-data`."""

import math
from pathlib import Path

from tools.bench.ann_contest import OURS
from tools.bench.any_data_measure import ASKED, RECALLS, exact_ratio, ratio, shortfall
from tools.bench.any_data_sets import HELD_OUT, TUNING, named

ERRORS_USUAL, ERRORS_MAX = 2, 3.5  # standard errors below what was asked for
_HEAD = """# Approximate search on data of many kinds

Written by `./dev bench any-data --page`. Measured at {commits}.

`./dev bench any-data` compares sets of 14 families, divided into halves before any tuning; the held-out half is run at most
three times, and [any-data-runs.md](any-data-runs.md) has its earlier runs. The slowest sets come first. Numbers are
queries per CPU second of one thread relative to the fastest of hnswlib, FAISS HNSW and SVS LVQ at equal recall, with
single queries and in batches of 1,000, medians of interleaved rounds. "Slowest / exact" is the slowest of our searches, of
any recall, relative to our own exact index; the build is relative to hnswlib's CPU time, bytes per vector likewise.
"Scanned" counts the recalls, of seven, that a batch answers by an exact scan.

The queries of `other-queries` have another distribution than its vectors: checks of queries by scans find that out.

`./dev soak any-data` measures every figure, in cells of at most 30 minutes with one core; `--only CELL` measures one cell.
A stopped soak continues with the next cell. The cells run these tables of the bench:

| command | what it measures |
|---|---|
| `./dev bench any-data --set NAME` | speed, recall, building and bytes per vector of a set, also without full precision |
| `./dev bench any-data --set sift-1m` | the same with 1,000,000 SIFT descriptors of pictures, against hnswlib alone |
| `./dev bench any-data --table rows` | 10,000 vectors of each set asked for themselves or an exact copy |
| `./dev bench any-data --table changes` | recall after each stage of five histories of changes, and the slowest calls |
| `./dev bench any-data --table filters` | random, correlated and anti-correlated filters on four held-out sets |
| `./dev bench any-data --table own` | the sets of [ann-bench.md](ann-bench.md), in turns with an earlier commit |
| `./dev bench any-data --table large` | ten million vectors relative to one million of the same distribution |

Two more cells need no bench: the recall of random worlds, and what all sets of a half show together.
"""
_HALVES = {HELD_OUT: "The held-out half", TUNING: "The tuning half"}


def shortfalls(result: dict) -> list[float]:
    """For every recall asked for, in batches: how many standard errors less was found."""
    return [shortfall(cell) for cell in result["batch"][0]]


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else "∞" if math.isinf(value) else f"{value:.{digits}f}"


def line_of(report: dict) -> str:
    """A row of the table in Markdown."""
    one, result = named(report["set"]), report["table"]
    found = " ".join(f".{math.floor(cell['found'] * 1000):03d}" if cell["found"] < 1 else "1" for cell in result["batch"][0])
    ratios = [number((ratio(result, kind, recall) or (None, ""))[0]) for kind in ("single", "batch") for recall in RECALLS]
    exact = [number(exact_ratio(result, kind)) for kind in ("single", "batch")]
    builds, sizes = result["builds"], result["bytes"]
    build = number(builds[OURS] / builds["hnswlib"] if "hnswlib" in builds else None)
    size = number(sizes[OURS] / sizes["hnswlib"] if sizes.get("hnswlib") else None)
    scanned = sum(cell["kernel"] == "exact scan" for cell in result["batch"][0])
    return (f"| {one.name} ({one.rows:,} × {one.dim}, {one.metric}) | {found} | {scanned} | {' | '.join(ratios)} "
            f"| {' | '.join(exact)} | {build} | {size} |")


def table_of(reports: list[dict]) -> str:
    """The sets as Markdown, those on which we are slowest first."""
    asked = " ".join(f"{value}"[1:] for value in ASKED)
    head = (f"| set | found when asked {asked} | scanned | single .9 | .95 | .99 | batch .9 | .95 | .99 "
            "| slowest / exact single | batch | build | bytes |\n|---|" + "---|" * 12)
    def slowest(report: dict) -> float:
        return min(((ratio(report["table"], kind, recall) or (0,))[0] for kind in ("single", "batch")
                    for recall in RECALLS), default=0)
    return "\n".join([head, *(line_of(report) for report in sorted(reports, key=slowest))])


def summary_of(reports: list[dict]) -> list[str]:
    """What the sets show together."""
    cells = [short for report in reports for short in shortfalls(report["table"])]
    lines = [f"{sum(short <= ERRORS_USUAL for short in cells)} of {len(cells)} cells found what was asked for within "
             f"{ERRORS_USUAL} standard errors; the worst is {max(cells):.1f} below (limit {ERRORS_MAX})"]
    for kind in ("single", "batch"):
        for recall in RECALLS:
            known = [found[0] for report in reports if (found := ratio(report["table"], kind, recall))]
            finite = [value for value in known if math.isfinite(value)]
            mean = math.exp(sum(map(math.log, finite)) / len(finite)) if finite else math.nan
            lines.append(f"{kind} at {recall}: {mean:.2f} times the best other library (geometric mean of {len(finite)}), "
                         f"least {min(known, default=math.nan):.2f}, not reached by us on {len(reports) - len(known)}")
    return lines


def write(root: Path, reports: list[dict]) -> Path:
    """Writes the page of the sets that were measured."""
    commits = sorted({report["commit"][:12] for report in reports})
    sections = [_HEAD.format(commits=", ".join(f"`{commit}`" for commit in commits))]
    for half, title in _HALVES.items():
        of_half = [report for report in reports if named(report["set"]).half == half]
        if of_half:
            lines = "\n".join(f"- {line}" for line in summary_of(of_half))
            sections.append(f"## {title}\n{lines}\n\n{table_of(of_half)}\n")
    path = root / "docs" / "any-data.md"
    path.write_text("\n".join(sections))
    return path
