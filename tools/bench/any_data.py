"""`./dev bench any-data`: the graph index on data of many kinds, against other libraries and its own exact search.

Results are cached in build/soak for each version of our program; an interrupted run continues with the next set. The
indexes of other libraries are built once. The held-out half is measured at most three times, see any_data_sets.py."""

import argparse
import json
import sys
from pathlib import Path

from tools import seed
from tools.bench import any_data_changes, any_data_filters, any_data_large, any_data_own, any_data_page, any_data_rows
from tools.bench.ann_contest import OURS, ROOT, Field
from tools.bench.ann_data import SETS as OWN_SETS
from tools.bench.ann_data import Set
from tools.bench.any_data_cells import CHANGED, FILTERED
from tools.bench.any_data_measure import ASKED, RECALLS, Data, exact_ratio, lower_over_higher, measured, ratio
from tools.bench.any_data_page import ERRORS_MAX, ERRORS_USUAL, line_of, shortfalls, summary_of, table_of
from tools.bench.any_data_sets import HELD_OUT, INNER_PRODUCT, LARGE, SETS, TUNING, named
from tools.bench.any_data_summary import NO_OTHER

KEPT = ROOT / "build" / "soak"
DATA = ROOT / "build" / "bench-data"
ROUNDS = 3
TABLES = ("speed", "rows", "changes", "filters", "own", "large")


def report_file(name: str) -> Path:
    return KEPT / f"any-data-{name}.json"


def report_of(name: str, program: Path, rounds: int, fresh: bool) -> dict:
    field = Field(Data(named(name), DATA), program)
    kept = report_file(name)
    if kept.is_file() and not fresh:
        report = json.loads(kept.read_text())
        if report["program"] == field.digest:
            return report
    report = {"set": name, "commit": seed.head(ROOT), "program": field.digest, "table": measured(field, rounds)}
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(report))
    return report


def figures_of(report: dict) -> list[dict]:
    """The figures of a set, as `./dev soak any-data` keeps them."""
    result, name = report["table"], report["set"]
    speeds = {(kind, recall): ratio(result, kind, recall) for kind in ("single", "batch") for recall in RECALLS}
    figures = [{"name": f"{name}: {kind} at {recall}, against {found[1] if found else 'all others'}",
                "value": min(round(found[0], 3), NO_OTHER) if found else 0, "unit": "times", "aim": ">= 0.9"}
               for (kind, recall), found in speeds.items()]
    figures.append({"name": f"{name}: largest shortfall of {len(ASKED)} recalls", "value": round(max(shortfalls(result)), 2),
                    "unit": "standard errors", "aim": f"<= {ERRORS_MAX}"})
    figures.append({"name": f"{name}: recalls found within {ERRORS_USUAL} standard errors",
                    "value": round(sum(short <= ERRORS_USUAL for short in shortfalls(result)) / len(ASKED), 4),
                    "unit": "of the recalls", "aim": ">= 0"})
    figures.append({"name": f"{name}: time of a lower recall asked for, single", "value": round(lower_over_higher(result), 3),
                    "unit": "times that of a higher one", "aim": "<= 1.1"})
    figures += [{"name": f"{name}: slowest search, {kind}", "value": round(exact_ratio(result, kind), 3),
                 "unit": "times own exact search", "aim": "<= 1.1"} for kind in ("single", "batch")]
    if "hnswlib" in result["builds"]:
        figures += [{"name": f"{name}: CPU time to build", "value": round(result["builds"][OURS] / result["builds"]["hnswlib"], 3),
                     "unit": "times hnswlib", "aim": "<= 1.15"},
                    {"name": f"{name}: bytes per vector", "value": round(result["bytes"][OURS] / result["bytes"]["hnswlib"], 3),
                     "unit": "times hnswlib", "aim": "<= 1.25"},
                    {"name": f"{name}: bytes per vector without full precision",
                     "value": round(result["dropped_bytes"] / result["bytes"]["hnswlib"], 3), "unit": "times hnswlib",
                     "aim": ">= 0"}]
    return figures


def speed_figures(names: list[str], program: Path, rounds: int, fresh: bool) -> list[dict]:
    reports = []
    for name in names:
        reports.append(report_of(name, program, rounds, fresh))
        print(line_of(reports[-1]), flush=True)
    print("\n" + table_of(reports) + "\n\n" + "\n".join(summary_of(reports)))
    return [one for report in reports for one in figures_of(report)]


def other_figures(table: str, name: str, program: Path) -> list[dict]:
    """The figures of a set in a table besides that of speed."""
    if table == "own":
        return any_data_own.figures(Set(name, DATA), program)
    if table == "large":
        part = int(name) if name.isdecimal() else None
        return any_data_large.part_figures(part, DATA, program) if part else any_data_large.figures(DATA, program)
    if table == "rows" and named(name).metric == INNER_PRODUCT:
        return []  # the nearest vector by inner product is a longer one
    measure = {"rows": any_data_rows, "changes": any_data_changes, "filters": any_data_filters}[table]
    return measure.figures(Field(Data(named(name), DATA), program))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench any-data", description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--table", choices=TABLES, default="speed",
                        help="speed; rows: vectors asked for themselves; changes; filters; own: the sets of ./dev bench "
                             "ann against an earlier commit; large: ten million rows; default: speed")
    parser.add_argument("--half", choices=(TUNING, HELD_OUT, LARGE), default=TUNING,
                        help="which half of the sets; default: tuning")
    parser.add_argument("--set", action="append",
                        help="default: the half, or all that the table has; large: a part of the build, or `search`")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of the table speed")
    parser.add_argument("--fresh", action="store_true", help="measure speed again that was measured with this program")
    parser.add_argument("--page", action="store_true", help="only write docs/any-data.md from cached measurements")
    parser.add_argument("--figures", type=Path, help="write the figures of the soak to this file")
    arguments = parser.parse_args()
    if arguments.page:
        kept = [report_file(one.name) for one in SETS]
        print(any_data_page.write(ROOT, [json.loads(file.read_text()) for file in kept if file.is_file()]))
        return 0
    usual = {"changes": CHANGED, "filters": FILTERED, "own": OWN_SETS, "large": ["search"]}
    half = [one.name for one in SETS if one.half == arguments.half]
    names = arguments.set or usual.get(arguments.table, half)
    if arguments.table == "speed":
        figures = speed_figures(names, arguments.program, arguments.rounds, arguments.fresh)
    else:
        figures = [one for name in names for one in other_figures(arguments.table, name, arguments.program)]
        for one in figures:
            print(f"{one['name']}: {one['value']} {one['unit']}, aim {one['aim']}")
    if arguments.figures:
        arguments.figures.parent.mkdir(parents=True, exist_ok=True)
        arguments.figures.write_text(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
