"""The measured programs, ours and each peer: child processes driven by a line protocol."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy

from tools.bench.exact_data import QUERIES, Data
from tools.bench.exact_truth import K

_LEFT_OUT = "bench: {} skipped: {}"


class Contestant:
    """Implements corpus, queries, add and search; each of `variants` is measured separately."""

    def __init__(self, name: str, command: list[str], environment: dict[str, str]):
        self.name, self.variants, self.added = name, [""], None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})

    def answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: {self.name} ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, command: str, **words: object) -> dict:
        line = "\t".join([command, *(f"{name}={value}" for name, value in words.items())])
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply = self.answer()
        if "error" in reply:
            raise SystemExit(f"bench: {self.name}: {command}: {reply['error']}")
        return reply

    def load(self, data: Data) -> None:
        reply = self.ask("corpus", file=data.corpus_file, dim=data.dim, rows=data.rows)
        self.variants = reply.get("variants", self.variants)
        self.ask("queries", file=data.queries_file, rows=QUERIES)

    def add(self) -> float:
        return self.ask("add", variant=self.variants[0])["ms"]

    def ready(self, precision: str) -> None:
        """Adds the corpus unless it was added before; peers have one precision."""
        del precision
        if self.added is None:
            self.added = self.add()

    def search(self, variant: str, queries: int, batch: int, ids: Path) -> dict:
        return self.ask("search", queries=queries, batch=batch, k=K, ids=ids, variant=variant)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Ours(Contestant):
    def __init__(self, program: str, threads: int):
        super().__init__("vectis", [program], {})
        self.ask("threads", count=threads)

    def add(self, precision: str = "int8") -> float:
        self.added = precision
        return self.ask("add", precision=precision)["ms"]

    def ready(self, precision: str) -> None:
        if self.added != precision:
            self.add(precision)

    def forget_corpus(self) -> None:
        """Frees the corpus, of which the index has a copy; no further add() is possible."""
        self.ask("drop", what="corpus")

    def search(self, variant: str, queries: int, batch: int, ids: Path) -> dict:
        return self.ask("search", queries=queries, batch=batch, k=K, ids=ids)


def peer(name: str, threads: int) -> Contestant | None:
    """Configures each peer for speed: OpenBLAS does not detect recent CPUs and falls back to SSE3 kernels."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = dict.fromkeys(names, str(threads))
    if "avx512f" in Path("/proc/cpuinfo").read_text():
        environment["OPENBLAS_CORETYPE"] = "SkylakeX"
    command = [sys.executable, "-W", "ignore", "-m", "tools.bench.exact_peer", name, str(threads)]
    contestant = Contestant(name, command, environment)
    greeting = contestant.answer()
    if "error" in greeting:
        print(_LEFT_OUT.format(name, greeting["error"]), file=sys.stderr, flush=True)
        return None
    return contestant


def recall(ids: Path, truth: numpy.ndarray, queries: int) -> tuple[float, int]:
    """Recall, and the number of ids that differ from the ground truth at the same rank."""
    found = numpy.fromfile(ids, numpy.uint64).reshape(queries, K)
    same = (found[:, :, None] == truth[:queries, None, :]).any(axis=1).sum()
    return float(same) / (queries * K), int((found != truth[:queries]).sum())
