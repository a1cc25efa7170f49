"""Figures of ./dev bench any-data and ./dev soak any-data: what needs neither peers nor a measurement."""

import importlib
import math

import numpy
import pytest

from tools.bench import any_data, any_data_changes, any_data_large, any_data_measure, any_data_rows
from tools.bench.any_data_sets import SETS
from tools.bench.any_data_summary import NO_OTHER, geometric_mean, summary
from tools.evidence import Figure

soak = importlib.import_module("tools.soak.any-data")

RANDOM = numpy.random.default_rng(7)
QUERIES = RANDOM.standard_normal((5, 3)).astype(numpy.float32)


def _cell(asked, found, milliseconds, error=0.01):
    return {"asked": asked, "found": found, "error": error, "ms": milliseconds, "kernel": "graph"}


def _report(name="sift", found=0.9):
    """A set on which everything takes as long as its recall says."""
    cells = [_cell(asked, found if asked == 0.9 else asked, 10 * asked) for asked in any_data_measure.ASKED]
    peer = [(cell["asked"], 2 * cell["ms"]) for cell in cells]
    return {"set": name, "table": {"builds": {"vectis": 5, "hnswlib": 10}, "bytes": {"vectis": 120, "hnswlib": 100},
                                   "dropped_bytes": 50, "batch": [cells], "single": [cells],
                                   "exact": [{"batch": 100, "single": 100}], "peers": {"hnswlib": [peer]}}}


def _figures(*reports):
    return [Figure.measured(**one) for report in reports for one in any_data.figures_of(report)]


def test_limits_are_the_distances_of_the_tenth():
    rows, queries = RANDOM.standard_normal((300, 5)), RANDOM.standard_normal((4, 5))
    for metric, every in (("l2", ((rows[None] - queries[:, None]) ** 2).sum(axis=2)), ("inner_product", -queries @ rows.T)):
        assert any_data_measure.limits_of(rows, queries, metric) == pytest.approx(numpy.sort(every, axis=1)[:, 9])


def test_rows_as_near_as_the_tenth_are_found_and_none_counts_twice():
    rows = numpy.arange(20.0)[:, None]
    limits = any_data_measure.limits_of(rows, numpy.zeros((1, 1)), "l2")
    assert limits == pytest.approx([81])
    found = numpy.array([[0, 1, 2, 3, 4, 4, 4, 15, -1, 25]])
    assert any_data_measure.shares_of(found, rows, numpy.zeros((1, 1)), limits, "l2") == pytest.approx([0.5])


def test_a_shortfall_is_in_standard_errors():
    assert any_data_measure.shortfall(_cell(0.9, 0.88, 1)) == pytest.approx(2)
    assert any_data_measure.shortfall(_cell(0.9, 0.95, 1)) == 0
    assert any_data_measure.shortfall(_cell(0.9, 1, 1, error=0)) == 0


def test_a_lower_recall_that_takes_longer_is_seen():
    assert any_data_measure.lower_over_higher(_report()["table"]) < 1
    cells = [_cell(asked, asked, milliseconds) for asked, milliseconds in ((0.8, 1), (0.9, 6), (0.95, 2), (0.99, 4))]
    assert any_data_measure.lower_over_higher({"single": [cells, cells]}) == 3


def test_figures_of_a_set_say_what_was_met():
    figures = {figure.name: figure for figure in _figures(_report(found=0.86))}
    assert figures["sift: largest shortfall of 7 recalls"].value == pytest.approx(4)
    assert not figures["sift: largest shortfall of 7 recalls"].met
    assert figures["sift: recalls found within 2 standard errors"].value == pytest.approx(6 / 7, abs=1e-4)
    assert figures["sift: bytes per vector without full precision"].value == 0.5
    assert figures["sift: time of a lower recall asked for, single"].met


def test_sets_together_have_means_and_extremes():
    figures = {figure.name: figure for figure in summary("tuning", 2, _figures(_report(), _report("tfidf", 0.86)))}
    assert figures["tuning: sets measured"].met
    assert figures["tuning: single at 0.95, geometric mean of 2 sets"].value == pytest.approx(2)
    assert figures["tuning: CPU time to build, geometric mean"].value == 0.5
    assert figures["tuning: bytes per vector, mean"].value == 1.2
    assert figures["tuning: bytes per vector without full precision, mean"].met
    assert figures["tuning: recalls found within two standard errors"].value == pytest.approx(13 / 14, abs=1e-3)
    assert not figures["tuning: largest shortfall"].met


def test_missing_sets_and_recalls_are_not_met():
    assert not any(figure.met for figure in summary("tuning", 2, []))
    ours = Figure.measured("sift: single at 0.9, against all others", 0, "times", ">= 0.9")
    theirs = Figure.measured("words: single at 0.9, against none", NO_OTHER, "times", ">= 0.9")
    figures = {figure.name: figure for figure in summary("tuning", 2, [ours, theirs])}
    assert figures["tuning: single at 0.9, geometric mean of 1 sets"].value == 0
    assert figures["tuning: smallest ratio of any set"].value == 0


def test_geometric_means_of_nothing_and_of_zero_are_zero():
    assert geometric_mean([]) == geometric_mean([2, 0]) == 0
    assert geometric_mean([1, 4]) == pytest.approx(2)
    assert math.isinf(summary("tuning", 1, [])[-1].value)


def test_a_row_finds_itself_or_an_equal_one():
    corpus = numpy.array([[0, 0], [1, 1], [1, 1], [2, 2]], numpy.float32)
    found = numpy.array([[3, 2], [0, 3]])
    assert any_data_rows.share_found(found, corpus[[1, 1]], corpus) == 0.5


def test_rows_sorted_by_cluster_are_the_same_rows():
    rows = RANDOM.standard_normal((500, 3))
    found = any_data_changes.sorted_by_cluster(rows)
    assert (numpy.sort(found, axis=0) == numpy.sort(rows, axis=0)).all()
    assert (found != rows).any()


class Model:
    """Answers as an exact index would, of which every call takes a millisecond."""

    def __init__(self, folder):
        self.folder, self.vectors = folder, {}

    def corpus(self, data, rows, file):
        self.rows = numpy.fromfile(file, numpy.float32).reshape(rows, data.dim)

    def queries(self, data):
        self.asked = data.queries()

    def add(self, count, scratch):
        del scratch
        self.vectors = dict(enumerate(self.rows[:count]))

    def ask(self, command, ids=None, first=0, rows=0, step=None):
        changed = numpy.fromfile(ids, numpy.uint64) if ids else numpy.arange(first, first + rows)
        for i, one in enumerate(changed.tolist()):
            assert (one in self.vectors) == (command != "insert")
            if command == "remove":
                del self.vectors[one]
            else:
                self.vectors[one] = self.rows[first + i]
        return {"calls": [1.0] * (len(changed) // (step or len(changed)))}

    def search(self, setting, queries, ids):
        del setting, queries, ids
        names = numpy.array(sorted(self.vectors))
        rows = numpy.array([self.vectors[name] for name in names])
        distances = ((self.asked[:, None].astype(float) - rows[None]) ** 2).sum(axis=2)
        return names[numpy.argsort(distances, axis=1)[:, :10]], {}


class SmallData:
    dim, metric, asked = 3, "l2", slice(0, 5)

    def queries(self):
        return QUERIES



@pytest.mark.parametrize("name", any_data_changes.HISTORIES)
def test_a_history_knows_which_rows_are_alive(name, tmp_path):
    """An exact index finds everything at every stage, so that what a history takes for alive is what the index has."""
    rows = RANDOM.standard_normal((800, 3)).astype(numpy.float32)
    life = any_data_changes.Life(Model(tmp_path), SmallData(), rows, tmp_path)
    stages = list(any_data_changes.HISTORIES[name](life, 400))
    expected = {"replaced in ten rounds": 10, "removed to a tenth and refilled": 2,
                "sorted by cluster, inserted in hundreds": 1}
    assert len(stages) == expected.get(name, 4)
    assert all(cell["found"] == 1 for cells in stages for cell in cells)
    assert (life.places >= 0).sum() == 400


def test_a_build_in_parts_continues_with_the_last_one(tmp_path, monkeypatch):
    asked = []

    class Process:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def corpus(self, data, rows):
            asked.append(f"corpus {rows}")

        def add(self, rows, scratch):
            return self.ask("add", rows=rows)

        def ask(self, command, file=None, **words):
            asked.append(command)
            if command == "save":
                file.write_text("index")
            if command == "load":
                assert file.is_file()
            return {"processor_ms": 10.0}

    class Ten:
        rows, name, folder = 10, "ten", tmp_path

    monkeypatch.setattr(any_data_large.Parts, "started", lambda self, name, threads: Process())
    (tmp_path / "program").write_text("program")
    field = any_data_large.Parts(Ten(), tmp_path / "program")
    assert field.part(2) == {"processor_ms": 20.0, "part_ms": 10.0}
    assert asked == ["corpus 2", "add", "save", "corpus 4", "load", "insert", "save"]
    asked.clear()
    assert field.building("vectis")["processor_ms"] == 50.0
    assert asked.count("insert") == 3
    assert (field.folder("vectis") / "index").is_file()
    assert len(list(field.indexes.glob("*/index"))) == 1


def test_every_set_is_a_cell_and_a_summary_reads_the_cells(monkeypatch):
    assert {f"set {one.name}" for one in SETS} <= set(soak.MEASUREMENTS)
    assert sum(len(soak.names(half)) for half in (*soak.HALVES, "large")) == len(SETS)
    cells = {"set sift": {"commit": "a", "finished": True, "figures": [vars(figure) for figure in _figures(_report())]}}
    monkeypatch.setattr(soak, "Soak", lambda name, root, fresh: type("Kept", (), {"kept": cells}))
    assert soak.together("tuning")[0].value == 1
    assert not soak.together("held-out")[0].met
