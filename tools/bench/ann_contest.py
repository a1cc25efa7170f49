"""The child processes that `./dev bench ann` drives, ours and one per library, and their cached indexes.

An index is built once, with two threads in a process of its own, and cached under build/bench-data/indexes together with
the build time. The cache key is the digest of our program, or the release of the library."""

import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

from tools.bench.ann_data import QUERIES, Set
from tools.bench.ann_libraries import LIBRARIES, folder_of
from tools.bench.exact_truth import K

ROOT = Path(__file__).resolve().parents[2]
OURS = "vectis"
BUILD_THREADS = 2
ASKED = ("0.8", "0.84", "0.87", "0.89", "0.9", "0.91", "0.92", "0.93", "0.94", "0.945", "0.95", "0.955", "0.96",
         "0.965", "0.97", "0.975", "0.98", "0.983", "0.986", "0.988", "0.99", "0.992", "0.994", "0.996", "0.998")


class Failed(Exception):
    """The error message of a child process."""


class Contestant:
    """A child process that reads commands and writes JSON replies, one per line."""

    def __init__(self, name: str, program: Path, threads: int, metric: str = "l2"):
        self.name, self.threads, self.metric = name, threads, metric
        self.ours = name.startswith(OURS)
        self.settings = list(ASKED if self.ours else LIBRARIES[name].SETTINGS)
        command = [str(program)] if self.ours else [sys.executable, "-W", "ignore", "-m", "tools.bench.ann_peer", name,
                                                    str(threads), metric]
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                                        env={**os.environ, **dict.fromkeys(names, str(threads))})
        if self.ours:
            self.ask("threads", count=threads)

    def ask(self, command: str, **words: object) -> dict:
        self.process.stdin.write("\t".join([command, *(f"{key}={value}" for key, value in words.items())]) + "\n")
        self.process.stdin.flush()
        while True:  # skip other output of the library
            line = self.process.stdout.readline()
            if not line:
                raise Failed(f"{self.name}: {command}: ended with {self.process.wait()}")
            if line.startswith("{"):
                break
        reply = json.loads(line)
        if "error" in reply:
            raise Failed(f"{self.name}: {command}: {reply['error']}")
        return reply

    def queries(self, data: Set) -> None:
        self.ask("queries", file=data.queries_file, rows=QUERIES)

    def corpus(self, data: Set, rows: int, file: Path | None = None) -> None:
        self.ask("corpus", file=file or data.corpus_file, dim=data.dim, rows=rows)

    def add(self, rows: int, scratch: Path, kind: str = "hnsw") -> dict:
        words = {"kind": kind, "metric": self.metric} if self.ours else {"scratch": scratch}
        return self.ask("add", rows=rows, **words)

    def search(self, setting: str, queries: slice, ids: Path, batch: int | None = None) -> tuple[numpy.ndarray, dict]:
        """Returns the ids found, and the reply with processor_ms; ours also has the number of rows scored. `batch`: queries
        in a call of ours."""
        words = {"recall" if self.ours else "setting": setting} | ({"batch": batch} if batch else {})
        count = queries.stop - queries.start
        reply = self.ask("search", **words, k=K, first=queries.start, queries=count, ids=ids)
        return numpy.fromfile(ids, numpy.int64).reshape(count, -1), reply

    def resident_bytes(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Field:
    """The contestants on one data set, and their cached indexes."""

    def __init__(self, data: Set, program: Path):
        self.data, self.program = data, program.resolve()
        self.digest = hashlib.sha256(self.program.read_bytes()).hexdigest()[:12]
        self.indexes = data.folder / "indexes" / data.name

    def version(self, name: str) -> str:
        """Cached measurements of this contestant are valid for this version."""
        return self.digest if name == OURS else str(folder_of(name))

    def started(self, name: str, threads: int) -> Contestant:
        return Contestant(name, self.program, threads, getattr(self.data, "metric", "l2"))

    def folder(self, name: str) -> Path:
        return self.indexes / (f"{OURS}-{self.digest}" if name == OURS else folder_of(name))

    def build(self, name: str, keep: bool = True) -> dict:
        """Builds the index and returns the times. Does not replace a cached index."""
        with tempfile.TemporaryDirectory(dir=self.data.folder) as scratch, \
                self.started(name, BUILD_THREADS) as one:
            one.corpus(self.data, self.data.rows)
            reply = one.add(self.data.rows, Path(scratch))
            reply["threads"], reply["load"] = BUILD_THREADS, os.getloadavg()[0]
            target = self.folder(name)
            if keep and not target.is_dir():
                self._forget_older(name)
                unfinished = Path(scratch) / "kept"
                unfinished.mkdir()
                one.ask("save", file=unfinished / "index")
                (unfinished / "build.json").write_text(json.dumps(reply))
                target.parent.mkdir(parents=True, exist_ok=True)
                unfinished.rename(target)
        times = f"{reply['ms'] / 1e3:.1f} s, {reply['processor_ms'] / 1e3:.1f} s of CPU time"
        print(f"bench: {self.data.name}: {name} built in {times}", file=sys.stderr, flush=True)
        return reply

    def _forget_older(self, name: str) -> None:
        """Deletes the indexes of earlier builds of our program."""
        if name == OURS and self.indexes.is_dir():
            for old in self.indexes.glob(f"{OURS}-*"):
                shutil.rmtree(old)

    def building(self, name: str) -> dict:
        """The build times, from the cache or by building now."""
        kept = self.folder(name) / "build.json"
        return json.loads(kept.read_text()) if kept.is_file() else self.build(name)

    def loaded(self, name: str) -> Contestant:
        """A process with one thread and the cached index loaded."""
        self.building(name)
        one = self.started(name, 1)
        if one.ours:  # sets the dimension
            one.corpus(self.data, 1)
        one.queries(self.data)
        one.ask("load", file=self.folder(name) / "index")
        return one


class Kept:
    """Cached parts of a table. A part is valid while its version and the source file that computes it are unchanged."""

    def __init__(self, path: Path):
        self.path = path
        self.parts = json.loads(path.read_text()) if path.is_file() else {}

    def part(self, name: str, version: str, compute) -> object:
        code = Path(inspect.getsourcefile(compute)).read_bytes()
        version = f"{version} {hashlib.sha256(code).hexdigest()[:12]}"
        cached = self.parts.get(name)
        if cached is None or cached["version"] != version:
            cached = self.parts[name] = {"version": version, "value": compute()}
            self.write()
        return cached["value"]

    def write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(json.dumps(self.parts))
        unfinished.rename(self.path)
