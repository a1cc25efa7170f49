"""Filtered searches with a selectivity of 50 %, 10 % or 1 %: random rows, rows on the other side of a plane through the
mean or on the same side as the query, or the rows farthest from the query. Each query has its own filter and is a call of
its own.

Compares our graph index with scanning the allowed rows (our exact index; FAISS, row by row) and with filtering the
result of an unfiltered search (post-filtering)."""

import statistics
import sys
import tempfile
from pathlib import Path

import numpy

from tools.bench import ann_sweep
from tools.bench.ann_contest import OURS, Contestant, Field, Kept
from tools.bench.ann_data import FAR, REPORTED, ordered, recall
from tools.bench.exact_truth import K

SHARES = (0.5, 0.1, 0.01)
KINDS = ("random", "other side", "farthest")  # of ./dev bench ann
EVERY_KIND = (*KINDS, "same side")  # the place of a kind is part of its seed
QUERIES = 100
ASKED = 0.95
BUDGET_MS = 20_000  # per contestant and round; slow ones answer fewer queries
SEED = 20_240_601
BLOCK = 100_000
MISSING = 0.01  # alternatives whose recall is lower than requested by more than this are not compared with
WAYS = ("graph", "after", "exact", "flat")


def _distances(corpus: numpy.ndarray, query: numpy.ndarray) -> numpy.ndarray:
    """Squared, in single precision."""
    return numpy.concatenate([((corpus[start:start + BLOCK] - query) ** 2).sum(axis=1)
                              for start in range(0, len(corpus), BLOCK)])


def _keys(kind: str, corpus: numpy.ndarray, query: numpy.ndarray, distances: numpy.ndarray, middle: numpy.ndarray,
          random: numpy.random.Generator) -> numpy.ndarray:
    """The rows with the lowest keys are allowed."""
    if kind == "random":
        return random.random(len(corpus), numpy.float32)
    if kind == "farthest":
        return -distances
    normal = random.standard_normal(corpus.shape[1]).astype(numpy.float32)
    normal *= numpy.sign(normal @ (query - middle)) or 1
    return corpus @ (-normal if kind == "same side" else normal)


class Case:
    """Filter bitmaps and ground truth of every query."""

    def __init__(self, data, kind: str, share: float, folder: Path):
        corpus = numpy.array(data.corpus()[:data.rows])
        queries = data.queries()[REPORTED][:QUERIES]
        random = numpy.random.default_rng((SEED, EVERY_KIND.index(kind), int(share * 1000)))
        middle = corpus.mean(axis=0)
        count = int(data.rows * share)
        self.words = (data.rows + 63) // 64
        bits, candidates = [], []
        for query in queries:
            distances = _distances(corpus, query)
            allowed = numpy.argpartition(_keys(kind, corpus, query, distances, middle, random), count - 1)[:count]
            flags = numpy.zeros(self.words * 64, numpy.uint8)
            flags[allowed] = 1
            bits.append(numpy.packbits(flags, bitorder="little"))
            near = numpy.argpartition(distances[allowed], FAR * K)[:FAR * K] if count > FAR * K else slice(None)
            chosen = numpy.full(FAR * K, -1, numpy.int64)
            chosen[:len(allowed[near])] = allowed[near]
            candidates.append(chosen)
        self.truth = ordered(corpus, queries, numpy.array(candidates))
        self.file = folder / "filters"
        numpy.concatenate(bits).tofile(self.file)

    def ask(self, one: Contestant, ids: Path, **words: object) -> dict:
        """CPU milliseconds per query, and recall with its standard error."""
        reply = one.ask("filtered", filters=self.file, words=self.words, k=K, first=REPORTED.start, ids=ids,
                        budget_ms=BUDGET_MS, **words)
        found = numpy.fromfile(ids, numpy.int64).reshape(-1, K)
        truth = self.truth[:reply["done"]]
        shares = [recall(found[i:i + 1], truth[i:i + 1]) for i in range(len(found))]
        return {"ms": reply["processor_ms"] / reply["done"], "recall": recall(found, truth),
                "error": float(numpy.std(shares) / len(shares) ** 0.5), "done": reply["done"],
                "kernels": reply.get("kernels", {})}


def _players(field: Field) -> dict[str, Contestant]:
    exact, flat = field.started(OURS, 1), field.started("faiss flat", 1)
    for one in (exact, flat):
        one.corpus(field.data, field.data.rows)
        one.queries(field.data)
        one.add(field.data.rows, Path(), "brute")
    exact.ask("drop", what="corpus")
    return {"graph": field.loaded(OURS), "exact": exact, "flat": flat}


def _measured(field: Field, players: dict[str, Contestant], kind: str, share: float, rounds: int) -> dict:
    with tempfile.TemporaryDirectory(dir=field.data.folder) as folder:
        case, ids = Case(field.data, kind, share, Path(folder)), Path(folder) / "ids"
        asks = {"graph": lambda: case.ask(players["graph"], ids, recall=ASKED),
                "after": lambda: case.ask(players["graph"], ids, recall=ASKED, after=1),
                "exact": lambda: case.ask(players["exact"], ids), "flat": lambda: case.ask(players["flat"], ids)}
        lines = {way: [] for way in WAYS}
        for number in range(rounds):
            for way in WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]:
                slow = number > 0 and lines[way][0]["ms"] > 5 * lines["graph"][0]["ms"]
                lines[way].append(lines[way][0] if slow else asks[way]())  # very slow alternatives are measured once
    result = {way: {"ms": statistics.median(one["ms"] for one in found), **{key: found[0][key] for key in
                                                                           ("recall", "error", "done", "kernels")}}
              for way, found in lines.items()}
    rivals = [way for way in WAYS[1:] if result[way]["recall"] >= ASKED - MISSING]
    better = min(rivals, key=lambda way: result[way]["ms"])
    result["better"] = better
    result["ratio"] = ann_sweep.interval([mine["ms"] / theirs["ms"] for mine, theirs in
                                          zip(lines["graph"], lines[better], strict=True)])
    summary = ", ".join(f"{way} {result[way]['ms']:.3f} ms at {result[way]['recall']:.3f}" for way in WAYS)
    print(f"bench: {field.data.name}: {kind}, {share:.0%} pass: {summary}", file=sys.stderr, flush=True)
    return result


def filters(field: Field, kept: Kept, rounds: int, kinds: tuple[str, ...] = KINDS) -> dict:
    players: dict[str, Contestant] = {}

    def once(kind: str, share: float) -> dict:
        if not players:
            players.update(_players(field))
        return _measured(field, players, kind, share, rounds)
    result = {f"{kind}, {share:.0%}": kept.part(f"{kind} {share}", field.digest,
                                                lambda kind=kind, share=share: once(kind, share))
              for kind in kinds for share in SHARES}
    for one in players.values():
        one.close()
    return result
