"""What a search of one query from Python costs more than from C++, and what FAISS's own wrapper costs.

Runs in an environment with the wheel and FAISS, with the path of exact_bench as its argument, which times the same search
in C++. All three search in turns. The cost of FAISS's wrapper is its `search` beside the C++ function that it calls.
Prints JSON: microseconds, medians over all rounds.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np

import vectis

ROWS, DIM, K, QUERIES, ROUNDS = 1000, 128, 10, 1000, 31


class Cpp:
    """The same index in C++, driven line by line."""

    def __init__(self, program: str, vectors: np.ndarray) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with tempfile.NamedTemporaryFile() as file:
            file.write(vectors.tobytes())
            file.flush()
            self.ask(f"corpus file={file.name} dim={DIM} rows={ROWS}")
            self.ask(f"queries file={file.name} rows={QUERIES}")
        self.ask("threads count=1")
        self.ask("add kind=flat metric=l2")

    def ask(self, line: str) -> dict:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise SystemExit(f"exact_bench: {answer['error']}")
        return answer

    def microseconds(self) -> float:
        return 1e3 * statistics.median(self.ask(f"search queries={QUERIES} batch=1 k={K}")["calls"])


def median_microseconds(call: Callable[[int], object]) -> float:
    times = []
    for i in range(QUERIES):
        begin = time.perf_counter_ns()
        call(i)
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def main() -> None:
    vectors = np.random.default_rng(1).standard_normal((ROWS, DIM), dtype=np.float32)
    cpp = Cpp(sys.argv[1], vectors)
    vectis.set_threads(1)
    index = vectis.Index(dim=DIM, kind="flat")
    index.add(vectors)
    faiss.omp_set_num_threads(1)
    peer = faiss.IndexFlatL2(DIM)
    peer.add(vectors)
    distances, ids = np.empty((1, K), np.float32), np.empty((1, K), np.int64)
    raw = [faiss.swig_ptr(vectors[i:i + 1]) for i in range(QUERIES)]
    out = (faiss.swig_ptr(distances), faiss.swig_ptr(ids))

    rounds = [(cpp.microseconds(), median_microseconds(lambda i: index.search(vectors[i:i + 1], K)),
               median_microseconds(lambda i: peer.search_c(1, raw[i], K, *out)),
               median_microseconds(lambda i: peer.search(vectors[i:i + 1], K)),
               median_microseconds(lambda i: vectors[i:i + 1])) for _ in range(ROUNDS)]
    in_cpp, in_python, faiss_raw, faiss_python, slicing = (statistics.median(values) for values in zip(*rounds))
    print(json.dumps({"C++": in_cpp, "Python": in_python, "overhead": in_python - in_cpp - slicing,
                      "FAISS's wrapper": faiss_python - faiss_raw - slicing}))


if __name__ == "__main__":
    main()
