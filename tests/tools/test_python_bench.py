"""Figures of ./dev bench python and ./dev soak python: what needs neither the wheel nor a measurement."""

import json

from tools.bench import python as bench
from tools.soak import python as soak

REPORT = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="t" name="test_a[1]"><properties><property name="comparisons" value="2" /></properties></testcase>
<testcase classname="t" name="test_a[2]"><properties><property name="comparisons" value="0" /></properties></testcase>
<testcase classname="t" name="test_b"><skipped message="no umap" /></testcase>
<testcase classname="t" name="test_c" />
<testcase classname="t" name="test_d"><failure message="wrong" /></testcase>
</testsuite></testsuites>"""


def test_a_report_of_pytest_counts_what_passed(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT)
    tests = soak.read_report(tmp_path / "report.xml")
    assert tests.passed == {"test_a": 2, "test_c": 1}
    assert tests.count == 3
    assert tests.properties == {"comparisons": [2, 0]}


def test_a_pair_is_compared_round_by_round():
    theirs = bench.Contender("faiss", lambda queries: queries, seconds=[8.0, 10.0, 90.0], recall=0.96)
    ours = bench.Contender("vectis.compat.faiss", lambda queries: queries, seconds=[1.0, 1.0, 30.0], recall=0.95)
    (pair,) = json.loads(json.dumps(bench.pairs("graph", 1000, [theirs, ours], 0.95)))
    assert pair["peer"] == "faiss"
    assert pair["speed"] == 8.0
    assert (pair["recall"], pair["our recall"], pair["wanted recall"]) == (0.96, 0.95, 0.95)


def test_speeds_of_a_bench_become_figures(monkeypatch):
    answers = {"--graph-rows": [{"speed": 7.9}],
               "--flat-rows": [{"speed": 1.3, "wanted recall": 0.95, "peer": name} for name in ("faiss", "hnswlib")]}
    monkeypatch.setattr(soak, "last_line", lambda *command: answers[command[-1]])
    assert [figure.met for figure in soak.flat_speed()] == [False]
    assert [figure.met for figure in soak.graph_speed()] == [True, True]
    assert len({figure.name for figure in soak.graph_speed()}) == 2


def test_pins_are_found():
    assert soak.pinned("torch", "bench/requirements-exact.txt").startswith("torch==")
    assert soak.pinned("numpy", "requirements.txt").startswith("numpy==")
