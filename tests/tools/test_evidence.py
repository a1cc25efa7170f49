"""Seeds, figures and the coverage table."""

import json

import pytest

from tools import coverage, seed
from tools.evidence import Figure, Soak, Unfinished


@pytest.mark.parametrize("value, aim, met", [(95, ">= 95", True), (94.9, ">= 95", False), (0, "== 0", True),
                                             (1, "== 0", False), (14.9, "< 15", True), (15, "< 15", False)])
def test_figure_knows_whether_it_meets_its_aim(value, aim, met):
    assert Figure.measured("x", value, "%", aim).met is met


def test_seed_is_drawn_from_the_commit_and_can_be_given(tmp_path, monkeypatch):
    monkeypatch.delenv("VECTIS_TEST_SEED", raising=False)
    assert seed.of_commit("00000000000000ffabcd") == 255
    assert seed.chosen(tmp_path) == seed.WITHOUT_COMMIT
    monkeypatch.setenv("VECTIS_TEST_SEED", "77")
    assert seed.chosen(tmp_path) == 77


def test_soak_resumes_after_what_is_done(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTIS_TEST_SEED", "5")
    ran = []

    def measure(name, fails=False):
        def run():
            ran.append(name)
            if fails:
                raise RuntimeError(name)
            return [Figure.measured(name, 1, "", "== 1")]
        return run

    with pytest.raises(RuntimeError):
        Soak("x", tmp_path, fresh=False).run({"a": measure("a"), "b": measure("b", fails=True)})
    again = Soak("x", tmp_path, fresh=False)
    figures = again.run({"a": measure("a"), "b": measure("b")})
    assert ran == ["a", "b", "b"]
    written = json.loads(again.write(figures).read_text())
    assert written["seed"] == 5
    assert [figure["name"] for figure in written["figures"]] == ["a", "b"]
    Soak("x", tmp_path, fresh=True).run({"a": measure("a")})
    assert ran[-1] == "a"


def test_unfinished_measurement_is_reported_and_continued(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTIS_TEST_SEED", "5")
    done = []

    def measure():
        done.append(1)
        figures = [Figure.measured("a", len(done), "", ">= 2")]
        if not figures[0].met:
            raise Unfinished(figures)
        return figures

    assert [[figure.met for figure in Soak("x", tmp_path, fresh=False).run({"a": measure, "b": lambda: []})]
            for _ in range(3)] == [[False], [True], [True]]
    assert len(done) == 2


def test_figures_of_another_commit_are_kept_only_when_asked_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTIS_TEST_SEED", "5")
    measure = {"a": lambda: [Figure.measured("a", 1, "", "== 1")]}
    monkeypatch.setattr(seed, "head", lambda root: "old")
    Soak("x", tmp_path, fresh=False).run(measure)
    monkeypatch.setattr(seed, "head", lambda root: "new")
    soak = Soak("x", tmp_path, fresh=False, older=True)
    written = json.loads(soak.write(soak.run(measure)).read_text())
    assert written["commit"] == "new"
    assert [figure["commit"] for figure in written["figures"]] == ["old"]
    anew = Soak("x", tmp_path, fresh=False)
    assert "commit" not in json.loads(anew.write(anew.run(measure)).read_text())["figures"][0]


def test_finished_cells_are_written_and_the_others_are_not_met(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTIS_TEST_SEED", "5")
    Soak("x", tmp_path, fresh=False).run({"a": lambda: [Figure.measured("one", 1, "", "== 1")]})
    figures = Soak("x", tmp_path, fresh=False).finished(["a", "b"])
    assert [(figure.name, figure.met) for figure in figures] == [("one", True), ("not finished: b", False)]


def test_new_clone_continues_from_the_evidence(tmp_path, monkeypatch):
    monkeypatch.setenv("VECTIS_TEST_SEED", "5")
    monkeypatch.setattr(seed, "head", lambda root: "old")

    def stops():
        raise Unfinished([Figure.measured("executions", 3, "", ">= 10")])

    cells = {"a": lambda: [Figure.measured("one", 1, "", "== 1")], "b": stops}
    first = Soak("x", tmp_path, fresh=False)
    first.run(cells)
    first.write(first.finished(cells))
    first.cache.unlink()
    monkeypatch.setattr(seed, "head", lambda root: "new")
    second = Soak("x", tmp_path, fresh=False, older=True)
    assert set(second.done) == {"a"}
    assert [(figure.name, figure.met, figure.commit) for figure in second.finished(cells)] == [
        ("one", True, "old"), ("not finished: b", False, "")]


def test_coverage_is_counted_by_layer():
    report = {"files": [
        {"file": "src/base/a.cpp", "lines": [{"line_number": 1, "count": 2}, {"line_number": 2, "count": 0},
                                             {"line_number": 3, "count": 0}, {"line_number": 5, "count": 0}]},
        {"file": "include/vectis/base/a.hpp", "lines": [{"line_number": 9, "count": 0}, {"line_number": 9, "count": 1}]},
        {"file": "backends/cpu/b.cpp", "lines": [{"line_number": 1, "count": 1}]}]}
    layers = coverage.by_layer(report)
    assert set(layers) == {"src/base", "backends/cpu"}
    assert (layers["src/base"].covered, layers["src/base"].total) == (2, 5)
    assert layers["src/base"].missed == {"src/base/a.cpp": [2, 3, 5]}
    text = coverage.page(layers)
    assert "| `src/base` | 5 | 2 | 40.0 |" in text
    assert "- `src/base/a.cpp`: 2-3, 5" in text
