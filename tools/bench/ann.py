"""`./dev bench ann`: compares the graph index with other libraries at equal recall.

Search times are CPU times of one thread; builds use two threads. Libraries take turns in every round. Each is swept over
its settings (ours: the requested recall), which are chosen with queries that are not reported. The time at a recall is
interpolated between two settings. Ratios compare times of the same round, so that both sides ran under the same load.
Results are cached in build/soak; an interrupted run continues where it stopped."""

import argparse
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from tools import seed
from tools.bench import ann_filters, ann_page, ann_stream, ann_tables
from tools.bench.ann_contest import OURS, ROOT, Field, Kept
from tools.bench.ann_data import SETS, TRIAL, Set
from tools.bench.ann_libraries import PEERS

KEPT = ROOT / "build" / "soak"
TABLES = ("builds", "memory", "curves", "asked", "filters", "streaming")
ROUNDS = {"builds": 3, "curves": 11, "asked": 9, "filters": 5}
MILLION = 1_000_000  # larger sets have fewer rounds, and only the faster variants of each library
FEWER = {"builds": 1, "curves": 5, "asked": 5, "filters": 3}
FEWER_PEERS = ("hnswlib", "faiss hnsw", "usearch", "svs lvq8 r64", "svs lvq4x8 r32", "svs lvq4x8 r64",
               "faiss fast-scan", "scann")


def peers_of(field: Field, named: list[str] | None) -> tuple[str, ...]:
    return tuple(named or (FEWER_PEERS if field.data.rows >= MILLION else PEERS))


def measured(table: str, field: Field, rounds: int | None, peers: tuple[str, ...]) -> dict:
    kept = Kept(KEPT / f"ann-{table}-{field.data.name}-parts.json")
    usual = ROUNDS.get(table, 1)
    count = rounds or (FEWER.get(table, usual) if field.data.rows >= MILLION else usual)
    if table == "builds":
        return ann_tables.builds(field, kept, count)
    if table == "memory":
        return ann_tables.memory(field)
    if table == "curves":
        return ann_tables.curves(field, kept, count, peers)
    if table == "asked":
        return ann_tables.asked(field, kept, count)
    if table == "filters":
        return ann_filters.filters(field, kept, count)
    return ann_stream.streaming(field, kept)


def report_file(table: str, name: str) -> Path:
    return KEPT / f"ann-{table}-{name}.json"


def reports() -> dict[str, dict[str, dict]]:
    """The tables of each measured set."""
    found: dict[str, dict[str, dict]] = {}
    for name in (*SETS, TRIAL):
        for table in TABLES:
            if report_file(table, name).is_file():
                found.setdefault(name, {})[table] = json.loads(report_file(table, name).read_text())
    return found


def run_table(field: Field, table: str, arguments: argparse.Namespace) -> None:
    name = field.data.name
    if arguments.fresh:
        (KEPT / f"ann-{table}-{name}-parts.json").unlink(missing_ok=True)
    result = measured(table, field, arguments.rounds, peers_of(field, arguments.peer))
    report = {"set": name, "rows": field.data.rows, "dim": field.data.dim, "commit": seed.head(ROOT),
              "program": field.digest, "date": datetime.now(timezone.utc).isoformat("T", "seconds"), "table": result}
    report_file(table, name).write_text(json.dumps(report, indent=1))
    print(ann_page.text_of(table, report), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench ann", description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--set", action="append", choices=[*SETS, TRIAL], help="default: all but the last")
    parser.add_argument("--table", action="append", choices=TABLES, help="default: all")
    parser.add_argument("--peer", action="append", choices=PEERS, help="libraries in the table curves; default: all")
    parser.add_argument("--rounds", type=int, help="rounds; default: depends on the table")
    parser.add_argument("--build", action="store_true", help="only build the indexes that are not cached")
    parser.add_argument("--fresh", action="store_true", help="ignore cached measurements; indexes of other libraries are reused")
    parser.add_argument("--page", action="store_true", help="only write docs/ann-bench.md from cached measurements")
    arguments = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    if arguments.page:
        ann_page.write(ROOT, {name: tables for name, tables in reports().items() if name in SETS})
        return 0
    for name in arguments.set or SETS:
        field = Field(Set(name, ROOT / "build" / "bench-data"), arguments.program)
        if arguments.build:
            for peer in (OURS, *peers_of(field, arguments.peer)):
                field.building(peer)
            continue
        for table in arguments.table or TABLES:
            run_table(field, table, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
