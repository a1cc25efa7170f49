"""Drives one library with the command protocol of tests/exact/exact_bench.cpp: corpus, queries, add, save, load, search."""

import json
import sys
import time
from pathlib import Path

import numpy

from tools.bench.ann_libraries import LIBRARIES


class Peer:
    def __init__(self, name: str, threads: int, metric: str):
        self.library = LIBRARIES[name](threads, metric) if metric != "l2" else LIBRARIES[name](threads)

    def corpus(self, file, dim, rows):
        self.rows = numpy.memmap(file, numpy.float32, "r", shape=(int(rows), int(dim)))
        return {}

    def queries(self, file, rows):
        self.asked = numpy.fromfile(file, numpy.float32).reshape(int(rows), -1)
        return {}

    def add(self, scratch, rows=None):
        corpus = numpy.array(self.rows[:int(rows) if rows else len(self.rows)])
        reply = self._timed(lambda: self.library.add(corpus, Path(scratch)))[1]
        return reply | self.statistics()

    def statistics(self):
        return self.library.statistics() if hasattr(self.library, "statistics") else {}

    def save(self, file):
        self.library.save(Path(file))
        return {}

    def load(self, file):
        self.library.load(Path(file), self.asked.shape[1])
        return self.statistics()

    def insert(self, first, rows):
        """Inserts rows of the corpus; their labels are their row numbers."""
        places = numpy.arange(int(first), int(first) + int(rows))
        vectors = numpy.array(self.rows[places[0]:places[-1] + 1])
        return self._timed(lambda: self.library.insert(vectors, places))[1]

    def remove(self, ids):
        places = numpy.fromfile(ids, numpy.uint64)
        return self._timed(lambda: self.library.remove(places))[1]

    def search(self, setting, k, first, ids, queries=None):
        asked = self.asked[int(first):int(first) + int(queries) if queries else None]
        found, reply = self._timed(lambda: self.library.search(asked, int(k), setting))
        numpy.asarray(found, numpy.uint64).tofile(ids)
        return reply

    def filtered(self, filters, words, k, first, ids, budget_ms):
        """One query per call, each with its own bitmap, until the budget is used up."""
        bits = numpy.fromfile(filters, numpy.uint64).reshape(-1, int(words)).view(numpy.uint8)
        found = numpy.full((len(bits), int(k)), -1, numpy.int64)
        begin, processor = time.perf_counter(), time.process_time()
        done = 0
        for done, allowed in enumerate(bits, 1):
            found[done - 1] = self.library.filtered(self.asked[int(first) + done - 1], int(k), allowed)
            if (time.perf_counter() - begin) * 1e3 > float(budget_ms):
                break
        reply = {"processor_ms": (time.process_time() - processor) * 1e3, "done": done}
        found[:done].tofile(ids)
        return reply

    @staticmethod
    def _timed(work):
        start, processor = time.perf_counter(), time.process_time()
        result = work()
        return result, {"ms": (time.perf_counter() - start) * 1e3,
                        "processor_ms": (time.process_time() - processor) * 1e3}


def main() -> None:
    peer = Peer(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            reply = getattr(peer, command)(**dict(word.split("=", 1) for word in words))
        except Exception as error:  # the parent decides what a failure means
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
