"""The sets of `./dev bench ann` before and after the index was made for data of many kinds: an earlier commit is built in
build/before and searches in turns with the present build."""

import tempfile
from pathlib import Path

from tools.bench import ann_sweep, earlier_commit
from tools.bench.ann_contest import OURS, Field
from tools.bench.ann_data import REPORTED, Set
from tools.bench.ann_tables import RECALLS, Sweeper

BEFORE = "3f555857e22f47aa62875900e330c1400c15b512"  # most tables of docs/ann-bench.md were measured at this commit
ROUNDS = 7
SPEED_MIN = 0.95  # times the speed before


def program_before() -> Path:
    """The bench program of the earlier commit, built unless it exists."""
    return earlier_commit.built(BEFORE, "before", "exact_bench", ["exact_bench"])


def figures(data: Set, program: Path) -> list[dict]:
    now, before = Field(data, program), Field(data, program_before())
    before.indexes = before.indexes.with_name(f"{data.name}-before")  # each field deletes older indexes of its folder
    builds = [field.building(OURS)["processor_ms"] for field in (before, now)]
    with tempfile.TemporaryDirectory() as scratch:
        sweepers = [Sweeper(field, [OURS], Path(scratch)) for field in (before, now)]
        sweeps: list[list] = [[], []]
        for number in range(ROUNDS):
            for i in (0, 1) if number % 2 == 0 else (1, 0):
                one = sweepers[i].contestants[0]
                sweeps[i].append(sweepers[i].sweep(one, one.settings, REPORTED))
        for sweeper in sweepers:
            sweeper.close()
    result = []
    for recall in RECALLS:
        ratio = ann_sweep.ratio(*sweeps, recall) or {"median": 0, "low": 0, "high": 0}
        result.append({"name": f"{data.name}: queries/s at recall {recall}, 95 % from {ratio['low']:.3f} to "
                               f"{ratio['high']:.3f}",
                       "value": round(ratio["median"], 3), "unit": f"times {BEFORE[:7]}", "aim": f">= {SPEED_MIN}"})
    return [*result, {"name": f"{data.name}: CPU time to build", "value": round(builds[1] / builds[0], 3),
                      "unit": f"times {BEFORE[:7]}", "aim": ">= 0"}]
