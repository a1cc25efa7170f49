"""Sweeps and figures of ./dev bench ann and ./dev soak graph: what needs neither peers nor a measurement."""

import json

import pytest

from tools.bench import ann_sweep
from tools.soak import graph as soak

RATIO = {"median": 1.5, "low": 0.9, "high": 1.7}


def test_the_front_has_what_nothing_beats():
    points = [(0.9, 1.0), (0.95, 2.0), (0.93, 3.0), (0.99, 4.0), (0.9, 0.5)]
    assert ann_sweep.front(points) == [(0.9, 0.5), (0.95, 2.0), (0.99, 4.0)]


def test_a_time_lies_between_its_neighbours_and_beyond_them_there_is_none():
    points = [(0.8, 1.0), (0.9, 4.0)]
    assert ann_sweep.time_at(points, 0.85) == pytest.approx(2.0)
    assert ann_sweep.time_at(points, 0.9) == pytest.approx(4.0)
    assert ann_sweep.time_at(points, 0.7) == 1.0
    assert ann_sweep.time_at(points, 0.91) is None
    assert ann_sweep.time_at([], 0.5) is None


def test_settings_far_from_the_front_are_not_measured_again():
    points = [(0.9, 1.0), (0.9, 1.05), (0.9, 2.0), (0.95, 3.0)]
    assert ann_sweep.worth_measuring(["a", "b", "c", "d"], points) == ["a", "b", "d"]


def test_rates_are_medians_of_rounds():
    rounds = [[(0.9, 10.0), (0.99, 20.0)], [(0.9, 20.0), (0.99, 40.0)], [(0.9, 12.0), (0.99, 22.0)]]
    assert ann_sweep.rates(rounds, 500, (0.9, 0.999)) == {"0.9": pytest.approx(500 / 12 * 1e3), "0.999": None}
    assert ann_sweep.medians(rounds) == [(0.9, 12.0), (0.99, 22.0)]


def _reports(folder, **tables):
    for name, table in tables.items():
        (folder / f"ann-{name}-hard-100k.json").write_text(json.dumps({"table": table}))


def test_figures_say_what_was_met(tmp_path, monkeypatch):
    (tmp_path / "soak").mkdir()
    monkeypatch.setattr(soak, "BUILD", tmp_path)
    monkeypatch.setattr(soak, "bench", lambda *_: None)
    rates = {"0.95": 1000.0, "0.99": None}
    _reports(tmp_path / "soak",
             curves={"contestants": {"vectis": {"rates": rates}}, "best": {"0.95": "svs", "0.99": "svs"},
                     "ratios": {"svs": {"0.95": RATIO, "0.99": None}, "hnswlib": {"0.95": RATIO, "0.99": None}}},
             asked={"asked": {"0.95": {"recall": 0.9405, "cost": 1.1}, "0.99": {"recall": 0.97, "cost": 1.3}}},
             memory={"vectis": {"links": 60.0, "total": 300.0}, "hnswlib": {"links": 100.0, "total": 700.0}})
    curves = soak.curves("hard-100k")
    assert [figure.met for figure in curves] == [True, False, False, True, False, False]
    assert [figure.met for figure in soak.asked("hard-100k")] == [True, True, False, False]
    assert soak.memory("hard-100k")[0].value == 0.6


def test_every_table_of_every_set_is_a_cell_of_its_own():
    left_out = {f"{table} {soak.LARGEST}" for table in soak.SMALLER}
    every = {f"{table} {of}" for table in soak.TABLES for of in soak.SETS}
    assert {cell for cell in every if cell in soak.MEASUREMENTS} == every - left_out
