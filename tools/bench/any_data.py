"""`./dev bench any-data`: the graph index on data of many kinds, against other libraries and its own exact search.

Results are cached in build/soak for each version of our program; an interrupted run continues with the next set. The
indexes of other libraries are built once. The held-out half is measured at most three times, see any_data_sets.py."""

import argparse
import json
import math
import sys
from pathlib import Path

from tools import seed
from tools.bench.ann_contest import OURS, ROOT, Field
from tools.bench.any_data_measure import ASKED, RECALLS, Data, exact_ratio, measured, ratio
from tools.bench.any_data_sets import HELD_OUT, SETS, TUNING, named

KEPT = ROOT / "build" / "soak"
ROUNDS = 3
ERRORS_USUAL, ERRORS_MAX = 2, 3.5  # standard errors below what was asked for


def report_file(name: str) -> Path:
    return KEPT / f"any-data-{name}.json"


def report_of(name: str, program: Path, rounds: int, fresh: bool) -> dict:
    field = Field(Data(named(name), ROOT / "build" / "bench-data"), program)
    kept = report_file(name)
    if kept.is_file() and not fresh:
        report = json.loads(kept.read_text())
        if report["program"] == field.digest:
            return report
    report = {"set": name, "commit": seed.head(ROOT), "program": field.digest, "table": measured(field, rounds)}
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(report))
    return report


def shortfalls(result: dict) -> list[float]:
    """For every recall asked for, in batches: how many standard errors less was found."""
    return [max(0.0, (cell["asked"] - cell["found"]) / max(cell["error"], 1e-9)) if cell["found"] < cell["asked"] else 0.0
            for cell in result["batch"][0]]


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


def figures_of(report: dict) -> list[dict]:
    """The figures of a set, as `./dev soak any-data` keeps them."""
    result, name = report["table"], report["set"]
    speeds = {(kind, recall): ratio(result, kind, recall) for kind in ("single", "batch") for recall in RECALLS}
    figures = [{"name": f"{name}: {kind} at {recall}, against {found[1] if found else 'all others'}",
                "value": min(round(found[0], 3), 1e6) if found else 0, "unit": "times", "aim": ">= 0.9"}
               for (kind, recall), found in speeds.items()]
    figures.append({"name": f"{name}: largest shortfall of {len(ASKED)} recalls", "value": round(max(shortfalls(result)), 2),
                    "unit": "standard errors", "aim": f"<= {ERRORS_MAX}"})
    figures += [{"name": f"{name}: slowest search, {kind}", "value": round(exact_ratio(result, kind), 3),
                 "unit": "times own exact search", "aim": "<= 1.1"} for kind in ("single", "batch")]
    if "hnswlib" in result["builds"]:
        figures += [{"name": f"{name}: CPU time to build", "value": round(result["builds"][OURS] / result["builds"]["hnswlib"], 3),
                     "unit": "times hnswlib", "aim": "<= 1.15"},
                    {"name": f"{name}: bytes per vector", "value": round(result["bytes"][OURS] / result["bytes"]["hnswlib"], 3),
                     "unit": "times hnswlib", "aim": "<= 1.25"}]
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench any-data", description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--half", choices=(TUNING, HELD_OUT), default=TUNING, help="which half of the sets; default: tuning")
    parser.add_argument("--set", action="append", choices=[one.name for one in SETS], help="default: the half")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--fresh", action="store_true", help="measure again what was measured with this program")
    parser.add_argument("--figures", type=Path, help="write the figures of the soak to this file")
    arguments = parser.parse_args()
    reports = []
    for name in arguments.set or [one.name for one in SETS if one.half == arguments.half]:
        reports.append(report_of(name, arguments.program, arguments.rounds, arguments.fresh))
        print(line_of(reports[-1]), flush=True)
    print("\n" + table_of(reports) + "\n\n" + "\n".join(summary_of(reports)))
    if arguments.figures:
        arguments.figures.write_text(json.dumps([one for report in reports for one in figures_of(report)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
