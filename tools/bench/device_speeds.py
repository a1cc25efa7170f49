"""Exact search on software drivers before and after the large tiles of scan_bounds: an earlier commit is built in
build/before-tiles and searches in turns with the present build."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tools import webgpu_driver
from tools.bench import earlier_commit

BEFORE = "bb36656505e01400a6dc02a06711e8e453520208"  # the last commit with tiles of 64 x 64 at most
TARGETS = ("vectis_cli", "vectis_backend_opencl", "vectis_backend_webgpu")
ROUNDS = 5
SPEED_MIN = 0.9  # times the speed before


@dataclass(frozen=True)
class Job:
    backend: str
    driver: str
    precision: str
    rows: int
    queries: int


ROWS = 20_000  # take seconds on a CPU
DRIVERS = {"opencl": "PoCL", "webgpu": "lavapipe"}
BATCHES = {"opencl": (9, 100, 1000), "webgpu": (9, 100)}
JOBS = [Job(backend, driver, precision, ROWS, queries) for backend, driver in DRIVERS.items()
        for precision in ("fp32", "int8") for queries in BATCHES[backend]]


def program_before() -> Path:
    """`vectis` of the earlier commit, built unless it exists."""
    return earlier_commit.built(BEFORE, "before-tiles", "vectis", TARGETS, ["-DVECTIS_PYTHON=OFF", "-DVECTIS_TESTS=OFF"])


def measure(program: Path, job: Job) -> dict[int, float]:
    """Milliseconds of a search of one query, and of a batch."""
    words = [str(program), "bench", "exact", "--device", job.backend, "--precision", job.precision, "--rows",
             str(job.rows), "--queries", str(job.queries), "--json"]
    environment = {**os.environ, **webgpu_driver.environment()}
    report = json.loads(subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout)
    if report["wrong_answers"]:
        raise ValueError(f"{' '.join(words)}: {report['wrong_answers']} wrong results")
    return {1: report["single_query_ms"], job.queries: report["batch_ms"]}


@dataclass
class Times:
    """Milliseconds of the same searches, one for each round. The fastest round counts: other load only adds time."""
    now: list[float] = field(default_factory=list)
    before: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The speed now by the speed before."""
        return min(self.before) / min(self.now)

    @property
    def ratios(self) -> list[float]:
        return [before / now for now, before in zip(self.now, self.before, strict=True)]


def compare(now: Path, before: Path, job: Job, rounds: int) -> dict[int, Times]:
    """By number of queries; the programs take turns."""
    found: dict[int, Times] = {}
    for number in range(rounds):
        for program in (now, before) if number % 2 == 0 else (before, now):
            for queries, milliseconds in measure(program, job).items():
                times = found.setdefault(queries, Times())
                (times.now if program == now else times.before).append(milliseconds)
    return found


def speeds(now: Path, rounds: int = ROUNDS) -> dict[tuple[str, str, int], Times]:
    """By driver, precision and number of queries."""
    before = program_before()
    found: dict[tuple[str, str, int], Times] = {}
    for job in JOBS:
        for queries, times in compare(now, before, job, rounds).items():
            all_times = found.setdefault((job.driver, job.precision, queries), Times())
            all_times.now += times.now
            all_times.before += times.before
            print(f"bench: {job.driver} {job.precision}, {queries} queries: {times.ratio:.3f}", file=sys.stderr, flush=True)
    return found
