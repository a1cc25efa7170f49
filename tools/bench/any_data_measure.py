"""One data set of `./dev bench any-data`: recall found against recall asked for, and times of our index, its own exact
search and the other libraries, interleaved.

Truth is computed in double precision; a row as near as the tenth counts as found. Peers get normalized vectors for
cosine. Graphs of peers search a batch one by one, so the time of a batch is also their time for single queries, without
the overhead of Python."""

import statistics
import tempfile
from pathlib import Path

import numpy

from tools.bench import ann_sweep, any_data_real
from tools.bench.ann_contest import OURS, Contestant, Failed, Field
from tools.bench.any_data_sets import COSINE, INNER_PRODUCT, QUERIES, AnySet, files
from tools.bench.exact_truth import K

PEERS = ("hnswlib", "faiss hnsw", "svs lvq4x8 r64")
LARGE = 500_000  # rows; larger sets are compared with the first peer alone, so that a cell takes at most 30 minutes
ASKED = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
RECALLS = (0.90, 0.95, 0.99)
ENOUGH = 0.9985
COPIES = 4  # candidates per neighbor, by products, whose distances are then computed by differences
BLOCK = 5000  # rows of which distances are computed at once
EQUAL = 1e-12  # relative difference of distances that counts as equal


class Data:
    """A set with its files, in the form that every contestant reads."""

    def __init__(self, one: AnySet, folder: Path):
        self.name, self.rows, self.dim, self.folder = f"any-{one.name}", one.rows, one.dim, folder
        self.asked = slice(0, QUERIES)  # the queries that are measured
        self.metric = INNER_PRODUCT if one.metric == INNER_PRODUCT else "l2"
        self.corpus_file, self.queries_file = files(one, folder)
        if not self.queries_file.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            corpus, queries = one.generate() if one.make else any_data_real.generate(one, folder)
            if one.metric == COSINE:
                corpus, queries = (part / numpy.linalg.norm(part, axis=1, keepdims=True) for part in (corpus, queries))
            corpus.astype(numpy.float32).tofile(self.corpus_file)
            queries.astype(numpy.float32).tofile(self.queries_file)

    def corpus(self) -> numpy.ndarray:
        return numpy.memmap(self.corpus_file, numpy.float32, "r", shape=(self.rows, self.dim))

    def queries(self) -> numpy.ndarray:
        return numpy.fromfile(self.queries_file, numpy.float32).reshape(QUERIES, self.dim)

    def limits(self) -> numpy.ndarray:
        """The distance of the tenth neighbor of each query, cached."""
        kept = self.folder / f"{self.name}-limits-k{K}.npy"
        if not kept.is_file():
            numpy.save(kept, limits_of(self.corpus(), self.queries()[self.asked], self.metric))
        return numpy.load(kept)

    def shares(self, found: numpy.ndarray) -> numpy.ndarray:
        """The share of the nearest that was found, for each query."""
        return shares_of(found, self.corpus(), self.queries(), self.limits(), self.metric)


def distances(rows: numpy.ndarray, query: numpy.ndarray, metric: str) -> numpy.ndarray:
    """In double precision, by differences; squared for l2."""
    if metric == INNER_PRODUCT:
        return -(rows.astype(numpy.float64) @ query.astype(numpy.float64))
    return ((rows.astype(numpy.float64) - query.astype(numpy.float64)) ** 2).sum(axis=1)


def limits_of(corpus: numpy.ndarray, queries: numpy.ndarray, metric: str) -> numpy.ndarray:
    """The distance of the tenth neighbor of each query: candidates by products in double precision, then distances by
    differences."""
    queries = queries.astype(numpy.float64)
    best = numpy.zeros((len(queries), 0), numpy.int64)
    near = numpy.zeros((len(queries), 0))
    for first in range(0, len(corpus), BLOCK):
        rows = corpus[first:first + BLOCK].astype(numpy.float64)
        scores = -(queries @ rows.T) * (1 if metric == INNER_PRODUCT else 2)
        if metric != INNER_PRODUCT:
            scores += numpy.einsum("ij,ij->i", rows, rows)
        near = numpy.hstack([near, scores])
        best = numpy.hstack([best, numpy.broadcast_to(numpy.arange(first, first + len(rows)), scores.shape)])
        if near.shape[1] > COPIES * K:
            kept = numpy.argpartition(near, COPIES * K, axis=1)[:, :COPIES * K]
            near, best = numpy.take_along_axis(near, kept, 1), numpy.take_along_axis(best, kept, 1)
    return numpy.array([numpy.sort(distances(corpus[numpy.sort(best[i])], queries[i], metric))[K - 1]
                        for i in range(len(queries))])


def shares_of(found: numpy.ndarray, corpus: numpy.ndarray, queries: numpy.ndarray, limits: numpy.ndarray,
              metric: str) -> numpy.ndarray:
    """The share of the nearest that was found, for each query; `found` are places in the corpus."""
    result = numpy.zeros(len(found))
    for i, places in enumerate(found.astype(numpy.int64)):
        places = numpy.unique(places[(places >= 0) & (places < len(corpus))])
        limit = limits[i] + EQUAL * abs(limits[i])
        result[i] = (distances(corpus[places], queries[i], metric) <= limit).sum() / K
    return numpy.minimum(result, 1)


def shortfall(cell: dict) -> float:
    """How many standard errors less was found than asked for; 0 when more was found."""
    missing = cell["asked"] - cell["found"]
    return missing / max(cell["error"], 1e-9) if missing > 0 else 0.0


def chosen_settings(one: Contestant, data: Data, ids: Path) -> list[str]:
    """The widths of a peer up to the first that finds enough."""
    chosen = []
    for setting in one.settings:
        chosen.append(setting)
        if data.shares(one.search(setting, data.asked, ids)[0]).mean() > ENOUGH:
            break
    return chosen


def asked_cell(one: Contestant, data: Data, asked: float, batch: int, ids: Path) -> dict:
    found, reply = one.search(str(asked), data.asked, ids, batch)
    return found_cell(asked, data.shares(found)) | {"kernel": reply["kernel"], "ms": reply["processor_ms"]}


def found_cell(asked: float, shares: numpy.ndarray) -> dict:
    """What was found of what was asked for, with its standard error."""
    return {"asked": asked, "found": float(shares.mean()), "error": float(shares.std() / len(shares) ** 0.5)}


def exact_times(field: Field, ids: Path) -> dict:
    """Milliseconds of the exact index for all queries, in one batch and one by one."""
    with field.started(OURS, 1) as one:
        one.corpus(field.data, field.data.rows)
        one.queries(field.data)
        one.add(field.data.rows, field.data.folder, "flat")
        return {"batch": one.search("1", field.data.asked, ids)[1]["processor_ms"],
                "single": 10 * one.search("1", slice(0, QUERIES // 10), ids, 1)[1]["processor_ms"]}


def dropped_bytes(field: Field) -> float:
    """Bytes per vector of our index without the vectors in full precision."""
    with field.loaded(OURS) as one:
        one.ask("drop", what="fp32")
        return one.ask("statistics")["bytes_per_vector"]


def measured(field: Field, rounds: int) -> dict:
    """All measurements of a set; times are lists with one entry for each round."""
    data = field.data
    peers = PEERS if data.rows < LARGE else PEERS[:1]
    result = {"builds": {}, "bytes": {}, "batch": [], "single": [], "exact": [], "peers": {}}
    with tempfile.TemporaryDirectory() as scratch:
        ids = Path(scratch) / "ids"
        contestants: dict[str, Contestant] = {}
        for name in (OURS, *peers):
            try:
                result["builds"][name] = field.building(name)["processor_ms"] / 1e3
                contestants[name] = field.loaded(name)
                result["bytes"][name] = contestants[name].ask("statistics").get("bytes_per_vector")
            except Failed as error:
                print(f"bench: {data.name}: {error}", flush=True)
        settings = {name: chosen_settings(one, data, ids) for name, one in contestants.items() if name != OURS}
        for _ in range(rounds):
            for batch, kind in ((QUERIES, "batch"), (1, "single")):
                result[kind].append([asked_cell(contestants[OURS], data, asked, batch, ids) for asked in ASKED])
            result["exact"].append(exact_times(field, ids))
            for name, chosen in settings.items():
                points = []
                for setting in chosen:
                    found, reply = contestants[name].search(setting, data.asked, ids)
                    points.append((float(data.shares(found).mean()), reply["processor_ms"]))
                result["peers"].setdefault(name, []).append(points)
        for one in contestants.values():
            one.close()
    result["dropped_bytes"] = dropped_bytes(field)
    return result


def time_at(cells: list[dict], recall: float) -> float | None:
    return ann_sweep.time_at([(cell["found"], cell["ms"]) for cell in cells], recall)


def ratio(result: dict, kind: str, recall: float) -> tuple[float, str] | None:
    """How many times as fast ours is as the best other library at a recall, median of the rounds, and which that is. A
    recall that we reach and no other library does is infinite."""
    ours = [time_at(cells, recall) for cells in result[kind]]
    if not all(ours):
        return None
    times = {name: [ann_sweep.time_at(points, recall) for points in rounds] for name, rounds in result["peers"].items()}
    reached = {name: found for name, found in times.items() if all(found)}
    if not reached:
        return float("inf"), "none"
    best = min(reached, key=lambda name: statistics.median(reached[name]))
    return statistics.median(theirs / mine for theirs, mine in zip(reached[best], ours, strict=True)), best


def exact_ratio(result: dict, kind: str) -> float:
    """The time of the slowest search of ours, of any recall, over that of the exact index: at most 1.1 is wanted."""
    return statistics.median(max(cell["ms"] for cell in cells) / exact[kind]
                             for cells, exact in zip(result[kind], result["exact"], strict=True))


def lower_over_higher(result: dict) -> float:
    """The largest ratio of the time of a lower recall asked for to that of a higher one, single queries: medians of the
    rounds. At most 1 when time grows with recall."""
    times = [statistics.median(cell["ms"] for cell in cells) for cells in zip(*result["single"], strict=True)]
    return max(lower / higher for i, lower in enumerate(times) for higher in times[i + 1:])
